/*
 * The frame table and the stack table: each frame and each stack is stored once.
 *
 * A frame is a code address in a module. A stack is a list of frame ids, a heap, a type and a
 * scope, with the totals of what was allocated through it. A stack of another heap than malloc's
 * shares the frames of a stack of malloc's, its base: one walk serves all heaps. Both tables are
 * append-only in the region, and entries are found again through private indexes (index.h). Two
 * threads that meet a new entry at the same time may store it twice; the collector adds equal
 * stacks up.
 *
 * Threads   any; lock-free; async-signal-safe.
 * Fails     UINT32_MAX (HS_ID_NONE) when a section is full or memory is short.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/tables/region.h"
#include "client/tables/shared.h"
#include "fmt/region_layout.h"
#include "rt/check.h"

#define HS_ID_NONE UINT32_MAX

/* Makes both indexes, and those of scopes and of names of frames. False: no memory. */
bool hs_stacks_init(void);

/* Forgets all frames, stacks, scopes and names of frames: for a new region. No other thread may use
 * them meanwhile. */
void hs_stacks_clear(void);

/* The id of a frame, which is stored if it is new. `flags`: enum hs_frame_flag. HS_ID_NONE: no
 * room. */
uint32_t hs_frame_intern(uint64_t pc, uint32_t module_id, uint32_t flags);

/* For assertions: does each entry of both indexes name a frame or a stack that has its hash, and is
 * each stack whole? No thread may use the tables meanwhile. */
bool hs_stacks_is_valid(void);

/* What identifies a stack. */
struct hs_stack_key {
    const uint32_t *frame_ids; /* innermost first */
    uint32_t frame_count;
    uint32_t type_id;
    uint8_t heap_id;
    uint8_t end; /* enum hs_stack_end */
    /* As in hs_stack_v1. Not part of the key: equal frames are always walked in the same way. */
    uint32_t guessed_frame;
};

/* The id of a stack, which is stored if it is new. HS_ID_NONE: no room. */
uint32_t hs_stack_intern(const struct hs_stack_key *key);

/* The id of the stack that differs from `base_id` in its heap, type and scope, and shares its
 * frames; it is stored if it is new. The base is a stack of heap 0. HS_ID_NONE: no room. */
uint32_t hs_stack_derive(uint32_t base_id, uint8_t heap_id, uint32_t type_id, uint32_t scope_id);

/* Half of hs_stack_add: for an allocation below the interval. */
void hs_stack_add_sampled(struct hs_totals_v1 *totals, uint64_t size_bytes, uint32_t hits,
                          uint64_t interval_bytes);

/* --- hot -------------------------------------------------------------------------------------- */

/* The totals of a stack that count allocations of this epoch. NULL: the id cannot be reached. */
static inline struct hs_totals_v1 *hs_stack_totals(uint32_t stack_id, uint64_t epoch)
{
    struct hs_stack_v1 *stack = hs_region_stack(stack_id);
    return hs_likely(stack != NULL) ? &stack->totals[epoch & 1] : NULL;
}

/* Adds one recorded allocation to a stack's totals. hits 0: exact. */
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
