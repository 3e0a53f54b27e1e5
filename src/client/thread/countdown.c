/*
 * Seeds, new settings, and forks. See countdown.h.
 */
#include "client/thread/countdown.h"

#include "client/tables/lifetimes.h"
#include "client/tables/modules.h"
#include "client/tables/region.h"
#include "client/tables/unwind_tables.h"
#include "client/thread/call_stack.h"
#include "rt/rand.h"

static uint64_t process_seed;
static uint64_t thread_count; /* threads that have drawn numbers */
static uint64_t fork_count;

void hs_countdown_seed(uint64_t seed)
{
    process_seed = hs_mix64(seed + 1);
    thread_count = 0;
}

static uint64_t next_thread_seed(void)
{
    return hs_mix64(process_seed + hs_add_relaxed(&thread_count, 1)) | 1;
}

/* Draws the gap with which a new countdown begins at the next allocation. A gap of 0 would be one
 * more hit of the byte before, which does not count; so 0 is drawn again, which keeps the
 * proportions of all other gaps. */
static uint64_t draw_first(struct hs_tls *tls)
{
    uint64_t gap;
    HS_ASSERT(tls->interval_bytes > 1); /* at 1 no gap is drawn, and the loop would not end */
    do {
        gap = hs_rand_gap(&tls->rng, tls->interval_bytes);
    } while (gap == 0);
    return gap;
}

void hs_countdown_pick_up(uint64_t floor)
{
    struct hs_tls *tls = &hs_tls;
    const struct hs_region_control_v1 *control = &hs_control_page.control;
    /* ORDER settings: the interval that belongs to this generation. */
    tls->generation = hs_load_acquire(&control->generation);
    tls->interval_bytes = hs_load_relaxed(&control->interval_bytes);
    if (hs_load_relaxed(&control->flags) & HS_CONTROL_NO_MALLOC) {
        tls->interval_bytes = HS_INTERVAL_OFF;
    }
    hs_lifetimes_pick_up(tls->self);
    if (hs_unwind_tables_are_new() && hs_modules_take_tables()) {
        hs_call_stack_flush();
    }
    if (tls->rng == 0) {
        tls->rng = next_thread_seed();
    }
    if (tls->interval_bytes == HS_INTERVAL_OFF) {
        hs_countdown_sleep(tls, floor);
        return;
    }
    if (tls->self) {
        tls->self->gap_count = 0;
    }
    tls->interval_idx = (uint8_t)hs_region_interval_idx(tls->interval_bytes);
    /* At interval 1 nothing is drawn: every size, 0 too, takes the slow path and is exact. */
    hs_countdown_set(tls, floor, tls->interval_bytes == 1 ? 0 : draw_first(tls));
}

void hs_countdown_note_fork(void)
{
    hs_add_relaxed(&fork_count, 1);
}

HS_COLD void hs_countdown_follow_fork(void)
{
    struct hs_tls *tls = &hs_tls;
    /* The thread's own state is mixed in too: threads that fork at the same time may read the same
     * count. */
    process_seed = hs_mix64(process_seed + hs_mix64(fork_count) + tls->rng);
    fork_count = 0;
    thread_count = 0;
    if (tls->rng != 0) {
        tls->rng = next_thread_seed();
    }
    uint64_t floor = hs_load_relaxed(&hs_control_page.control.floor_bytes);
    if (tls->generation != 0 && tls->interval_bytes == HS_INTERVAL_OFF) {
        tls->left_bytes = floor + HS_COUNTDOWN_SETTLED_BYTES;
    } else if (tls->rng != 0 && tls->interval_bytes > 1) {
        if (tls->self) {
            tls->self->gap_count = 0;
        }
        hs_countdown_set(tls, floor, draw_first(tls));
    }
}
