/*
 * The options that say which heaps are recorded, at which intervals, and whether lifetimes are: the
 * same for run, attach and start.
 *
 *     struct hs_heap_opts heaps = { 0 };
 *     const struct hs_opt options[] = { ..., HS_HEAP_OPTIONS(&heaps) };
 *     status = hs_heap_opts_take(&spec, &heaps, &settings.heaps, &settings.interval_bytes);
 *
 * Threads   main thread only.
 */
#pragma once

#include "cli/args.h"
#include "collect/region/heap_selection.h"

/* As written, with all occurrences of an option. */
struct hs_heap_opts {
    struct hs_opt_list heaps, excluded;
    bool is_all;
    bool has_lifetimes;
    bool is_native_only;
};

#define HS_HEAP_OPTION_COUNT 5
#define HS_HEAP_OPTIONS(o)                                                                         \
    HS_OPT_LIST(0, "heaps", "LIST", &(o)->heaps,                                                   \
                "record only these heaps: names or globs, separated by commas; malloc's is "       \
                "libc.malloc. NAME=BYTES gives a heap its own interval (default: all heaps)"),     \
        HS_OPT_FLAG(0, "all-heaps", &(o)->is_all, "with --heaps: record all other heaps, too"),    \
        HS_OPT_LIST(0, "exclude-heaps", "LIST", &(o)->excluded,                                    \
                    "do not record these heaps: names or globs, separated by commas"),             \
        HS_OPT_FLAG(0, "lifetimes", &(o)->has_lifetimes,                                           \
                    "also record how long freed blocks lived, and which were temporary, for "      \
                    "'report --lifetimes'"),                                                       \
        HS_OPT_FLAG(0, "native-only", &(o)->is_native_only,                                        \
                    "show native code only: no functions of Python, Java, JavaScript, Perl, "      \
                    "PHP or Ruby")

/* Settles the selection: *interval_bytes is that of -i, or 0 for the default, and becomes malloc's.
 * HS_ARGS_GO_ON, or the exit status after an error was printed. */
int hs_heap_opts_take(const struct hs_opts_spec *spec, const struct hs_heap_opts *opts,
                      struct hs_heap_selection *ret_selection, uint64_t *interval_bytes);
/* Frees the lists. */
void hs_heap_opts_deinit(struct hs_heap_opts *opts);
