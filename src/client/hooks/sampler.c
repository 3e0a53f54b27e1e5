/*
 * The slow path of the sampler. See sampler.h.
 */
#include "client/hooks/sampler.h"

#include "client/hooks/nested_hook.h"
#include "client/life/lifecycle.h"
#include "client/life/python_heap.h"
#include "client/tables/heaps.h"
#include "client/thread/countdown.h"
#include "rt/check.h"
#include "rt/rand.h"

/* Draws many gaps at once. One draw is a chain of some twenty dependent operations; the chains of
 * many draws run in parallel. A signal handler that comes in between may be given the same gaps,
 * which does no harm. */
static HS_COLD void draw_ahead(struct hs_tls *tls)
{
    for (uint32_t i = 0; i < HS_GAPS_AHEAD; i++) {
        tls->self->gap_bytes[i] = hs_rand_gap(&tls->rng, tls->interval_bytes);
    }
    tls->self->gap_count = HS_GAPS_AHEAD;
}

static HS_COLD uint64_t draw(struct hs_tls *tls)
{
    if (tls->self) {
        draw_ahead(tls);
    }
    return hs_rand_gap(&tls->rng, tls->interval_bytes);
}

static inline uint64_t next_gap(struct hs_tls *tls)
{
    struct hs_thread *thread = tls->self;
    /* Read once: a signal handler may take the remaining gaps. */
    uint32_t left = thread ? hs_load_relaxed(&thread->gap_count) : 0;
    if (hs_unlikely(left == 0)) {
        return draw(tls);
    }
    hs_store_relaxed(&thread->gap_count, left - 1);
    return thread->gap_bytes[left - 1];
}

bool hs_sampler_is_region_current(void)
{
    const struct hs_region_control_v1 *control = &hs_control_page.control;
    /* ORDER settings: the session that belongs to this generation. */
    hs_load_acquire(&control->generation);
    return hs_likely(hs_load_relaxed(&control->session) == hs_region.session) ||
           hs_lifecycle_renew();
}

/* Has the thread come here because its countdown has run out, and not because the floor was
 * raised or because the block is large? Then the allocation is a hit under the settings that the
 * countdown was made with, even if others are in force by now. A new gap that begins before this
 * allocation would discard the hit: one in each forked child, whose region has another
 * generation and the same floor. A new gap that begins after it is correct for any interval. In
 * all other cases the gap may begin at once, because the remaining countdown then says nothing
 * about why the thread came here. */
static bool is_due(const struct hs_tls *tls, uint64_t floor, size_t size_bytes)
{
    return hs_countdown_floor(tls) == floor && size_bytes < tls->interval_bytes &&
           tls->interval_bytes > 1 && hs_countdown_bytes(tls) <= size_bytes;
}

/* The number of hits of an allocation smaller than the interval. */
static uint32_t count_hits(struct hs_tls *tls, uint64_t floor, size_t size_bytes)
{
    uint32_t hits = 0;
    int64_t to_go = (int64_t)hs_countdown_bytes(tls) - (int64_t)size_bytes;
    while (to_go <= 0) {
        to_go += (int64_t)next_gap(tls);
        hits++;
    }
    HS_ASSERT(to_go > 0);
    hs_countdown_set(tls, floor, (uint64_t)to_go);
    return hits < HS_RECORD_HITS_MAX ? hits : HS_RECORD_HITS_MAX;
}

bool hs_sampler_hit(size_t size_bytes, struct hs_sample *ret_sample)
{
    struct hs_tls *tls = &hs_tls;
    if (hs_unlikely(tls->probe != HS_NESTED_HOOK_NONE) &&
        hs_nested_hook_notice((uintptr_t)__builtin_frame_address(0))) {
        return false;
    }
    bool is_on = hs_lifecycle_is_on();
    if (hs_unlikely(!is_on) && !hs_life_state_is_waiting()) {
        hs_countdown_sleep(tls, 0);
        return false;
    }
    const struct hs_region_control_v1 *control = &hs_control_page.control;
    bool is_outdated = tls->generation != hs_load_relaxed(&control->generation);
    if (hs_unlikely(is_outdated)) {
        is_on = is_on || hs_lifecycle_follow_fork();
        if (!is_on || !hs_sampler_is_region_current()) {
            /* Another thread is following or renewing at this moment, or that failed. */
            return false;
        }
        hs_python_heap_follow();
    }
    uint64_t floor = hs_load_relaxed(&control->floor_bytes);
    if (hs_unlikely(is_outdated) && !is_due(tls, floor, size_bytes)) {
        hs_countdown_pick_up(floor);
        is_outdated = false;
    }
    uint64_t interval = tls->interval_bytes;
    if (interval == HS_INTERVAL_OFF) {
        if (!is_on) {
            hs_lifecycle_follow_fork(); /* it stays dormant, but announces itself */
        }
        hs_countdown_sleep(tls, floor);
        return false;
    }
    ret_sample->interval_idx = tls->interval_idx;
    ret_sample->interval_bytes = interval;
    ret_sample->hits = 0;
    if (size_bytes >= interval || interval == 1) {
        return hs_likely(is_on) || hs_lifecycle_follow_fork();
    }
    ret_sample->hits = count_hits(tls, floor, size_bytes);
    if (hs_unlikely(is_outdated)) {
        hs_countdown_pick_up(floor);
    }
    return ret_sample->hits > 0 && (hs_likely(is_on) || hs_lifecycle_follow_fork());
}

bool hs_sampler_is_ready(void)
{
    bool is_on = hs_lifecycle_is_on() || (hs_life_state_is_waiting() && hs_lifecycle_follow_fork());
    if (is_on && hs_heaps_is_outdated()) {
        if (!hs_sampler_is_region_current()) {
            return false;
        }
        hs_heaps_pick_up();
    }
    return is_on;
}
