/*
 * See dump_heaps.h.
 */
#include "profile/model/dump_heaps.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/builder_state.h"
#include "profile/model/peak_margin.h"
#include "rt/check.h"

/* A bound for chains of parents in a forged file. */
#define PARENTS_MAX 64U

static struct hs_profile_dump_heap *find(const struct hs_profile *p,
                                         const struct hs_profile_dump *dump, uint32_t heap)
{
    uint32_t low = dump->heap_first, end = dump->heap_first + dump->heaps_n, high = end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (p->dump_heaps[middle].heap < heap) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < end && p->dump_heaps[low].heap == heap ? &p->dump_heaps[low] : NULL;
}

const struct hs_profile_dump_heap *
hs_profile_dump_heap(const struct hs_profile *p, const struct hs_profile_dump *dump, uint32_t heap)
{
    return find(p, dump, heap);
}

/* --- choosing --- */

/* A heap that was not recorded has no figures that could contain those of another. */
static bool is_taken(const struct hs_profile_dump_heap *heap, const bool *is_chosen)
{
    return is_chosen[heap->heap] && !heap->is_left_out;
}

static bool is_primary_taken(const struct hs_profile *p, const struct hs_profile_dump *dump,
                             const bool *is_chosen)
{
    for (uint32_t i = 0; i < dump->heaps_n; i++) {
        const struct hs_profile_dump_heap *heap = &p->dump_heaps[dump->heap_first + i];
        if (!heap->is_carved && is_taken(heap, is_chosen)) {
            return true;
        }
    }
    return false;
}

/* Does a carved heap lie in a heap that is chosen as well? */
static bool is_held(const struct hs_profile *p, const struct hs_profile_dump *dump,
                    const struct hs_profile_dump_heap *heap, const bool *is_chosen)
{
    const uint32_t own = heap->heap;
    for (uint32_t i = 0; heap && heap->is_carved && heap->parent != own && i < PARENTS_MAX; i++) {
        if (heap->parent == HS_PROFILE_NO_HEAP) {
            return is_primary_taken(p, dump, is_chosen);
        }
        const struct hs_profile_dump_heap *parent = find(p, dump, heap->parent);
        if (parent ? is_taken(parent, is_chosen) : is_chosen[heap->parent]) {
            return true;
        }
        heap = parent;
    }
    return false;
}

/* Puts the samples of heaps that are counted first. */
static void part_samples(const struct hs_profile *p, struct hs_profile_dump *dump)
{
    uint32_t count = dump->samples_n + dump->aside_n, n = 0;
    bool has_moved = false;
    if (count == 0) {
        return; /* there may be no array */
    }
    struct hs_profile_sample *samples = p->samples + dump->sample_first;
    for (uint32_t i = 0; i < count; i++) {
        const struct hs_profile_dump_heap *heap = find(p, dump, samples[i].heap);
        if (!heap || heap->is_counted) {
            if (n != i) {
                struct hs_profile_sample swapped = samples[n];
                samples[n] = samples[i];
                samples[i] = swapped;
                has_moved = true;
            }
            n++;
        }
    }
    if (has_moved || dump->aside_n > 0) {
        hs_builder_sort_samples(samples, n);
        hs_builder_sort_samples(samples + n, count - n);
    }
    dump->samples_n = n;
    dump->aside_n = count - n;
    HS_ASSERT(dump->samples_n + dump->aside_n == count);
}

/* The intervals of the counted heaps become those of the dump. */
static void take_interval(struct hs_profile_dump *dump, const struct hs_profile_dump_heap *heap)
{
    if (dump->interval_bytes == 0 || heap->interval_bytes < dump->interval_bytes) {
        dump->interval_bytes = heap->interval_bytes;
    }
    if (heap->interval_widest_bytes > dump->interval_widest_bytes) {
        dump->interval_widest_bytes = heap->interval_widest_bytes;
    }
}

static bool has_figures(const struct hs_profile_dump_heap *heap)
{
    return heap->alloc.bytes > 0 || heap->live.bytes > 0 || heap->alloc.count > 0;
}

/* Settles the intervals of a sum, which are those of its heaps so far, and the number of its
 * samples. The interval that is in force is the process's, if a heap has that one. */
static void settle_samples(const struct hs_profile *p, const struct hs_profile_dump *dump,
                           struct hs_profile_dump *sum)
{
    bool has_interval_of_process = sum->interval_bytes == 0; /* nothing is counted */
    bool has_others = false;
    for (uint32_t i = 0; i < dump->heaps_n; i++) {
        const struct hs_profile_dump_heap *heap = &p->dump_heaps[dump->heap_first + i];
        has_interval_of_process |= heap->is_counted && heap->interval_bytes == dump->interval_bytes;
        has_others |= !heap->is_counted && !heap->is_inside && has_figures(heap);
    }
    if (sum->interval_bytes == 0) {
        sum->interval_widest_bytes = dump->interval_widest_bytes;
    }
    if (has_interval_of_process) {
        sum->interval_bytes = dump->interval_bytes;
    } else {
        /* Which interval was asked for is known of the process. */
        sum->orig_interval_bytes = sum->interval_bytes;
    }
    /* So is the number of samples. */
    bool is_exact = sum->interval_widest_bytes == 1 && !sum->alloc.has_sample_counts;
    sum->sample_count = is_exact     ? (uint64_t)(sum->alloc.count + 0.5)
                        : has_others ? 0
                                     : dump->sample_count;
}

/* Computes the totals of a dump anew. */
static void add_up(const struct hs_profile *p, struct hs_profile_dump *dump)
{
    struct hs_profile_dump sum = *dump;
    uint64_t own_peak_ns = 0;
    uint32_t peak_count = 0, own_peak_count = 0, primary_count = 0;
    bool has_others = false;
    sum.live = sum.alloc = sum.peak = (struct hs_amount){ 0 };
    sum.inherited = (struct hs_inherited_var){ 0 };
    sum.interval_bytes = sum.interval_widest_bytes = 0;
    for (uint32_t i = 0; i < dump->heaps_n; i++) {
        const struct hs_profile_dump_heap *heap = &p->dump_heaps[dump->heap_first + i];
        if (!heap->is_counted) {
            has_others |= !heap->is_carved && !heap->is_inside && has_figures(heap);
            continue;
        }
        primary_count += !heap->is_carved;
        hs_amount_add(&sum.live, &heap->live);
        hs_amount_add(&sum.alloc, &heap->alloc);
        hs_amount_add(&sum.peak, &heap->peak);
        sum.inherited.bytes += heap->inherited.bytes;
        sum.inherited.count += heap->inherited.count;
        sum.has_peak &= heap->has_peak;
        take_interval(&sum, heap);
        if (heap->peak.bytes > 0) {
            peak_count++;
            own_peak_count += heap->is_carved;
            own_peak_ns = heap->is_carved ? heap->peak_time_ns : own_peak_ns;
        }
    }
    sum.is_peak_of_all = primary_count > 0 && has_others;
    sum.is_peak_of_heaps = own_peak_count > 0 && peak_count > 1;
    if (own_peak_count > 0) {
        sum.peak_time_ns = sum.is_peak_of_heaps ? 0 : own_peak_ns;
    }
    if (primary_count > 0) {
        sum.peak.peak_short_bytes += dump->peak.peak_short_bytes;
    }
    settle_samples(p, dump, &sum);
    *dump = sum;
}

static void choose(struct hs_profile *p, struct hs_profile_dump *dump, const bool *is_chosen)
{
    bool is_changed = false;
    for (uint32_t i = 0; i < dump->heaps_n; i++) {
        struct hs_profile_dump_heap *heap = &p->dump_heaps[dump->heap_first + i];
        bool was_counted = heap->is_counted;
        heap->is_inside = is_held(p, dump, heap, is_chosen);
        heap->is_counted = is_taken(heap, is_chosen) && !heap->is_inside;
        is_changed |= was_counted != heap->is_counted &&
                      (has_figures(heap) || heap->is_counted || heap->is_left_out);
    }
    if (is_changed) {
        part_samples(p, dump);
        add_up(p, dump);
    }
}

void hs_profile_choose_heaps(struct hs_profile *p, const bool *is_chosen)
{
    for (uint32_t i = 0; i < p->dump_count; i++) {
        choose(p, &p->dumps[i], is_chosen);
    }
}

/* --- when everything was added --- */

static int compare_heaps(const void *a, const void *b)
{
    const struct hs_profile_dump_heap *x = a, *y = b;
    return (x->heap > y->heap) - (x->heap < y->heap);
}

size_t hs_builder_tidy_heaps(const struct hs_profile *p, struct hs_profile_dump_heap *heaps,
                             size_t count)
{
    size_t n = 0;
    qsort(heaps, count, sizeof(heaps[0]), compare_heaps);
    for (size_t i = 0; i < count && heaps[i].heap < p->heap_count; i++) {
        bool has_parent = heaps[i].is_carved && heaps[i].parent < p->heap_count;
        if (n > 0 && heaps[n - 1].heap == heaps[i].heap) {
            hs_amount_add(&heaps[n - 1].live, &heaps[i].live);
            hs_amount_add(&heaps[n - 1].alloc, &heaps[i].alloc);
            hs_amount_add(&heaps[n - 1].peak, &heaps[i].peak);
        } else {
            heaps[n++] = heaps[i];
            heaps[n - 1].parent = has_parent ? heaps[i].parent : HS_PROFILE_NO_HEAP;
        }
    }
    return n;
}

/* Gives a dump whose heaps are not described those that its samples name, as primary heaps. */
static void make_heaps(struct hs_builder *builder, struct hs_profile_dump *dump, uint32_t *place_of)
{
    struct hs_profile *p = builder->p;
    uint32_t count = 0;
    if (dump->samples_n == 0) {
        return; /* there may be no array */
    }
    const struct hs_profile_sample *samples = p->samples + dump->sample_first;
    for (uint32_t i = 0; i < dump->samples_n; i++) {
        place_of[samples[i].heap] = 1;
    }
    for (uint32_t i = 0; i < p->heap_count; i++) {
        count += place_of[i];
    }
    dump->heap_first = p->dump_heap_count;
    if (!hs_builder_grow(builder, &p->dump_heaps, &builder->dump_heap_capacity,
                         (uint64_t)p->dump_heap_count + count, sizeof(p->dump_heaps[0]))) {
        return;
    }
    for (uint32_t i = 0; i < p->heap_count; i++) {
        if (place_of[i] != 0) {
            place_of[i] = p->dump_heap_count;
            p->dump_heaps[p->dump_heap_count++] =
                (struct hs_profile_dump_heap){ .heap = i,
                                               .parent = HS_PROFILE_NO_HEAP,
                                               .has_peak = dump->has_peak,
                                               .peak_time_ns = dump->peak_time_ns };
        }
    }
    for (uint32_t i = 0; i < dump->samples_n; i++) {
        struct hs_profile_dump_heap *heap = &p->dump_heaps[place_of[samples[i].heap]];
        hs_amount_add(&heap->live, &samples[i].live);
        hs_amount_add(&heap->alloc, &samples[i].alloc);
        hs_amount_add(&heap->peak, &samples[i].peak);
    }
    memset(place_of, 0, p->heap_count * sizeof(place_of[0]));
    dump->heaps_n = count;
}

static void note(struct hs_amount *amount, const struct hs_profile_dump *dump,
                 const struct hs_profile_dump_heap *heap)
{
    uint64_t widest_bytes = heap ? heap->interval_widest_bytes : hs_dump_widest_bytes(dump);
    hs_amount_widen(amount, (float)widest_bytes);
    amount->has_sample_counts =
        (!dump->has_scaled_counts && widest_bytes > 1) || (heap && heap->has_own_samples);
}

/* The shares that were set in a peak before. */
static struct hs_peak_luck luck_in(const struct hs_amount *peak)
{
    double sampled = peak->sampled_bytes > 0 ? peak->sampled_bytes : 1;
    return (struct hs_peak_luck){ .excess_share = (double)peak->peak_excess_bytes / sampled,
                                  .lean_share = (double)peak->peak_lean_bytes / sampled,
                                  .common_share = (double)peak->peak_common_bytes / sampled };
}

/* Notes in all amounts of the dump how they were sampled. */
static void note_sampling(const struct hs_profile *p, const struct hs_profile_dump *dump)
{
    const struct hs_peak_luck of_process = hs_peak_luck_of(&dump->alloc, &dump->peak);
    for (uint32_t i = 0; i < dump->heaps_n; i++) {
        struct hs_profile_dump_heap *heap = &p->dump_heaps[dump->heap_first + i];
        if (heap->is_left_out) {
            heap->interval_bytes = heap->interval_widest_bytes = 0;
            continue;
        }
        if (heap->interval_widest_bytes == 0) {
            heap->interval_widest_bytes =
                heap->interval_bytes != 0 ? heap->interval_bytes : hs_dump_widest_bytes(dump);
        }
        if (heap->interval_bytes == 0) {
            heap->interval_bytes = dump->interval_bytes;
        }
        note(&heap->live, dump, heap);
        note(&heap->alloc, dump, heap);
        note(&heap->peak, dump, heap);
        const struct hs_peak_luck own = hs_peak_luck_of(&heap->alloc, &heap->peak);
        hs_peak_luck_set(&heap->peak, heap->is_carved ? &own : &of_process);
    }
    for (uint32_t i = 0; i < dump->samples_n; i++) {
        struct hs_profile_sample *sample = &p->samples[dump->sample_first + i];
        struct hs_profile_dump_heap *heap = find(p, dump, sample->heap);
        note(&sample->live, dump, heap);
        note(&sample->alloc, dump, heap);
        note(&sample->peak, dump, heap);
        const struct hs_peak_luck luck =
            heap && heap->is_carved ? luck_in(&heap->peak) : of_process;
        hs_peak_luck_set(&sample->peak, &luck);
        if (heap) {
            heap->inherited.bytes += sample->inherited.bytes;
            heap->inherited.count += sample->inherited.count;
        }
    }
}

static void widen_total(struct hs_amount *total, const struct hs_profile_dump_heap *heap)
{
    hs_amount_widen(total, (float)heap->interval_widest_bytes);
    total->has_sample_counts |= heap->live.has_sample_counts;
}

/* Sets the part of the totals that rests on samples. The file has only the totals' variances, which
 * tell it only if all heaps have one interval. */
static void settle_sampled(struct hs_profile_dump *dump, const struct hs_profile_dump *parts)
{
    struct hs_amount *totals[] = { &dump->live, &dump->alloc, &dump->peak };
    const struct hs_amount *sums[] = { &parts->live, &parts->alloc, &parts->peak };
    for (size_t i = 0; i < 3; i++) {
        totals[i]->sampled_bytes = fmin(sums[i]->sampled_bytes, totals[i]->bytes);
        totals[i]->sampled_count = fmin(sums[i]->sampled_count, totals[i]->count);
    }
}

/* Counts the primary heaps. The totals are already theirs. */
static void count_primary(const struct hs_profile *p, struct hs_profile_dump *dump)
{
    struct hs_profile_dump parts = { 0 };
    bool has_intervals = false;
    for (uint32_t i = 0; i < dump->heaps_n; i++) {
        struct hs_profile_dump_heap *heap = &p->dump_heaps[dump->heap_first + i];
        heap->is_counted = !heap->is_carved;
        heap->is_inside = heap->is_carved;
        if (heap->is_counted && heap->alloc.bytes + heap->live.bytes > 0) {
            hs_amount_add(&parts.live, &heap->live);
            hs_amount_add(&parts.alloc, &heap->alloc);
            hs_amount_add(&parts.peak, &heap->peak);
            has_intervals |= heap->interval_bytes != dump->interval_bytes;
            widen_total(&dump->live, heap);
            widen_total(&dump->alloc, heap);
            widen_total(&dump->peak, heap);
            if (heap->interval_widest_bytes > hs_dump_widest_bytes(dump)) {
                dump->interval_widest_bytes = heap->interval_widest_bytes;
            }
        }
    }
    if (has_intervals) {
        settle_sampled(dump, &parts);
    }
    part_samples(p, dump);
}

/* A thread may have allocated in any primary heap that was recorded. */
static void note_sampling_of(const struct hs_profile *p, struct hs_profile_thread *thread)
{
    uint32_t last = p->processes[thread->process].last_dump;
    const struct hs_profile_dump *dump = last < p->dump_count ? &p->dumps[last] : NULL;
    uint64_t widest_bytes = 0;
    bool has_left_out = false;
    for (uint32_t i = 0; dump && i < dump->heaps_n; i++) {
        const struct hs_profile_dump_heap *heap = &p->dump_heaps[dump->heap_first + i];
        has_left_out |= heap->is_left_out;
        if (!heap->is_carved && heap->interval_widest_bytes > widest_bytes) {
            widest_bytes = heap->interval_widest_bytes;
        }
    }
    if (has_left_out && widest_bytes > 0) {
        thread->live.interval_bytes = (float)widest_bytes;
    } else {
        hs_amount_widen(&thread->live, (float)widest_bytes);
    }
}

int hs_builder_settle_heaps(struct hs_builder *builder)
{
    struct hs_profile *p = builder->p;
    uint32_t *place_of = calloc((size_t)p->heap_count + 1, sizeof(*place_of));
    if (!place_of) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < p->dump_count && builder->err == 0; i++) {
        struct hs_profile_dump *dump = &p->dumps[i];
        if (dump->heaps_n == 0) {
            make_heaps(builder, dump, place_of);
        }
        if (builder->err == 0) {
            note_sampling(p, dump);
            count_primary(p, dump);
        }
    }
    for (uint32_t i = 0; i < p->thread_count && builder->err == 0; i++) {
        note_sampling_of(p, &p->threads[i]);
    }
    free(place_of);
    return builder->err;
}
