/*
 * A sample of a large heap: which parts of it a walk reads, and what these say of all of it.
 *
 * The heads of chunks are a list without an index: only a walk from a known chunk finds them. The
 * recorded live blocks are known chunks. So a walk reads the parts that util/page_sample.h chooses,
 * one in 2^shift, and begins each at the last recorded block in front of it:
 *
 *     address order:  [ not read           |*  |  part        ][ not read         |*  |  part   ]
 *                                           ^ a recorded block
 *
 * What it skips it has not seen, so a sum over all of the heap is an estimate: the sum over the
 * parts, times the ratio of what is resident in all of the heap, which is known, to what is
 * resident in the parts. Its error follows from how much neighbouring parts differ.
 *
 * Ensures   the estimates of all states add up to what was skipped and read together.
 * Threads   one.
 * Fails     -ENOMEM, in `err`: then parts are missing.
 * See       glibc_walk.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/ledger/malloc_space.h"
#include "collect/region/live_blocks.h"

/* A heap of more than this is sampled, so that at most HS_GLIBC_SAMPLE_BYTES are read. */
#define HS_GLIBC_WHOLE_BYTES_MAX (UINT64_C(256) << 20)
#define HS_GLIBC_SAMPLE_BYTES    (UINT64_C(64) << 20)
/* A piece of an arena is walked as a whole if it is smaller. */
#define HS_GLIBC_SAMPLED_PIECE_MIN (UINT64_C(4) << 20)

/* What is resident in a part, by state; and of that, what malloc_trim would give back. */
struct hs_glibc_part {
    uint64_t resident_bytes[HS_MALLOC_STATE_N];
    uint64_t trim_bytes;
};

struct hs_glibc_sample {
    unsigned shift;                      /* 0: all is read */
    const struct hs_live_blocks *blocks; /* recorded, sorted by address */
    struct hs_malloc_space seen;         /* sums over the parts */
    struct hs_glibc_part *parts;
    size_t part_count, part_capacity;
    uint64_t chunk_count;                                   /* in the parts */
    uint64_t all_bytes, all_resident_bytes, all_swap_bytes; /* of what is sampled */
    int err;
};

/* Chooses how much to read of a heap with so many bytes. `blocks` are sorted;
 * NULL: there are none. */
void hs_glibc_sample_choose(struct hs_glibc_sample *sample, uint64_t heap_bytes,
                            const struct hs_live_blocks *blocks);
/* The last known chunk in (after_va, until_va]; 0: there is none. */
uint64_t hs_glibc_sample_before(const struct hs_glibc_sample *sample, uint64_t after_va,
                                uint64_t until_va);
/* The first known chunk in (after_va, end_va); 0: there is none. */
uint64_t hs_glibc_sample_behind(const struct hs_glibc_sample *sample, uint64_t after_va,
                                uint64_t end_va);
/* The part that was read last ends: keeps what was added to `seen` since the last call. */
void hs_glibc_sample_end_part(struct hs_glibc_sample *sample);
/* Adds the estimates to `space`. */
void hs_glibc_sample_finish(const struct hs_glibc_sample *sample, struct hs_malloc_space *space);
/* Frees the array. */
void hs_glibc_sample_deinit(struct hs_glibc_sample *sample);
