/*
 * The types of recorded blocks, as they were found in the process's memory a moment ago.
 *
 * A record is reused when its block is freed. So each type is kept with what the record was then:
 * a later scan takes the type only if the record still is of the same block, alive or dead. Blocks
 * with the same size, stack, thread and time of birth are taken for one, and if they live, with the
 * same address.
 *
 * A block without a type is kept in the same way, so that it is not read again: its look says that
 * its memory was read, and its type is 0.
 *
 * Threads   none.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fmt/region_layout.h"
#include "rt/bits.h"
#include "trace/heap_parts.h"

/* Whether the memory of a block was read. */
enum hs_type_look {
    HS_TYPE_LOOK_NONE,
    HS_TYPE_LOOK_YOUNG, /* when the block was so young that it may not have been filled yet */
    HS_TYPE_LOOK_LAST,  /* its type does not change any more */
};

struct hs_record_types {
    uint64_t *block_hashes; /* by record: hs_record_block_hash() */
    uint16_t *type_ids;     /* by record: 0: unknown; below HS_PART_GIVEN */
    uint8_t *looks;         /* by record: enum hs_type_look */
    uint64_t count;
    const char **names; /* by type id; that of 0 is not used */
    uint32_t name_count;
    uint64_t time_mono_ns; /* when memory was read last */
};

/* What tells a block from another one with the same record. The lower half is of its address, which
 * the record of a dead block does not have any more. */
static inline uint64_t hs_record_block_hash(uint64_t va, uint64_t size_thread, uint32_t stack_id,
                                            uint32_t birth_ms)
{
    uint64_t hash = hs_hash_step(hs_hash_step(size_thread, stack_id), birth_ms);
    return hs_mix64(hash) << 32 | hs_mix64(va) >> 32;
}

/* Whether the memory of the block in record `i` was read. */
static inline enum hs_type_look hs_record_type_look(const struct hs_record_types *types, uint64_t i,
                                                    uint64_t block_hash, bool is_dead)
{
    if (!types || i >= types->count) {
        return HS_TYPE_LOOK_NONE;
    }
    uint64_t difference = types->block_hashes[i] ^ block_hash;
    return difference == 0 || (is_dead && difference >> 32 == 0)
               ? (enum hs_type_look)types->looks[i]
               : HS_TYPE_LOOK_NONE;
}

/* The type of record `i`. 0: it is unknown, or nothing was looked for; HS_PART_NOT_READ: the memory
 * of the block was not read. */
static inline uint16_t hs_record_type(const struct hs_record_types *types, uint64_t i,
                                      uint64_t block_hash, bool is_dead)
{
    if (!types) {
        return 0;
    }
    return hs_record_type_look(types, i, block_hash, is_dead) != HS_TYPE_LOOK_NONE
               ? types->type_ids[i]
               : HS_PART_NOT_READ;
}
