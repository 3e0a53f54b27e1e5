/*
 * What a trace holds besides heaps: how often, and how much of it.
 *
 * Zero-initialised is nothing at all.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HS_SOURCES_POLL_MS_MIN 100U
#define HS_SOURCES_POLL_MS_MAX (24U * 3600U * 1000U)

struct hs_sources_settings {
    /* Of each process that is recorded: */
    uint32_t poll_ms;       /* how often its counters are read; 0: they are not */
    bool is_thinning;       /* and written ever more rarely, so that a file of weeks stays small */
    bool with_smaps_rollup; /* with PSS each time, */
    bool with_rollup_at_dumps; /* or at dumps only */
    bool with_thread_names;
    bool with_smaps_at_dumps;  /* all mappings, added up by name */
    bool with_process_age;     /* when it started */
    bool with_process_runtime; /* its CPU time */
    bool scan_all_on_start;    /* what else runs, by name */
    /* Of the machine: */
    uint32_t meminfo_ms;   /* 0: not */
    uint64_t meminfo_mask; /* bits: numbers of Perfetto's MeminfoCounters; 0: all of them */
    uint32_t psi_ms;       /* pressure; 0: not */
};

/* Cheap enough for always; docs/PERFORMANCE.md has the figures. */
static inline struct hs_sources_settings hs_sources_default(void)
{
    return (struct hs_sources_settings){
        .poll_ms = 1000,
        .is_thinning = true,
        .with_rollup_at_dumps = true,
        .with_thread_names = true,
        .with_process_age = true,
        .with_process_runtime = true,
    };
}

static inline bool hs_sources_ask_processes(const struct hs_sources_settings *settings)
{
    return settings->poll_ms > 0 || settings->with_smaps_at_dumps;
}
