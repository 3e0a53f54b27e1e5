/*
 * The readings of resident memory in a profile, in order of time: of one process, or added up over
 * several.
 *
 * The ledgers of a process's snapshots are its readings; snapshots that share a ledger are one.
 * Several processes are read one after the other, and one that ends is read when it ends. Readings
 * that follow each other within half of the usual time between two readings of a process therefore
 * count as one moment. A process counts from its first reading to its last snapshot, at each moment
 * with its newest reading.
 *
 * What several processes share counts once: their parts are proportional sums (PSS). The parts of
 * one process are resident sums (RSS).
 *
 * Threads   immutable once built.
 * Fails     -ENOMEM
 * See       ledger_sums.h, rss_trend.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/analyse/ledger_parts.h"
#include "profile/model/margin.h"

struct hs_rss_reading {
    uint64_t time_ns;
    uint32_t process_count;
    uint64_t rss_bytes, pss_bytes, swap_bytes;
    /* RSS of one process, PSS of several: */
    uint64_t unexplained_bytes;
    uint64_t top_bytes; /* free memory at the ends of arenas */
    uint64_t parts_bytes[HS_LEDGER_PARTS];
    uint64_t trim_bytes;
    uint64_t arena_count, thread_count;
    uint64_t live_time_ns; /* of the snapshot, which may be later than the reading */
    struct hs_figure live; /* bytes */
};

struct hs_rss_readings {
    struct hs_rss_reading *items;
    uint32_t count;
    uint64_t until_ns; /* time of the last snapshot */
};

/* The number of readings of a process (index in processes). */
uint32_t hs_rss_readings_count(const struct hs_profile *profile, uint32_t process);

/* The readings of one process. `is_pss`: its parts are proportional sums, as if it were one of
 * several. */
int hs_rss_readings_of(const struct hs_profile *profile, uint32_t process, bool is_pss,
                       struct hs_rss_readings *ret_readings);
/* Adds up the readings of `count` processes, which were made with `is_pss`. */
int hs_rss_readings_sum(const struct hs_rss_readings *of, uint32_t count,
                        struct hs_rss_readings *ret_sum);
/* Frees the array. */
void hs_rss_readings_deinit(struct hs_rss_readings *readings);
