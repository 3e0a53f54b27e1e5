/*
 * From a sampled allocation to a record in the region, and back when the block is freed.
 *
 * When the sampler has chosen an allocation, the hook's slow path calls hs_record_alloc, after the
 * real malloc has returned the block. It takes these steps, in this order:
 *
 *   1. Thread state. At the first sample of a thread, the thread gets a state: that of a thread
 *      that has ended, or a new one. If there is no memory for a new one, the sample is lost.
 *   2. Reentry guard. hs_reentry_guard_enter marks the thread as being in our code. If it already
 *      is (a signal handler interrupted our own code), the sample is lost as HS_LOSS_REENTRANT.
 *   3. Is recording on? It may have ended. If the process is a forked child without a region of its
 *      own, hs_lifecycle_follow_fork makes one now.
 *   4. Clock. Every 16th sample of a thread reads the clock, and so does each that walks its stack
 *      (step 6). The others take the thread's last reading or the time that the collector left in
 *      the control page, whichever is later. From time to time, the thread's name is read as well.
 *   5. Prefetch. The cache lines of the free filter and of the index (live.h) that step 8 will
 *      change are prefetched; they arrive while step 6 finds the stack.
 *   6. Stack. call_stack.h gives its id: by replay if the stack was walked before, otherwise it is
 *      walked and interned. Under open scopes (life/open_scopes.h) it is the stack that differs
 *      from this one in its scope.
 *   7. Epoch. The region's epoch (see "Cuts" in fmt/region_layout.h) is read. It decides which
 *      snapshots contain the block, and to which of the stack's two running totals it is added.
 *   8. Live table (live.h). The address goes into the free filter, a record is taken and filled,
 *      and it is published in the thread's record cache or in the index.
 *   9. Totals. The stack's running totals and the thread's counters are raised. If a collector
 *      asked for it, a sample that reads the clock (step 4) is timed, and its time is added to the
 *      thread's total.
 *
 * A sample that is lost is counted by count_loss under its reason, with the bytes and blocks that
 * it stands for. An incomplete stack (step 6) or an address that is already recorded (step 8) does
 * not lose the sample; both are counted where they are noticed.
 *
 * A free whose address passes the free filter calls hs_record_free before the real free. It enters
 * the reentry guard, checks that recording is on, and calls hs_live_remove_young, which removes a
 * block that the same thread recorded recently; if that fails, it calls hs_live_remove. A failed
 * realloc puts the block back with hs_record_put_back, under a new epoch.
 *
 * While lifetimes are measured (tables/lifetimes.h), every sample is a special one, and reads the
 * clock; a free calls hs_live_forget.
 *
 * Threads   any; see record.h.
 * See       record.h, live.h, unwind/replay.h.
 */
#include "client/hooks/record.h"

#include <time.h>

#include "client/hooks/record_steps.h"
#include "client/host/real.h"
#include "client/life/bind.h"
#include "client/life/fork.h"
#include "client/life/lifecycle.h"
#include "client/life/open_scopes.h"
#include "client/life/python_heap.h"
#include "client/tables/heaps.h"
#include "client/tables/lifetimes.h"
#include "client/tables/mapped_reserve.h"
#include "client/tables/modules.h"
#include "client/tables/region.h"
#include "client/tables/stacks.h"
#include "client/thread/call_stack.h"
#include "client/thread/thread.h"
#include "rt/rand.h"

void hs_record_flush(void)
{
    hs_modules_recheck();
    if (hs_lifecycle_is_on()) {
        hs_call_stack_flush();
    }
}

/* --- samples ---------------------------------------------------------------------------------- */

/* The samples that read the clock are also timed while a collector wants to know what samples cost.
 * CLOCK_MONOTONIC, and not the thread's CPU clock: reading that is a system call. */
static HS_COLD uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

HS_COLD void hs_record_count_time(struct hs_thread *thread, uint64_t begin_ns)
{
    uint64_t took_ns = clock_ns() - begin_ns;
    thread->block->timed_ns += took_ns < HS_TIMED_MAX_NS ? took_ns : HS_TIMED_MAX_NS;
    thread->block->timed_count++;
}

static HS_COLD uint64_t look_at_flags(uint32_t flags)
{
    if (flags & HS_CONTROL_BOUND) {
        hs_bind_try();
    }
    return flags & HS_CONTROL_TIMED ? clock_ns() : 0;
}

__attribute__((noinline)) uint64_t hs_record_look_at_clock(struct hs_thread *thread)
{
    thread->clock_ms = hs_region_now_ms();
    hs_python_heap_follow();
    uint32_t flags = hs_load_relaxed(&hs_control_page.control.flags);
    return hs_likely(!(flags & (HS_CONTROL_TIMED | HS_CONTROL_BOUND))) ? 0 : look_at_flags(flags);
}

HS_COLD enum hs_loss hs_record_reason_of(enum hs_loss loss)
{
    return loss == HS_LOSS_TABLE_FULL && hs_load_relaxed(&hs_region.is_at_limit) ? HS_LOSS_LIMIT
                                                                                 : loss;
}

uint32_t hs_record_stack_of(struct hs_thread *thread, uint8_t heap_id, uint32_t type_id,
                            uint32_t base_id)
{
    uint32_t scope_id = thread->must_look ? hs_open_scopes_find(thread) : 0;
    return base_id == HS_ID_NONE || (heap_id == 0 && scope_id == 0 && type_id == 0)
               ? base_id
               : hs_stack_derive(base_id, heap_id, type_id, scope_id);
}

/* The stack in a heap, of a thread that is ordinary or special (hs_thread.is_special). */
static inline __attribute__((always_inline)) uint32_t
stack_in(struct hs_thread *thread, uint8_t heap_id, const struct hs_regs *regs, bool is_special)
{
    if (is_special) {
        return hs_record_stack_of(thread, heap_id, 0, hs_call_stack_find(thread, regs));
    }
    uint32_t base_id = hs_call_stack_find_ordinary(thread, regs);
    return heap_id == 0 || base_id == HS_ID_NONE ? base_id
                                                 : hs_stack_derive(base_id, heap_id, 0, 0);
}

static inline __attribute__((always_inline)) enum hs_loss
record(struct hs_thread *thread, uint8_t heap_id, const void *ptr, size_t size_bytes,
       const struct hs_sample *sample, const struct hs_regs *regs, bool is_special)
{
    uint64_t begin_ns = 0;
    if (hs_unlikely(--thread->name_countdown % HS_CLOCK_SAMPLES == 0)) {
        begin_ns = hs_record_look_at_clock(thread);
        if (thread->name_countdown == 0) {
            hs_thread_refresh_name(thread);
        }
    }
    bool is_timed = is_special && hs_lifetimes_begin(thread);
    struct hs_live_slot slot = hs_live_prefetch(thread, (uintptr_t)ptr);
    uint32_t stack_id = stack_in(thread, heap_id, regs, is_special); /* may read the clock */
    struct hs_live_block block = {
        .addr = (uintptr_t)ptr,
        .size_bytes = size_bytes,
        .weight_bytes = sample->hits ? sample->hits * sample->interval_bytes : size_bytes,
        .stack_id = stack_id,
        .birth_ms = hs_record_now_ms(thread),
        .hits = sample->hits,
        .interval_idx = sample->interval_idx,
        /* ORDER cut: births of this epoch belong to the cuts announced from it on. */
        .epoch = hs_load_acquire(&hs_control_page.control.epoch),
    };
    struct hs_totals_v1 *totals = heap_id != 0 && block.stack_id == HS_ID_NONE
                                      ? NULL
                                      : hs_stack_totals(block.stack_id, block.epoch);
    if (hs_unlikely(!totals)) {
        return hs_record_reason_of(HS_LOSS_TABLE_FULL);
    }
    __builtin_prefetch(totals, 1);
    enum hs_loss loss = hs_live_insert_at(thread, slot, &block);
    if (hs_unlikely(loss != HS_LOSS_N)) {
        return hs_record_reason_of(loss);
    }
    /* Another allocator than the C library's may map its memory by calls that come to our hooks. */
    if (hs_unlikely(hs_real.is_foreign) && hs_mapped_reserve_may_be_at(block.addr)) {
        hs_mapped_reserve_note(thread, block.addr, size_bytes);
    }
    if (heap_id != 0) {
        hs_shared_add(&hs_heaps_element(heap_id)->alloc_bytes, block.weight_bytes);
    }
    hs_stack_add(totals, size_bytes, sample->hits, sample->interval_bytes);
    if (is_timed) {
        hs_lifetimes_note_birth(thread, heap_id, block.addr, sample->interval_bytes);
    }
    thread->block->sample_count++;
    thread->block->alloc_bytes += block.weight_bytes;
    if (hs_unlikely(begin_ns != 0)) {
        hs_record_count_time(thread, begin_ns);
    }
    return HS_LOSS_N;
}

HS_COLD void hs_record_count_loss(enum hs_loss loss, uint64_t size_bytes, uint32_t hits,
                                  uint64_t interval_bytes)
{
    double count =
        hits ? hs_inverse_hit_probability((double)size_bytes / (double)interval_bytes) : 1;
    hs_thread_count_loss(loss, hits ? hits * interval_bytes : size_bytes,
                         (uint64_t)(count * (double)(1 << HS_COUNT_SHIFT) + 0.5));
}

static inline __attribute__((always_inline)) void
record_in(uint8_t heap_id, const void *ptr, size_t size_bytes, const struct hs_sample *sample,
          const struct hs_regs *regs, bool is_special)
{
    enum hs_loss loss = HS_LOSS_REENTRANT;
    struct hs_frame_marker mark;
    struct hs_thread *thread = hs_thread_self();
    if (hs_likely(hs_reentry_guard_enter(&mark))) {
        loss = hs_unlikely(!hs_record_is_still_on()) ? HS_LOSS_N
               : hs_likely(thread != NULL)
                   ? record(thread, heap_id, ptr, size_bytes, sample, regs, is_special)
                   : HS_LOSS_NO_THREAD_BLOCK;
        hs_reentry_guard_leave();
    }
    if (hs_unlikely(loss != HS_LOSS_N)) {
        hs_record_count_loss(loss, size_bytes, sample->hits, sample->interval_bytes);
    }
}

/* The first sample of a thread; under open scopes; while lifetimes are measured; or after a signal
 * handler has left replay by longjmp. It stands apart, so that an ordinary sample has no
 * instruction for these. */
static __attribute__((noinline)) void record_special(uint8_t heap_id, const void *ptr,
                                                     size_t size_bytes,
                                                     const struct hs_sample *sample,
                                                     const struct hs_regs *regs)
{
    record_in(heap_id, ptr, size_bytes, sample, regs, true);
}

static inline bool is_ordinary(void)
{
    const struct hs_thread *thread = hs_tls.self;
    return hs_likely(thread != NULL) && hs_likely(thread->is_special == 0);
}

void hs_record_alloc(const void *ptr, size_t size_bytes, const struct hs_sample *sample,
                     const struct hs_regs *regs)
{
    if (hs_unlikely(!is_ordinary())) {
        record_special(0, ptr, size_bytes, sample, regs);
        return;
    }
    record_in(0, ptr, size_bytes, sample, regs, false);
}

void hs_record_alloc_in(uint8_t heap_id, const void *ptr, size_t size_bytes,
                        const struct hs_sample *sample, const struct hs_regs *regs)
{
    if (hs_unlikely(!is_ordinary())) {
        record_special(heap_id, ptr, size_bytes, sample, regs);
        return;
    }
    record_in(heap_id, ptr, size_bytes, sample, regs, false);
}

/* For a free in a forked child that has not begun to record. Returns true if the child has begun to
 * record meanwhile, so that the caller must remove the record. */
static bool begin_for_free(const void *ptr, const struct hs_live_block *ret_block)
{
    if (!hs_life_state_is_waiting()) {
        return false;
    }
    if (!ret_block && hs_fork_note_free((uintptr_t)ptr)) {
        /* If another thread begins recording at this moment, either it or this thread forgets the
         * block. */
        return hs_lifecycle_is_on() && hs_fork_take_note((uintptr_t)ptr);
    }
    return hs_lifecycle_follow_fork();
}

static HS_COLD bool free_with_care(const void *ptr, struct hs_live_block *ret_block)
{
    if (hs_unlikely(!hs_lifecycle_is_on()) && !begin_for_free(ptr, ret_block)) {
        return false;
    }
    struct hs_frame_marker mark;
    bool is_outermost = hs_reentry_guard_enter(&mark);
    bool was_recorded =
        hs_record_is_still_on() &&
        hs_live_forget(is_outermost ? hs_thread_self() : NULL, (uintptr_t)ptr, ret_block);
    if (hs_likely(is_outermost)) {
        hs_reentry_guard_leave();
    }
    return was_recorded;
}

bool hs_record_free(const void *ptr, struct hs_live_block *ret_block)
{
    struct hs_tls *tls = &hs_tls;
    struct hs_frame_marker mark;
    /* Most allocators read the block's own memory next: it is fetched while the record is
     * searched. */
    __builtin_prefetch((const char *)ptr - 8, 1);
    if (hs_unlikely(!tls->self) || hs_unlikely(tls->guard_va != 0)) {
        return free_with_care(ptr, ret_block);
    }
    hs_reentry_guard_set(&mark);
    if (hs_unlikely(!hs_life_state_is_plain())) {
        bool is_timed = hs_life_state_is_timed();
        bool was_timed = is_timed && hs_live_forget(tls->self, (uintptr_t)ptr, ret_block);
        hs_reentry_guard_leave();
        return is_timed ? was_timed : free_with_care(ptr, ret_block);
    }
    bool was_recorded =
        (!ret_block && hs_likely(hs_live_remove_young(tls->self, (uintptr_t)ptr))) ||
        hs_live_remove(tls->self, (uintptr_t)ptr, ret_block);
    hs_reentry_guard_leave();
    return was_recorded;
}

/* Calls hs_live_insert out of line, because this path is cold. */
static HS_COLD enum hs_loss insert_again(struct hs_thread *thread,
                                         const struct hs_live_block *block)
{
    return hs_live_insert(thread, block);
}

void hs_record_put_back(const struct hs_live_block *removed)
{
    enum hs_loss loss = HS_LOSS_REENTRANT;
    struct hs_frame_marker mark;
    if (hs_likely(hs_reentry_guard_enter(&mark))) {
        struct hs_thread *thread = hs_thread_self();
        struct hs_live_block block = *removed;
        /* ORDER cut: as in record(). */
        block.epoch = hs_load_acquire(&hs_control_page.control.epoch);
        if (hs_record_is_still_on()) {
            loss = thread ? hs_record_reason_of(insert_again(thread, &block))
                          : HS_LOSS_NO_THREAD_BLOCK;
            if (thread) {
                /* hs_record_free had counted it, but nothing was freed. */
                thread->block->free_count--;
            }
            if (loss == HS_LOSS_N && block.has_lifetime) {
                hs_lifetimes_undo(thread, &block);
            }
        }
        hs_reentry_guard_leave();
    }
    if (hs_unlikely(loss != HS_LOSS_N)) {
        hs_record_count_loss(loss, removed->size_bytes, removed->hits,
                             hs_region.header->interval_bytes[removed->interval_idx]);
    }
}
