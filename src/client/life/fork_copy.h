/*
 * A forked child's copy of the tables that it shares with its parent. See fork.h for the whole.
 *
 * Sections that only grow are copied as they were at the fork. Of the records, those that the
 * child's private index and record caches name are kept; where the parent has reused a record
 * since, its old content is in the ring.
 *
 * Holds     nothing in the parent's region is written.
 * Threads   the one thread of a child that begins.
 * Fails     false without memory; blocks whose record could not be recovered are counted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fmt/region_layout.h"

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

struct hs_thread;
/* What a child must know of the instant at which it was made. */
struct hs_fork_moment {
    uint64_t epoch; /* births up to here are from before; 0: the child cannot begin */
    uint64_t first_death;
    uint64_t counts[HS_SECTION_N]; /* of the sections */
    struct hs_thread *self;        /* of the thread that forked */
};

/* Fills the new file `fd`, maps it where the parent's was, and makes it the child's region. `ring`
 * NULL: there is none. False: no memory. */
bool hs_fork_copy(const struct hs_fork_moment *moment, const struct hs_fork_ring *ring, int fd);
