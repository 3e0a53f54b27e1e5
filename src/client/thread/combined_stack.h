/*
 * Stacks in which functions of an interpreter stand among native frames: what python_stack.c and
 * script_stack.c have in common.
 *
 * Such frames are no part of the replay key, since the interpreter changes them while the words of
 * the native stack stay the same. So each sample reads which places run (place_cache.h), and a
 * table of the thread's leads from the native stack and the frames to the stack that has both. Only
 * a new pair is put together.
 *
 * Threads   any; async-signal-safe. A cache is used by one thread.
 * Fails     HS_ID_NONE: no room. NULL: no memory.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/tables/stacks.h"
#include "client/tables/thread_state.h"
#include "client/thread/place_cache.h"

#define HS_COMBINED_ENTRIES 1024U

/* What was found for a key. */
struct hs_combined_entry {
    uint64_t key; /* 0: unused */
    uint32_t id;
};

/* What a thread has whose stacks have had functions of an interpreter. */
struct hs_combined_cache {
    struct hs_combined_entry stacks[HS_COMBINED_ENTRIES];
    struct hs_place_cache places;
};

/* The cache of a thread, in which a sample begins. */
struct hs_combined_cache *hs_combined_begin(struct hs_thread *thread);

/* Forgets all stacks: for a new region. No other thread may be recording meanwhile. */
void hs_combined_clear(void);

/* The number of regions so far: what was found for another one is not used. */
uint32_t hs_combined_region_number(void);

/* The key of a stack: `hash` is that of the frames of the interpreter and of their groups. */
uint64_t hs_combined_key(uint32_t native_id, uint64_t hash);

/* The entry that a key has, or gets. */
static inline struct hs_combined_entry *hs_combined_entry_of(struct hs_combined_cache *cache,
                                                             uint64_t key)
{
    return &cache->stacks[(key >> 1) % HS_COMBINED_ENTRIES];
}

/* Enters a pair, unless the id is HS_ID_NONE. A signal handler may leave by longjmp in between: an
 * entry is never half of one pair. */
void hs_combined_keep(struct hs_combined_entry *entry, uint64_t key, uint32_t id);

/* The frame that stands for those that are left out. */
uint32_t hs_combined_cut_marker(void);

/* The frames of a stack, all of which can be read. NULL: they cannot. */
const uint32_t *hs_combined_frames(uint32_t stack_id, uint32_t *ret_count);

/* The id of the stack that has these frames, and ends as the native stack does, whose frames can be
 * read. */
uint32_t hs_combined_intern(uint32_t native_id, const uint32_t *frame_ids, uint32_t frame_count);

/* --- layouts that are not as expected --------------------------------------------------------- */

/* So many stacks that cannot be read, and none that can, mean that the interpreter has its
 * structures elsewhere. */
#define HS_LAYOUT_FAILURES_MAX 64U

/* Of the interpreters of one language. */
struct hs_layout_trial {
    uint32_t failure_count, success_count; /* up to HS_LAYOUT_FAILURES_MAX + 1 each */
};

/* Counts a stack. True: the result of hs_layout_is_refused() may be another one. */
bool hs_layout_count(struct hs_layout_trial *trial, bool is_success);

/* Is reading given up? */
static inline bool hs_layout_is_refused(const struct hs_layout_trial *trial)
{
    return hs_load_relaxed(&trial->failure_count) > HS_LAYOUT_FAILURES_MAX &&
           hs_load_relaxed(&trial->success_count) == 0;
}
