/*
 * Which data a trace holds besides heaps, and how often they are read.
 *
 * A zero-initialized struct asks for nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HS_SOURCES_POLL_MS_MIN 100U
#define HS_SOURCES_POLL_MS_MAX (24U * 3600U * 1000U)

struct hs_sources_settings {
    /* For each recorded process: */
    uint32_t poll_ms;          /* period in which its counters are read; 0: never */
    bool is_thinning;          /* write more and more rarely, so that a file of weeks stays small */
    bool with_smaps_rollup;    /* read PSS each time, */
    bool with_rollup_at_dumps; /* or only at dumps */
    bool with_thread_names;
    bool with_smaps_at_dumps;  /* all mappings, summed by name */
    bool with_process_age;     /* when the process started */
    bool with_process_runtime; /* CPU time of the process */
    bool scan_all_on_start;    /* names of all processes at the start */
    bool is_without_types;     /* the types of blocks are not read in the memory of processes */
    /* For the machine: */
    uint32_t meminfo_ms;   /* 0: never */
    uint64_t meminfo_mask; /* bit n: number n of Perfetto's MeminfoCounters; 0: all of them */
    uint32_t psi_ms;       /* pressure; 0: never */
};

/* The default: cheap enough for every recording; docs/PERFORMANCE.md has the figures. */
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

/* Do the settings ask for any data about processes? */
static inline bool hs_sources_ask_processes(const struct hs_sources_settings *settings)
{
    return settings->poll_ms > 0 || settings->with_smaps_at_dumps;
}
