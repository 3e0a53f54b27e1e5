/*
 * How the resident memory of a process grows over all snapshots: a straight line through the
 * readings of it, in all and in parts, beside the line through the live blocks of the profile.
 *
 * The ledgers of the snapshots are the readings; snapshots that share a ledger are one reading. The
 * slopes and their margins are those of trend.h. A reading has no sampling error, so its margin is
 * that of the distances of the readings from the line alone, which are taken for independent.
 *
 * Threads   immutable once built.
 * Fails     -ENODATA with fewer than three readings at different times; -ENOMEM
 * See       trend_line.h, rss_verdict.h
 */
#pragma once

#include <stdint.h>

#include "profile/analyse/ledger_parts.h"
#include "profile/analyse/rss_verdict.h"
#include "profile/analyse/trend_line.h"

struct hs_rss_reading {
    uint64_t time_ns;
    uint64_t rss_bytes, swap_bytes, unexplained_bytes;
    uint64_t top_bytes; /* free memory at the ends of arenas */
    uint64_t trim_bytes;
    uint64_t parts_bytes[HS_LEDGER_PARTS];
    uint64_t arena_count, thread_count;
    uint64_t live_time_ns; /* of the snapshot, which may be later than the reading */
    struct hs_figure live; /* bytes */
};

struct hs_rss_trend {
    uint32_t process;
    double seconds; /* from the first reading to the last */
    struct hs_rss_reading *readings;
    uint32_t reading_count;
    struct hs_trend_line rss, swap, unexplained, top, live; /* per second */
    struct hs_trend_line parts[HS_LEDGER_PARTS];
};

/* Computes the trends of one process (index in processes). */
int hs_rss_trend_build(const struct hs_profile *profile, uint32_t process,
                       struct hs_rss_trend *ret_trend);
/* Frees the readings. */
void hs_rss_trend_deinit(struct hs_rss_trend *trend);

/* The number of readings of a process. */
uint32_t hs_rss_trend_reading_count(const struct hs_profile *profile, uint32_t process);

/* What grows or shrinks by more than its margin, in bytes a minute; all else is 0. */
struct hs_rss_growth hs_rss_trend_growth(const struct hs_rss_trend *trend);
/*
 * Writes the verdict as sentences: "Resident memory grew by 1.20 MiB a minute: memory that malloc
 * keeps free +1.10 MiB. The blocks that the program holds did not grow. ..."
 */
void hs_rss_trend_write_verdict(const struct hs_rss_trend *trend, struct hs_buf *buf);
