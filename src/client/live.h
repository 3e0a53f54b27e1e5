/*
 * The live table: which sampled blocks exist, and which existed when it mattered.
 *
 * A block is a record in the region (fmt/region_layout.h), found by address through a private index;
 * the free filter stands in front of both. Records are recycled through per-thread lists, so a
 * thread that allocates and frees keeps using the same few cache lines.
 *
 * A record that dies is needed as long as a cut contains it (see "Cuts" there): it becomes a
 * tombstone on one of two lists of the thread that freed it. A list carries the cut it was made for,
 * and is given back as a whole when that cut is out of date.
 *
 * The peak. Only a free can end a rise, so it is noticed there: when the live total before a free
 * exceeds the highest one marked so far, the moment before that free is the new peak. With one thread
 * that is exact. With several the total is summed from parts that are flushed in quanta, and the region
 * says how far the true maximum can be above the mark (collect/peak_bound.h).
 *
 * Threads   any; lock-free; removal may run in a signal handler that interrupted an insert of the
 *           same thread (is_nested).
 * Fails     insert returns the loss to count; the caller's block is then simply not recorded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/filter.h"
#include "client/fork.h"
#include "client/locate.h"
#include "client/peak.h"
#include "client/thread.h"
#include "fmt/region_layout.h"

struct hs_live_block {
    uintptr_t addr;
    uint64_t size_bytes;
    uint64_t weight_bytes;
    uint32_t stack_id;
    uint32_t birth_ms;
    uint32_t hits; /* 0: exact */
    uint32_t interval_idx;
    uint64_t epoch; /* of its birth */
};

bool hs_live_init(void);

/* No block is known any more: for a new region. Nobody else may be recording meanwhile. */
void hs_live_clear(void);

/*
 * Is there a recorded block that `addr` lies in, perhaps aligned by hand? Then at most as far from its
 * start as its own alignment says, and a header. Slow: a look at each possible start.
 */
bool hs_live_covers(uintptr_t addr);

/*
 * Forgets the block at `addr`, before the real free. True when it was recorded; *ret_block (NULL
 * allowed) is then what it was, so that a failed realloc can put it back. `thread` is NULL when this
 * thread is inside our code already (a signal handler): its lists are then left alone.
 */
bool hs_live_remove(struct hs_thread *thread, uintptr_t addr, struct hs_live_block *ret_block);

/* Cold halves of hs_live_insert_at: somebody of this address is there already; and it came to nothing. */
void hs_live_remove_duplicate(struct hs_thread *thread, uintptr_t addr);
void hs_live_unfilter(uintptr_t addr, uint64_t size_bytes);

/* --- hot ------------------------------------------------------------------------------------- */

/* Some allocators align blocks of up to 8 bytes to 8, so two may share a filter bit, and come and go
 * on two threads. Set when first seen; from then on the bits of such small blocks stay set. */
extern HS_HIDDEN bool hs_live_has_half_grains;
#define HS_LIVE_GRAIN      ((uintptr_t)1 << HS_FILTER_GRAIN_SHIFT)
#define HS_LIVE_HALF_GRAIN (HS_LIVE_GRAIN / 2)

/* Where a block will be recorded. */
struct hs_live_slot {
    struct hs_filter_slot filter;
    struct hs_cached_record *cached;
};

/* A block at `addr` will be inserted soon: what is far away may come. */
static inline __attribute__((always_inline)) struct hs_live_slot
hs_live_prefetch(struct hs_thread *thread, uintptr_t addr)
{
    struct hs_filter_slot filter = hs_filter_prefetch(addr);
    return (struct hs_live_slot){ filter, hs_locate_prefetch(thread, addr) };
}

/* Makes the record, and has it found by address. */
static inline __attribute__((always_inline)) enum hs_loss
hs_live_publish(struct hs_thread *thread, struct hs_cached_record *cached,
                const struct hs_live_block *block)
{
    struct hs_record_v1 *record = hs_locate_take(thread, cached);
    if (hs_unlikely(!record)) {
        return HS_LOSS_TABLE_FULL;
    }
    uint64_t size_bytes =
        block->size_bytes < HS_RECORD_SIZE_MAX ? block->size_bytes : HS_RECORD_SIZE_MAX;
    /* ORDER record: its former state was taken away before; see view_record in record_scan.c. */
    hs_fence_release();
    hs_store_relaxed(&record->addr, block->addr);
    /* One store, which a free soon after can read from while it is still under way. */
    hs_store_relaxed(&record->size_thread, HS_RECORD_SIZE_THREAD(size_bytes, thread->thread_id));
    hs_store_relaxed(&record->stack_id, block->stack_id);
    hs_store_relaxed(&record->birth_ms, block->birth_ms);
    /* ORDER record: the block's fields before ALIVE. */
    hs_store_release(&record->word, HS_RECORD_WORD(block->epoch, block->interval_idx, block->hits,
                                                   HS_RECORD_ALIVE));
    return hs_likely(hs_locate_publish(thread, cached, block->addr, record)) ? HS_LOSS_N
                                                                             : HS_LOSS_NO_MEMORY;
}

/* HS_LOSS_N: recorded; else why not. */
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
        /* Our neighbour may have died since we set the common bit, and not have known of us. */
        hs_filter_add_at(slot.filter, block->addr, &was_set);
    }
    hs_peak_add(thread, (int64_t)block->weight_bytes);
    return HS_LOSS_N;
}

static inline enum hs_loss hs_live_insert(struct hs_thread *thread,
                                          const struct hs_live_block *block)
{
    return hs_live_insert_at(thread, hs_live_prefetch(thread, block->addr), block);
}

static inline uint64_t hs_live_weight(const struct hs_record_v1 *record, uint64_t word)
{
    uint64_t size_bytes = HS_RECORD_SIZE(record->size_thread);
    uint64_t hits = HS_RECORD_HITS(word);
    uint64_t sampled_bytes = hits * hs_region.header->interval_bytes[HS_RECORD_INTERVAL(word)];
    /* Without a branch: nobody can foresee which it is. */
    return sampled_bytes + (size_bytes & -(uint64_t)(hits == 0));
}

/* Which cuts a block that dies now belongs to, as state bits. */
static inline unsigned hs_live_cuts(uint64_t birth_epoch)
{
    const struct hs_region_control_v1 *control = &hs_control_page.control;
    uint64_t snapshot = hs_load_relaxed(&control->snapshot_epoch);
    unsigned state = 0;
    if (birth_epoch <= hs_load_relaxed(&control->peak_epoch)) {
        state |= HS_RECORD_DEAD | HS_RECORD_IN_PEAK;
    }
    if (hs_unlikely(snapshot != 0) && birth_epoch <= snapshot) {
        state |= HS_RECORD_DEAD | HS_RECORD_IN_SNAPSHOT;
    }
    return state;
}

/* hs_live_remove for the most frequent case: a block that this thread recorded not long ago, and that no
 * cut contains. False: it was not that, and nothing was done. */
static inline bool hs_live_remove_young(struct hs_thread *thread, uintptr_t addr)
{
    struct hs_cached_record *cached = hs_locate_cached(thread, addr);
    struct hs_record_v1 *record = NULL;
    uint64_t word = hs_locate_look(cached, addr, &record);
    /* ORDER cut: as in hs_live_remove. */
    hs_load_acquire(&hs_control_page.control.epoch);
    if (hs_unlikely(word == 0) || hs_unlikely(hs_live_cuts(HS_RECORD_EPOCH(word)) != 0) ||
        hs_unlikely(hs_fork_is_inherited(HS_RECORD_EPOCH(word))) ||
        hs_unlikely(hs_peak_is_due(thread)) ||
        hs_unlikely(HS_RECORD_SIZE(record->size_thread) <= HS_LIVE_HALF_GRAIN)) {
        return false;
    }
    uint64_t weight_bytes = hs_live_weight(record, word);
    /* ORDER record: as in hs_live_remove. */
    if (hs_unlikely(!hs_shared_cas(&record->word, &word, 0))) {
        return false;
    }
    hs_filter_remove(addr);
    hs_store_relaxed(&cached->addr, 0);
    thread->block->free_count++;
    hs_peak_add(thread, -(int64_t)weight_bytes);
    return true;
}
