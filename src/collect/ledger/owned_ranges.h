/*
 * Which ranges of a process's addresses belong to which line of its ledger: each address to one.
 *
 *     struct hs_owned_ranges owned = { 0 };
 *     hs_owned_ranges_add(&owned, &range);      of the surest owners first
 *     hs_owned_ranges_settle(&owned);
 *     hs_owned_ranges_add(&owned, &another);    gets what the others leave
 *     hs_owned_ranges_settle(&owned);
 *     for (size_t i = 0; i < owned.count; i++) ...
 *
 * Threads   one.
 * Trust     ranges may be any numbers, in any order. An empty one is ignored.
 * Fails     -ENOMEM.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "collect/ledger/address_space.h"
#include "collect/ledger/glibc_mmapped.h"

/* A range that has a line already, or that is counted by mappings. */
#define HS_OWNED_ELSEWHERE 0U

struct hs_owned_range {
    uint64_t start_va, end_va;
    uint32_t kind;    /* enum hs_ledger_kind, or HS_OWNED_ELSEWHERE */
    const char *name; /* of the line; outlives the array */
};

struct hs_owned_ranges {
    struct hs_owned_range *items; /* the first `count`: by address, none overlaps another */
    size_t count;
    size_t added_count; /* with those that are not settled */
    size_t capacity;
};

/* Adds a range, which owns nothing before it is settled. */
int hs_owned_ranges_add(struct hs_owned_ranges *owned, const struct hs_owned_range *range);
/* Gives to the ranges that were added since the last time what no earlier one owns. Of those that
 * overlap each other, the one that begins first gets what both have. Neighbours of
 * one kind and name are joined, except blocks of the heap `mmap`. */
int hs_owned_ranges_settle(struct hs_owned_ranges *owned);
/* The settled range that contains `va`. NULL: nobody owns it. */
const struct hs_owned_range *hs_owned_ranges_find(const struct hs_owned_ranges *owned, uint64_t va);
/* Adds to `ret_gaps`, by address, what nobody owns of private anonymous memory without a name in
 * the kernel, where a mapping has memory. */
int hs_owned_ranges_gaps(const struct hs_owned_ranges *owned, const struct hs_address_space *space,
                         struct hs_va_ranges *ret_gaps);
/* Frees the array. */
void hs_owned_ranges_deinit(struct hs_owned_ranges *owned);
