/*
 * Setting and counting down the countdowns of heaps. See heap_countdown.h.
 */
#include "client/thread/heap_countdown.h"

#include "client/host/pages.h"
#include "client/tables/heaps.h"
#include "client/thread/countdown.h"
#include "rt/check.h"
#include "rt/rand.h"
#include "rt/sys.h"

bool hs_heap_countdown_make(struct hs_thread *thread)
{
    size_t bytes = HS_REGION_HEAPS * sizeof(*thread->heap_countdowns);
    if (!thread->heap_countdowns) {
        uint64_t old_mask = hs_sys_block_signals();
        if (!thread->heap_countdowns) {
            thread->heap_countdowns = hs_pages_map_sparse(bytes);
        }
        hs_sys_restore_signals(old_mask);
    }
    return thread->heap_countdowns != NULL;
}

static void set(struct hs_heap_countdown *countdown, uint64_t floor, uint64_t gap)
{
    uint64_t now = gap < countdown->interval_bytes ? gap : countdown->interval_bytes;
    countdown->left_bytes = floor + now;
    countdown->reserve_bytes = gap - now;
    HS_ASSERT(countdown->left_bytes - floor <= countdown->interval_bytes);
}

/* A gap with which a countdown begins. 0 would be one more hit of the byte before. */
static uint64_t draw_first(uint64_t interval_bytes)
{
    uint64_t gap;
    do {
        gap = hs_rand_gap(&hs_tls.rng, interval_bytes);
    } while (gap == 0);
    return gap;
}

/* The index of an interval. When the region has no room for one more, the narrowest one that is at
 * least as wide, or else the widest, is used instead. */
static uint8_t interval_idx(uint64_t *interval_bytes)
{
    uint32_t idx = hs_region_interval_idx(*interval_bytes);
    if (idx != 0) {
        return (uint8_t)idx;
    }
    const uint64_t *known = hs_region.header->interval_bytes;
    idx = 1;
    for (uint32_t i = 2; i < HS_REGION_INTERVALS; i++) {
        bool is_better = known[idx] < *interval_bytes
                             ? known[i] > known[idx]
                             : known[i] >= *interval_bytes && known[i] < known[idx];
        idx = is_better ? i : idx;
    }
    *interval_bytes = known[idx];
    return (uint8_t)idx;
}

void hs_heap_countdown_pick_up(struct hs_thread *thread, uint8_t heap_id, uint64_t floor)
{
    struct hs_heap_countdown *countdown = &thread->heap_countdowns[heap_id];
    const struct hs_region_control_v1 *control = &hs_control_page.control;
    /* ORDER settings: the interval that belongs to this generation. */
    countdown->generation = hs_load_acquire(&control->generation);
    uint64_t interval_bytes = hs_load_relaxed(&hs_heaps_element(heap_id)->interval_bytes);
    if (hs_tls.rng == 0) {
        hs_countdown_pick_up(floor); /* the thread has not drawn any number yet */
    }
    countdown->interval_bytes = interval_bytes;
    if (interval_bytes == HS_INTERVAL_OFF) {
        countdown->left_bytes = floor + HS_COUNTDOWN_NEVER;
        countdown->reserve_bytes = 0;
        return;
    }
    countdown->interval_idx = interval_idx(&countdown->interval_bytes);
    interval_bytes = countdown->interval_bytes;
    set(countdown, floor, interval_bytes == 1 ? 0 : draw_first(interval_bytes));
}

static uint64_t remaining(const struct hs_heap_countdown *countdown)
{
    return (countdown->left_bytes & (HS_FLOOR_STEP - 1)) + countdown->reserve_bytes;
}

bool hs_heap_countdown_is_due(const struct hs_heap_countdown *countdown, uint64_t floor,
                              uint64_t size_bytes)
{
    return countdown->generation != 0 && (countdown->left_bytes & ~(HS_FLOOR_STEP - 1)) == floor &&
           size_bytes < countdown->interval_bytes && countdown->interval_bytes > 1 &&
           remaining(countdown) <= size_bytes;
}

uint32_t hs_heap_countdown_hits(struct hs_heap_countdown *countdown, uint64_t floor,
                                uint64_t size_bytes)
{
    uint32_t hits = 0;
    int64_t to_go = (int64_t)remaining(countdown) - (int64_t)size_bytes;
    while (to_go <= 0) {
        to_go += (int64_t)hs_rand_gap(&hs_tls.rng, countdown->interval_bytes);
        hits++;
    }
    set(countdown, floor, (uint64_t)to_go);
    return hits < HS_RECORD_HITS_MAX ? hits : HS_RECORD_HITS_MAX;
}

HS_COLD void hs_heap_countdown_follow_fork(void)
{
    struct hs_thread *thread = hs_tls.self;
    uint64_t floor = hs_load_relaxed(&hs_control_page.control.floor_bytes);
    for (unsigned i = 0; thread && thread->heap_countdowns && i < HS_REGION_HEAPS; i++) {
        struct hs_heap_countdown *countdown = &thread->heap_countdowns[i];
        if (countdown->generation != 0 && countdown->interval_bytes > 1) {
            set(countdown, floor, draw_first(countdown->interval_bytes));
        }
    }
}
