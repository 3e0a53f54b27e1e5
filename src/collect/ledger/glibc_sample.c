/*
 * Samples a heap: see glibc_sample.h.
 */
#include "collect/ledger/glibc_sample.h"

#include <math.h>
#include <stdlib.h>

#include "collect/ledger/glibc_arena.h"
#include "util/array.h"
#include "util/page_sample.h"

/* Half the width of an interval that contains the true value in 95 of 100 cases. */
#define DEVIATIONS 1.96
#define PART_BYTES ((double)(HS_PAGE_SAMPLE_CLUSTER_PAGES * 4096U))

void hs_glibc_sample_choose(struct hs_glibc_sample *sample, uint64_t heap_bytes,
                            const struct hs_live_blocks *blocks)
{
    /* Who records each block wants to know it exactly. Of blocks on a part of the pages, those in
     * front of a part are missing. */
    if (!blocks || blocks->count == 0 || blocks->widest_bytes <= 1 || blocks->page_shift > 0 ||
        heap_bytes <= HS_GLIBC_WHOLE_BYTES_MAX) {
        return;
    }
    sample->blocks = blocks;
    while (heap_bytes >> sample->shift > HS_GLIBC_SAMPLE_BYTES &&
           sample->shift < HS_PAGE_SAMPLE_SHIFT_MAX) {
        sample->shift++;
    }
}

/* The number of known chunks in front of `va`. */
static size_t count_before(const struct hs_glibc_sample *sample, uint64_t va)
{
    size_t low = 0, high = sample->blocks->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sample->blocks->items[middle].key - HS_GLIBC_CHUNK_HEAD < va) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_chunk(uint64_t va)
{
    return va % HS_GLIBC_CHUNK_HEAD == 0;
}

uint64_t hs_glibc_sample_before(const struct hs_glibc_sample *sample, uint64_t after_va,
                                uint64_t until_va)
{
    for (size_t i = count_before(sample, until_va + 1); i-- > 0;) {
        uint64_t va = sample->blocks->items[i].key - HS_GLIBC_CHUNK_HEAD;
        if (va <= after_va || is_chunk(va)) {
            return va > after_va ? va : 0;
        }
    }
    return 0;
}

uint64_t hs_glibc_sample_behind(const struct hs_glibc_sample *sample, uint64_t after_va,
                                uint64_t end_va)
{
    for (size_t i = count_before(sample, after_va + 1); i < sample->blocks->count; i++) {
        uint64_t va = sample->blocks->items[i].key - HS_GLIBC_CHUNK_HEAD;
        if (va >= end_va || is_chunk(va)) {
            return va < end_va ? va : 0;
        }
    }
    return 0;
}

void hs_glibc_sample_end_part(struct hs_glibc_sample *sample)
{
    int r = hs_array_reserve(&sample->parts, &sample->part_capacity, sample->part_count + 1,
                             sizeof(sample->parts[0]));
    if (r < 0) {
        sample->err = r;
        return;
    }
    struct hs_glibc_part *part = &sample->parts[sample->part_count++];
    for (size_t i = 0; i < HS_MALLOC_STATE_N; i++) {
        part->resident_bytes[i] = sample->seen.sums[i].resident_bytes;
    }
    part->trim_bytes = sample->seen.trim_bytes;
}

/* --- estimates -------------------------------------------------------------------------------- */

/* The sum of a state up to the end of a part; HS_MALLOC_STATE_N: what malloc_trim gives back. */
static double up_to(const struct hs_glibc_sample *sample, size_t part, size_t state)
{
    const struct hs_glibc_part *at = &sample->parts[part];
    return (double)(state < HS_MALLOC_STATE_N ? at->resident_bytes[state] : at->trim_bytes);
}

static double all_up_to(const struct hs_glibc_sample *sample, size_t part)
{
    double sum = 0;
    for (size_t i = 0; i < HS_MALLOC_STATE_N; i++) {
        sum += up_to(sample, part, i);
    }
    return sum;
}

/*
 * Half the width of the interval of an estimate. Each part stands for 2^shift in a row, of which it
 * was chosen at random. How much those differ is not known, but neighbouring parts differ as much
 * or more. What no part shows may still be there, so the width is at least what one part stands
 * for.
 */
static uint64_t margin_of(const struct hs_glibc_sample *sample, size_t state, double ratio)
{
    double times = (double)(1U << sample->shift), squares = 0, last = 0, before = 0, all_before = 0;
    size_t count = sample->part_count;
    for (size_t i = 0; i < count; i++) {
        double now = up_to(sample, i, state), all_now = all_up_to(sample, i);
        double differs = now - before - ratio * (all_now - all_before);
        squares += i > 0 ? (differs - last) * (differs - last) : 0;
        last = differs;
        before = now;
        all_before = all_now;
    }
    double variance = count > 1 ? squares / 2 * (double)count / (double)(count - 1) : 0;
    double margin = DEVIATIONS * times * sqrt(variance * (1 - 1 / times));
    return (uint64_t)fmax(margin, times * PART_BYTES);
}

struct totals {
    double bytes, resident_bytes, swap_bytes; /* of the parts */
};

static struct totals add_up(const struct hs_glibc_sample *sample)
{
    struct totals totals = { 0 };
    for (size_t i = 0; i < HS_MALLOC_STATE_N; i++) {
        const struct hs_malloc_sum *sum = &sample->seen.sums[i];
        totals.bytes += (double)sum->bytes;
        totals.resident_bytes += (double)sum->resident_bytes;
        totals.swap_bytes += (double)sum->swap_bytes;
    }
    return totals;
}

/* Takes what `part` of `parts` is of `all`, from *left: what other states have left of it. */
static uint64_t share_of(double part, double parts, uint64_t all, uint64_t *left)
{
    uint64_t share = parts > 0 ? (uint64_t)(part / parts * (double)all) : 0;
    share = share < *left ? share : *left;
    *left -= share;
    return share;
}

static size_t largest_of(const struct hs_glibc_sample *sample)
{
    size_t largest = 0;
    for (size_t i = 1; i < HS_MALLOC_STATE_N; i++) {
        largest = sample->seen.sums[i].bytes > sample->seen.sums[largest].bytes ? i : largest;
    }
    return largest;
}

void hs_glibc_sample_finish(const struct hs_glibc_sample *sample, struct hs_malloc_space *space)
{
    const struct totals totals = add_up(sample);
    uint64_t bytes = sample->all_bytes, resident_bytes = sample->all_resident_bytes;
    uint64_t swap_bytes = sample->all_swap_bytes;
    double of_bytes = totals.bytes > 0 ? 1 / totals.bytes : 0;
    double of_resident = totals.resident_bytes > 0 ? 1 / totals.resident_bytes : 0;
    for (size_t i = 0; i < HS_MALLOC_STATE_N; i++) {
        const struct hs_malloc_sum *seen = &sample->seen.sums[i];
        struct hs_malloc_sum *sum = &space->sums[i];
        sum->count += (uint64_t)((double)seen->count * of_bytes * (double)sample->all_bytes + 0.5);
        sum->count += seen->bytes > 0 && sum->count == 0;
        sum->bytes += share_of((double)seen->bytes, totals.bytes, sample->all_bytes, &bytes);
        sum->resident_bytes += share_of((double)seen->resident_bytes, totals.resident_bytes,
                                        sample->all_resident_bytes, &resident_bytes);
        sum->swap_bytes += share_of((double)seen->swap_bytes, totals.swap_bytes,
                                    sample->all_swap_bytes, &swap_bytes);
        if (seen->bytes > 0) {
            sum->margin_bytes = margin_of(sample, i, (double)seen->resident_bytes * of_resident);
        }
    }
    /* What rounding has left, or what has no share. */
    struct hs_malloc_sum *rest = &space->sums[largest_of(sample)];
    rest->bytes += bytes;
    rest->resident_bytes += resident_bytes;
    rest->swap_bytes += swap_bytes;
    double trim_ratio = (double)sample->seen.trim_bytes * of_resident;
    space->trim_bytes += (uint64_t)(trim_ratio * (double)sample->all_resident_bytes);
    space->trim_margin_bytes = margin_of(sample, HS_MALLOC_STATE_N, trim_ratio);
    space->part_share = 1U << sample->shift;
}

void hs_glibc_sample_deinit(struct hs_glibc_sample *sample)
{
    free(sample->parts);
    *sample = (struct hs_glibc_sample){ 0 };
}
