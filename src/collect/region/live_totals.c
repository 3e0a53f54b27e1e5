/*
 * Adds up the records without a cut: see live_totals.h.
 */
#include "collect/region/live_totals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/region/cut.h"
#include "collect/region/heap_marks.h"
#include "collect/region/record_scan.h"
#include "collect/region/stack_totals.h"
#include "collect/region/widest_intervals.h"
#include "rt/atomic.h"
#include "rt/check.h"

#define BLOCKS_AT_ONCE 32U

/* --- counters --------------------------------------------------------------------------------- */

static void add_block(const struct hs_thread_block_v1 *block, struct hs_live_progress *progress)
{
    progress->sample_count += block->sample_count;
    progress->free_count += block->free_count;
    progress->live_bytes = (int64_t)((uint64_t)progress->live_bytes + (uint64_t)block->live_bytes);
    for (unsigned k = 0; k < HS_LOSS_N; k++) {
        progress->lost_count += block->lost_count[k];
        progress->lost_count_of[k] += block->lost_count[k];
    }
}

int hs_live_progress_read(const struct hs_region *region, struct hs_live_progress *ret_progress)
{
    struct hs_thread_block_v1 blocks[BLOCKS_AT_ONCE];
    struct hs_live_progress progress = { .live_bytes =
                                             hs_load_relaxed(&region->control->live_bytes) };
    uint64_t count = hs_region_count(region, HS_SECTION_BLOCKS);
    for (uint64_t i = 0; i < count; i += BLOCKS_AT_ONCE) {
        uint64_t n = count - i < BLOCKS_AT_ONCE ? count - i : BLOCKS_AT_ONCE;
        int r = hs_region_read(region, HS_SECTION_BLOCKS, i, n, blocks);
        if (r < 0) {
            return r;
        }
        for (uint64_t k = 0; k < n; k++) {
            add_block(&blocks[k], &progress);
        }
    }
    *ret_progress = progress;
    return 0;
}

/* --- totals ----------------------------------------------------------------------------------- */

/* Maps a section again if it has more elements now. */
static int renew_map(const struct hs_region *region, enum hs_section_id id,
                     struct hs_region_map *map)
{
    if (map->data && map->count == hs_region_count(region, id)) {
        return 0;
    }
    hs_region_unmap(map);
    *map = (struct hs_region_map){ 0 };
    return hs_region_map_section(region, id, map);
}

static int make_room(struct hs_live_totals *totals, uint32_t stack_count)
{
    if (totals->of_stack && stack_count <= totals->capacity) {
        return 0;
    }
    uint32_t capacity = stack_count + stack_count / 4 + 64;
    free(totals->of_stack);
    free(totals->sums);
    totals->stack_count = totals->capacity = 0;
    totals->of_stack = calloc(capacity, sizeof(*totals->of_stack));
    totals->sums = aligned_alloc(64, (size_t)capacity * sizeof(*totals->sums));
    if (!totals->of_stack || !totals->sums) {
        return -ENOMEM;
    }
    totals->capacity = capacity;
    return 0;
}

static void drop_types(struct hs_live_totals *totals)
{
    hs_part_table_free(totals->parts);
    free(totals->unread);
    totals->parts = NULL;
    totals->unread = NULL;
}

static int begin_types(struct hs_live_totals *totals, uint32_t stack_count)
{
    totals->parts = hs_part_table_new();
    totals->unread = aligned_alloc(64, ((size_t)stack_count / 2 + 1) * 64);
    if (!totals->parts || !totals->unread) {
        drop_types(totals);
        return -ENOMEM;
    }
    memset(totals->unread, 0, (size_t)stack_count * sizeof(totals->unread[0]));
    return 0;
}

/* Adds up the live records by stack. */
static void scan(const struct hs_region *region, struct hs_live_totals *totals,
                 uint32_t stack_count, const uint16_t *marks)
{
    struct hs_estimate of_threads = { 0 };
    struct hs_record_scan scan = {
        .records = totals->records.data,
        .record_bytes = totals->records.elem_bytes,
        .record_count = totals->records.count,
        .cut_epoch = HS_CUT_OF_DEAD, /* whatever lives when it is looked at */
        .carved_heaps = marks,
        /* No peak is looked for. */
        .heaps = totals->heaps.heaps,
        .interval_bytes = region->header.interval_bytes,
        .interval_count = region->header.interval_count,
        .stack_count = stack_count,
        .sums = totals->sums,
        .threads = &of_threads,
        .types = region->types,
        .unread = totals->unread,
        .parts[HS_PARTS_LIVE] = totals->parts,
    };
    memset(totals->sums, 0, (size_t)stack_count * sizeof(*totals->sums));
    hs_record_scan_run(&scan);
}

/* An allocation that is in progress may be in the records and not yet in the totals of its stack,
 * and 1/p is rounded differently in both. */
static void raise_to_live(struct hs_live_total *total)
{
    if (total->alloc.bytes < total->live.bytes) {
        total->alloc.bytes = total->live.bytes;
        total->alloc.bytes_var = total->live.bytes_var;
    }
    if (total->alloc.count < total->live.count) {
        total->alloc.count = total->live.count;
        total->alloc.count_var = total->live.count_var;
    }
    HS_ASSERT(total->live.bytes <= total->alloc.bytes && total->live.count <= total->alloc.count);
}

static void fill(struct hs_live_totals *totals, uint32_t stack_count, const uint16_t *marks,
                 const uint64_t *widest_bytes)
{
    totals->live = totals->alloc = (struct hs_estimate){ 0 };
    for (uint32_t i = 0; i < stack_count; i++) {
        const struct hs_stack_v1 *stack = hs_region_map_at(&totals->stacks, i);
        struct hs_live_total *total = &totals->of_stack[i];
        unsigned mark = marks ? marks[i] : 0;
        *total = (struct hs_live_total){ .heap_id = hs_load_relaxed(&stack->heap_id),
                                         .is_left_out = mark == HS_SCAN_LEFT_OUT };
        if (total->is_left_out) {
            continue;
        }
        struct hs_totals_v1 sum = hs_totals_load(&stack->totals[0]);
        struct hs_totals_v1 other = hs_totals_load(&stack->totals[1]);
        hs_totals_add(&sum, &other);
        total->alloc = hs_totals_estimate(&sum, widest_bytes[total->heap_id]);
        total->live = totals->sums[i].live;
        raise_to_live(total);
        if (mark == 0) {
            hs_estimate_add(&totals->live, &total->live);
            hs_estimate_add(&totals->alloc, &total->alloc);
        }
    }
    totals->stack_count = stack_count;
}

int hs_live_totals_read(const struct hs_region *region, struct hs_live_totals *totals)
{
    uint64_t widest_bytes[HS_REGION_HEAPS];
    uint16_t *marks = NULL;
    drop_types(totals);
    int r = renew_map(region, HS_SECTION_STACKS, &totals->stacks);
    r = r < 0 ? r : renew_map(region, HS_SECTION_RECORDS, &totals->records);
    r = r < 0 ? r : hs_heap_peaks_load(region, &totals->heaps);
    if (r < 0) {
        return r;
    }
    uint32_t stack_count =
        totals->stacks.count < UINT32_MAX / 2 ? (uint32_t)totals->stacks.count : UINT32_MAX / 2;
    r = make_room(totals, stack_count);
    r = r < 0 ? r
              : hs_heap_marks_find(region, &totals->heaps, &totals->stacks, stack_count, &marks);
    if (r == 0) {
        hs_widest_intervals_find(region, &totals->heaps, widest_bytes);
        r = region->types ? begin_types(totals, stack_count) : 0;
    }
    if (r == 0) {
        scan(region, totals, stack_count, marks);
        fill(totals, stack_count, marks, widest_bytes);
    }
    free(marks);
    return r;
}

void hs_live_totals_deinit(struct hs_live_totals *totals)
{
    hs_region_unmap(&totals->stacks);
    hs_region_unmap(&totals->records);
    drop_types(totals);
    free(totals->of_stack);
    free(totals->sums);
    *totals = (struct hs_live_totals){ 0 };
}
