/*
 * See import_stats.h.
 */
#include "sql/import/import_stats.h"

#include <errno.h>
#include <stdlib.h>

#include "sql/import/import_state.h"
#include "util/array.h"
#include "util/saturate.h"

static const struct {
    const char *name;
    bool is_indexed;
    const char *severity, *source, *text;
} stats[HS_STATS_N] = {
    [HS_STAT_BUFFER_CORRUPTED] = { "heapprofd_buffer_corrupted", true, "error", "trace",
                                   "The shared memory of the process was damaged; its profile "
                                   "ended early." },
    [HS_STAT_HIT_GUARDRAIL] = { "heapprofd_hit_guardrail", true, "error", "trace",
                                "The recorder used more memory or time than it was allowed, and "
                                "stopped." },
    [HS_STAT_BUFFER_OVERRAN] = { "heapprofd_buffer_overran", true, "data_loss", "trace",
                                 "The shared memory of the process was full; its profile ended "
                                 "early." },
    [HS_STAT_CLIENT_ERROR] = { "heapprofd_client_error", true, "error", "trace",
                               "An error in the process: the value is its code." },
    [HS_STAT_CLIENT_DISCONNECTED] = { "heapprofd_client_disconnected", true, "info", "trace",
                                      "The process left the recorder before the end." },
    [HS_STAT_MALFORMED_PACKET] = { "heapprofd_malformed_packet", true, "error", "trace",
                                   "Totals that fell; the sample was left out." },
    [HS_STAT_MISSING_PACKET] = { "heapprofd_missing_packet", false, "error", "trace",
                                 "Gaps in the numbers of profile packets." },
    [HS_STAT_REJECTED_CONCURRENT] = { "heapprofd_rejected_concurrent", true, "error", "trace",
                                      "Another session was profiling the process already." },
    [HS_STAT_NON_FINALIZED] = { "heapprofd_non_finalized_profile", false, "error", "trace",
                                "The trace ends in the middle of a dump." },
    [HS_STAT_INTERVAL_ADJUSTED] = { "heapprofd_sampling_interval_adjusted", true, "info", "trace",
                                    "Sampling interval at the last dump less the one that was "
                                    "asked for, in bytes." },
    [HS_STAT_UNWIND_TIME] = { "heapprofd_unwind_time_us", true, "info", "trace",
                              "Time the recorder spent on stacks, in microseconds." },
    [HS_STAT_UNWIND_SAMPLES] = { "heapprofd_unwind_samples", true, "info", "trace",
                                 "Samples taken." },
    [HS_STAT_SPINLOCK_BLOCKED] = { "heapprofd_client_spinlock_blocked", true, "info", "trace",
                                   "Time the process waited for a lock, in microseconds." },
    [HS_STAT_LAST_TIMESTAMP] = { "heapprofd_last_profile_timestamp", true, "info", "trace",
                                 "Time of the last profile packet." },
    [HS_STAT_EMPTY_CALLSTACK] = { "stackprofile_empty_callstack", false, "error", "trace",
                                  "Call stacks without a frame; their samples were left out." },
    [HS_STAT_INVALID_STRING] = { "stackprofile_invalid_string_id", false, "error", "trace",
                                 "References to strings that are not there." },
    [HS_STAT_INVALID_MAPPING] = { "stackprofile_invalid_mapping_id", false, "error", "trace",
                                  "References to mappings that are not there." },
    [HS_STAT_INVALID_FRAME] = { "stackprofile_invalid_frame_id", false, "error", "trace",
                                "References to frames that are not there." },
    [HS_STAT_INVALID_CALLSTACK] = { "stackprofile_invalid_callstack_id", false, "error", "trace",
                                    "References to call stacks that are not there." },
    [HS_STAT_STACK_PARSER] = { "stackprofile_parser_error", false, "error", "trace",
                               "Stacks that could not be read." },
    [HS_STAT_TMP_BUILD_ID] = { "symbolization_tmp_build_id_not_found", false, "error", "analysis",
                               "Files in /data/local/tmp without a build id: they cannot be "
                               "symbolized." },
    [HS_STAT_DEOBFUSCATE_LOCATION] = { "deobfuscate_location_parse_error", false, "error", "trace",
                                       "Paths that should name an application and do not." },
    [HS_STAT_SMAPS_PARSER] = { "smaps_parser_errors", false, "error", "trace",
                               "Packed smaps whose columns do not fit together." },
    [HS_STAT_INTERNED_TOKENIZER] = { "interned_data_tokenizer_errors", false, "info", "analysis",
                                     "Interned data that belongs to no packet sequence." },
    [HS_STAT_CLOCK_SYNC] = { "clock_sync_failure", false, "error", "analysis",
                             "Times that could not be converted." },
    [HS_STAT_CLOCK_SYNC_NO_PATH] = { "clock_sync_failure_no_path", false, "error", "analysis",
                                     "Times on clocks of which no snapshot tells." },
    [HS_STAT_INTERNED_SKIPPED] = { "interned_data_skipped_incremental_state_invalid", false, "info",
                                   "analysis",
                                   "Interned data left out, because its sequence has not started "
                                   "or has lost a "
                                   "packet." },
    [HS_STAT_PACKET_SKIPPED] = { "packet_skipped_seq_needs_incremental_state_invalid", false,
                                 "error", "analysis",
                                 "Packets left out, because what they refer to was lost." },
    [HS_STAT_PERF_LOST] = { "perf_cpu_lost_records", true, "data_loss", "trace",
                            "Records of a CPU that the kernel had no room for." },
    [HS_STAT_PERF_SKIPPED] = { "perf_samples_skipped", false, "info", "trace",
                               "Samples of the CPU without a stack, which could not be read or "
                               "unwound." },
    [HS_STAT_PERF_SKIPPED_LOSS] = { "perf_samples_skipped_dataloss", false, "data_loss", "trace",
                                    "Samples of the CPU without a stack, for want of room in the "
                                    "recorder." },
};

void hs_stat_count(struct hs_import *import, enum hs_stat stat)
{
    import->stats.values[stat]++;
}

static int64_t *value_at(struct hs_import *import, enum hs_stat stat, uint64_t idx)
{
    struct hs_import_stats *all = &import->stats;
    uint32_t id = 0;
    bool is_new = false;
    if (import->store->err != 0) {
        return NULL;
    }
    int err = hs_array_reserve(&all->indexed, &all->indexed_capacity,
                               (size_t)all->indexed_ids.count + 1, sizeof(all->indexed[0]));
    if (err == 0) {
        err = hs_intern_put(&all->indexed_ids, (struct hs_intern_key){ .hi = stat, .lo = idx }, &id,
                            &is_new);
    }
    if (err < 0) {
        import->store->err = err;
        return NULL;
    }
    if (is_new) {
        all->indexed[id] = 0;
    }
    return &all->indexed[id];
}

void hs_stat_add_at(struct hs_import *import, enum hs_stat stat, uint64_t idx, int64_t value)
{
    int64_t *at = value_at(import, stat, idx);
    if (at) {
        *at = hs_saturate_add(*at, value);
    }
}

void hs_stat_set_at(struct hs_import *import, enum hs_stat stat, uint64_t idx, int64_t value)
{
    int64_t *at = value_at(import, stat, idx);
    if (at) {
        *at = value;
    }
}

static void add_row(struct hs_import *import, enum hs_stat stat, int64_t idx, int64_t value)
{
    struct hs_sql_store *store = import->store;
    HS_SQL_ADD(store, HS_SQL_STATS, hs_sql_store_str(store, stats[stat].name), HS_ROWS_NULL, idx,
               hs_sql_store_str(store, stats[stat].severity),
               hs_sql_store_str(store, stats[stat].source), value,
               hs_sql_store_str(store, stats[stat].text), HS_ROWS_NULL, HS_ROWS_NULL);
}

struct indexed {
    struct hs_intern_key key; /* hi: the statistic; lo: its index */
    int64_t value;
};

static int compare_keys(const void *a_, const void *b_)
{
    const struct hs_intern_key *a = &((const struct indexed *)a_)->key;
    const struct hs_intern_key *b = &((const struct indexed *)b_)->key;
    return a->hi != b->hi ? (a->hi < b->hi ? -1 : 1) : (a->lo > b->lo) - (a->lo < b->lo);
}

/* The rows of one statistic are sorted by index. */
void hs_import_stats_finish(struct hs_import *import)
{
    const struct hs_import_stats *all = &import->stats;
    uint32_t count = all->indexed_ids.count, at = 0;
    struct indexed *sorted = malloc((count + (size_t)1) * sizeof(*sorted));
    if (!sorted) {
        import->store->err = import->store->err ? import->store->err : -ENOMEM;
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        sorted[i] = (struct indexed){ .key = all->indexed_ids.keys[i], .value = all->indexed[i] };
    }
    qsort(sorted, count, sizeof(*sorted), compare_keys);
    for (int i = 0; i < HS_STATS_N; i++) {
        if (!stats[i].is_indexed) {
            add_row(import, (enum hs_stat)i, HS_ROWS_NULL, all->values[i]);
        }
        for (; at < count && sorted[at].key.hi == (uint64_t)i; at++) {
            add_row(import, (enum hs_stat)i, (int64_t)sorted[at].key.lo, sorted[at].value);
        }
    }
    free(sorted);
}

void hs_import_stats_deinit(struct hs_import_stats *all)
{
    hs_intern_deinit(&all->indexed_ids);
    free(all->indexed);
}
