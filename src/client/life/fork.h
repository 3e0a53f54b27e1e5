/*
 * A forked child's own region.
 *
 * The child shares the region's pages with its parent, which goes on writing to them. The child's
 * private memory is its own: the index, record caches and filter in it name exactly the blocks that
 * it inherited. So it need not make a region at once, and a child that executes another program
 * before its first sample never makes one. The first sample makes it, or, in a dormant child, a
 * certain amount of allocated memory (lifecycle.h). It is a file like the parent's, mapped where
 * the parent's was, so that every pointer and every id of a stack or frame stays valid, with the
 * records that the private index and caches name.
 *
 * Meanwhile the parent may have freed some of these blocks and reused their records. Therefore,
 * when a block dies that is older than the parent's last fork, the parent first copies the block's
 * record to a ring that it shares with its children, and only then changes the record. The child
 * copies the records first and then reads the ring: if the ring does not name a record, the copy
 * was good.
 *
 *   parent  prepare: E = epoch, epoch += 2     fork    epoch += 2
 *           births <= E + 2 are from before; a death of one is written down (up to a bound)
 *   child   ...................................|waiting: frees are noted.|first sample: begins|ON
 *
 * Holds     a child writes nothing in the parent's region. A block is inherited if the private
 *           index names it, its birth is <= E + 2, and the hash of its address is the one in the
 *           index.
 * Threads   in the parent any, while one of them forks. In the child one thread begins; the samples
 *           of other threads are lost, and counted, until it has done so.
 * Fails     begin returns false without memory, descriptors or collector, and under a seccomp
 *           filter: the child goes on unprofiled. Blocks whose record could not be recovered are
 *           counted (HS_LOSS_INHERITED).
 * See       docs/adr/0011-forked-children.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How a child proceeds. */
struct hs_fork_callbacks {
    bool (*may_follow)(void); /* called in the parent: can the next child have a region? */
    void (*on_child)(void);   /* called in a child that may begin when it wants to */
    /* Called in a child that will go on in the middle of our code when a signal handler returns. */
    void (*on_torn_child)(void);
};

/* False: the C library is not glibc, and forks cannot be followed. */
bool hs_fork_can_watch(void);

/* Registers handlers for fork(2). Once. False: not possible, and children go unprofiled. */
bool hs_fork_watch(const struct hs_fork_callbacks *callbacks);

/* Stops writing down deaths for children that have not begun yet: the records are not reused. No
 * other thread may be recording meanwhile. */
void hs_fork_forget(void);

/* In a child, with signals blocked: makes its region, and hands it to the collector at `name`.
 * False: not possible. */
bool hs_fork_begin(const char *name);

/* In a child that has not begun: notes that the inherited block at `addr` is about to be freed.
 * False: there is no room to note it. */
bool hs_fork_note_free(uintptr_t addr);

/* Takes back a note that was just made. False: another thread has acted on it already. */
bool hs_fork_take_note(uintptr_t addr);

/* In a child that has begun: forgets the blocks that were noted. */
void hs_fork_forget_noted(void);
