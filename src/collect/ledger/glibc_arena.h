/*
 * The arenas of glibc's malloc in another process.
 *
 * glibc exports no symbol for them. The main arena is a variable in libc's writable data (or in
 * that of a statically linked program) and is found by its contents: an empty list of free blocks
 * consists of two pointers to itself, and an arena has 127 lists in a row. The other arenas follow
 * from it, because all arenas form a ring.
 *
 * The layout is that of glibc 2.27 to 2.41. Each arena is checked against what malloc guarantees
 * (its lists, the ring, its top block, its size), so data of another layout is refused.
 *
 * Trust     all of it is hostile: counts are capped, and a ring that does not close is refused.
 * Threads   one.
 * Fails     -ENOENT: there is no arena, as in a program that has not called glibc's malloc;
 *           -EPROTO: the ring is broken; -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/ledger/remote_window.h"

#define HS_GLIBC_FAST_LISTS  10U
#define HS_GLIBC_ARENAS_MAX  65536U
#define HS_GLIBC_ARENA_BYTES 2200U /* sizeof(struct malloc_state) */
#define HS_GLIBC_CHUNK_HEAD  16U   /* a block's address minus its chunk's */
#define HS_GLIBC_CHUNK_MIN   32U
#define HS_GLIBC_PREV_IN_USE 1U
#define HS_GLIBC_IS_MMAPPED  2U
#define HS_GLIBC_NON_MAIN    4U
#define HS_GLIBC_FLAGS       7U
#define HS_GLIBC_HEAP_BYTES_MAX                                                                    \
    (UINT64_C(64) << 20) /* the heaps of other arenas are aligned to it */

struct hs_glibc_arena {
    uint64_t va;
    bool is_main;
    bool is_contiguous; /* of the main arena: its memory is one piece */
    uint64_t top_va;    /* its last chunk */
    uint64_t top_bytes;
    uint64_t system_bytes; /* what it has got from the kernel */
    bool is_steady; /* top and system_bytes are of one moment, so that its end minus system_bytes is
                     * its start, if it is contiguous */
    uint64_t fast_va[HS_GLIBC_FAST_LISTS]; /* first chunk of each list; 0: the list is empty */
    uint64_t thread_count;                 /* that use it */
};

struct hs_glibc_arenas {
    struct hs_glibc_arena *items; /* the first is the main arena */
    size_t count;
    size_t capacity;
};

/* Finds the main arena in the writable data [start_va, end_va) of libc or of the program. Returns
 * its address; 0: it is not there. */
uint64_t hs_glibc_arena_find(struct hs_remote_window *window, uint64_t start_va, uint64_t end_va);

/* Where the arena's top is now. 0: it cannot be read. */
uint64_t hs_glibc_arena_top(struct hs_remote_window *window, uint64_t arena_va);

/* Reads the ring that begins at the main arena. A zeroed struct is an empty array. Returns 0, or
 * see Fails. */
int hs_glibc_arenas_read(struct hs_remote_window *window, uint64_t main_va,
                         struct hs_glibc_arenas *arenas);
/* Frees the array. */
void hs_glibc_arenas_deinit(struct hs_glibc_arenas *arenas);
