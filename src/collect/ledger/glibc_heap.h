/*
 * The heap of glibc's malloc in another process, read from outside while the process runs: what its
 * arenas contain, and which mappings are theirs.
 *
 * Nothing of ours runs in the process, and none of its threads is stopped. A process that is
 * stopped or hangs can be read as well.
 *
 * Trust     all of it is hostile: a corrupt heap is counted as unreadable.
 * Threads   one.
 * Fails     -ENOENT: the process does not use glibc's malloc; -ENOTSUP: the layout of its
 *           release is not known; -EPROTO: its arenas make no sense; -EPERM, -ESRCH, -ENOMEM.
 */
#pragma once

#include <sys/types.h>

#include "collect/ledger/address_space.h"
#include "collect/ledger/glibc_mmapped.h"
#include "collect/ledger/glibc_place.h"
#include "collect/ledger/malloc_space.h"
#include "collect/ledger/used_chunks.h"
#include "collect/region/live_blocks.h"

struct hs_glibc_heap {
    struct hs_malloc_space space;
    /* Of both it is known what is resident. */
    struct hs_va_ranges arenas;  /* what the arenas have got from the kernel */
    struct hs_va_ranges mmapped; /* blocks with mappings of their own */
    /* Free chunks are missing in FAST and CACHED, and are counted as in use. */
    bool is_free_cut;
    uint64_t copied_bytes; /* of the process's memory, for the reading */
};

/* Reads the heap of `pid`, whose mappings are `space`. A large one is sampled, if `blocks` has its
 * recorded blocks, sorted by address; NULL: there are none. `used` gets the chunks that are in use;
 * NULL: they are not wanted. Returns 0, or see Fails. */
int hs_glibc_heap_read(pid_t pid, const struct hs_address_space *space,
                       const struct hs_glibc_place *place, const struct hs_live_blocks *blocks,
                       struct hs_used_chunks *used, struct hs_glibc_heap *ret_heap);
/* Frees the arrays. */
void hs_glibc_heap_deinit(struct hs_glibc_heap *heap);
