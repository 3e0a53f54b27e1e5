/*
 * Stacks in which functions of an interpreter stand among native frames: what python_stack.c and
 * script_stack.c have in common.
 *
 * Threads   any; async-signal-safe. An entry is used by one thread.
 * Fails     HS_ID_NONE: no room.
 */
#pragma once

#include <stdint.h>

#include "client/tables/stacks.h"

/* What was found for a key. */
struct hs_combined_entry {
    uint64_t key; /* 0: unused */
    uint32_t id;
};

/* Enters a pair. A signal handler may leave by longjmp in between: an entry is never half of one
 * pair. */
void hs_combined_keep(struct hs_combined_entry *entry, uint64_t key, uint32_t id);

/* The frame that stands for those that are left out. */
uint32_t hs_combined_cut_marker(void);

/* The frames of a stack, all of which can be read. NULL: they cannot. */
const uint32_t *hs_combined_frames(uint32_t stack_id, uint32_t *ret_count);

/* The id of the stack that has these frames, and ends as the native stack does, whose frames can be
 * read. */
uint32_t hs_combined_intern(uint32_t native_id, const uint32_t *frame_ids, uint32_t frame_count);
