/*
 * The symbolizer finds functions, files and lines for addresses in modules.
 *
 * One call handles all modules of a profile, because the work is distributed over worker processes,
 * one module at a time. Workers are processes, not threads, because the files are as untrusted as
 * the target, and neither libelf nor libdw nor a demangler promises to survive every file. A worker
 * that crashes, needs too much memory or does not end is killed and costs the names of one module;
 * the profile is still written. What a worker sends back is checked like any other foreign data.
 *
 * Build ids decide: a file is used when its build id is the recorded one. When none was recorded,
 * the file at the path is used as it is. debug_files.h says where files are looked for.
 *
 * Requires  addresses are link-time addresses (run-time address minus load bias), and for frames
 *           that are not the innermost they already point into the call. For JIT code they are
 *           run-time addresses.
 * Threads   the caller's; the call blocks until all is done or the time is over. Uses fork().
 * Fails     -ENOMEM and errors of fork or pipe; a problem with a module is reported in its table.
 * See       docs/SYMBOLS.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol_table.h"

/* Names of modules that have no path. */
#define HS_SYMBOL_PATH_VDSO "[vdso]"
/* code in memory that is not a file's; its names come from a perf map */
#define HS_SYMBOL_PATH_ANON "[anon]"

struct hs_symbol_request {
    const char *path;        /* as it was mapped; a "(deleted)" at its end is understood */
    const uint8_t *build_id; /* raw bytes */
    size_t build_id_bytes;   /* 0: not recorded */
    uint32_t pid;            /* the process whose perf map names JIT code; 0: use none */
    const uint64_t *rel_pcs; /* in any order; repeated addresses cost nothing */
    size_t rel_pc_count;
};

struct hs_symbol_options {
    const char *const *search_paths; /* folders to look in before /usr/lib/debug */
    size_t search_path_count;
    /* only functions, from symbol tables; no DWARF, so neither lines nor inlined calls */
    bool is_tables_only;
    /* all files in the folders are searched by build id: folder_index.h */
    bool is_indexing;
    const char *perf_map_folder; /* NULL: /tmp */
    const char *cache_folder;    /* for debug_cache.h; NULL: none */
    unsigned worker_count;       /* 0: as many as there are CPUs, at most 8 */
    unsigned module_timeout_ms;  /* 0: 20 s */
    unsigned total_timeout_ms;   /* 0: 120 s */
    /* what a worker may allocate, mapped files not counted; 0: 4 GiB */
    uint64_t worker_memory_bytes;
    /*
     * Called ten times a second. When it returns true, the search ends, and the remaining modules
     * get no names (HS_SYMBOL_REASON_INTERRUPTED). NULL: the search is not ended early.
     */
    bool (*is_hurried)(void);
};

/*
 * Looks up all addresses of all modules. *ret_tables receives `count` tables in the order of the
 * requests, with spans in the order of each request's addresses; hs_symbol_tables_free() frees
 * them. `options` may be NULL.
 */
int hs_symbolizer_run(const struct hs_symbol_options *options,
                      const struct hs_symbol_request *requests, size_t count,
                      struct hs_symbol_table **ret_tables);

/* Frees tables of hs_symbolizer_run(). NULL is fine. */
void hs_symbol_tables_free(struct hs_symbol_table *tables, size_t count);
