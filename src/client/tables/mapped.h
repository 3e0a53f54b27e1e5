/*
 * The memory that the program has mapped itself: its ranges, and the blocks of the heap `mmap`.
 *
 * Each range (ranges.h) that is memory is one block of the heap, whose id is the range's first
 * address. A call that unmaps, moves or protects memory first takes the ranges in question out of
 * the list, as a chain of pieces, because another thread may be given these addresses as soon as
 * the kernel has done the call. Afterwards the pieces are dropped; if the call failed, they are put
 * back. If a piece is cut from a range, the range's other parts stay as blocks of their own, with
 * the stack and the age of the range.
 *
 * Reserves. Another primary heap can have blocks in memory that the program has mapped, because the
 * program, or a library, has an allocator that takes its memory with mmap. A range in which another
 * heap has recorded a block is therefore that heap's reserve, and no block of `mmap` any more: it
 * counts as freed, so that no byte is in two heaps. mapped_reserve.h finds these ranges.
 *
 * Shared memory. A child inherits blocks as it inherits malloc's. Memory that both go on to share
 * stays the block of the process that mapped it, so that sums over processes have it once.
 *
 * Totals. A block that is recorded again because it was cut counts neither as freed nor as
 * allocated. If a range is split, its stack has one block more, and no byte.
 *
 * The lock. One thread at a time changes the ranges, with its signals blocked, so that no handler,
 * no cancellation and no fork of the same thread comes in between. It makes no system call that
 * waits. A thread that does not get the lock in time gives up, which is counted, and the ranges are
 * suspect until they have been compared with what the kernel says (mapped_check.h).
 *
 * Holds     a range HS_RANGE_MEMORY has a block of its length with its stack, except inside a call
 *           of this file.
 * Threads   any, inside the reentry guard; `thread` is NULL where a signal handler interrupted our
 *           own code. A block can then be removed, but not recorded.
 * Fails     what cannot be recorded is counted as lost, and stays in the list as
 *           HS_RANGE_UNRECORDED.
 * See       docs/adr/0033-the-mmap-heap.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/tables/ranges.h"
#include "client/tables/thread_state.h"
#include "rt/atomic.h"
#include "rt/base.h"

#define HS_MAPPED_PAGE_BYTES UINT64_C(4096)

/* Pieces that were taken out of the list. */
struct hs_mapped_chain {
    uint32_t first; /* HS_RANGE_NONE: it is empty */
    uint32_t last;
    uint32_t generation; /* of the list that they came from */
};

/* Whose blocks they become, and from where. */
struct hs_mapped_origin {
    struct hs_thread *thread;
    uint32_t stack_id; /* of the heap */
    uint32_t birth_ms;
    bool is_shared; /* MAP_SHARED */
};

/* Takes the lock and blocks signals. False: not in time; nothing was done, and the ranges are
 * suspect from now on. */
bool hs_mapped_enter(uint64_t *ret_old_mask);
/* Ends what hs_mapped_enter began. */
void hs_mapped_leave(uint64_t old_mask);

/* --- inside the lock -------------------------------------------------------------------------- */

/* The heap's id; 0: it was not needed yet. */
uint8_t hs_mapped_heap(void);
/* The same, and adds the heap if it was not needed yet. 0: not possible. */
uint8_t hs_mapped_make_heap(void);

/* Adds a range that the kernel has just mapped. What is known of these addresses is out of date. */
void hs_mapped_add(const struct hs_mapped_origin *origin, uint64_t start_va, uint64_t end_va,
                   enum hs_range_kind kind);

/* Takes what lies in [start_va, end_va) out of the list, and adds it to a chain that is empty or
 * was filled under the same lock. */
void hs_mapped_take(struct hs_thread *thread, uint64_t start_va, uint64_t end_va,
                    struct hs_mapped_chain *chain);

/* Puts the pieces of a chain back as they were, or (`is_reserved`) as ranges without access. */
void hs_mapped_put_back(struct hs_thread *thread, struct hs_mapped_chain *chain, bool is_reserved);

/* Turns ranges without access in [start_va, end_va) into memory. */
void hs_mapped_open(const struct hs_mapped_origin *origin, uint64_t start_va, uint64_t end_va);

/* Another heap has a block at [start_va, end_va): the range around it is that heap's reserve. */
void hs_mapped_make_reserve(struct hs_thread *thread, uint64_t start_va, uint64_t end_va);

/* Has any range in [start_va, end_va) a block? */
bool hs_mapped_has_block(uint64_t start_va, uint64_t end_va);

/* Are the ranges suspect? Then says that they are not any more. */
bool hs_mapped_take_suspicion(void);

/* Are the pieces of this chain still there? */
bool hs_mapped_is_current(const struct hs_mapped_chain *chain);

/* --- outside it ------------------------------------------------------------------------------- */

/* Gives the pieces of a chain back: the call has succeeded. */
void hs_mapped_drop(struct hs_mapped_chain *chain);

/* A change could not be followed: counts it, and makes the ranges suspect. `lost_bytes`: memory
 * that was mapped. */
void hs_mapped_note_missed(uint64_t lost_bytes);

/* Makes the ranges suspect: a call failed, and may have done a part of its work. */
void hs_mapped_suspect(void);

/*
 * In a forked child, before it records: is the range at `va` shared memory? Then its block stays
 * that of the process that mapped it, and the child has none for it.
 */
bool hs_mapped_leave_to_parent(uint64_t va);

/* Forgets all ranges. No other thread may be recording. */
void hs_mapped_clear(void);

/* Before a fork: takes the lock, so that the child finds whole tables. False: not in time. */
bool hs_mapped_hold_for_fork(void);
/* After it, in the parent and in the child, if hs_mapped_hold_for_fork returned true. */
void hs_mapped_release_after_fork(void);

/* For tests and assertions: has each range that is memory the block that belongs to it? No thread
 * may use the tables meanwhile. */
bool hs_mapped_is_valid(void);

/* --- hot -------------------------------------------------------------------------------------- */

extern HS_HIDDEN uint32_t hs_mapped_count;

/* Is any range known? It may be out of date where another thread maps memory at this moment. */
static inline bool hs_mapped_has_any(void)
{
    return hs_load_relaxed(&hs_mapped_count) != 0;
}
