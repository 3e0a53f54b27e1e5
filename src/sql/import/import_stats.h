/*
 * Statistics of a trace: errors and losses that its recorder or its reader noticed.
 *
 * Statistics of the whole trace always have a row, with 0 when there is no problem. Statistics with
 * an index (mostly a pid) have rows only for the indices that were set.
 *
 * Threads   one user.
 */
#pragma once

#include <stdint.h>

#include "util/intern.h"

struct hs_import;

enum hs_stat {
    HS_STAT_BUFFER_CORRUPTED,
    HS_STAT_HIT_GUARDRAIL,
    HS_STAT_BUFFER_OVERRAN,
    HS_STAT_CLIENT_ERROR,
    HS_STAT_CLIENT_DISCONNECTED,
    HS_STAT_MALFORMED_PACKET,
    HS_STAT_MISSING_PACKET,
    HS_STAT_REJECTED_CONCURRENT,
    HS_STAT_NON_FINALIZED,
    HS_STAT_INTERVAL_ADJUSTED,
    HS_STAT_UNWIND_TIME,
    HS_STAT_UNWIND_SAMPLES,
    HS_STAT_SPINLOCK_BLOCKED,
    HS_STAT_LAST_TIMESTAMP,
    HS_STAT_EMPTY_CALLSTACK,
    HS_STAT_INVALID_STRING,
    HS_STAT_INVALID_MAPPING,
    HS_STAT_INVALID_FRAME,
    HS_STAT_INVALID_CALLSTACK,
    HS_STAT_STACK_PARSER,
    HS_STAT_TMP_BUILD_ID,
    HS_STAT_DEOBFUSCATE_LOCATION,
    HS_STAT_SMAPS_PARSER,
    HS_STAT_INTERNED_TOKENIZER,
    HS_STAT_CLOCK_SYNC,
    HS_STAT_CLOCK_SYNC_NO_PATH,
    HS_STAT_INTERNED_SKIPPED,
    HS_STAT_PACKET_SKIPPED,
    HS_STAT_PERF_LOST,
    HS_STAT_PERF_SKIPPED,
    HS_STAT_PERF_SKIPPED_LOSS,
    HS_STATS_N,
};

struct hs_import_stats {
    int64_t values[HS_STATS_N];   /* statistics of the whole trace */
    struct hs_intern indexed_ids; /* (stat, idx) */
    int64_t *indexed;
    size_t indexed_capacity;
};

/* Adds 1 to a statistic of the whole trace. */
void hs_stat_count(struct hs_import *import, enum hs_stat stat);
/* Adds to a statistic at an index; the sum saturates. */
void hs_stat_add_at(struct hs_import *import, enum hs_stat stat, uint64_t idx, int64_t value);
/* Sets a statistic at an index. */
void hs_stat_set_at(struct hs_import *import, enum hs_stat stat, uint64_t idx, int64_t value);
/* Adds the rows of all statistics to the store. */
void hs_import_stats_finish(struct hs_import *import);
/* Frees the values. */
void hs_import_stats_deinit(struct hs_import_stats *stats);
