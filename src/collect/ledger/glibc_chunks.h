/*
 * The steps of a walk over chunks, for the walks over all of a piece and over a sample of it: see
 * glibc_walk.h.
 *
 * Trust     heads are hostile: hs_glibc_is_sane() says which ones make sense.
 * Threads   one.
 * Fails     never: what cannot be read counts as HS_MALLOC_UNREADABLE.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "collect/ledger/glibc_arena.h"
#include "collect/ledger/glibc_sample.h"
#include "collect/ledger/glibc_walk.h"

/* The end of a heap that is full: chunks without a block. */
#define HS_GLIBC_FENCE_BYTES 16U

struct hs_glibc_head {
    uint64_t prev_bytes; /* only if the chunk before is free */
    uint64_t word;       /* size and flags */
};

struct hs_glibc_walking {
    struct hs_remote_window *window;
    const struct hs_residency *residency;
    const struct hs_glibc_piece *piece;
    const struct hs_glibc_hidden *fast; /* the next one */
    size_t fast_left;
    struct hs_glibc_wanted *wanted;
    struct hs_malloc_space *space;
    /* Neighbours of one state, whose pages are not looked up yet. */
    enum hs_malloc_state run_state;
    uint64_t run_va;
    /* Neighbours that malloc_trim would merge; 0: none. */
    uint64_t trim_va;
    unsigned repair_count, resume_count;
    /* What counts: all of the piece, or one part of it after the other. */
    uint64_t part_va, part_end_va;
    struct hs_glibc_sample *sample; /* NULL: all of the piece */
    uint64_t parts_end_va;          /* of what is sampled */
    unsigned lost_count, part_count;
};

enum hs_glibc_repair { HS_GLIBC_REPAIRED, HS_GLIBC_IS_TOP, HS_GLIBC_LOST };

void hs_glibc_begin_walk(struct hs_glibc_walking *walk);
void hs_glibc_end_walk(struct hs_glibc_walking *walk);

/* Adds what of [start_va, end_va) counts. */
void hs_glibc_add_bytes(const struct hs_glibc_walking *walk, enum hs_malloc_state state,
                        uint64_t start_va, uint64_t end_va);
/* The chunks of one state end at `va`. */
void hs_glibc_end_run(struct hs_glibc_walking *walk, uint64_t va);
/* Free chunks that are neighbours reach to `end_va`. */
void hs_glibc_add_trim(struct hs_glibc_walking *walk, uint64_t end_va);
/* Free chunks that are neighbours end at `end_va`. */
void hs_glibc_end_trim(struct hs_glibc_walking *walk, uint64_t end_va, bool is_top);
/* Notes a chunk that keeps its pages. */
void hs_glibc_keep_used(const struct hs_glibc_walking *walk, uint64_t va, uint64_t word);
/* The state of a chunk that looks as if it were in use. */
enum hs_malloc_state hs_glibc_state_in_use(struct hs_glibc_walking *walk, uint64_t va,
                                           uint64_t size_bytes);
bool hs_glibc_read_head_anew(struct hs_glibc_walking *walk, uint64_t va, uint64_t prev_bytes,
                             struct hs_glibc_head *ret_head);
/* Has the arena's top moved to this chunk, or in front of it? Then all from here on is free. */
bool hs_glibc_is_top_now(const struct hs_glibc_walking *walk, uint64_t va);
/* Looks for the next place from which on chunks make sense. What is before it is unreadable. */
bool hs_glibc_resume(struct hs_glibc_walking *walk, uint64_t *va, struct hs_glibc_head *ret_head);
/* What is behind the chunk at *va makes no sense. HS_GLIBC_REPAIRED: the walk goes on at *va. */
enum hs_glibc_repair hs_glibc_repair(struct hs_glibc_walking *walk, uint64_t *va,
                                     struct hs_glibc_head *head);

static inline uint64_t hs_glibc_size_of(const struct hs_glibc_head *head)
{
    return head->word & ~(uint64_t)HS_GLIBC_FLAGS;
}

static inline void hs_glibc_add_chunk(struct hs_glibc_walking *walk, enum hs_malloc_state state,
                                      uint64_t va, uint64_t size_bytes)
{
    bool is_merged = state == HS_MALLOC_BINNED || state == HS_MALLOC_FAST || state == HS_MALLOC_TOP;
    if (state != walk->run_state) {
        hs_glibc_end_run(walk, va);
        walk->run_state = state;
    }
    if (is_merged && walk->trim_va == 0) {
        walk->trim_va = va;
    } else if (!is_merged && walk->trim_va != 0) {
        hs_glibc_end_trim(walk, va, false);
    }
    if (state == HS_MALLOC_TOP) {
        hs_glibc_end_trim(walk, va + size_bytes, true);
    }
    walk->space->sums[state].count += va >= walk->part_va;
}

/* Is it a chunk? The chunk before it has `prev_bytes`; 0: it is the first. */
static inline bool hs_glibc_is_sane(const struct hs_glibc_walking *walk,
                                    const struct hs_glibc_head *head, uint64_t va,
                                    uint64_t prev_bytes)
{
    uint64_t size_bytes = hs_glibc_size_of(head), left_bytes = walk->piece->end_va - va;
    bool is_prev_free = (head->word & HS_GLIBC_PREV_IN_USE) == 0;
    if ((head->word & HS_GLIBC_IS_MMAPPED) != 0 || size_bytes % HS_GLIBC_CHUNK_HEAD != 0 ||
        size_bytes > left_bytes ||
        (size_bytes < HS_GLIBC_CHUNK_MIN && size_bytes != HS_GLIBC_FENCE_BYTES)) {
        return size_bytes == 0 && left_bytes <= 2 * HS_GLIBC_FENCE_BYTES;
    }
    return !is_prev_free || (prev_bytes != 0 && head->prev_bytes == prev_bytes);
}

/* This runs for each chunk. */
static inline bool hs_glibc_read_sane_head(struct hs_glibc_walking *walk, uint64_t va,
                                           uint64_t prev_bytes, struct hs_glibc_head *ret_head)
{
    const uint8_t *at = hs_remote_window_held(walk->window, va, sizeof(*ret_head));
    if (at) {
        memcpy(ret_head, at, sizeof(*ret_head));
        if (hs_glibc_is_sane(walk, ret_head, va, prev_bytes)) {
            return true;
        }
    }
    return hs_glibc_read_head_anew(walk, va, prev_bytes, ret_head);
}
