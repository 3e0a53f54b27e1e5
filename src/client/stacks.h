/*
 * Frames and stacks, each stored once.
 *
 * A frame is a code address in a module; a stack is a list of frame ids, a heap and a type, with
 * what was allocated through it. Both are append-only in the region, found again through private
 * indexes. Two threads that meet a new one at the same time may store it twice; the collector adds
 * equal stacks up.
 *
 * Threads   any; lock-free; async-signal-safe.
 * Fails     UINT32_MAX when a section is full or memory is short.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/region.h"
#include "client/shared.h"
#include "fmt/region_layout.h"

#define HS_ID_NONE UINT32_MAX

bool hs_stacks_init(void);

/* None is known any more: for a new region. Nobody else may use them meanwhile. */
void hs_stacks_clear(void);

/* `flags`: enum hs_frame_flag. */
uint32_t hs_frame_intern(uint64_t pc, uint32_t module_id, uint32_t flags);

struct hs_stack_key {
    const uint32_t *frame_ids; /* innermost first */
    uint32_t frame_count;
    uint32_t type_id;
    uint8_t heap_id;
    uint8_t end; /* enum hs_stack_end */
    /* As in hs_stack_v1; no part of the key: the same frames are followed in the same way. */
    uint32_t guessed_frame;
};

uint32_t hs_stack_intern(const struct hs_stack_key *key);

/* Half of hs_stack_add: for an allocation below the interval. */
void hs_stack_add_sampled(struct hs_totals_v1 *totals, uint64_t size_bytes, uint32_t hits,
                          uint64_t interval_bytes);

/* --- hot ------------------------------------------------------------------------------------- */

/* Where an allocation of this epoch is added. NULL: out of reach. */
static inline struct hs_totals_v1 *hs_stack_totals(uint32_t stack_id, uint64_t epoch)
{
    struct hs_stack_v1 *stack = hs_region_stack(stack_id);
    return hs_likely(stack != NULL) ? &stack->totals[epoch & 1] : NULL;
}

/* Adds one recorded allocation. hits 0: exact. */
static inline void hs_stack_add(struct hs_totals_v1 *totals, uint64_t size_bytes, uint32_t hits,
                                uint64_t interval_bytes)
{
    if (hits == 0) {
        hs_shared_add(&totals->exact_bytes, size_bytes);
        hs_shared_add(&totals->exact_count, 1);
    } else {
        hs_stack_add_sampled(totals, size_bytes, hits, interval_bytes);
    }
}
