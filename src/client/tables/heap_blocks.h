/*
 * The recorded blocks of heaps other than malloc's: what live.h is for malloc's.
 *
 * A block is known by its heap and its id, any number of 64 bits. So these blocks have a filter and
 * an index of their own (heap_filter.h, index.h), in which a block that lies inside a block of
 * malloc does not meet it. They have no record cache: their records are in the same section, and
 * the record's stack names the heap.
 *
 * A primary heap takes part in the live total and the peak of the process. A carved heap has its
 * own (heap_peak.h).
 *
 * Holds     a block is found by its heap and id, from the end of the insert until the removal.
 * Threads   any; lock-free; a removal may run in a signal handler that interrupted an insert of the
 *           same thread; the caller then passes NULL as the thread.
 * Fails     an insert returns the loss to count; the block is then not recorded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/tables/heap_filter.h"
#include "client/tables/index.h"
#include "client/tables/live.h"
#include "client/tables/thread_state.h"

/* Makes the index, before the first heap is added. One thread at a time. False: no memory. */
bool hs_heap_blocks_init(void);

/* Declares that the ids of a heap are addresses of blocks that are not malloc's: they are in the
 * free filter (filter.h), and not in heap_filter.h. One heap at most. */
void hs_heap_blocks_set_addressed(uint8_t heap_id);

/* Forgets all blocks: for a new region. No other thread may be recording meanwhile. */
void hs_heap_blocks_clear(void);

/* Records a block; block->addr is its id, and the stack block->stack_id belongs to the heap. */
enum hs_loss hs_heap_blocks_insert(struct hs_thread *thread, uint8_t heap_id,
                                   const struct hs_live_block *block);

/* Forgets a block. False: it was not recorded. *ret_block (may be NULL) says what it was. */
bool hs_heap_blocks_remove(struct hs_thread *thread, uint8_t heap_id, uint64_t id,
                           struct hs_live_block *ret_block);

/* The same; *ret_epoch is the epoch of its death. */
bool hs_heap_blocks_remove_at(struct hs_thread *thread, uint8_t heap_id, uint64_t id,
                              struct hs_live_block *ret_block, uint64_t *ret_epoch);

/* As hs_live_covers, for the blocks of one heap whose ids are addresses. */
bool hs_heap_blocks_covers(uint8_t heap_id, uintptr_t addr);

/* Gives each block the record id that `renumber` returns; HS_RECORD_NONE: the block is forgotten.
 * No other thread may look for blocks meanwhile. */
void hs_heap_blocks_renumber(hs_index_renumber_fn *renumber, void *ctx);

/* For assertions: is each block of another heap than malloc's found by its heap and id, and nothing
 * else? No thread may use them meanwhile, and no operation may have been abandoned in them. */
bool hs_heap_blocks_is_valid(void);

/* For assertions: is this block recorded, with this size? */
bool hs_heap_blocks_has(uint8_t heap_id, uint64_t id, uint64_t size_bytes);

/* --- hot -------------------------------------------------------------------------------------- */

/* The heap of hs_heap_blocks_set_addressed; 0: none. */
extern HS_HIDDEN uint8_t hs_heap_blocks_addressed_id;

static inline bool hs_heap_blocks_is_addressed(uint8_t heap_id)
{
    return hs_unlikely(heap_id == hs_load_relaxed(&hs_heap_blocks_addressed_id)) && heap_id != 0;
}

/* May this block be recorded? False: it certainly is not. */
static inline bool hs_heap_blocks_may_have(uint8_t heap_id, uint64_t id)
{
    return hs_heap_blocks_is_addressed(heap_id) ? hs_filter_test(id)
                                                : hs_heap_filter_test(hs_heap_hash(heap_id, id));
}
