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
 * exceeds the highest one marked so far, the moment before that free is the new peak. To bound the
 * work, it must exceed it by 1/1024 (by anything, below 1 MiB). With several threads the total is
 * summed from parts that are flushed in quanta, so the peak is exact to quantum * threads.
 *
 * Threads   any; lock-free; removal may run in a signal handler that interrupted an insert of the
 *           same thread (is_nested).
 * Fails     insert returns the loss to count; the caller's block is then simply not recorded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

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

/* The block at `addr` will be inserted soon: what is far away may come. */
void hs_live_expect(uintptr_t addr);

/*
 * Is there a recorded block that `addr` lies in, perhaps aligned by hand? Then at most as far from its
 * start as its own alignment says, and a header. Slow: a look at each possible start.
 */
bool hs_live_covers(uintptr_t addr);

/* HS_LOSS_N: recorded; else why not. */
enum hs_loss hs_live_insert(struct hs_thread *thread, const struct hs_live_block *block);

/*
 * Forgets the block at `addr`, before the real free. True when it was recorded; *ret_block (NULL
 * allowed) is then what it was, so that a failed realloc can put it back. `thread` is NULL when this
 * thread is inside our code already (a signal handler): its lists are then left alone.
 */
bool hs_live_remove(struct hs_thread *thread, uintptr_t addr, struct hs_live_block *ret_block);
