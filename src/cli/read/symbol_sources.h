/*
 * Where names are looked up: what the user says in options and in the environment, in one place for
 * every command that reads a file.
 *
 *     --symbols DIR              folders of modules, debug files and Breakpad's symbol files
 *     PERFETTO_BINARY_PATH       folders, separated by colons
 *     PERFETTO_SYMBOLIZER_MODE   "find": these are searched by path and name; else also by an index
 *                                of all build ids in them
 *     PPROF_BINARY_PATH          folders, as pprof has them; unset: ~/pprof/binaries
 *     BREAKPAD_SYMBOL_DIR        a folder of Breakpad's symbol files (.sym)
 *     DEBUGINFOD_URLS            servers to ask for what no file here has
 *
 * The folders are searched in this order. A folder that does not exist, or has nothing in it, is
 * said once. Obfuscated names of Java (PERFETTO_PROGUARD_MAP) are no names of addresses: they are
 * not part of this.
 *
 *     struct hs_symbol_sources sources;
 *     int err = hs_symbol_sources_read(&sources);
 *     struct hs_symbol_options options = hs_symbol_sources_options(&sources);
 *     ...
 *     hs_symbol_sources_deinit(&sources);
 *
 * Threads   main thread only.
 * Fails     -ENOMEM.
 * See       docs/SYMBOLS.md, "Where heapscope looks"
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "symbol/symbol_folders.h"
#include "symbol/symbol_request.h"
#include "util/opts.h"

/* The option of every command that reads a file. */
#define HS_OPT_SYMBOLS                                                                             \
    HS_OPT_LIST(0, "symbols", "DIR", &hs_symbol_folders_given,                                     \
                "look up names in the modules, debug files and Breakpad symbol files\n"            \
                "below this folder, too; may be given more than once")

struct hs_symbol_sources {
    struct hs_symbol_folders folders;  /* of modules and debug files */
    size_t indexed_count;              /* the first ones, which are searched by build id */
    struct hs_symbol_folders breakpad; /* of symbol files */
    bool has_debuginfod;
    bool is_given_only; /* the modules' own paths and the system's folders are left out */
    /* The user named a source: names are looked up in it even if the file has names. */
    bool is_any;
    char cache[PATH_MAX];
};

/* The folders of the option --symbols. */
extern struct hs_opt_list hs_symbol_folders_given;
/* Adds a folder to those of --symbols that this process got. -ENOMEM. */
int hs_symbol_sources_give(const char *folder);

/* Reads options and environment. */
int hs_symbol_sources_read(struct hs_symbol_sources *ret_sources);
/* Frees the lists. */
void hs_symbol_sources_deinit(struct hs_symbol_sources *sources);

/* The user named a source of names. */
bool hs_symbol_sources_is_any(void);

/* What the symbolizer needs. It refers to `sources`. */
struct hs_symbol_options hs_symbol_sources_options(const struct hs_symbol_sources *sources);
