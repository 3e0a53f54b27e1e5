/*
 * The section UNWIND_TABLES: unwind information that a module does not have in its memory.
 *
 * The collector finds it in files (.debug_frame of a module or of its debug file, .debug_frame or
 * .eh_frame of its mini debug info), and hands it to the client here. The tables follow each other
 * from the start of the section; each belongs to one module at one place, and is never changed. A
 * table consists of this header, the entries, sorted by `start_off`, and the bytes of the section
 * of unwind information, as they are in the file:
 *
 *   struct hs_unwind_table_v2 | struct hs_unwind_entry_v2 [entry_count] | cfi_bytes | padding
 *
 * Trust     the client treats every byte as hostile: unwind/unwind_table.h.
 * See       fmt/region_layout.h: control page, unwind_tables_bytes
 */
#pragma once

#include <stdint.h>

#define HS_UNWIND_TABLE_BUILD_ID_BYTES 32U

/* Flags of a table. */
enum hs_unwind_table_flag {
    HS_UNWIND_TABLE_DEBUG = 1U << 0, /* its bytes are a .debug_frame; otherwise an .eh_frame */
};

/* In which file the section was. */
enum hs_unwind_table_source {
    HS_UNWIND_TABLE_NONE,
    HS_UNWIND_TABLE_MODULE, /* the module's: .debug_frame, or an .eh_frame without a header */
    HS_UNWIND_TABLE_DEBUG_FILE,
    HS_UNWIND_TABLE_MINI, /* .gnu_debugdata */
    HS_UNWIND_TABLE_SOURCE_N,
};

/* The header of a table. `_sva` is a link-time address. */
struct hs_unwind_table_v2 {
    uint32_t table_bytes; /* header, entries, section and padding: a multiple of 8 */
    uint32_t flags;       /* enum hs_unwind_table_flag */
    /* These say which module it belongs to: as in struct hs_module_v1. */
    uint64_t bias_va;
    uint64_t exec_sva;
    uint64_t exec_bytes;
    uint8_t build_id[HS_UNWIND_TABLE_BUILD_ID_BYTES];
    uint8_t build_id_bytes;
    uint8_t source; /* enum hs_unwind_table_source */
    uint8_t reserved[6];
    uint64_t code_sva;    /* the entries count from here */
    uint64_t cfi_sva;     /* of the section's first byte; 0 of a .debug_frame */
    uint32_t entry_count; /* the entries follow the header */
    uint32_t cfi_bytes;   /* the section follows the entries */
};

/* The code of one function, and its FDE. */
struct hs_unwind_entry_v2 {
    int32_t start_off; /* its first byte, from code_sva */
    int32_t fde_off;   /* in the section */
};

_Static_assert(sizeof(struct hs_unwind_table_v2) == 96, "layout v2");
_Static_assert(sizeof(struct hs_unwind_entry_v2) == 8, "layout v2");
