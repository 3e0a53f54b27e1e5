/*
 * Measuring lifetimes and adding them up. See lifetimes.h.
 */
#include "client/tables/lifetimes.h"

#include "client/host/pages.h"
#include "client/tables/locate.h"
#include "client/tables/region.h"
#include "client/tables/shared.h"
#include "rt/rand.h"

/* Records beyond these have no number. */
#define NUMBERS (UINT64_C(1) << 26)
/* What a recorded allocation counts as where not each one is recorded: more than any class has. */
#define UNKNOWN_STEP (1U << HS_TEMPORARY_CLASSES)

static uint32_t *numbers;    /* of blocks, by record id; 0: it has none */
static bool are_numbers_out; /* there is no memory for them */

/* --- settings --------------------------------------------------------------------------------- */

/* Made once and kept. Two threads may make it at once: one of them unmaps its own. */
static void make_numbers(void)
{
    uint32_t *made = hs_pages_map_sparse(NUMBERS * sizeof(*made));
    uint32_t *expected = NULL;
    if (!made) {
        hs_store_relaxed(&are_numbers_out, true);
    } else if (!hs_cas_relaxed(&numbers, &expected, made)) {
        hs_pages_unmap(made, NUMBERS * sizeof(*made));
    }
}

void hs_lifetimes_pick_up(struct hs_thread *thread)
{
    hs_life_state_follow_timing();
    if (thread) {
        thread->must_look = true;
        thread->last_birth = NULL; /* the new countdown says nothing about it */
    }
}

/* The number of a record's block; NULL: it has none. */
static uint32_t *number_of(const struct hs_record_v1 *record)
{
    uint32_t *all = hs_load_relaxed(&numbers);
    uint32_t id = all ? hs_region_record_id(record) : UINT32_MAX;
    return id < NUMBERS ? &all[id] : NULL;
}

/* --- births ----------------------------------------------------------------------------------- */

bool hs_lifetimes_begin(struct hs_thread *thread)
{
    if (!hs_life_state_is_timed()) {
        return false;
    }
    thread->clock_ms = hs_region_now_ms();
    return true;
}

/* The number of the thread's next allocation from malloc. */
static uint32_t next_number(struct hs_thread *thread, uint64_t interval_bytes)
{
    uint32_t step = interval_bytes == 1 ? 1 : UNKNOWN_STEP;
    thread->alloc_number += step;
    thread->alloc_number += thread->alloc_number < step; /* 0 is no number */
    return interval_bytes == 1 ? thread->alloc_number : 0;
}

void hs_lifetimes_note_birth(struct hs_thread *thread, uint8_t heap_id, uintptr_t addr,
                             uint64_t interval_bytes)
{
    struct hs_record_place place;
    uint32_t number = heap_id == 0 ? next_number(thread, interval_bytes) : 0;
    if (number != 0 && !hs_load_relaxed(&numbers) && !hs_load_relaxed(&are_numbers_out)) {
        make_numbers();
    }
    thread->last_birth = heap_id == 0 ? NULL : thread->last_birth;
    if (!hs_locate_find(thread, addr, &place)) {
        return; /* a signal handler has freed it */
    }
    uint32_t *old_number = number_of(place.record);
    if (old_number) {
        hs_store_relaxed(old_number, number); /* it may have that of an earlier block */
    }
    if (heap_id != 0) {
        return;
    }
    thread->last_left_bytes = hs_tls.left_bytes;
    thread->last_birth = place.record;
}

/* --- deaths ----------------------------------------------------------------------------------- */

static unsigned temporary_class(const struct hs_thread *thread, const struct hs_record_v1 *record)
{
    uint32_t owner = HS_RECORD_THREAD(hs_load_relaxed(&record->size_thread));
    if (owner != thread->thread_id || owner == HS_THREAD_ID_OTHER) {
        return HS_TEMPORARY_NONE;
    }
    if (record == thread->last_birth && hs_tls.left_bytes == thread->last_left_bytes) {
        return 0;
    }
    const uint32_t *number = number_of(record);
    uint32_t born_as = number ? hs_load_relaxed(number) : 0;
    return born_as != 0 && hs_tls.interval_bytes == 1
               ? hs_temporary_class(thread->alloc_number - born_as)
               : HS_TEMPORARY_NONE;
}

void hs_lifetimes_measure(const struct hs_thread *thread, const struct hs_record_v1 *record,
                          struct hs_live_block *block)
{
    uint32_t now_ms = hs_region_now_ms();
    uint32_t told_ms = hs_load_relaxed(&hs_control_page.control.collector_ms);
    now_ms = now_ms > told_ms ? now_ms : told_ms; /* as hs_record_now_ms() */
    uint32_t *number = record ? number_of(record) : NULL;
    block->has_lifetime = false;
    block->lifetime_ms = now_ms > block->birth_ms ? now_ms - block->birth_ms : 0;
    block->lifetime_class = (uint8_t)(block->birth_ms != 0 ? hs_lifetime_class(block->lifetime_ms)
                                                           : HS_LIFETIME_UNKNOWN);
    block->temporary_class =
        (uint8_t)(thread && record ? temporary_class(thread, record) : HS_TEMPORARY_NONE);
    block->alloc_number = number ? hs_load_relaxed(number) : 0;
}

static void add(const struct hs_live_block *block, uint64_t epoch, int sign)
{
    struct hs_lifetimes_v2 *lifetimes = hs_region_at(HS_SECTION_LIFETIMES, block->stack_id);
    struct hs_lifetime_totals_v2 *totals = &lifetimes->totals[epoch & 1];
    uint64_t interval_bytes =
        block->hits ? hs_region.header->interval_bytes[block->interval_idx] : 0;
    double count = 1;
    if (block->hits && block->size_bytes > 0 && interval_bytes > 0) {
        count = hs_inverse_hit_probability((double)block->size_bytes / (double)interval_bytes);
    }
    uint64_t count_fx = (uint64_t)(count * (double)(1 << HS_COUNT_SHIFT) + 0.5);
    double var = count * (count - 1); /* (1-p)/p^2 with 1/p = count */
    struct hs_totals_v1 *sums[2] = { &totals->by_lifetime[block->lifetime_class],
                                     block->temporary_class < HS_TEMPORARY_CLASSES
                                         ? &totals->temporary[block->temporary_class]
                                         : NULL };
    for (unsigned i = 0; i < 2 && sums[i]; i++) {
        if (block->hits == 0) {
            hs_shared_add(&sums[i]->exact_bytes, (uint64_t)sign * block->weight_bytes);
            hs_shared_add(&sums[i]->exact_count, (uint64_t)sign);
        } else {
            hs_shared_add(&sums[i]->sampled_bytes, (uint64_t)sign * block->weight_bytes);
            hs_shared_add(&sums[i]->sampled_count_fx, (uint64_t)sign * count_fx);
            hs_shared_add_double(&sums[i]->sampled_count_var, sign * var);
        }
    }
    if (block->lifetime_class != HS_LIFETIME_UNKNOWN && block->lifetime_ms > 0) {
        double ms = sign * (double)block->lifetime_ms;
        hs_shared_add_double(&totals->byte_ms, (double)block->weight_bytes * ms);
        hs_shared_add_double(&totals->count_ms, count * ms);
        if (var > 0) {
            hs_shared_add_double(&totals->count_ms_cov, var * ms);
            hs_shared_add_double(&totals->count_ms_var, var * ms * (double)block->lifetime_ms);
        }
    }
}

void hs_lifetimes_add(struct hs_live_block *block, uint64_t epoch)
{
    if (hs_region_reach_lifetimes(block->stack_id) &&
        hs_region_at(HS_SECTION_LIFETIMES, block->stack_id)) {
        add(block, epoch, 1);
        block->has_lifetime = true;
    }
}

void hs_lifetimes_undo(struct hs_thread *thread, const struct hs_live_block *block)
{
    struct hs_record_place place;
    if (!hs_region_at(HS_SECTION_LIFETIMES, block->stack_id)) {
        return;
    }
    add(block, block->epoch, -1);
    if (!thread || !hs_locate_find(thread, block->addr, &place)) {
        return;
    }
    uint32_t *number = number_of(place.record);
    if (number) {
        hs_store_relaxed(number, block->alloc_number);
    }
    if (block->temporary_class == 0) {
        thread->last_birth = place.record;
    }
}
