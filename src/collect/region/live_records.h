/*
 * The records of live blocks in a region, one by one, without a cut.
 *
 *     struct hs_live_records records;
 *     int r = hs_live_records_open(region, &records);
 *     for (uint64_t i = 0; r == 0 && i < records.records.count; i++) {
 *         struct hs_live_record live;
 *         if (hs_live_record_view(&records, i, &live)) { ... }
 *     }
 *     hs_live_records_close(&records);
 *
 * A block that is allocated or freed meanwhile is there or not. (record_scan.h reads those of a
 * cut.)
 *
 * Ensures   a record belongs to one block, and its stack_id is below the number of stacks.
 * Trust     the region is hostile: addresses and sizes can be any numbers, and a stack's heap can
 *           change between two looks at it.
 * Threads   one.
 * Fails     as region_reader.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/region/region_reader.h"
#include "rt/atomic.h"

#define HS_LIVE_RECORD_TRIES 4U /* how often to try a record that is rewritten meanwhile */

struct hs_live_records {
    struct hs_region_map stacks;
    struct hs_region_map records;
};

struct hs_live_record {
    uint64_t va; /* the block's id, if it is not of malloc */
    uint64_t size_bytes;
    uint32_t stack_id;
    uint64_t word;
};

/* Maps the sections of a region that was refreshed just now. The caller closes them, also when this
 * fails. */
int hs_live_records_open(const struct hs_region *region, struct hs_live_records *ret_records);
void hs_live_records_close(struct hs_live_records *records);

/* --- for each record -------------------------------------------------------------------------- */

/* Copies record `i`. False: it is not that of a live block, or keeps changing. */
static inline bool hs_live_record_view(const struct hs_live_records *records, uint64_t i,
                                       struct hs_live_record *ret_live)
{
    const struct hs_record_v1 *record = hs_region_map_at(&records->records, i);
    for (unsigned tries = 0; tries < HS_LIVE_RECORD_TRIES; tries++) {
        /* ORDER record: as in record_scan.c. */
        uint64_t word = hs_load_acquire(&record->word);
        if (!(HS_RECORD_STATE(word) & HS_RECORD_ALIVE)) {
            return false;
        }
        /* ORDER record: as in record_scan.c. */
        uint64_t size_thread = hs_load_acquire(&record->size_thread);
        ret_live->va = hs_load_acquire(&record->addr);
        ret_live->stack_id = hs_load_acquire(&record->stack_id);
        if (hs_load_relaxed(&record->word) == word) {
            ret_live->word = word;
            ret_live->size_bytes = HS_RECORD_SIZE(size_thread);
            return ret_live->stack_id < records->stacks.count;
        }
    }
    return false;
}

/* The heap of a stack, as the region says now. */
static inline uint8_t hs_live_records_heap_of(const struct hs_live_records *records,
                                              uint32_t stack_id)
{
    const struct hs_stack_v1 *stack = hs_region_map_at(&records->stacks, stack_id);
    return hs_load_relaxed(&stack->heap_id);
}
