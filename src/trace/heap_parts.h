/*
 * Parts: what one thread has allocated through one stack, of one type and age, at a cut.
 *
 * The parts of a stack add up to the stack's figures. There are two sets of them, of the blocks
 * that live at the snapshot and of those that lived at the peak. A process can have far more parts
 * than stacks, so their number is limited: of a stack, what is not in one of the largest parts is
 * one part together, whose thread, type and age are HS_PART_OTHERS.
 *
 * An age is the time since the block was allocated. It is given as a class: an index of
 * hs_age_from_ms. A block that a forked process inherited is as old as the process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rt/base.h"

enum hs_part_view {
    HS_PARTS_LIVE,
    HS_PARTS_PEAK,
    HS_PART_VIEWS,
    /* What was allocated since the start, by scope alone: of freed blocks there are no records, but
     * each stack belongs to one scope. Snapshots have these in their stacks. */
    HS_PARTS_ALLOC = HS_PART_VIEWS,
    HS_PART_VIEWS_ALL,
};

/* In place of a thread, type, scope or age: of all that have no part of their own. */
#define HS_PART_OTHERS 0xffffU
/* The first type that was given by the program; those below were found in memory. */
#define HS_PART_GIVEN 0x8000U
/* In place of a type: of blocks whose memory was not read. */
#define HS_PART_NOT_READ      0xfffeU
#define HS_PART_NOT_READ_NAME "(not read)"

/* The ages that begin the classes. The youngest class begins at 0. */
static const uint64_t hs_age_from_ms[] = {
    0, 1000, 10000, 60000, 600000, 3600000, 21600000, 24 * 3600000UL, 7 * 86400000UL,
};
#define HS_AGE_CLASSES HS_COUNT_OF(hs_age_from_ms)

/* The class of a block that was allocated `age_ms` before. */
static inline uint16_t hs_age_class(uint64_t age_ms)
{
    size_t age_class = HS_AGE_CLASSES - 1;
    while (age_ms < hs_age_from_ms[age_class]) {
        age_class--;
    }
    return (uint16_t)age_class;
}

/* Was this type given by the program? */
static inline bool hs_part_type_is_given(uint32_t type_id)
{
    return type_id >= HS_PART_GIVEN && type_id < HS_PART_NOT_READ;
}

/* What a part is of. */
struct hs_part_key {
    uint32_t stack_id;
    uint16_t thread_id; /* in the region; 0: a thread that the region has no entry for */
    uint16_t type_id;   /* 0: unknown; HS_PART_NOT_READ */
    uint16_t age_class;
    uint32_t scope_id; /* of the stack */
};

/* Of two parts of one stack: by thread, then type, then age. */
static inline uint64_t hs_part_order(const struct hs_part_key *key)
{
    return (uint64_t)key->thread_id << 32 | (uint64_t)key->type_id << 16 | key->age_class;
}
