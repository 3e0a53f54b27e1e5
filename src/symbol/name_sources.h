/*
 * Where names are looked up: what the user says in options and in the environment, in one place for
 * every command that reads a file, and for the end of every recording.
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
 * passed to `say`. Obfuscated names of Java (PERFETTO_PROGUARD_MAP) are no names of addresses: they
 * are not part of this.
 *
 *     struct hs_name_sources sources;
 *     int err = hs_name_sources_read(NULL, say, &sources);
 *     struct hs_symbol_options options = hs_name_sources_options(&sources);
 *     ...
 *     hs_name_sources_deinit(&sources);
 *
 * Threads   one user.
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

#define HS_NAME_SOURCES_SERVER_MS  5000U
#define HS_NAME_SOURCES_SERVERS_MS 30000U

struct hs_name_sources {
    struct hs_symbol_folders folders;  /* of modules and debug files */
    size_t indexed_count;              /* the first ones, which are searched by build id */
    struct hs_symbol_folders breakpad; /* of symbol files */
    bool has_debuginfod;
    bool is_given_only; /* the modules' own paths and the system's folders are left out */
    /* The user named a source: names are looked up in it even if the file has names. */
    bool is_any;
    /* Set by the caller: a recording ends, and its user waits. A server has
     * HS_NAME_SOURCES_SERVER_MS to begin an answer, all have HS_NAME_SOURCES_SERVERS_MS in all. */
    bool is_end_of_recording;
    char cache[PATH_MAX];
};

/* Gets a sentence for the user about a source that cannot be used, without prefix and newline. */
typedef void hs_name_sources_say_fn(const char *text);

/* Reads options and environment. `given` are the folders of --symbols; NULL: none. `say` NULL:
 * nobody is told. */
int hs_name_sources_read(const struct hs_opt_list *given, hs_name_sources_say_fn *say,
                         struct hs_name_sources *ret_sources);
/* Frees the lists. */
void hs_name_sources_deinit(struct hs_name_sources *sources);

/* The user named a source of names, with --symbols (`given`, which may be NULL) or in the
 * environment. */
bool hs_name_sources_is_any(const struct hs_opt_list *given);

/* What the symbolizer needs. It refers to `sources`. */
struct hs_symbol_options hs_name_sources_options(const struct hs_name_sources *sources);
