/*
 * What each stack holds now, without a cut: for a viewer that looks again and again.
 *
 * No cut is opened, so the program leaves no tombstones and does not notice. Each record is looked
 * at once, some milliseconds after the one before it: a block that is allocated or freed meanwhile
 * is there or not, and a block whose record moved may be there twice. While nothing is allocated
 * or freed, the figures are those of a snapshot, to the byte.
 *
 *     struct hs_live_totals totals = { 0 };
 *     hs_live_totals_read(region, &totals);          as often as wanted
 *     hs_live_totals_deinit(&totals);
 *
 * Holds     of each stack, live is at most alloc; the totals are sums over the primary heaps.
 * Threads   one.
 * Fails     as region_reader.h.
 * See       capture.h, which makes a snapshot of one instant
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/region/heap_peaks.h"
#include "collect/region/region_reader.h"
#include "trace/snapshot.h"

struct hs_live_total {
    struct hs_estimate alloc; /* since the start */
    struct hs_estimate live;
    uint8_t heap_id;
    bool is_left_out; /* the session did not select its heap: the figures are 0 */
};

/* Zeroed: nothing has been read. */
struct hs_live_totals {
    struct hs_live_total *of_stack; /* by stack id */
    uint32_t stack_count;
    struct hs_estimate live, alloc; /* sums over the heaps that are not carved */
    struct hs_heap_peaks heaps;     /* without peaks */
    /* Kept from one reading to the next, because touching a new mapping costs more than reading
     * the old one. */
    struct hs_region_map stacks, records;
    struct hs_stack_sums *sums;
    /* Of blocks that have a type: sums by stack and type, without threads and ages. And of those
     * whose memory was not read: sums by stack. The rest of a stack has no type. NULL: the region
     * has no types. */
    struct hs_part_table *parts;
    struct hs_estimate *unread;
    uint32_t capacity; /* stacks that there is room for in of_stack and sums */
};

/* What has been allocated and freed so far, as the threads count it. While it stays the same,
 * nothing changes. */
struct hs_live_progress {
    uint64_t sample_count, free_count;
    uint64_t lost_count; /* samples that were not recorded, for all of these reasons: */
    uint64_t lost_count_of[HS_LOSS_N];
    int64_t live_bytes; /* as the threads have flushed it, and not flushed yet */
};

/* Reads the counters of all threads of a region that was refreshed just now: far cheaper than the
 * totals. 0, or see Fails. */
int hs_live_progress_read(const struct hs_region *region, struct hs_live_progress *ret_progress);

/* Reads the figures of all stacks of a region that was refreshed just now; if the region has types,
 * also the parts. 0, or see Fails; then
 * the totals are those of no moment, and may be read again or freed. */
int hs_live_totals_read(const struct hs_region *region, struct hs_live_totals *totals);
void hs_live_totals_deinit(struct hs_live_totals *totals);
