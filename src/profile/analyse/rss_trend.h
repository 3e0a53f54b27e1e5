/*
 * How the resident memory of one or several processes grows over all snapshots: a straight line
 * through the readings of it (rss_readings.h), in all and in parts, beside the line through the
 * live blocks of the profile.
 *
 * The slopes and their margins are those of trend.h. A reading has no sampling error, so its margin
 * is that of the distances of the readings from the line alone, which are taken for independent.
 *
 * Threads   immutable once built.
 * Fails     -ENODATA with fewer than three readings at different times; -ENOMEM
 * See       trend_line.h, rss_verdict.h
 */
#pragma once

#include <stdint.h>

#include "profile/analyse/ledger_parts.h"
#include "profile/analyse/rss_readings.h"
#include "profile/analyse/rss_verdict.h"
#include "profile/analyse/trend_line.h"

/* One of several processes. */
struct hs_rss_process {
    uint32_t process; /* index in processes */
    uint32_t reading_count;
    struct hs_trend_line pss; /* per second; 0 with fewer than HS_TREND_DUMPS_MIN readings */
};

struct hs_rss_trend {
    struct hs_rss_process *processes; /* of one alone, only the index is known */
    uint32_t process_count;
    double seconds; /* from the first reading to the last */
    struct hs_rss_readings readings;
    struct hs_trend_line rss, pss, swap, unexplained, top, live; /* per second */
    struct hs_trend_line parts[HS_LEDGER_PARTS];
};

/* Computes the trends of `count` processes (indices in processes), added up. */
int hs_rss_trend_build(const struct hs_profile *profile, const uint32_t *processes, uint32_t count,
                       struct hs_rss_trend *ret_trend);
/* Frees the readings and the processes. */
void hs_rss_trend_deinit(struct hs_rss_trend *trend);

/* The line that the parts add up to: RSS of one process, PSS of several. */
const struct hs_trend_line *hs_rss_trend_measure(const struct hs_rss_trend *trend);

/*
 * What grows or shrinks by more than its margin, in bytes by the unit of time that rate_unit.h has
 * for `seconds`; all else is 0.
 */
struct hs_rss_growth hs_rss_trend_growth(const struct hs_rss_trend *trend);
/*
 * Writes the verdict as sentences, with the advice: "Resident memory grew by 1.20 MiB a second:
 * memory that malloc keeps free +1.10 MiB. The blocks that the program holds did not grow. ..."
 */
void hs_rss_trend_write_verdict(const struct hs_rss_trend *trend, struct hs_buf *buf);
