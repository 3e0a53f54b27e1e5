/*
 * Finds what a module has for unwinding and naming: unwind tables, a build id, symbols.
 *
 * A module can have an .eh_frame without rules for its own functions, since the C library's
 * start-up code brings a few rules into every program. Therefore the share of code that rules cover
 * is computed, not just whether the section exists.
 *
 * Threads   none.
 * Fails     -errno of opening the module, as in elf_file.h.
 * See       debug_files.h, docs/UNWINDING.md
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbol/elf_file.h"
#include "symbol/symbolizer.h"

/* The best kind of rules in the file. */
enum hs_unwind_tables {
    HS_UNWIND_TABLES_NONE,
    HS_UNWIND_TABLES_DEBUG,   /* only .debug_frame, which is not in memory at run time */
    HS_UNWIND_TABLES_UNFOUND, /* .eh_frame, but a running program cannot find it */
    HS_UNWIND_TABLES_PLAIN,   /* .eh_frame without a search table: slow */
    HS_UNWIND_TABLES_SORTED,
};

/* Where rules are that are not in the memory of a running program, and that heapscope reads from
 * files. */
enum hs_unwind_files {
    HS_UNWIND_FILES_NONE,
    HS_UNWIND_FILES_MODULE, /* its own .debug_frame */
    HS_UNWIND_FILES_DEBUG,  /* .debug_frame of its debug file */
    HS_UNWIND_FILES_MINI,   /* its mini debug info */
};

/* The best source of names for its functions. */
enum hs_module_names {
    HS_MODULE_NAMES_NONE,
    HS_MODULE_NAMES_EXPORTED, /* .dynsym */
    HS_MODULE_NAMES_MINI,     /* .gnu_debugdata: functions, no lines */
    HS_MODULE_NAMES_SYMTAB,   /* functions, no lines */
    HS_MODULE_NAMES_DEBUG,    /* functions, inlined ones, lines */
};

struct hs_module_health {
    bool has_code;
    bool has_build_id;
    enum hs_unwind_tables tables;
    /* machine code without the linker's stubs, according to the section headers */
    uint64_t code_bytes;
    uint64_t covered_bytes; /* the part of it that rules of .eh_frame cover */
    enum hs_unwind_files unwind_files;
    /* Its functions look as if they keep frame pointers: a guess, from their first instructions. */
    bool has_frame_pointers;
    enum hs_module_names names;
    /* it has debug information that is compressed in a way that heapscope cannot unpack */
    bool is_debug_unreadable;
    char debug_path[PATH_MAX]; /* the separate file with the names; "" none */
};

/* Examines the file at `path`, and looks for its debug file. */
int hs_module_health_look(const char *path, const struct hs_symbol_options *options,
                          struct hs_module_health *ret_health);

/* The part about unwind tables, for an open file: sets tables, code_bytes and covered_bytes. */
void hs_module_health_tables(const struct hs_elf_file *file, struct hs_module_health *health);
