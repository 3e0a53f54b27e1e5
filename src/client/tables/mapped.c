/*
 * Changing the ranges that the program has mapped, and their blocks. See mapped.h.
 */
#include "client/tables/mapped.h"

#include <stddef.h>
#include <time.h>

#include "client/host/sandbox.h"
#include "client/tables/heap_blocks.h"
#include "client/tables/heaps.h"
#include "client/tables/mapped_reserve.h"
#include "client/tables/stacks.h"
#include "rt/check.h"
#include "rt/sys.h"

/* How long a thread tries to get the lock: first without a system call, then letting others run.
 * The lock is held for some hundred nanoseconds, unless that thread has no processor. */
#define SPINS       200U
#define SPINS_TIGHT 1000000U /* where no other system call may be made */
#define YIELDS      20U
#define SLEEP_NS    50000 /* a thread of a lower real-time priority may have the lock */
#define WAIT_NS     UINT64_C(1000000000)

uint32_t hs_mapped_count; /* of ranges */

static uintptr_t owner_va; /* the lock: the hs_tls of the thread that has it; 0: none */
static bool is_held_for_fork;
static uint32_t pending; /* nodes to be given back, linked by level 0; only ever taken as a whole */
static uint32_t generation;
static bool is_suspect;
static uint8_t heap_id; /* 0: not added yet */

/* --- the lock --------------------------------------------------------------------------------- */

/* Signals are blocked where the lock is held. So if this thread has it already, either it is
 * forking, or a child of vfork, which shares our memory, was killed with it. */
static bool try_lock(void)
{
    uintptr_t self = (uintptr_t)&hs_tls, expected = 0;
    /* ORDER mapped: all that the last thread wrote. */
    if (hs_cas_acq_rel(&owner_va, &expected, self)) {
        return true;
    }
    if (expected == self && !is_held_for_fork) {
        hs_store_relaxed(&is_suspect, true);
    }
    return expected == self;
}

static bool lock(void)
{
    bool is_ours = try_lock();
    for (unsigned i = 0; !is_ours && i < (hs_sandbox_is_tight() ? SPINS_TIGHT : SPINS); i++) {
        is_ours = try_lock();
    }
    if (is_ours || hs_sandbox_is_tight()) {
        return is_ours;
    }
    uint64_t end_ns = hs_sys_clock_ns(CLOCK_MONOTONIC) + WAIT_NS;
    for (unsigned i = 0; !is_ours && hs_sys_clock_ns(CLOCK_MONOTONIC) < end_ns; i++) {
        if (i < YIELDS) {
            hs_sys_yield();
        } else {
            hs_sys_sleep_ns(SLEEP_NS);
        }
        is_ours = try_lock();
    }
    return is_ours;
}

static void unlock(void)
{
    hs_store_relaxed(&hs_mapped_count, (uint32_t)hs_ranges_count());
    if (!is_held_for_fork) {
        /* ORDER mapped: all that this thread wrote. */
        hs_store_release(&owner_va, 0);
    }
}

static void free_pending(void)
{
    /* ORDER mapped-pending: the links of what other threads left. */
    uint32_t id = hs_load_relaxed(&pending) ? hs_swap_acq_rel(&pending, HS_RANGE_NONE) : 0;
    while (id != HS_RANGE_NONE) {
        uint32_t next = hs_range_at(id)->next[0];
        hs_ranges_free(id);
        id = next;
    }
}

bool hs_mapped_enter(uint64_t *ret_old_mask)
{
    *ret_old_mask = hs_sys_block_signals();
    if (!lock()) {
        hs_sys_restore_signals(*ret_old_mask);
        return false;
    }
    free_pending();
    return true;
}

void hs_mapped_leave(uint64_t old_mask)
{
    unlock();
    hs_sys_restore_signals(old_mask);
}

bool hs_mapped_hold_for_fork(void)
{
    uint64_t old_mask = hs_sys_block_signals();
    bool is_ours = lock();
    is_held_for_fork = is_ours;
    hs_sys_restore_signals(old_mask);
    return is_ours;
}

void hs_mapped_release_after_fork(void)
{
    is_held_for_fork = false;
    unlock();
}

void hs_mapped_suspect(void)
{
    hs_store_relaxed(&is_suspect, true);
}

void hs_mapped_note_missed(uint64_t lost_bytes)
{
    hs_store_relaxed(&is_suspect, true);
    hs_thread_count_loss(HS_LOSS_UNTRACKED, lost_bytes, UINT64_C(1) << HS_COUNT_SHIFT);
}

bool hs_mapped_take_suspicion(void)
{
    return hs_load_relaxed(&is_suspect) && hs_swap_relaxed(&is_suspect, false);
}

/* --- blocks ----------------------------------------------------------------------------------- */

uint8_t hs_mapped_heap(void)
{
    return heap_id;
}

uint8_t hs_mapped_make_heap(void)
{
    if (heap_id == 0) {
        heap_id = hs_heaps_add(HS_HEAP_NAME_MMAP, HS_HEAP_EXACT, 0);
    }
    return heap_id;
}

/* Records the block of a range. `epoch`: of its birth. */
static void insert(struct hs_thread *thread, struct hs_range *range, uint64_t epoch)
{
    uint64_t size_bytes = range->end_va - range->start_va;
    const struct hs_live_block block = {
        .addr = range->start_va,
        .size_bytes = size_bytes,
        .weight_bytes = size_bytes,
        .stack_id = range->stack_id,
        .birth_ms = range->birth_ms,
        .epoch = epoch,
    };
    enum hs_loss loss = thread ? hs_heap_blocks_insert(thread, heap_id, &block) : HS_LOSS_REENTRANT;
    hs_mapped_reserve_forget(range->start_va, range->end_va);
    range->kind = HS_RANGE_MEMORY;
    if (loss != HS_LOSS_N) {
        range->kind = HS_RANGE_UNRECORDED;
        hs_thread_count_loss(loss, size_bytes, UINT64_C(1) << HS_COUNT_SHIFT);
    }
}

/* The same for a block that was recorded before, so that its bytes are no new ones. `is_more`: it
 * is a further part of a range of which another part is recorded. */
static void insert_again(struct hs_thread *thread, struct hs_range *range, uint64_t epoch,
                         bool is_more)
{
    insert(thread, range, epoch);
    if (range->kind != HS_RANGE_MEMORY) {
        return;
    }
    hs_shared_add(&hs_heaps_element(heap_id)->alloc_bytes, range->start_va - range->end_va);
    struct hs_totals_v1 *totals = is_more ? hs_stack_totals(range->stack_id, epoch) : NULL;
    if (totals) {
        hs_shared_add(&totals->exact_count, 1);
        thread->block->sample_count++;
    }
    if (!is_more) {
        thread->block->free_count--; /* its removal counted as a free */
    }
}

/* Removes the block of a range. Its parts are born at *ret_epoch, the epoch of its death: a cut
 * contains either the whole or the parts. False: there was none. */
static bool remove_block(struct hs_thread *thread, const struct hs_range *range,
                         uint64_t *ret_epoch)
{
    return range->kind == HS_RANGE_MEMORY &&
           hs_heap_blocks_remove_at(thread, heap_id, range->start_va, NULL, ret_epoch);
}

/* --- taking ----------------------------------------------------------------------------------- */

static void append(struct hs_mapped_chain *chain, uint32_t id)
{
    if (chain->first == HS_RANGE_NONE) {
        chain->first = id;
    } else {
        hs_range_at(chain->last)->next[0] = id;
    }
    chain->last = id;
    chain->generation = generation;
}

/* Takes the part [start_va, end_va) out of a range that is longer. */
static void take_part(struct hs_thread *thread, uint32_t id, uint64_t start_va, uint64_t end_va,
                      struct hs_mapped_chain *chain)
{
    struct hs_range *range = hs_range_at(id);
    const struct hs_range whole = *range;
    uint64_t epoch = 0;
    bool was_recorded = remove_block(thread, range, &epoch), is_more = false;
    if (range->kind == HS_RANGE_MEMORY && !was_recorded) {
        range->kind = HS_RANGE_UNRECORDED;
    }
    uint32_t part = hs_ranges_make(start_va, end_va, range);
    if (part != HS_RANGE_NONE) {
        hs_range_at(part)->is_part = true;
        append(chain, part);
    }
    if (whole.start_va < start_va) {
        range->end_va = start_va;
        if (was_recorded) {
            insert_again(thread, range, epoch, false);
        }
        is_more = true;
    } else {
        range->start_va = end_va; /* its place in the order stays */
    }
    if (whole.end_va > end_va && is_more) {
        uint32_t rest = hs_ranges_make(end_va, whole.end_va, &whole);
        if (rest == HS_RANGE_NONE) {
            hs_mapped_note_missed(whole.end_va - end_va);
            return;
        }
        hs_range_at(rest)->kind = range->kind;
        hs_ranges_link(rest);
        range = hs_range_at(rest);
    }
    if (whole.end_va > end_va && was_recorded) {
        insert_again(thread, range, epoch, is_more);
    }
}

static void take_range(struct hs_thread *thread, uint32_t id, uint64_t start_va, uint64_t end_va,
                       struct hs_mapped_chain *chain)
{
    struct hs_range *range = hs_range_at(id);
    uint64_t unused;
    if (range->start_va >= start_va && range->end_va <= end_va) {
        if (range->kind == HS_RANGE_MEMORY && !remove_block(thread, range, &unused)) {
            range->kind = HS_RANGE_UNRECORDED;
        }
        hs_ranges_unlink(id);
        range->is_part = false;
        append(chain, id);
    } else {
        take_part(thread, id, start_va > range->start_va ? start_va : range->start_va,
                  end_va < range->end_va ? end_va : range->end_va, chain);
    }
}

/* Takes the ranges of which `does_match` says so. */
static void take_if(struct hs_thread *thread, uint64_t start_va, uint64_t end_va, bool is_any,
                    struct hs_mapped_chain *chain)
{
    uint32_t id = hs_ranges_find(start_va);
    while (id != HS_RANGE_NONE && hs_range_at(id)->start_va < end_va) {
        uint64_t next_va = hs_range_at(id)->end_va;
        uint32_t next = hs_ranges_next(id);
        if (is_any || hs_range_at(id)->kind == HS_RANGE_RESERVED) {
            take_range(thread, id, start_va, end_va, chain);
        }
        id = next_va < end_va ? next : HS_RANGE_NONE;
    }
}

void hs_mapped_take(struct hs_thread *thread, uint64_t start_va, uint64_t end_va,
                    struct hs_mapped_chain *chain)
{
    take_if(thread, start_va, end_va, true, chain);
}

/* --- reserves --------------------------------------------------------------------------------- */

void hs_mapped_make_reserve(struct hs_thread *thread, uint64_t start_va, uint64_t end_va)
{
    uint32_t id = hs_ranges_find(start_va);
    struct hs_range *range = id == HS_RANGE_NONE ? NULL : hs_range_at(id);
    uint64_t unused;
    if (range && range->start_va <= start_va && range->end_va >= end_va &&
        remove_block(thread, range, &unused)) {
        range->kind = HS_RANGE_UNRECORDED;
    }
}

bool hs_mapped_has_block(uint64_t start_va, uint64_t end_va)
{
    bool is_found = false;
    for (uint32_t id = hs_ranges_find(start_va);
         !is_found && id != HS_RANGE_NONE && hs_range_at(id)->start_va < end_va;
         id = hs_ranges_next(id)) {
        is_found = hs_range_at(id)->kind == HS_RANGE_MEMORY;
    }
    return is_found;
}

/* --- adding ----------------------------------------------------------------------------------- */

static void drop_old(struct hs_thread *thread, uint64_t start_va, uint64_t end_va)
{
    struct hs_mapped_chain old = { 0 };
    hs_mapped_take(thread, start_va, end_va, &old);
    for (uint32_t id = old.first; id != HS_RANGE_NONE; id = hs_range_at(id)->next[0]) {
        const struct hs_range *range = hs_range_at(id);
        if (thread && range->kind == HS_RANGE_MEMORY) {
            thread->block->lost_count[HS_LOSS_DUPLICATE]++;
            thread->block->duplicate_bytes += range->end_va - range->start_va;
        }
    }
    hs_mapped_drop(&old);
}

void hs_mapped_add(const struct hs_mapped_origin *origin, uint64_t start_va, uint64_t end_va,
                   enum hs_range_kind kind)
{
    const struct hs_range like = { .stack_id = origin->stack_id,
                                   .birth_ms = origin->birth_ms,
                                   .is_shared = origin->is_shared,
                                   .kind = (uint8_t)kind };
    struct hs_thread *thread = origin->thread;
    drop_old(thread, start_va, end_va);
    uint32_t id = hs_ranges_make(start_va, end_va, &like);
    if (id == HS_RANGE_NONE) {
        hs_mapped_note_missed(kind == HS_RANGE_MEMORY ? end_va - start_va : 0);
        return;
    }
    hs_ranges_link(id);
    if (kind != HS_RANGE_MEMORY) {
        return;
    }
    /* ORDER cut: births of this epoch belong to the cuts announced from it on. */
    uint64_t epoch = hs_load_acquire(&hs_control_page.control.epoch);
    struct hs_range *range = hs_range_at(id);
    insert(thread, range, epoch);
    struct hs_totals_v1 *totals =
        range->kind == HS_RANGE_MEMORY ? hs_stack_totals(origin->stack_id, epoch) : NULL;
    if (totals) {
        hs_stack_add(totals, end_va - start_va, 0, 0);
        thread->block->sample_count++;
        thread->block->alloc_bytes += end_va - start_va;
    }
}

void hs_mapped_open(const struct hs_mapped_origin *origin, uint64_t start_va, uint64_t end_va)
{
    struct hs_mapped_chain closed = { 0 };
    take_if(origin->thread, start_va, end_va, false, &closed);
    for (uint32_t id = closed.first; id != HS_RANGE_NONE; id = hs_range_at(id)->next[0]) {
        const struct hs_range piece = *hs_range_at(id);
        struct hs_mapped_origin of_piece = *origin;
        of_piece.is_shared = piece.is_shared;
        hs_mapped_add(&of_piece, piece.start_va, piece.end_va, HS_RANGE_MEMORY);
    }
    hs_mapped_drop(&closed);
}

void hs_mapped_put_back(struct hs_thread *thread, struct hs_mapped_chain *chain, bool is_reserved)
{
    if (!hs_mapped_is_current(chain)) {
        return;
    }
    for (uint32_t id = chain->first; id != HS_RANGE_NONE;) {
        struct hs_range *range = hs_range_at(id);
        uint32_t next = range->next[0];
        bool was_memory = range->kind == HS_RANGE_MEMORY;
        range->kind = is_reserved ? (uint8_t)HS_RANGE_RESERVED : range->kind;
        /* Another thread may have been given these addresses: then the call has not failed. */
        uint32_t found = hs_ranges_find(range->start_va);
        if (found != HS_RANGE_NONE && hs_range_at(found)->start_va < range->end_va) {
            hs_ranges_free(id);
        } else {
            hs_ranges_link(id);
            if (was_memory && !is_reserved) {
                /* ORDER cut: as in hs_mapped_add. */
                insert_again(thread, range, hs_load_acquire(&hs_control_page.control.epoch),
                             range->is_part);
            }
        }
        id = next;
    }
    chain->first = HS_RANGE_NONE;
}

bool hs_mapped_is_current(const struct hs_mapped_chain *chain)
{
    return chain->first != HS_RANGE_NONE && chain->generation == generation;
}

void hs_mapped_drop(struct hs_mapped_chain *chain)
{
    if (chain->first == HS_RANGE_NONE || chain->generation != hs_load_relaxed(&generation)) {
        return;
    }
    uint32_t head = hs_load_relaxed(&pending);
    do {
        hs_range_at(chain->last)->next[0] = head;
        /* ORDER mapped-pending: links before the head. */
    } while (!hs_cas_acq_rel(&pending, &head, chain->first));
    chain->first = HS_RANGE_NONE;
}

bool hs_mapped_leave_to_parent(uint64_t va)
{
    uint32_t id = hs_ranges_find(va);
    struct hs_range *range = id == HS_RANGE_NONE ? NULL : hs_range_at(id);
    if (!range || range->start_va != va || !range->is_shared) {
        return false;
    }
    range->kind = HS_RANGE_UNRECORDED;
    return true;
}

void hs_mapped_clear(void)
{
    hs_ranges_clear();
    hs_mapped_reserve_forget(0, UINT64_MAX);
    generation++;
    pending = HS_RANGE_NONE;
    is_suspect = false;
    hs_mapped_count = 0;
}

#if HS_HAS_CHECKS

bool hs_mapped_is_valid(void)
{
    bool is_valid = hs_ranges_is_valid();
    for (uint32_t id = hs_ranges_find(0); is_valid && id != HS_RANGE_NONE;
         id = hs_ranges_next(id)) {
        const struct hs_range *range = hs_range_at(id);
        is_valid = (range->kind == HS_RANGE_MEMORY) ==
                   (heap_id != 0 &&
                    hs_heap_blocks_has(heap_id, range->start_va, range->end_va - range->start_va));
    }
    return is_valid;
}

#endif
