/*
 * The options of a session that run, attach and start have in common. Each is an entry, or several
 * entries, of a table of struct hs_opt.
 */
#pragma once

#include "collect/budget.h"
#include "collect/dump_schedule.h"
#include "util/opts.h"

/* For a uint64_t; 0: not given (hs_heap_opts_take). */
#define HS_OPT_INTERVAL(ret_interval_bytes)                                                        \
    HS_OPT_SIZE('i', "interval", "BYTES", (ret_interval_bytes), 1, HS_INTERVAL_BYTES_MAX,          \
                "mean number of allocated bytes per sample (default 4096, and 32768 for Python's " \
                "objects; 1 records every allocation)")

/* For a bool. */
#define HS_OPT_NO_SYMBOLIZE(ret_is_symbolizing)                                                    \
    HS_OPT_FLAG_OFF(0, "no-symbolize", (ret_is_symbolizing), "leave function names out of the file")

/* For a bool. */
#define HS_OPT_BLOCKS(ret_with_blocks)                                                             \
    HS_OPT_FLAG(0, "blocks", (ret_with_blocks),                                                    \
                "snapshots also list each recorded live block: address, size, stack, thread, "     \
                "birth and type, for queries in SQL and for pprof")

/* For a bool. */
#define HS_OPT_NO_COMPRESS(ret_is_compressing)                                                     \
    HS_OPT_FLAG_OFF(0, "no-compress", (ret_is_compressing), "do not compress the file's packets")

/* For a struct hs_dump_schedule: when to take snapshots before the end. */
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
                    "also take a snapshot when a process's live memory reaches a new peak, a "     \
                    "sixteenth above the last one recorded; at most once a second"),               \
        HS_OPT_SIZE(0, "dump-above", "SIZE", &(schedule)->above_bytes, 1, UINT64_C(1) << 62,       \
                    "also take a snapshot when a process's live memory rises above this size")
