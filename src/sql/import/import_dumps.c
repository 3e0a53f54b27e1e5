/*
 * ProfilePackets: what was allocated and freed between one dump of a heap and the next.
 *
 * Totals in the packets are cumulative. Rows are the differences, one for allocations and one for
 * frees. A dump is a chain of packets, and is complete only with its last packet. When a call site
 * gets a new number, its counts start again at 0; then the totals it had before are added.
 *
 * Totals are kept by (process, heap, call site). trace_processor leaves out the heap, so that its
 * results are wrong when two heaps share a call site; see docs/SQL.md.
 *
 * See       import_state.h
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sql/import/import_state.h"
#include "util/array.h"
#include "util/saturate.h"

#define CLIENT_ERROR_TIMEOUT 1U

typedef Hs__Pb__ProfilePacket__ProcessHeapSamples pb_heap;

struct held {
    uint64_t callstack_iid;
    struct hs_import_totals totals;
};

struct hs_import_part {
    uint64_t pid, end_value, start_value;
    int64_t heap;
    uint64_t interval_bytes, orig_interval_bytes;
    uint64_t unwind_us, unwind_samples, blocked_us;
    uint32_t client_error;
    bool has_stats, is_disconnected, is_corrupted, is_overrun, is_rejected, is_guarded;
    int64_t packet_ns;
    struct held *samples;
    size_t sample_n;
};

/* The numbers are cumulative; the flags stay set once they are set. */
struct hs_import_heapprofd_stats {
    uint64_t unwind_us, unwind_samples, blocked_us;
    bool is_disconnected, is_corrupted, is_overrun, is_rejected, is_guarded;
};

static void forget_parts(struct hs_import_sequence *sequence, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        free(sequence->parts[i].samples);
    }
    sequence->part_count -= count;
    if (sequence->part_count > 0) {
        memmove(sequence->parts, sequence->parts + count,
                sequence->part_count * sizeof(sequence->parts[0]));
    }
    sequence->complete_count = 0;
}

void hs_import_dumps_clear(struct hs_import_sequence *sequence)
{
    forget_parts(sequence, sequence->part_count);
    free(sequence->parts);
    sequence->parts = NULL;
    sequence->part_capacity = 0;
    hs_intern_deinit(&sequence->total_ids.ids);
    hs_intern_deinit(&sequence->before_ids.ids);
    hs_intern_deinit(&sequence->heapprofd_stats_ids.ids);
    free(sequence->totals);
    free(sequence->before);
    free(sequence->heapprofd_stats);
    sequence->totals = sequence->before = NULL;
    sequence->heapprofd_stats = NULL;
    sequence->total_ids = sequence->before_ids = sequence->heapprofd_stats_ids =
        (struct hs_intern_array){ 0 };
    sequence->has_packet_idx = false;
}

/* --- what a dump contains beside its samples --- */

static void note_once(struct hs_import *import, enum hs_stat stat, uint64_t pid, bool *was, bool is)
{
    if (is && !*was) {
        *was = true;
        hs_stat_add_at(import, stat, pid, 1);
    }
}

static void note_growth(struct hs_import *import, enum hs_stat stat, uint64_t pid, uint64_t *was,
                        uint64_t is)
{
    hs_stat_add_at(import, stat, pid, hs_saturate_signed(is >= *was ? is - *was : is));
    *was = is;
}

static void note_head(struct hs_import *import, struct hs_import_sequence *sequence,
                      const struct hs_import_part *part)
{
    bool is_new;
    uint64_t pid = part->pid;
    struct hs_import_heapprofd_stats *stats =
        hs_import_at(import, &sequence->heapprofd_stats_ids, &sequence->heapprofd_stats,
                     sizeof(*stats), HS_IMPORT_KEY(pid), &is_new);
    if (!stats) {
        return;
    }
    note_once(import, HS_STAT_BUFFER_CORRUPTED, pid, &stats->is_corrupted, part->is_corrupted);
    note_once(import, HS_STAT_BUFFER_OVERRAN, pid, &stats->is_overrun, part->is_overrun);
    note_once(import, HS_STAT_REJECTED_CONCURRENT, pid, &stats->is_rejected, part->is_rejected);
    note_once(import, HS_STAT_HIT_GUARDRAIL, pid, &stats->is_guarded, part->is_guarded);
    note_once(import, HS_STAT_CLIENT_DISCONNECTED, pid, &stats->is_disconnected,
              part->is_disconnected);
    if (part->client_error != 0) {
        hs_stat_set_at(import, HS_STAT_CLIENT_ERROR, pid, part->client_error);
    }
    if (part->orig_interval_bytes != 0) {
        hs_stat_set_at(import, HS_STAT_INTERVAL_ADJUSTED, pid,
                       hs_saturate_subtract(hs_saturate_signed(part->interval_bytes),
                                            hs_saturate_signed(part->orig_interval_bytes)));
    }
    if (part->has_stats) {
        note_growth(import, HS_STAT_UNWIND_TIME, pid, &stats->unwind_us, part->unwind_us);
        note_growth(import, HS_STAT_UNWIND_SAMPLES, pid, &stats->unwind_samples,
                    part->unwind_samples);
        note_growth(import, HS_STAT_SPINLOCK_BLOCKED, pid, &stats->blocked_us, part->blocked_us);
    }
    hs_stat_set_at(import, HS_STAT_LAST_TIMESTAMP, pid, part->packet_ns);
}

static void add_dump(struct hs_import *import, uint32_t upid, const struct hs_import_part *part,
                     int64_t start_ns, int64_t end_ns)
{
    uint32_t id;
    bool is_new = false;
    struct hs_intern_key key = hs_intern_mix(HS_IMPORT_KEY(upid), (uint64_t)end_ns);
    if (import->store->err == 0) {
        import->store->err = hs_intern_put(&import->dump_ids,
                                           hs_intern_mix(key, (uint64_t)part->heap), &id, &is_new);
    }
    if (is_new) {
        HS_SQL_ADD(import->store, HS_SQL_HEAP_PROFILE, start_ns, end_ns,
                   hs_saturate_subtract(end_ns, start_ns), upid, part->heap);
    }
}

/* --- samples --- */

static bool has_fallen(const struct hs_import_totals *was, const struct hs_import_totals *now)
{
    return now->alloc_bytes < was->alloc_bytes || now->alloc_count < was->alloc_count ||
           now->freed_bytes < was->freed_bytes || now->freed_count < was->freed_count;
}

struct place {
    uint32_t upid;
    int64_t ts_ns, heap;
    bool has_frees; /* false: the runtime of com.android.art does not report frees */
};

static void add_rows(struct hs_import *import, const struct place *place, uint32_t site,
                     const struct hs_import_totals *was, const struct hs_import_totals *now)
{
    uint64_t bytes = now->alloc_bytes - was->alloc_bytes,
             count = now->alloc_count - was->alloc_count;
    if (bytes != 0 || count != 0) {
        HS_SQL_ADD(import->store, HS_SQL_ALLOCATION, place->ts_ns, place->upid, place->heap, site,
                   hs_saturate_signed(count), hs_saturate_signed(bytes));
    }
    bytes = now->freed_bytes - was->freed_bytes;
    count = now->freed_count - was->freed_count;
    if (place->has_frees && (bytes != 0 || count != 0)) {
        HS_SQL_ADD(import->store, HS_SQL_ALLOCATION, place->ts_ns, place->upid, place->heap, site,
                   -hs_saturate_signed(count), -hs_saturate_signed(bytes));
    }
}

static void add_sample(struct hs_import *import, struct hs_import_sequence *sequence,
                       const struct place *place, const struct held *sample)
{
    bool is_new, is_new_source;
    const struct hs_interned_callstack *legacy =
        hs_interned_find_callstack(&sequence->legacy, HS_INTERNED_STRICT, sample->callstack_iid);
    uint32_t site = legacy ? legacy->made
                           : hs_import_site(import, sequence, place->upid, sample->callstack_iid);
    if (site == HS_IMPORT_NONE) {
        return;
    }
    struct hs_intern_key key = hs_intern_mix(
        (struct hs_intern_key){ .hi = place->upid, .lo = site }, (uint64_t)place->heap);
    struct hs_import_totals *was =
        hs_import_at(import, &sequence->total_ids, &sequence->totals, sizeof(*was), key, &is_new);
    key = hs_intern_mix(key, sample->callstack_iid);
    struct hs_import_totals *before = hs_import_at(import, &sequence->before_ids, &sequence->before,
                                                   sizeof(*before), key, &is_new_source);
    if (!was || !before) {
        return;
    }
    if (is_new_source) {
        *before = *was;
    }
    const struct hs_import_totals now = {
        .alloc_bytes = hs_saturate_add_unsigned(before->alloc_bytes, sample->totals.alloc_bytes),
        .alloc_count = hs_saturate_add_unsigned(before->alloc_count, sample->totals.alloc_count),
        .freed_bytes = hs_saturate_add_unsigned(before->freed_bytes, sample->totals.freed_bytes),
        .freed_count = hs_saturate_add_unsigned(before->freed_count, sample->totals.freed_count),
    };
    if (has_fallen(was, &now)) {
        hs_stat_add_at(import, HS_STAT_MALFORMED_PACKET, place->upid, 1);
        import->report.falling_sample_count++;
        return;
    }
    add_rows(import, place, site, was, &now);
    *was = now;
}

/* Is the heap one of those that get rows? */
static bool is_wanted(struct hs_import *import, int64_t heap)
{
    size_t bytes;
    if (!import->heaps || import->heaps->count == 0) {
        return true;
    }
    int r = hs_heap_patterns_match(import->heaps, hs_sql_store_text(import->store, heap, &bytes));
    import->store->err = r < 0 && import->store->err == 0 ? r : import->store->err;
    return r > 0;
}

static void add_part(struct hs_import *import, struct hs_import_sequence *sequence,
                     const struct hs_import_part *part)
{
    int64_t end_ns, start_ns;
    size_t bytes;
    if (!hs_clocks_convert(import->clocks, 0, HS_CLOCK_MONOTONIC_COARSE, part->end_value,
                           &end_ns)) {
        hs_stat_count(import, HS_STAT_CLOCK_SYNC);
        hs_stat_count(import, HS_STAT_CLOCK_SYNC_NO_PATH);
        return;
    }
    start_ns = end_ns;
    if (part->start_value != 0) {
        hs_clocks_convert(import->clocks, 0, HS_CLOCK_MONOTONIC_COARSE, part->start_value,
                          &start_ns);
    }
    uint32_t upid = hs_import_upid(import, (uint32_t)part->pid);
    note_head(import, sequence, part);
    if (!is_wanted(import, part->heap)) {
        return; /* what was noted is of the whole process */
    }
    add_dump(import, upid, part, start_ns, end_ns);
    struct place place = { .upid = upid, .ts_ns = end_ns, .heap = part->heap };
    place.has_frees =
        strcmp(hs_sql_store_text(import->store, place.heap, &bytes), "com.android.art") != 0;
    for (size_t i = 0; i < part->sample_n && import->store->err == 0; i++) {
        add_sample(import, sequence, &place, &part->samples[i]);
    }
}

static void add_complete(struct hs_import *import, struct hs_import_sequence *sequence)
{
    uint32_t count = sequence->complete_count;
    for (uint32_t i = 0; i < count && import->store->err == 0; i++) {
        add_part(import, sequence, &sequence->parts[i]);
    }
    forget_parts(sequence, count);
}

/* --- packets --- */

static struct held *hold_samples(const pb_heap *from)
{
    struct held *samples = calloc(from->n_samples + 1, sizeof(*samples));
    for (size_t i = 0; samples && i < from->n_samples; i++) {
        const Hs__Pb__ProfilePacket__HeapSample *sample = from->samples[i];
        samples[i].callstack_iid = sample->callstack_id;
        if (sample->has_self_max) {
            /* The state at the moment of the maximum. A recorder that writes no interval did not
             * count the blocks. */
            samples[i].totals.alloc_bytes = sample->self_max;
            samples[i].totals.alloc_count =
                from->orig_sampling_interval_bytes > 0 ? sample->self_max_count : 0;
        } else {
            samples[i].totals =
                (struct hs_import_totals){ sample->self_allocated, sample->alloc_count,
                                           sample->self_freed, sample->free_count };
        }
    }
    return samples;
}

static int hold_part(struct hs_import *import, struct hs_import_sequence *sequence,
                     const pb_heap *from)
{
    static const Hs__Pb__ProfilePacket__ProcessStats no_stats;
    const Hs__Pb__ProfilePacket__ProcessStats *stats = from->stats ? from->stats : &no_stats;
    int err = hs_array_reserve(&sequence->parts, &sequence->part_capacity,
                               (size_t)sequence->part_count + 1, sizeof(sequence->parts[0]));
    bool is_named = from->heap_name && from->heap_name[0] != '\0';
    struct held *samples = err == 0 ? hold_samples(from) : NULL;
    if (!samples) {
        return err ? err : -ENOMEM;
    }
    sequence->parts[sequence->part_count++] = (struct hs_import_part){
        .pid = from->pid,
        .end_value = from->timestamp,
        .start_value = from->start_timestamp,
        .heap = hs_sql_store_str(import->store, is_named ? from->heap_name : "unknown"),
        .interval_bytes = from->sampling_interval_bytes,
        .orig_interval_bytes = from->orig_sampling_interval_bytes,
        .unwind_us = stats->total_unwinding_time_us,
        .unwind_samples = stats->heap_samples,
        .blocked_us = stats->client_spinlock_blocked_us,
        .client_error = from->client_error,
        .has_stats = from->stats != NULL,
        .is_disconnected = from->disconnected,
        .is_corrupted = from->buffer_corrupted,
        .is_overrun = from->buffer_overran || from->client_error == CLIENT_ERROR_TIMEOUT,
        .is_rejected = from->rejected_concurrent,
        .is_guarded = from->hit_guardrail,
        .packet_ns = import->now_ns,
        .samples = samples,
        .sample_n = from->n_samples,
    };
    return 0;
}

void hs_import_profile_packet(struct hs_import *import, struct hs_import_sequence *sequence,
                              const Hs__Pb__ProfilePacket *packet)
{
    uint64_t expected = sequence->has_packet_idx ? sequence->packet_idx + 1 : 0;
    if (packet->index != expected) {
        hs_stat_count(import, HS_STAT_MISSING_PACKET);
        import->report.missing_packet_count++;
    }
    sequence->has_packet_idx = true;
    sequence->packet_idx = packet->index;
    hs_import_legacy_add(import, &sequence->legacy, packet);
    for (size_t i = 0; i < packet->n_process_dumps && import->store->err == 0; i++) {
        import->store->err = hold_part(import, sequence, packet->process_dumps[i]);
    }
    if (packet->continued) {
        return;
    }
    int64_t ns;
    bool has_legacy = hs_interned_count(&sequence->legacy, HS_INTERNED_CALLSTACK) > 0;
    sequence->complete_count = sequence->part_count;
    /* A snapshot of the clocks may still follow. */
    if (has_legacy || hs_clocks_convert(import->clocks, 0, HS_CLOCK_MONOTONIC_COARSE, 0, &ns)) {
        add_complete(import, sequence);
        hs_interned_deinit(&sequence->legacy);
    }
}

void hs_import_dumps_finish(struct hs_import *import, struct hs_import_sequence *sequence)
{
    add_complete(import, sequence);
    if (sequence->part_count > 0) {
        hs_stat_count(import, HS_STAT_NON_FINALIZED);
        import->report.incomplete_dump_count++;
    }
}
