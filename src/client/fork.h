/*
 * A forked child's own region.
 *
 * The child shares the region's pages with its parent, which goes on writing to them. What is the child's
 * is its private memory: index, places and filter name exactly the blocks that it inherited. So it may
 * wait. A child that executes another program at once never gets a region; the first sample of one that
 * stays makes it: a file like the parent's, mapped where the parent's was, so that every pointer and every
 * id of a stack or frame stays good, with the records that the private index names.
 *
 * Meanwhile the parent may have freed some of these blocks, and used their records again. So it writes
 * down each record of a block from before its last fork that dies, in a ring that it shares with its
 * children, before the record changes. The child copies the records first and then reads the ring: where
 * it finds nothing, the copy was good.
 *
 *   parent  prepare: E = epoch, epoch += 2     fork    epoch += 2
 *           births <= E + 2 are from before; a death of one is written down, so many at most
 *   child   ......................................|pending: frees are noted.|first sample: begins|ON
 *
 * Holds     nothing in the parent's region is written by a child. A block is inherited if the private
 *           index names it, its birth is <= E + 2, and its address has the hash that the index says.
 * Threads   the parent's, any, while one of them forks. In the child one thread begins; the samples of
 *           others are lost until it has done so, and counted.
 * Fails     begin returns false without memory, descriptors or collector, and below a seccomp filter: the
 *           child goes on unprofiled. Blocks whose record could not be had are counted
 *           (HS_LOSS_INHERITED).
 * See       docs/adr/0011-forked-children.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/lifecycle.h"
#include "fmt/region_layout.h"
#include "rt/atomic.h"
#include "rt/base.h"

/* How a child goes about it. */
struct hs_fork_callbacks {
    bool (*may_follow)(void); /* asked in the parent: can the next child have a region? */
    void (*on_child)(void);   /* in a child that may begin when it wants to */
    void (*on_torn_child)(
        void); /* in one that will go on in the middle of our code, when a handler returns */
};

/* From here until hs_fork_let_go() no fork is in progress, where hs_fork_watch() was called: who wants to fork waits. For
 * milliseconds, with signals blocked, by one thread at a time. False: one has lasted too long; nothing is held. */
bool hs_fork_hold(void);
void hs_fork_let_go(void);

/* False: the C library is another one than glibc, and forks cannot be followed. */
bool hs_fork_can_watch(void);

/* Has fork(2) tell us. Once. False: not to be had, and children go unprofiled. */
bool hs_fork_watch(const struct hs_fork_callbacks *callbacks);

/* Nothing is written down any more, for children that have not begun yet: the records are not used again.
 * Nobody else may be recording meanwhile. */
void hs_fork_forget(void);

/* In a child, signals blocked: makes its region, and hands it to the collector at `name`. */
bool hs_fork_begin(const char *name);

/* In a child that has not begun: the inherited block at `addr` is about to be freed. False: there is no
 * room to note it. */
bool hs_fork_note_free(uintptr_t addr);

/* Takes back what was just noted; false: somebody has done what it asked for. */
bool hs_fork_take_note(uintptr_t addr);

/* In a child that has begun: forgets the blocks that were noted. */
void hs_fork_forget_noted(void);

/* To be called before the record of a block that hs_fork_is_inherited changes. */
void hs_fork_write_down(const struct hs_record_v1 *record, uint64_t word);

/* --- hot ------------------------------------------------------------------------------------- */

/* May a block that was born then be a child's, too? Then its record is written down when it dies. */
static inline bool hs_fork_is_inherited(uint64_t birth_epoch)
{
    return birth_epoch <= hs_load_relaxed(&hs_lifecycle.fork_epoch);
}
