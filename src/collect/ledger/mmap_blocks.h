/*
 * What of the ranges that the program maps itself is memory, by the kernel's mappings.
 *
 * The client records these ranges (the heap `mmap`). It does not see system calls that the program
 * makes without the C library, so what it has recorded is compared with the mappings: a range
 * counts only where there is anonymous or shared anonymous memory now.
 *
 * Threads   one.
 * Trust     the ranges are from the region: any numbers, in any order.
 * Fails     -ENOMEM.
 */
#pragma once

#include "collect/ledger/address_space.h"
#include "collect/ledger/glibc_mmapped.h"

struct hs_region;

/* Reads the live blocks of the heap `mmap` from a region. Without such a heap there are none. The
 * caller frees them with hs_va_ranges_deinit, also when this fails: -ENOMEM, or as
 * region_reader.h. */
int hs_mmap_blocks_read(const struct hs_region *region, struct hs_va_ranges *ret_ranges);

/* The parts of `recorded` that are such memory: in the order of their addresses, each once. The
 * caller frees them with hs_va_ranges_deinit, also when this fails. */
int hs_mmap_blocks_clip(const struct hs_address_space *space, const struct hs_va_ranges *recorded,
                        struct hs_va_ranges *ret_ranges);
