/*
 * What an allocator does with the memory that it has: sums by the state of its chunks.
 *
 * A chunk is a block with the allocator's words around it. Chunks of all states add up to what the
 * allocator has got from the kernel.
 */
#pragma once

#include <stdint.h>

enum hs_malloc_state {
    HS_MALLOC_IN_USE,   /* given to the program */
    HS_MALLOC_MMAPPED,  /* the same, in a mapping of its own */
    HS_MALLOC_BINNED,   /* free, in a list of the arena, merged with its free neighbours */
    HS_MALLOC_FAST,     /* free, in a list of the arena, not merged */
    HS_MALLOC_CACHED,   /* free, in the list of a thread */
    HS_MALLOC_TOP,      /* free, at the end of an arena */
    HS_MALLOC_INTERNAL, /* the allocator's own tables, and the ends of its heaps */
    /* Its state could not be read: the chunks changed while they were read, or are overwritten. */
    HS_MALLOC_UNREADABLE,
    HS_MALLOC_STATE_N,
};

struct hs_malloc_sum {
    uint64_t count; /* chunks */
    uint64_t bytes;
    uint64_t resident_bytes;
    uint64_t swap_bytes;
    /* Of an estimate: resident_bytes is at most so much more or less, in 95 of 100 cases. 0: it is
     * exact. */
    uint64_t margin_bytes;
};

struct hs_malloc_space {
    uint32_t arena_count;
    uint32_t part_share; /* one part of the chunks in so many was read; 0 or 1: all were */
    struct hs_malloc_sum sums[HS_MALLOC_STATE_N];
    /* What malloc_trim(0) would give back of the resident bytes: whole pages in free chunks. */
    uint64_t trim_bytes;
    uint64_t trim_margin_bytes; /* as margin_bytes */
};
