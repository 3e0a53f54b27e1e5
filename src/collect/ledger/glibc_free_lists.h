/*
 * Free chunks of glibc's malloc that look as if they were in use: those in the fast lists of the
 * arenas, and those in the lists of the threads (the "tcache").
 *
 * A thread's lists are in a chunk of a known size, which malloc gives to itself. Such a chunk is
 * recognized by its contents: for each list a number, a first block, and that many blocks of the
 * list's size in a row. So no symbol and no thread's registers are needed.
 *
 * Trust     all of it is hostile: lists are followed for a limited number of chunks.
 * Threads   one.
 * Fails     -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/ledger/glibc_arena.h"
#include "collect/ledger/glibc_walk.h"

struct hs_glibc_free_lists {
    struct hs_glibc_hidden *items; /* sorted by address after hs_glibc_free_lists_sort() */
    size_t count;
    size_t capacity;
    uint32_t step_count; /* how many chunks were looked at; there is a limit */
    /* A list was longer than what is followed, or changed while it was followed: some free chunks
     * count as in use. */
    bool is_cut;
};

/* How glibc of this release links its lists. */
struct hs_glibc_links {
    bool are_mangled;            /* since 2.32: a link is mixed with its own address */
    uint64_t thread_chunk_bytes; /* size of the chunk with a thread's lists */
    size_t thread_count_bytes;   /* of each number in it */
};

/* The links of glibc `major`.`minor`. False: they are not known. */
bool hs_glibc_links_of(unsigned major, unsigned minor, struct hs_glibc_links *ret_links);

/* Adds the chunks in the fast lists of an arena. */
int hs_glibc_free_lists_add_fast(const struct hs_remote_window *window,
                                 const struct hs_glibc_links *links,
                                 const struct hs_glibc_arena *arena,
                                 struct hs_glibc_free_lists *lists);
/* Adds the chunks in the lists of a thread, if these are in the chunk at `chunk_va`. Otherwise it
 * does nothing. */
int hs_glibc_free_lists_add_thread(const struct hs_remote_window *window,
                                   const struct hs_glibc_links *links, uint64_t chunk_va,
                                   struct hs_glibc_free_lists *lists);
void hs_glibc_free_lists_sort(struct hs_glibc_free_lists *lists);
/* Frees the array. */
void hs_glibc_free_lists_deinit(struct hs_glibc_free_lists *lists);
