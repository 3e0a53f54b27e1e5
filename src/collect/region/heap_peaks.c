/*
 * The heaps of a region at a capture: see heap_peaks.h.
 */
#include "collect/region/heap_peaks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* malloc's heap is never a carved one, whatever the target claims. */
static void find_carved(struct hs_heap_peaks *peaks)
{
    peaks->heaps[0].flags &= ~(uint32_t)HS_HEAP_CARVED;
    peaks->has_carved = false;
    for (uint32_t i = 0; i < peaks->count; i++) {
        peaks->has_carved |= hs_heap_peaks_is_carved(peaks, (uint8_t)i);
    }
}

int hs_heap_peaks_load(const struct hs_region *region, struct hs_heap_peaks *ret_peaks)
{
    int r = hs_region_read_heaps(region, ret_peaks->heaps);
    if (r < 0) {
        return r;
    }
    ret_peaks->count = (uint32_t)r;
    find_carved(ret_peaks);
    return 0;
}

int hs_heap_peaks_add_new(const struct hs_region *region, struct hs_heap_peaks *peaks)
{
    struct hs_heap_v2 now[HS_REGION_HEAPS];
    int r = hs_region_read_heaps(region, now);
    if (r < 0) {
        return r;
    }
    for (uint32_t i = 0; i < (uint32_t)r; i++) {
        if (!(peaks->heaps[i].flags & HS_HEAP_NAMED) && (now[i].flags & HS_HEAP_NAMED)) {
            peaks->heaps[i] = now[i];
            peaks->heaps[i].peak_epoch = 0;
        }
    }
    peaks->count = (uint32_t)r > peaks->count ? (uint32_t)r : peaks->count;
    find_carved(peaks);
    return 0;
}

bool hs_heap_peaks_check(const struct hs_region *region, struct hs_heap_peaks *peaks)
{
    struct hs_heap_v2 now[HS_REGION_HEAPS];
    bool is_stable = true;
    memset(peaks->has_peak, 0, sizeof(peaks->has_peak));
    if (!peaks->has_carved) {
        return true;
    }
    if (hs_region_read_heaps(region, now) < 0) {
        return false;
    }
    for (uint32_t i = 0; i < peaks->count; i++) {
        const struct hs_heap_v2 *heap = &peaks->heaps[i];
        if (hs_heap_peaks_is_carved(peaks, (uint8_t)i) && now[i].peak_epoch != 0) {
            /* A time of 0 says that the cut was being taken. */
            peaks->has_peak[i] = heap->peak_time_ns != 0 && heap->peak_epoch == now[i].peak_epoch;
            is_stable &= peaks->has_peak[i];
        }
    }
    return is_stable;
}

static void describe(const struct hs_heap_peaks *peaks, uint32_t id, struct hs_snap_heap *ret_heap)
{
    const struct hs_heap_v2 *from = &peaks->heaps[id];
    memcpy(ret_heap->name, from->name, sizeof(ret_heap->name));
    if (!ret_heap->name[0]) {
        snprintf(ret_heap->name, sizeof(ret_heap->name), "heap %u", id);
    }
    ret_heap->is_carved = hs_heap_peaks_is_carved(peaks, (uint8_t)id);
    ret_heap->has_own_samples = (from->flags & HS_HEAP_OWN_SAMPLES) != 0;
    ret_heap->parent = from->parent <= HS_REGION_HEAPS ? from->parent : 0;
    /* A forked child writes no interval before it uses the heap. */
    ret_heap->interval_bytes =
        from->interval_bytes == 0 && (from->flags & HS_HEAP_EXACT) ? 1 : from->interval_bytes;
}

/* How far the highest total of a carved heap can have been above the peak that is shown. */
static double short_bytes(const struct hs_heap_v2 *heap, double shown_bytes)
{
    int64_t most =
        heap->peak_most_bytes > heap->peak_bytes ? heap->peak_most_bytes : heap->peak_bytes;
    return (double)most > shown_bytes ? (double)most - shown_bytes : 0;
}

int hs_heap_peaks_fill(const struct hs_heap_peaks *peaks, struct hs_snapshot *snap)
{
    uint32_t count = 1;
    for (uint32_t i = 0; i < peaks->count; i++) {
        count = peaks->heaps[i].name[0] ? i + 1 : count;
    }
    for (uint32_t i = 0; i < snap->stack_count; i++) {
        count = snap->stacks[i].heap_id >= count ? snap->stacks[i].heap_id + 1U : count;
    }
    snap->heaps = calloc(count, sizeof(*snap->heaps));
    if (!snap->heaps) {
        return -ENOMEM;
    }
    snap->heap_count = count;
    for (uint32_t i = 0; i < count; i++) {
        describe(peaks, i, &snap->heaps[i]);
    }
    for (uint32_t i = 0; i < snap->stack_count; i++) {
        struct hs_snap_heap *heap = &snap->heaps[snap->stacks[i].heap_id];
        hs_estimate_add(&heap->live, &snap->stacks[i].live);
        hs_estimate_add(&heap->alloc, &snap->stacks[i].alloc);
        hs_estimate_add(&heap->peak, &snap->stacks[i].peak);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct hs_snap_heap *heap = &snap->heaps[i];
        bool has_own_peak = heap->is_carved && peaks->has_peak[i];
        heap->peak_time_mono_ns = has_own_peak      ? peaks->heaps[i].peak_time_ns
                                  : heap->is_carved ? snap->time_mono_ns
                                                    : snap->peak_time_mono_ns;
        heap->peak_short_bytes =
            heap->is_carved ? (uint64_t)short_bytes(&peaks->heaps[i], heap->peak.bytes) : 0;
    }
    return 0;
}
