/*
 * The ring in which a parent notes, for a forked child, the deaths of blocks that the child has
 * inherited.
 *
 * The child shares the region's records with its parent, which goes on freeing blocks. When a block
 * dies that is older than the parent's last fork, the parent first copies the block's record to
 * this ring, which it shares with its children, and only then changes the record. life/fork.h
 * describes the whole.
 *
 * Ensures   a record that changed after the fork is in the ring, unless more blocks were freed than
 *           the bound allows.
 * Threads   in the parent any; one thread at a time prepares a fork. Children only read.
 * Fails     without memory there is no ring: deaths are not noted, and the child counts the blocks
 *           that it cannot recover.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/tables/life_state.h"
#include "fmt/region_layout.h"
#include "rt/atomic.h"

#define HS_FORK_RING_ENTRIES (UINT64_C(1) << 17) /* 6 MiB, of which only what is used has pages */

/* The record of a block from before a fork, as it was when the block died. */
struct hs_fork_death {
    uint64_t tag; /* its number + 1; 0 while it is being written */
    uint32_t record_id;
    uint32_t reserved;
    struct hs_record_v1 record; /* with the state ALIVE */
};

/* The ring that a parent shares with its children. */
struct hs_fork_ring {
    uint64_t count; /* deaths so far; the last HS_FORK_RING_ENTRIES are in the ring */
    uint64_t pad[7];
    struct hs_fork_death deaths[HS_FORK_RING_ENTRIES];
};

/* Makes the ring if there is none; before the epoch of a fork begins. */
void hs_fork_ring_make(void);

/* From here on the deaths of blocks that were born up to `epoch` are written down, up to a bound
 * that follows from the number of records. Returns the number of the first; 0 without a ring. */
uint64_t hs_fork_ring_begin(uint64_t epoch, uint64_t record_count);

/* Ends the writing down for children that have not begun yet. No other thread may be recording
 * meanwhile. */
void hs_fork_ring_forget(void);

/* The ring; NULL: there is none. In a child that has not begun it is its parent's. */
const struct hs_fork_ring *hs_fork_ring_get(void);

/* In a child that has begun: unmaps its parent's ring. */
void hs_fork_ring_leave(void);

/* Writes a record down; called before the record of a block that hs_fork_ring_is_inherited changes.
 * `word`: its word. */
void hs_fork_ring_add(const struct hs_record_v1 *record, uint64_t word);

/* --- hot -------------------------------------------------------------------------------------- */

/* May a block that was born in this epoch be a child's, too? Then its record is written down when
 * it dies. */
static inline bool hs_fork_ring_is_inherited(uint64_t birth_epoch)
{
    return birth_epoch <= hs_load_relaxed(&hs_life_state.fork_epoch);
}
