/*
 * The options that say when to take dumps before the end: the same for run, attach and start.
 */
#pragma once

#include "collect/dump_schedule.h"
#include "util/opts.h"

/* Entries of a table of struct hs_opt, for a struct hs_dump_schedule. */
#define HS_OPTS_DUMPS(schedule)                                                                    \
    HS_OPT_DURATION(0, "dump-every", "DURATION", &(schedule)->every_ns, HS_DUMP_EVERY_MIN_NS,      \
                    HS_DUMP_EVERY_MAX_NS,                                                          \
                    "also take a snapshot (the live heap at one moment) at this interval, not "    \
                    "only at the end"),                                                            \
        HS_OPT_DURATION(                                                                           \
            0, "dump-phase", "DURATION", &(schedule)->phase_ns, HS_DUMP_EVERY_MIN_NS,              \
            HS_DUMP_EVERY_MAX_NS,                                                                  \
            "with --dump-every: take the first snapshot this long after the recording began"),     \
        HS_OPT_FLAG(0, "dump-at-max", &(schedule)->is_at_peak,                                     \
                    "also take a snapshot when a process's live memory reaches a new peak"),       \
        HS_OPT_SIZE(0, "dump-above", "SIZE", &(schedule)->above_bytes, 1, UINT64_C(1) << 62,       \
                    "also take a snapshot when a process's live memory rises above this size")
