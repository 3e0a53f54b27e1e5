/*
 * Address ranges that the program has mapped, in the order of their addresses.
 *
 * Memory from mmap(2) is no set of blocks: a call can unmap the middle of one range, map over parts
 * of several, or change what may be done with some pages. So these ranges are kept in an ordered
 * list with several levels (a skip list): a search, an insertion and a removal take a time that
 * grows with the logarithm of the number of ranges, need no recursion, and move no other range.
 * What a call does to the ranges is in mapped.h, and each range that is memory is a block of the
 * heap `mmap` (heap_blocks.h).
 *
 * The nodes come from mappings of the client's own that double in size; they are used again, and
 * given back never.
 *
 * Holds     ranges do not overlap, are not empty, and stand in ascending order.
 * Threads   one at a time: callers hold the lock of mapped.c.
 * Fails     HS_RANGE_NONE: no memory for a node.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rt/base.h"

#define HS_RANGE_NONE   0U
#define HS_RANGE_LEVELS 9U

/* What a range is. */
enum hs_range_kind {
    HS_RANGE_RESERVED, /* no access is permitted: it takes address space, but is no memory yet */
    HS_RANGE_MEMORY,   /* a block of the heap is recorded for it */
    /* memory without a block: it could not be recorded, which was counted, or it is the reserve of
     * another heap, or shared memory of another process */
    HS_RANGE_UNRECORDED,
};

/* A range; its id is its place in the table of nodes. */
struct hs_range {
    uint64_t start_va;
    uint64_t end_va;
    uint32_t stack_id;              /* of its block; 0 if it is not HS_RANGE_MEMORY */
    uint32_t birth_ms;              /* of its block */
    uint8_t kind;                   /* enum hs_range_kind */
    uint8_t height;                 /* the number of levels that it is linked in */
    bool is_part;                   /* cut from a range of which another part stays */
    bool is_shared;                 /* with other processes, after a fork */
    uint32_t next[HS_RANGE_LEVELS]; /* by level; level 0 also links chains of removed ranges */
};

_Static_assert(sizeof(struct hs_range) == 64, "one cache line");

/* The range of an id. */
struct hs_range *hs_range_at(uint32_t id);

/* How many ranges there are. */
uint64_t hs_ranges_count(void);

/* The first range that ends above `va`. HS_RANGE_NONE: there is none. */
uint32_t hs_ranges_find(uint64_t va);

/* The range after this one. HS_RANGE_NONE: it is the last. */
uint32_t hs_ranges_next(uint32_t id);

/* A node that is in no list, with the content of `like` except for its place. HS_RANGE_NONE: no
 * memory. */
uint32_t hs_ranges_make(uint64_t start_va, uint64_t end_va, const struct hs_range *like);

/* Puts a node into the list. No range overlaps it. */
void hs_ranges_link(uint32_t id);

/* Takes a range out of the list; it stays the caller's. */
void hs_ranges_unlink(uint32_t id);

/* Gives a node back that is in no list. */
void hs_ranges_free(uint32_t id);

/* Forgets all ranges. */
void hs_ranges_clear(void);

/* For tests and assertions: are all ranges in order, and is each linked in all its levels? */
bool hs_ranges_is_valid(void);
