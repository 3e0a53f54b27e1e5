/*
 * Where the names of a module are: the module itself, and the debug file that goes with it.
 *
 * Looked for in this order, until one has DWARF; ROOT is each given folder in turn, then /usr/lib/debug:
 *
 *   1. the module at its path
 *   2. ROOT/.build-id/xx/yyyy.debug   (and ROOT/xx/yyyy.debug for a given folder)
 *   3. the name in .gnu_debuglink: beside the module, in .debug/ beside it, below each ROOT
 *   4. ROOT/path/of/module.debug and ROOT/path/of/module
 *   5. ROOT/module.debug and ROOT/module, for given folders
 *   6. whatever below a given folder has the build id, if that is asked for
 *
 * A candidate counts only when its build id is the wanted one: the recorded, else the module's own.
 * Without either, a debug link is checked by its checksum, and what lies in a given folder is
 * believed. When the module is not at its path any more, a candidate without debug information but
 * with the right build id stands in for it.
 *
 * A further source (a server of debug files) is one more entry in the table of debug_files.c.
 *
 * Threads   none.
 * Fails     never as a whole: what is not found stays closed, and main_err says why.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symbol/elf_file.h"
#include "symbol/symbolizer.h"

struct hs_debug_files {
    struct hs_elf_file module;
    struct hs_elf_file debug; /* has DWARF or .symtab; closed when the module has DWARF itself */
    struct hs_elf_file alt;   /* what `debug` or `module` share with others (dwz); may be closed */
    int module_err;           /* why `module` is closed: -errno, or HS_DEBUG_FILES_E_OTHER_BUILD */
};

#define HS_DEBUG_FILES_E_OTHER_BUILD 1 /* the file at the path has another build id */

void hs_debug_files_find(const struct hs_symbol_options *options,
                         const struct hs_symbol_request *request, struct hs_debug_files *ret_files);

void hs_debug_files_close(struct hs_debug_files *files);

/* The one with DWARF; NULL when none has. */
const struct hs_elf_file *hs_debug_files_dwarf(const struct hs_debug_files *files);
