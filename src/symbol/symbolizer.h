/*
 * The symbolizer: modules and addresses in, functions, files and lines out.
 *
 * One call for all modules of a profile, because the work is spread over worker processes, one
 * module at a time. Processes, not threads: the files were made by whoever made the target, and
 * neither libelf nor libdw nor a demangler promises to survive every file. A worker that crashes,
 * eats memory or never ends is killed and costs the names of one module; the profile is written all
 * the same. What a worker sends back is checked like any other foreign bytes.
 *
 * Build ids decide: a file is used when its build id is the recorded one; when none was recorded,
 * the file at the path is taken as it is. See debug_files.h for where is looked.
 *
 * Holds     addresses are link-time ones (run-time address minus load bias), and already point into
 *           the call for frames that are not the innermost. For JIT code they are run-time ones.
 * Threads   the caller's; it blocks until all is done or the time is over. Uses fork().
 * Fails     -ENOMEM and errors of fork or pipe; what goes wrong with a module is in its table.
 * See       docs/SYMBOLS.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol_table.h"

/* Names that a module has instead of a path. */
#define HS_SYMBOL_PATH_VDSO "[vdso]"
#define HS_SYMBOL_PATH_ANON "[anon]" /* code in memory of no file: names come from a perf map */

struct hs_symbol_request {
    const char *path;        /* as it was mapped; "(deleted)" at its end is understood */
    const uint8_t *build_id; /* raw bytes */
    size_t build_id_bytes;   /* 0: not recorded */
    uint32_t pid;            /* whose perf map names the JIT code; 0: look for none */
    const uint64_t *rel_pcs; /* in any order; the same one twice costs nothing */
    size_t rel_pc_count;
};

struct hs_symbol_options {
    const char *const *search_paths; /* folders to look in before /usr/lib/debug */
    size_t search_path_count;
    bool
        is_tables_only; /* functions from symbol tables; no DWARF, so neither lines nor inlined calls */
    bool is_indexing;             /* the folders are searched whole, by build id: folder_index.h */
    const char *perf_map_folder;  /* NULL: /tmp */
    const char *cache_folder;     /* for debug_cache.h; NULL: none */
    unsigned worker_count;        /* 0: as many as there are CPUs, at most 8 */
    unsigned module_timeout_ms;   /* 0: 20 s */
    unsigned total_timeout_ms;    /* 0: 120 s */
    uint64_t worker_memory_bytes; /* 0: 4 GiB; what a worker may allocate, files not counted */
    /* Asked ten times a second. When it returns true, the search ends, and the modules that are left get no names
     * (HS_SYMBOL_REASON_INTERRUPTED). NULL: nothing ends it before its time. */
    bool (*is_hurried)(void);
};

/*
 * Looks up all addresses of all modules. *ret_tables receives `count` tables in the order of the
 * requests, spans in the order of each one's addresses; free with hs_symbol_tables_free().
 * `options` may be NULL.
 */
int hs_symbolizer_run(const struct hs_symbol_options *options,
                      const struct hs_symbol_request *requests, size_t count,
                      struct hs_symbol_table **ret_tables);

/* NULL is fine. */
void hs_symbol_tables_free(struct hs_symbol_table *tables, size_t count);
