/*
 * Walks over the chunks of one piece of an arena's memory in another process.
 *
 * Chunks lie one behind the other. The head of each has its size, and a flag that tells whether the
 * one before it is in use. Chunks in fast lists and in the lists of threads look as if they were in
 * use. The caller says where those in fast lists are (glibc_free_lists.h); those in the lists of
 * threads are counted as in use.
 *
 *     address order:  [in use][in use][free ][in use][ top      ]
 *     flag "previous in use":    1       1      0        1
 *
 * The process runs on, so chunks change while they are read: a free chunk is merged with the one
 * before it, or the top moves. A chunk that makes no sense is read again some times. If it still
 * makes none, what lies up to the next place from which on several chunks make sense is unreadable.
 *
 * Of a large heap, only some parts are walked over (glibc_sample.h). There, what makes no sense is
 * unreadable up to the next recorded block.
 *
 * Ensures   the bytes of all states of a piece, or of its parts, add up to its size, or theirs.
 * Trust     heads are hostile: each is checked against its neighbours and the piece's end.
 * Threads   one.
 * Fails     never: what cannot be read counts as HS_MALLOC_UNREADABLE.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/ledger/glibc_sample.h"
#include "collect/ledger/malloc_space.h"
#include "collect/ledger/remote_window.h"
#include "collect/ledger/residency.h"
#include "collect/ledger/used_chunks.h"

struct hs_glibc_piece {
    uint64_t start_va; /* its first chunk */
    uint64_t end_va;
    uint64_t arena_va;
    bool is_main;    /* of the main arena */
    bool has_top;    /* its last chunk is the arena's top */
    uint64_t top_va; /* if it has_top */
};

/* A free chunk that looks as if it were in use. */
struct hs_glibc_hidden {
    uint64_t va;
    uint32_t size_bytes;
};

#define HS_GLIBC_WANTED_MAX 100000U

/* Chunks of one size in which the caller is interested. */
struct hs_glibc_wanted {
    uint64_t size_bytes;
    uint64_t *chunk_va; /* those in use; the caller frees the array */
    size_t count, capacity;
    bool is_cut;                 /* there are more than HS_GLIBC_WANTED_MAX */
    int err;                     /* 0, or -ENOMEM: chunks are missing */
    struct hs_used_chunks *used; /* gets all that are in use; NULL: not wanted */
};

/* Adds the chunks of a piece to *space. `fast` are chunks in fast lists, sorted by address. */
void hs_glibc_walk(struct hs_remote_window *window, const struct hs_residency *residency,
                   const struct hs_glibc_piece *piece, const struct hs_glibc_hidden *fast,
                   size_t fast_count, struct hs_glibc_wanted *wanted,
                   struct hs_malloc_space *space);

/*
 * The same for a sample of the piece's parts: adds their chunks to `sample`, and its top to
 * *space. False: the recorded blocks are no chunks, or the heap is broken in many places; then
 * nothing was added, except to wanted->used, and the caller walks over all of the piece.
 */
bool hs_glibc_walk_parts(struct hs_remote_window *window, const struct hs_residency *residency,
                         const struct hs_glibc_piece *piece, const struct hs_glibc_hidden *fast,
                         size_t fast_count, struct hs_glibc_wanted *wanted,
                         struct hs_glibc_sample *sample, struct hs_malloc_space *space);
