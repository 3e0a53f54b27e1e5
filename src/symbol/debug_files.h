/*
 * Finds the files with the names of a module: the module itself, and its debug file.
 *
 * These places are tried in this order until one has DWARF. ROOT is each given folder in turn, then
 * /usr/lib/debug:
 *
 *   0. what the caller opened while the program ran (target_files.h): the module; then, in the
 *      program's root if that is not ours, the places 2 to 4
 *   1. the module at its path
 *   2. ROOT/.build-id/xx/yyyy.debug   (and ROOT/xx/yyyy.debug for a given folder)
 *   3. the name in .gnu_debuglink: beside the module, in .debug/ beside it, below each ROOT
 *   4. ROOT/path/of/module.debug and ROOT/path/of/module
 *   5. ROOT/module.debug and ROOT/module, for given folders
 *      and, for a library in an archive ("base.apk!libfoo.so"), ROOT/path/of/base.apk and
 *      ROOT/base.apk: archive_search.h
 *   6. any file below a given folder that has the build id, if the caller asks for this
 *
 * A candidate counts only when its build id is the wanted one: the recorded build id, or else the
 * module's own. Without either, the checksum of a debug link decides, and files in a given folder
 * are accepted. When the module is no longer at its path, a candidate with the right build id but
 * without debug information takes its place.
 *
 * A further source (a server of debug files) would be one more entry in the table of debug_files.c.
 *
 * Threads   none.
 * Fails     never as a whole: a file that is not found stays closed, and module_err says why.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/elf_file.h"
#include "symbol/symbol_request.h"

struct hs_debug_files {
    struct hs_elf_file module;
    struct hs_elf_file debug; /* has DWARF or .symtab; closed when the module has DWARF itself */
    /* what `debug` or `module` share with other files (dwz); may be closed */
    struct hs_elf_file alt;
    /* A file that was found by its name is not of this module, as its build id or checksum says. */
    bool has_refused;
    int module_err; /* why `module` is closed: -errno, or HS_DEBUG_FILES_E_OTHER_BUILD */
    /* the first file at a place of the module that has another build id, with that id; or NULL */
    char *other;
    bool is_server_missing; /* debuginfod was asked, and no server answered */
};

#define HS_DEBUG_FILES_E_OTHER_BUILD 1 /* the file at the path has another build id */

/* Finds and opens the files of a request. */
void hs_debug_files_find(const struct hs_symbol_options *options,
                         const struct hs_symbol_request *request, struct hs_debug_files *ret_files);

/* Closes them all. */
void hs_debug_files_close(struct hs_debug_files *files);

/* The file with DWARF; NULL when none has it. */
const struct hs_elf_file *hs_debug_files_dwarf(const struct hs_debug_files *files);
