/*
 * A forked child's copy of the tables that it shares with its parent. fork.h describes the whole
 * procedure.
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

#include "client/tables/fork_ring.h"
#include "fmt/region_layout.h"

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
