/*
 * The slow path of the sampler. See sampler.h.
 */
#include "client/hooks/sampler.h"

#include "client/life/lifecycle.h"
#include "client/hooks/nested_hook.h"
#include "rt/check.h"
#include "rt/rand.h"

static uint64_t process_seed;
static uint64_t thread_count; /* threads that have drawn numbers */
static uint64_t fork_count;

void hs_sampler_seed(uint64_t seed)
{
    process_seed = hs_mix64(seed + 1);
    thread_count = 0;
}

static uint64_t next_thread_seed(void)
{
    return hs_mix64(process_seed + hs_add_relaxed(&thread_count, 1)) | 1;
}

/* Floors are multiples of a step, and a countdown is shorter than a step. So left_bytes holds both
 * the floor that the countdown was made for and what remains of it, also when the floor has risen
 * since. */
static inline uint64_t countdown_floor(const struct hs_tls *tls)
{
    return tls->left_bytes & ~(HS_FLOOR_STEP - 1);
}

static inline uint64_t countdown_bytes(const struct hs_tls *tls)
{
    return (tls->left_bytes & (HS_FLOOR_STEP - 1)) + tls->reserve_bytes;
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

static void set_gap(struct hs_tls *tls, uint64_t floor, uint64_t gap)
{
    uint64_t now = gap < tls->interval_bytes ? gap : tls->interval_bytes;
    tls->left_bytes = floor + now;
    tls->reserve_bytes = gap - now;
    HS_ASSERT(tls->left_bytes - floor <= tls->interval_bytes);
    HS_ASSERT(now + tls->reserve_bytes == gap);
}

static void sleep_on(struct hs_tls *tls, uint64_t floor)
{
    tls->left_bytes = floor + HS_SAMPLER_NEVER;
    tls->reserve_bytes = 0;
}

/* Takes over the current settings and begins a new gap. */
static HS_COLD void pick_up(struct hs_tls *tls, uint64_t floor)
{
    const struct hs_region_control_v1 *control = &hs_control_page.control;
    /* ORDER settings: the interval that belongs to this generation. */
    tls->generation = hs_load_acquire(&control->generation);
    tls->interval_bytes = hs_load_relaxed(&control->interval_bytes);
    if (tls->rng == 0) {
        tls->rng = next_thread_seed();
    }
    if (tls->interval_bytes == HS_INTERVAL_OFF) {
        sleep_on(tls, floor);
        return;
    }
    if (tls->self) {
        tls->self->gap_count = 0;
    }
    tls->interval_idx = (uint8_t)hs_region_interval_idx(tls->interval_bytes);
    /* At interval 1 nothing is drawn: every size, 0 too, takes the slow path and is exact. */
    set_gap(tls, floor, tls->interval_bytes == 1 ? 0 : draw_first(tls));
}

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

/* Whether this thread may use the present region. Another session needs another region, in which
 * each thread begins anew. */
static bool is_region_current(void)
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
    return countdown_floor(tls) == floor && size_bytes < tls->interval_bytes &&
           tls->interval_bytes > 1 && countdown_bytes(tls) <= size_bytes;
}

/* The number of hits of an allocation smaller than the interval. */
static uint32_t count_hits(struct hs_tls *tls, uint64_t floor, size_t size_bytes)
{
    uint32_t hits = 0;
    int64_t to_go = (int64_t)countdown_bytes(tls) - (int64_t)size_bytes;
    while (to_go <= 0) {
        to_go += (int64_t)next_gap(tls);
        hits++;
    }
    HS_ASSERT(to_go > 0);
    set_gap(tls, floor, (uint64_t)to_go);
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
    if (hs_unlikely(!is_on) && !hs_lifecycle_is_waiting()) {
        sleep_on(tls, 0);
        return false;
    }
    const struct hs_region_control_v1 *control = &hs_control_page.control;
    bool is_outdated = tls->generation != hs_load_relaxed(&control->generation);
    if (hs_unlikely(is_outdated)) {
        is_on = is_on || hs_lifecycle_follow_fork();
        if (!is_on || !is_region_current()) {
            /* Another thread is following or renewing at this moment, or that failed. */
            return false;
        }
    }
    uint64_t floor = hs_load_relaxed(&control->floor_bytes);
    if (hs_unlikely(is_outdated) && !is_due(tls, floor, size_bytes)) {
        pick_up(tls, floor);
        is_outdated = false;
    }
    uint64_t interval = tls->interval_bytes;
    if (interval == HS_INTERVAL_OFF) {
        if (!is_on) {
            hs_lifecycle_follow_fork(); /* it stays dormant, but announces itself */
        }
        sleep_on(tls, floor);
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
        pick_up(tls, floor);
    }
    return ret_sample->hits > 0 && (hs_likely(is_on) || hs_lifecycle_follow_fork());
}

void hs_sampler_prepare_fork(void)
{
    hs_add_relaxed(&fork_count, 1);
}

HS_COLD void hs_sampler_follow_fork(void)
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
        tls->left_bytes = floor + HS_SAMPLER_SETTLED_BYTES;
    } else if (tls->rng != 0 && tls->interval_bytes > 1) {
        if (tls->self) {
            tls->self->gap_count = 0;
        }
        set_gap(tls, floor, draw_first(tls));
    }
}
