/*
 * What the symbolizer has to find, and where and how it looks for it: see symbolizer.h.
 *
 * Threads   no state.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names of modules that have no path. */
#define HS_SYMBOL_PATH_VDSO "[vdso]"
/* code in memory that is not a file's; its names come from a perf map */
#define HS_SYMBOL_PATH_ANON "[anon]"

struct hs_target_files;

/* Code at an address that was made later does not count, if code was there before. */
struct hs_symbol_pc_time {
    uint64_t pc;
    uint64_t time_ns; /* CLOCK_MONOTONIC */
};

/* Until when code that was made at run time counts, as far as its list states times. */
struct hs_symbol_jit_times {
    uint64_t time_max_ns;                   /* CLOCK_MONOTONIC: for all; 0: all counts */
    const struct hs_symbol_pc_time *of_pcs; /* for single addresses, in their order */
    size_t of_pc_count;
};

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
    /* in so many of them, the first ones, all files are searched by build id: folder_index.h */
    size_t indexed_path_count;
    const char *const *breakpad_paths; /* folders of Breakpad symbol files: breakpad_folder.h */
    size_t breakpad_path_count;
    /* the module's own path and /usr/lib/debug are left out */
    bool is_given_only;
    /* what no file here names is asked of the servers in DEBUGINFOD_URLS: debuginfod.h */
    bool has_debuginfod;
    unsigned server_timeout_ms; /* how long an answer may take to begin; 0: 20 s */
    uint64_t servers_until_ns;  /* CLOCK_MONOTONIC: no server is asked later; 0: no limit */
    /* only functions, from symbol tables; no DWARF, so neither lines nor inlined calls */
    bool is_tables_only;
    const char *perf_map_folder;                /* NULL: /tmp */
    const struct hs_target_files *target_files; /* files that were opened in time; NULL: none */
    struct hs_symbol_jit_times jit_times;
    const char *cache_folder;   /* for debug_cache.h; NULL: none */
    unsigned worker_count;      /* 0: as many as there are CPUs, at most 8 */
    unsigned module_timeout_ms; /* 0: 20 s; with debuginfod 120 s */
    unsigned total_timeout_ms;  /* 0: 120 s; with debuginfod 600 s */
    /* what a worker may allocate, mapped files not counted; 0: 4 GiB */
    uint64_t worker_memory_bytes;
    /*
     * Called ten times a second. When it returns true, the search ends, and the remaining modules
     * get no names (HS_SYMBOL_REASON_INTERRUPTED). NULL: the search is not ended early.
     */
    bool (*is_cancelled)(void);
    /* Called as often: so many of all addresses are looked up. NULL: nobody wants to know. */
    void (*on_progress)(uint64_t done_count, uint64_t all_count);
};
