/*
 * The budget options, the same for every command that records.
 *
 *     struct hs_budget_opts budget = { 0 };
 *     const struct hs_opt options[] = { ..., HS_BUDGET_OPTIONS(&budget) };
 *     status = hs_budget_opts_take(&spec, &budget, &limits);
 *
 * The commands accept heapprofd's options of its ring buffer, and check them as heapprofd does, so
 * that a command line written for heapprofd works. heapscope has no ring buffer: the client writes
 * each sample where it stays, no thread waits for room, and no sample is dropped for want of room.
 *
 * Threads   main thread only.
 */
#pragma once

#include "cli/args.h"
#include "collect/budget.h"

struct hs_budget_opts {
    const char *overhead; /* as written: "1%" */
    uint64_t memory_bytes, cpu_secs;
    uint64_t shmem_bytes; /* 0: not given */
    bool is_block, is_no_block;
};

#define HS_BUDGET_OPTION_COUNT 6
#define HS_BUDGET_OPTIONS(b)                                                                       \
    HS_OPT_STRING(0, "max-overhead", "PERCENT", &(b)->overhead,                                    \
                  "sample less when recording takes more than this share of a process's CPU "      \
                  "time, for example 1%"),                                                         \
        HS_OPT_SIZE(0, "max-memory", "SIZE", &(b)->memory_bytes, HS_BUDGET_MEMORY_MIN,             \
                    HS_BUDGET_MEMORY_MAX,                                                          \
                    "sample less and less as the recorded data of a process approaches this "      \
                    "size (for example 64M), for the first time at half of it"),                   \
        HS_OPT_NUMBER(                                                                             \
            0, "max-cpu-secs", "N", &(b)->cpu_secs, 1,                                             \
            HS_BUDGET_CPU_MAX_NS / UINT64_C(1000000000),                                           \
            "take fewer snapshots when heapscope's own CPU time comes close to this many "         \
            "seconds"),                                                                            \
        HS_OPT_SIZE(                                                                               \
            0, "shmem-size", "SIZE", &(b)->shmem_bytes, 8192, UINT64_C(1) << 40,                   \
            "accepted from heapprofd's command lines, without effect: heapscope has no buffer of " \
            "samples; see --max-memory"),                                                          \
        HS_OPT_FLAG(0, "block-client", &(b)->is_block,                                             \
                    "accepted from heapprofd's command lines, without effect: no program ever "    \
                    "waits for a buffer"),                                                         \
        HS_OPT_FLAG(0, "no-block-client", &(b)->is_no_block,                                       \
                    "accepted from heapprofd's command lines, without effect: there is no buffer " \
                    "that could overflow")

/* HS_ARGS_GO_ON and the limits, or the exit status after an error was printed. */
int hs_budget_opts_take(const struct hs_opts_spec *spec, const struct hs_budget_opts *opts,
                        struct hs_budget_limits *ret_limits);
