/*
 * The budget options, the same for every command that records.
 *
 *     struct hs_budget_opts budget = { 0 };
 *     const struct hs_opt options[] = { ..., HS_BUDGET_OPTIONS(&budget) };
 *     status = hs_budget_opts_take(&spec, &budget, &limits);
 *
 * heapprofd's options of its ring buffer are understood, and checked as heapprofd checks them, so that a command line
 * written for it works. There is no ring here: a sample is written where it stays, nobody waits for room, and none
 * is dropped for want of it.
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
                  "sample less when recording takes more of a process's CPU time: 1%"),            \
        HS_OPT_SIZE(0, "max-memory", "SIZE", &(b)->memory_bytes, HS_BUDGET_MEMORY_MIN,             \
                    HS_BUDGET_MEMORY_MAX,                                                          \
                    "sample less when what was recorded of a process comes close to this: 64M"),   \
        HS_OPT_NUMBER(0, "max-cpu-secs", "N", &(b)->cpu_secs, 1,                                   \
                      HS_BUDGET_CPU_MAX_NS / UINT64_C(1000000000),                                 \
                      "fewer snapshots when the collector's CPU time comes close to this"),        \
        HS_OPT_SIZE(0, "shmem-size", "SIZE", &(b)->shmem_bytes, 8192, UINT64_C(1) << 40,           \
                    "no effect, as there is no buffer to be sized; see --max-memory"),             \
        HS_OPT_FLAG(0, "block-client", &(b)->is_block,                                             \
                    "no effect: without a buffer nobody ever waits"),                              \
        HS_OPT_FLAG(0, "no-block-client", &(b)->is_no_block,                                       \
                    "no effect: without a buffer none overflows, nor ends the profile")

/* HS_ARGS_GO_ON and the limits, or the exit status after an error was printed. */
int hs_budget_opts_take(const struct hs_opts_spec *spec, const struct hs_budget_opts *opts,
                        struct hs_budget_limits *ret_limits);
