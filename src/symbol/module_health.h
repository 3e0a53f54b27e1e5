/*
 * What a module has for stacks and names: unwind tables, a build id, symbols.
 *
 * A module can have an .eh_frame and yet no rules for its own functions: the C library's start-up code brings a few
 * into every program. So the share of the code that rules cover is counted, not whether the section is there.
 *
 * Threads   none.
 * Fails     -errno of opening the module, as elf_file.h.
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
    HS_UNWIND_TABLES_DEBUG,   /* .debug_frame only, which is not in memory at run time */
    HS_UNWIND_TABLES_UNFOUND, /* .eh_frame, but nothing says at run time where it is */
    HS_UNWIND_TABLES_PLAIN,   /* .eh_frame without a search table: slow */
    HS_UNWIND_TABLES_SORTED,
};

/* The best there is for naming its functions. */
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
    uint64_t code_bytes;    /* machine code without the linker's stubs, as section headers tell */
    uint64_t covered_bytes; /* of it, by rules of .eh_frame */
    enum hs_module_names names;
    bool
        is_debug_unreadable; /* it has debug information, packed so that nobody here can unpack it */
    char debug_path[PATH_MAX]; /* the separate file that has them; "" none */
};

/* Looks at the file at `path`, and for its debug file. */
int hs_module_health_look(const char *path, const struct hs_symbol_options *options,
                          struct hs_module_health *ret_health);

/* The part about unwind tables, of an open file: sets tables, code_bytes and covered_bytes. */
void hs_module_health_tables(const struct hs_elf_file *file, struct hs_module_health *health);
