/*
 * The pass over the records: see record_scan.h.
 */
#include "collect/region/record_scan.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "collect/region/cut.h"
#include "rt/atomic.h"
#include "rt/base.h"
#include "rt/check.h"
#include "trace/block_weight.h"

#define HS_WEIGHT_CACHE   4096U /* entries; a power of two */
#define HS_PREFETCH_AHEAD 8     /* records */
#define HS_RECORD_TRIES   8     /* how often to try a record that is rewritten meanwhile */

struct weight {
    uint64_t key;     /* size and interval index, plus 1; 0: empty */
    double count;     /* 1/p */
    double count_var; /* (1-p)/p^2 */
};

struct record_view {
    uint64_t size_bytes;
    uint64_t word;
    uint32_t thread_id;
    uint32_t stack_id;
    uint32_t birth_ms;
    uint64_t idx;
    uint64_t va; /* if types or blocks are asked for; of a tombstone it is not one */
    uint64_t block_hash;
};

/* An estimate's four figures, added by one instruction: most of the scan's time goes into this. */
typedef double quad __attribute__((vector_size(32)));

_Static_assert(sizeof(quad) == sizeof(struct hs_estimate) &&
                   offsetof(struct hs_estimate, count) == 8 &&
                   offsetof(struct hs_estimate, bytes_var) == 16,
               "in the order that estimate() fills in");

static inline void add(struct hs_estimate *sum, const quad *more)
{
    quad total;
    memcpy(&total, sum, sizeof(total));
    total += *more;
    memcpy(sum, &total, sizeof(total));
}

/* Copies a record if it does not change meanwhile. False: there is none, or it keeps changing (then
 * its operation is in progress, and counts as not yet begun). */
static bool view_record(const struct hs_record_v1 *record, bool has_va,
                        struct record_view *ret_view)
{
    for (unsigned i = 0; i < HS_RECORD_TRIES; i++) {
        /* ORDER record: a record that says ALIVE is whole; a tombstone stays whole. */
        uint64_t word = hs_load_acquire(&record->word);
        if (!(HS_RECORD_STATE(word) & (HS_RECORD_ALIVE | HS_RECORD_DEAD))) {
            return false;
        }
        /* ORDER record: if these are of a new life in this slot, its writer took ALIVE away before,
         * and the second look at the word, which comes after these, differs. */
        uint64_t size_thread = hs_load_acquire(&record->size_thread);
        uint32_t stack_id = hs_load_acquire(&record->stack_id);
        uint32_t birth_ms = hs_load_acquire(&record->birth_ms);
        uint64_t va = has_va ? hs_load_acquire(&record->addr) : 0;
        if (hs_load_relaxed(&record->word) == word) {
            ret_view->word = word;
            ret_view->size_bytes = HS_RECORD_SIZE(size_thread);
            ret_view->thread_id = HS_RECORD_THREAD(size_thread);
            ret_view->stack_id = stack_id;
            ret_view->birth_ms = birth_ms;
            ret_view->va = va;
            ret_view->block_hash =
                has_va ? hs_record_block_hash(va, size_thread, stack_id, birth_ms) : 0;
            return true;
        }
    }
    return false;
}

/* A tombstone no longer has its epoch of birth: its flags say whether it was born before a cut. */
static bool is_in_cut(uint64_t word, uint64_t cut_epoch, unsigned tombstone_flag)
{
    unsigned state = HS_RECORD_STATE(word);
    if (state & HS_RECORD_ALIVE) {
        return HS_RECORD_EPOCH(word) <= cut_epoch;
    }
    return (state & tombstone_flag) && HS_RECORD_EPOCH(word) > cut_epoch;
}

/* Estimates what a record stands for. False: the record names an interval that does not exist. */
static inline bool estimate(const struct hs_record_scan *scan, struct weight *cache,
                            const struct record_view *view, quad *ret_estimate)
{
    unsigned hits = HS_RECORD_HITS(view->word);
    unsigned interval_idx = HS_RECORD_INTERVAL(view->word);
    if (hits == 0) {
        *ret_estimate = (quad){ (double)view->size_bytes, 1, 0, 0 };
        return true;
    }
    if (interval_idx >= scan->interval_count || scan->interval_bytes[interval_idx] == 0) {
        return false;
    }
    uint64_t interval_bytes = scan->interval_bytes[interval_idx];
    uint64_t key = (view->size_bytes << 6 | interval_idx) + 1;
    /* Sampled sizes are below their interval, so with the default interval each size has its own
     * entry. */
    struct weight *w = &cache[(view->size_bytes ^ interval_idx << 6) % HS_WEIGHT_CACHE];
    if (hs_unlikely(w->key != key)) {
        w->key = key;
        hs_block_weigh(view->size_bytes, interval_bytes, &w->count, &w->count_var);
    }
    double bytes = (double)hits * (double)interval_bytes;
    HS_ASSERT(isfinite(bytes) && isfinite(w->count) && isfinite(w->count_var));
    *ret_estimate = (quad){ bytes, w->count, bytes * (double)interval_bytes, w->count_var };
    return true;
}

static inline const struct hs_record_v1 *record_at(const struct hs_record_scan *scan, uint64_t i)
{
    return (const void *)((const char *)scan->records + i * scan->record_bytes);
}

/* Prefetches the sums of a later record: records are read in order, their stacks' sums are not. */
static inline void prefetch_sums(const struct hs_record_scan *scan, uint64_t i)
{
    if (i < scan->record_count) {
        uint32_t stack_id = hs_load_relaxed(&record_at(scan, i)->stack_id);
        if (stack_id < scan->stack_count) {
            __builtin_prefetch(&scan->sums[stack_id], 1);
        }
    }
}

/* The id + 1 of the carved heap that a stack belongs to; 0: it is no carved one. */
static inline unsigned carved_heap(const struct hs_record_scan *scan, uint32_t stack_id)
{
    return hs_unlikely(scan->carved_heaps != NULL) && stack_id < scan->stack_count
               ? scan->carved_heaps[stack_id]
               : 0;
}

static uint16_t thread_of(const struct hs_record_scan *scan, const struct record_view *record)
{
    return (uint16_t)(record->thread_id < scan->thread_count ? record->thread_id : 0);
}

static uint16_t type_of(const struct hs_record_scan *scan, const struct record_view *record)
{
    return hs_record_type(scan->types, record->idx, record->block_hash,
                          !(HS_RECORD_STATE(record->word) & HS_RECORD_ALIVE));
}

/* Adds a block that was live at `now_mono_ns` to the parts. */
static void add_part(const struct hs_record_scan *scan, enum hs_part_view view,
                     const struct record_view *record, uint64_t now_mono_ns, const quad *more)
{
    uint64_t birth_ns = scan->start_mono_ns + UINT64_C(1000000) * record->birth_ms;
    uint64_t age_ms = now_mono_ns > birth_ns ? (now_mono_ns - birth_ns) / 1000000 : 0;
    const struct hs_part_key key = {
        .stack_id = record->stack_id,
        .thread_id = thread_of(scan, record),
        .type_id = type_of(scan, record),
        .age_class = hs_age_class(age_ms),
    };
    struct hs_estimate estimate;
    memcpy(&estimate, more, sizeof(estimate));
    hs_part_table_add(scan->parts[view], &key, &estimate);
}

/* Adds a live block to the births. */
static void add_birth(const struct hs_record_scan *scan, const struct record_view *record,
                      const quad *more)
{
    uint64_t birth_ms =
        record->birth_ms < scan->birth_span_ms ? record->birth_ms : scan->birth_span_ms;
    const struct hs_part_key key = {
        .stack_id = record->stack_id,
        .age_class = (uint16_t)(birth_ms / scan->birth_window_ms),
    };
    struct hs_estimate estimate;
    memcpy(&estimate, more, sizeof(estimate));
    hs_part_table_add(scan->births, &key, &estimate);
}

/* Lists a block that was live at the cut. */
static HS_COLD void list_block(const struct hs_record_scan *scan, const struct record_view *record)
{
    bool is_alive = (HS_RECORD_STATE(record->word) & HS_RECORD_ALIVE) != 0;
    const struct hs_snap_block block = {
        .va = is_alive ? record->va : 0,
        .size_bytes = record->size_bytes,
        .stack_id = record->stack_id,
        .birth_ms = record->birth_ms,
        .thread_id = thread_of(scan, record),
        .type_id = type_of(scan, record),
        .hits = (uint8_t)HS_RECORD_HITS(record->word),
        .interval_idx = (uint8_t)HS_RECORD_INTERVAL(record->word),
    };
    uint64_t birth_epoch = is_alive ? HS_RECORD_EPOCH(record->word) : HS_BLOCK_EPOCH_UNKNOWN;
    hs_block_list_add(scan->blocks, &block, birth_epoch);
}

/* Adds a live block to the parts if it has a type. Most blocks have none: this is quicker. */
static void add_typed_part(const struct hs_record_scan *scan, const struct record_view *record,
                           const quad *more)
{
    uint16_t type_id = type_of(scan, record);
    const struct hs_part_key key = { .stack_id = record->stack_id, .type_id = type_id };
    struct hs_estimate estimate;
    if (type_id == HS_PART_NOT_READ) {
        add(&scan->unread[record->stack_id], more);
    } else if (type_id != 0) {
        memcpy(&estimate, more, sizeof(estimate));
        hs_part_table_add(scan->parts[HS_PARTS_LIVE], &key, &estimate);
    }
}

/* Adds a block that was live at the cut to what lives, besides the sums. */
static inline void add_live(const struct hs_record_scan *scan, const struct record_view *view,
                            const quad *e)
{
    if (scan->unread) {
        add_typed_part(scan, view, e);
    } else if (scan->parts[HS_PARTS_LIVE]) {
        add_part(scan, HS_PARTS_LIVE, view, scan->cut_mono_ns, e);
    }
    if (scan->births) {
        add_birth(scan, view, e);
    }
    if (hs_unlikely(scan->blocks != NULL)) {
        list_block(scan, view);
    }
}

static uint64_t peak_mono_ns(const struct hs_record_scan *scan, unsigned carved)
{
    return carved ? scan->heaps[carved - 1].peak_time_ns : scan->peak_mono_ns;
}

void hs_record_scan_run(struct hs_record_scan *scan)
{
    static _Thread_local struct weight cache[HS_WEIGHT_CACHE];
    bool is_dead = scan->cut_epoch == HS_CUT_OF_DEAD, has_va = scan->types || scan->blocks;
    for (size_t i = 0; i < HS_WEIGHT_CACHE; i++) {
        cache[i].key = 0;
    }
    for (uint64_t i = 0; i < scan->record_count; i++) {
        prefetch_sums(scan, i + HS_PREFETCH_AHEAD);
        struct record_view view;
        quad e;
        if (!view_record(record_at(scan, i), has_va, &view)) {
            continue;
        }
        view.idx = i;
        unsigned carved = carved_heap(scan, view.stack_id);
        if (hs_unlikely(carved == HS_SCAN_LEFT_OUT)) {
            continue;
        }
        uint64_t peak_epoch = carved ? scan->heaps[carved - 1].peak_epoch : scan->peak_epoch;
        bool is_live = is_in_cut(view.word, scan->cut_epoch, HS_RECORD_IN_SNAPSHOT);
        bool is_peak = peak_epoch != 0 && is_in_cut(view.word, peak_epoch, HS_RECORD_IN_PEAK);
        if (!is_live && !is_peak) {
            continue;
        }
        if (view.stack_id >= scan->stack_count) {
            /* In a running process, the stack is newer than the cut, so the record's birth was in
             * progress. */
            scan->bad_count += is_dead;
            continue;
        }
        if (!estimate(scan, cache, &view, &e)) {
            scan->bad_count++;
            continue;
        }
        struct hs_stack_sums *sums = &scan->sums[view.stack_id];
        if (is_live) {
            add(&sums->live, &e);
        }
        if (is_live && !carved) {
            add(&scan->threads[view.thread_id < scan->thread_count ? view.thread_id : 0], &e);
        }
        if (is_live) {
            add_live(scan, &view, &e);
        }
        if (is_peak) {
            add(&sums->peak, &e);
        }
        if (is_peak && scan->parts[HS_PARTS_PEAK]) {
            add_part(scan, HS_PARTS_PEAK, &view, peak_mono_ns(scan, carved), &e);
        }
    }
}
