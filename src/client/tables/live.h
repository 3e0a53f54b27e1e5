/*
 * The live table: which sampled blocks exist now, and which existed at a *cut* (the instant of a
 * snapshot or of the peak; see "Cuts" in fmt/region_layout.h).
 *
 * For each sampled block there is one record in the region (fmt/region_layout.h), which the
 * collector reads while the program runs. The live table has five parts, of which the collector
 * sees only the records:
 *
 *    address --> free filter (filter.h)    answers "not sampled" for almost every free
 *       |
 *       +------> record cache (locate.h)   a thread's latest records, in 256 entries selected by
 *       |            |                     a hash of the address; only the owning thread fills them
 *       |            v  evicted
 *       +------> index (index.h)           all other records: hash -> record id, shared by threads
 *                    |
 *                    v
 *                record (region)           address, size, weight, stack, thread, time, epoch
 *                    ^
 *                free lists (record_pool.h)    where unused records and tombstones wait
 *
 * An insert sets the address's bit in the free filter and takes a record: the unused one in the
 * address's entry of the record cache, otherwise one from the free lists. It fills the record,
 * stores the record's state word as ALIVE, and publishes the record in the record cache (in the
 * index, while the thread does not use its cache; see locate.h). A free tests the filter, then
 * looks in the thread's own record cache, in the index, and in the caches of the other threads.
 * When two threads free the block at once, only the one whose compare-and-swap of the record's word
 * succeeds removes it.
 *
 * A record that dies while a cut contains it is still needed: it becomes a tombstone on one of two
 * lists of the thread that freed it (on a shared list, if a signal handler freed it inside our
 * code). One list is for the cut of the peak, and has every record that this cut contains; the
 * other is for the cut of the open snapshot. When the cut of a list is out of date, all records of
 * the list can be reused at once; those of the peak's list only when no snapshot is open, because
 * the snapshot may contain them, too.
 *
 * The peak. The total of live sampled bytes falls only when a sampled block is removed, so each
 * removal checks for a peak: if the total just before it exceeds the highest one so far, the moment
 * just before the removal is the new peak. With one thread this is exact. With several threads,
 * each keeps a small part of the total to itself, and adds it to the shared total when it exceeds a
 * quantum; collect/region/peak_bound.h computes how far the true maximum can be above the recorded
 * one.
 *
 * Holds     the filter's bit is set, and the record is ALIVE and found by its address, from the end
 *           of the insert until the removal.
 * Threads   any; lock-free. A removal may run in a signal handler that interrupted an insert of the
 *           same thread; the caller then passes NULL as the thread.
 * Fails     an insert returns the loss to count; the block is then not recorded.
 * See       locate.h for finding a record by its address, record.c for the caller.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/tables/filter.h"
#include "client/tables/fork_ring.h"
#include "client/tables/locate.h"
#include "client/tables/peak.h"
#include "client/tables/thread_state.h"
#include "fmt/region_layout.h"
#include "rt/check.h"

/* A sampled block: what an insert records, and what a removal says was recorded. */
struct hs_live_block {
    uintptr_t addr;
    uint64_t size_bytes;
    uint64_t weight_bytes;
    uint32_t stack_id;
    uint32_t birth_ms;
    uint32_t hits; /* hits of the sampler; 0: the size is exact */
    uint32_t interval_idx;
    uint64_t epoch; /* of its birth */
    /* Of a block that was removed while lifetimes are measured: what was added to its stack's, so
     * that it can be subtracted again (lifetimes.h). */
    bool has_lifetime;
    uint8_t lifetime_class;
    uint8_t temporary_class;
    uint32_t lifetime_ms;
    uint32_t alloc_number;
};

/* Makes the index. False: no memory. */
bool hs_live_init(void);

/* Forgets all blocks: for a new region. No other thread may be recording meanwhile. */
void hs_live_clear(void);

/* Returns whether `addr` lies inside a recorded block, as it does when one allocator takes a larger
 * block from another and returns an aligned address in it. Then `addr` lies behind the block's
 * start by at most its own alignment (up to 2 MiB) and a header of 64 bytes. Slow: it tests each
 * possible start. */
bool hs_live_covers(uintptr_t addr);
/* Such a block starts behind this address. */
uintptr_t hs_live_first_cover(uintptr_t addr);

/* Is a block of this heap recorded at `addr`? A heap other than malloc's has blocks here if malloc
 * serves them. */
bool hs_live_is_in_heap(uintptr_t addr, uint8_t heap_id);

/* Forgets the block at `addr`; called before the real free. True: the block was recorded, and
 * *ret_block (may be NULL) says what it was, so that a failed realloc can put it back. `thread` is
 * NULL when this thread is inside our code already (in a signal handler): the thread's lists are
 * then left alone. */
bool hs_live_remove(struct hs_thread *thread, uintptr_t addr, struct hs_live_block *ret_block);

/* hs_live_remove, which also adds the block to the lifetimes of its stack if they are measured. */
bool hs_live_forget(struct hs_thread *thread, uintptr_t addr, struct hs_live_block *ret_block);

/* Says what block a record holds. `word`: the record's word, with the state ALIVE. */
void hs_live_describe(const struct hs_record_v1 *record, uint64_t word,
                      struct hs_live_block *ret_block);

/* Slow path of hs_live_insert_at: the filter says that the address is already recorded. Removes the
 * old record, and counts it under HS_LOSS_DUPLICATE. */
void hs_live_remove_duplicate(struct hs_thread *thread, uintptr_t addr);
/* Slow path of hs_live_insert_at: undoes what a failed insert did to the filter. */
void hs_live_unfilter(uintptr_t addr, uint64_t size_bytes);

/* For assertions: returns whether all parts are valid, the filter's bit is set for each ALIVE
 * record of malloc's heap, and no other bit is set (unless blocks may share bits). No thread may
 * use the table meanwhile, and no operation may have been abandoned in it. */
bool hs_live_is_valid(void);

/* --- hot -------------------------------------------------------------------------------------- */

/* Some allocators align blocks of up to 8 bytes to 8, so two blocks may share a bit of the filter
 * and be allocated and freed by two threads. Set when the first such address is seen; from then on
 * the bits of blocks of up to 8 bytes are not cleared. */
extern HS_HIDDEN bool hs_live_has_half_grains;
#define HS_LIVE_GRAIN      ((uintptr_t)1 << HS_FILTER_GRAIN_SHIFT)
#define HS_LIVE_HALF_GRAIN (HS_LIVE_GRAIN / 2)

/* Where a block will be recorded. It is looked up before the stack is, so that its cache lines have
 * arrived when the block is inserted. */
struct hs_live_slot {
    struct hs_filter_slot filter;
    struct hs_cached_record *cached;
};

/* A block at `addr` will be inserted soon: prefetches the lines that the insert will touch. */
static inline __attribute__((always_inline)) struct hs_live_slot
hs_live_prefetch(struct hs_thread *thread, uintptr_t addr)
{
    struct hs_filter_slot filter = hs_filter_prefetch(addr);
    return (struct hs_live_slot){ filter, hs_locate_prefetch(thread, addr) };
}

/* Writes a block of any heap into a record that nobody uses; the state becomes ALIVE. */
static inline __attribute__((always_inline)) void hs_live_fill(struct hs_record_v1 *record,
                                                               const struct hs_thread *thread,
                                                               const struct hs_live_block *block)
{
    uint64_t size_bytes =
        block->size_bytes < HS_RECORD_SIZE_MAX ? block->size_bytes : HS_RECORD_SIZE_MAX;
    /* ORDER record: its former state was cleared before; see view_record in record_scan.c. */
    hs_fence_release();
    hs_store_relaxed(&record->addr, block->addr);
    /* One store of 64 bits: a free that follows soon can be forwarded its value from the store
     * buffer. */
    hs_store_relaxed(&record->size_thread, HS_RECORD_SIZE_THREAD(size_bytes, thread->thread_id));
    hs_store_relaxed(&record->stack_id, block->stack_id);
    hs_store_relaxed(&record->birth_ms, block->birth_ms);
    /* ORDER record: the block's fields before ALIVE. */
    hs_store_release(&record->word, HS_RECORD_WORD(block->epoch, block->interval_idx, block->hits,
                                                   HS_RECORD_ALIVE));
}

/* Fills a record and makes it findable by its address. Returns HS_LOSS_N, or why it failed. */
static inline __attribute__((always_inline)) enum hs_loss
hs_live_publish(struct hs_thread *thread, struct hs_cached_record *cached,
                const struct hs_live_block *block)
{
    struct hs_record_v1 *record = hs_locate_take(thread, cached);
    if (hs_unlikely(!record)) {
        return HS_LOSS_TABLE_FULL;
    }
    hs_live_fill(record, thread, block);
    return hs_likely(hs_locate_publish(thread, cached, block->addr, record)) ? HS_LOSS_N
                                                                             : HS_LOSS_NO_MEMORY;
}

/* Records a block at the slot that hs_live_prefetch returned. HS_LOSS_N: done; otherwise the reason
 * for the loss. */
static inline __attribute__((always_inline)) enum hs_loss
hs_live_insert_at(struct hs_thread *thread, struct hs_live_slot slot,
                  const struct hs_live_block *block)
{
    bool was_set = false;
    if (hs_unlikely(!hs_filter_add_at(slot.filter, block->addr, &was_set))) {
        return HS_LOSS_NO_MEMORY;
    }
    if (hs_unlikely(was_set)) {
        hs_live_remove_duplicate(thread, block->addr);
    }
    if (hs_unlikely(block->addr & 8)) {
        hs_store_relaxed(&hs_live_has_half_grains, true);
    }
    enum hs_loss loss = hs_live_publish(thread, slot.cached, block);
    if (hs_unlikely(loss != HS_LOSS_N)) {
        if (!was_set) {
            hs_live_unfilter(block->addr, block->size_bytes);
        }
        return loss;
    }
    if (hs_unlikely(hs_load_relaxed(&hs_live_has_half_grains))) {
        /* The neighbour that shares the bit may have been freed since this thread set it, without
         * knowing of this block: set it again. */
        hs_filter_add_at(slot.filter, block->addr, &was_set);
    }
    hs_peak_add(thread, (int64_t)block->weight_bytes);
    return HS_LOSS_N;
}

/* hs_live_insert_at without an earlier prefetch. */
static inline enum hs_loss hs_live_insert(struct hs_thread *thread,
                                          const struct hs_live_block *block)
{
    return hs_live_insert_at(thread, hs_live_prefetch(thread, block->addr), block);
}

/* For assertions: a block at `addr` was recorded in `record`, and this thread has just removed it.
 * Is the filter's bit still set? It may be gone where two blocks share a bit, and where the program
 * frees a block twice at once, so that the record is another block's by now. */
static inline bool hs_live_was_in_filter(const struct hs_record_v1 *record, uintptr_t addr)
{
    return hs_load_relaxed(&hs_live_has_half_grains) || hs_load_relaxed(&record->addr) != addr ||
           hs_filter_test(addr);
}

/* The bytes that a record stands for. `word`: the record's word. */
static inline uint64_t hs_live_weight(const struct hs_record_v1 *record, uint64_t word)
{
    uint64_t size_bytes = HS_RECORD_SIZE(record->size_thread);
    uint64_t hits = HS_RECORD_HITS(word);
    uint64_t sampled_bytes = hits * hs_region.header->interval_bytes[HS_RECORD_INTERVAL(word)];
    /* Without a branch: the processor cannot predict which case it is. */
    return sampled_bytes + (size_bytes & -(uint64_t)(hits == 0));
}

/* The cuts that contain a block which dies now, as state bits of its record. 0: no cut needs it.
 * `peak_epoch`, `snapshot_epoch`: the cuts in use; 0: none. */
static inline unsigned hs_live_cuts_of(uint64_t birth_epoch, uint64_t peak_epoch,
                                       uint64_t snapshot_epoch)
{
    unsigned state = 0;
    if (birth_epoch <= peak_epoch) {
        state |= HS_RECORD_DEAD | HS_RECORD_IN_PEAK;
    }
    if (hs_unlikely(snapshot_epoch != 0) && birth_epoch <= snapshot_epoch) {
        state |= HS_RECORD_DEAD | HS_RECORD_IN_SNAPSHOT;
    }
    return state;
}

/* The same for a block of malloc's. */
static inline unsigned hs_live_cuts(uint64_t birth_epoch)
{
    const struct hs_region_control_v1 *control = &hs_control_page.control;
    uint64_t snapshot_epoch = hs_load_relaxed(&control->snapshot_epoch);
    return hs_live_cuts_of(birth_epoch, hs_load_relaxed(&control->peak_epoch), snapshot_epoch);
}

/* hs_live_remove for the most frequent case: a block that this thread recorded recently, and that
 * no cut contains. False: another case, and nothing was done. */
static inline bool hs_live_remove_young(struct hs_thread *thread, uintptr_t addr)
{
    struct hs_cached_record *cached = hs_locate_cached(thread, addr);
    struct hs_record_v1 *record = NULL;
    uint64_t word = hs_locate_look(cached, addr, &record);
    /* ORDER cut: as in hs_live_remove. */
    hs_load_acquire(&hs_control_page.control.epoch);
    if (hs_unlikely(word == 0) || hs_unlikely(hs_live_cuts(HS_RECORD_EPOCH(word)) != 0) ||
        hs_unlikely(hs_fork_ring_is_inherited(HS_RECORD_EPOCH(word))) ||
        hs_unlikely(hs_peak_is_due(thread)) ||
        hs_unlikely(HS_RECORD_SIZE(record->size_thread) <= HS_LIVE_HALF_GRAIN)) {
        return false;
    }
    uint64_t weight_bytes = hs_live_weight(record, word);
    /* ORDER record: as in hs_live_remove. */
    if (hs_unlikely(!hs_shared_cas(&record->word, &word, 0))) {
        return false;
    }
    HS_ASSERT(hs_live_was_in_filter(record, addr));
    hs_filter_remove(addr);
    hs_store_relaxed(&cached->addr, 0);
    thread->block->free_count++;
    hs_peak_add(thread, -(int64_t)weight_bytes);
    return true;
}
