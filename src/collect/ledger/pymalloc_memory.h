/*
 * Memory of pymalloc, CPython's allocator of small objects: arenas that it maps itself and divides
 * into pools of 4 KiB, since CPython 3.10 of 16 KiB.
 *
 * A pool begins with a header that says which size its blocks have, how far it has been divided,
 * and which block is free: numbers that must agree with each other and with the pool's size. Each
 * pool is recognized by itself, so memory beside an arena, which the kernel may have joined with
 * it, is not taken for one. In an arena, pools that were never used are not resident.
 *
 * The arenas of a recorded process are known anyway, by the blocks in them. These are those of a
 * process to which heapscope attached later.
 *
 * Threads   one.
 * Trust     the memory is hostile; a process can only mislead its own user. A limited number of
 *           headers is read.
 * Fails     -ENOMEM, or -errno of reading the pagemap.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/ledger/glibc_mmapped.h"
#include "collect/ledger/owned_ranges.h"
#include "collect/ledger/remote_window.h"

#define HS_PYMALLOC_HEADER_WORDS 6U

/* Has the process mapped a file that says by its path that Python is in it? */
bool hs_pymalloc_may_be_in(const struct hs_address_space *space);
/* The size of the pool at `va` that begins with these words; 0: it is none. `ret_used_bytes`: what
 * its blocks in use have, with what pymalloc rounds up. */
uint64_t hs_pymalloc_pool_bytes(uint64_t va, const uint64_t words[HS_PYMALLOC_HEADER_WORDS],
                                uint64_t *ret_used_bytes);
/* Adds the pools in `gaps` to `owned`, and what they have in use to `used_bytes`. */
int hs_pymalloc_memory_find(const struct hs_remote_window *window, int pagemap_fd,
                            const struct hs_va_ranges *gaps, struct hs_owned_ranges *owned,
                            uint64_t *used_bytes);

/* The name of the pools' line. */
extern const char hs_pymalloc_name[];
