/*
 * Finds the types of the recorded live blocks of a process, for the parts of later snapshots.
 *
 *     struct hs_typed_records typed = { 0 };
 *     hs_typed_records_read(pid, &region, time_ns_max, &typed);    now and then
 *     region.types = hs_typed_records_view(&typed);                for a capture
 *     hs_typed_records_deinit(&typed);
 *
 * The types of a process that has ended are those that were found last.
 *
 * Trust     the region and the process's memory are hostile.
 * Threads   one.
 * Fails     -errno of reading; the types that were found before are then kept.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/region/record_types.h"
#include "collect/region/region_reader.h"
#include "collect/types/block_types.h"

/* What the blocks of one stack were found to be. */
struct hs_stack_types {
    uint8_t untyped_count; /* of its blocks that were read; it stays at HS_STACK_UNTYPED_MIN */
    bool has_type;         /* some block had one */
};

/* If so many blocks of a stack were read and none has a type, the others are read later. */
#define HS_STACK_UNTYPED_MIN 64U

struct hs_typed_records {
    struct hs_record_types view; /* its arrays are owned */
    struct hs_block_types types;
    uint64_t time_mono_ns; /* when they were read; 0: never */
    uint64_t next_record;  /* the next reading begins with this one */
    struct hs_stack_types *stacks;
    uint64_t stack_count;
};

/* Reads the types of blocks of malloc and of Python's objects. `time_ns_max`: of the time that this
 * may take. Blocks that are not reached are read next time: a block that was read is not read
 * again, unless it was just allocated and its memory may not have been filled yet. Of stacks whose
 * blocks have had no types, only a few blocks are read each time. */
int hs_typed_records_read(pid_t pid, const struct hs_region *region, uint64_t time_ns_max,
                          struct hs_typed_records *typed);
/* The types, for a region. NULL: they were never read. */
const struct hs_record_types *hs_typed_records_view(const struct hs_typed_records *typed);
/* Frees the types. */
void hs_typed_records_deinit(struct hs_typed_records *typed);
