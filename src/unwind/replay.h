/*
 * Replay: the same stack as last time, without walking it.
 *
 * A walk is a pure function of pc, sp, the stack words that it read, bp if a rule used it, and the
 * modules. A record keeps all of those together with the id of the resulting stack. When the same
 * (pc, sp) comes again and every word still has its value, the stack is the same: exactly, not just
 * probably. In a walk each load depends on the one before; when words are compared, no load does.
 * So replay costs a fraction of a walk.
 *
 * Each thread has its own table, in zeroed memory that the caller provides. (pc, sp) selects a set
 * of eight slots. Eight, because a function that allocates on behalf of many callers is often
 * called at the same sp by all of them. A new record replaces one in the back half of its set and
 * moves to the front. A record that is found in the back half moves to the front, too. Each slot
 * also holds the offset and the low half of the word in which its record last differed from a
 * stack, so most wrong records are not even read. Records lie one after another in an arena, so
 * that only as many of its pages are touched as the records need. When the arena is full, all
 * records are forgotten.
 *
 * Holds     a record is used only if its generation is the requested one.
 * Threads   one; not even a signal handler of that thread may come in between.
 * Fails     storing a walk that is too long or not replayable does nothing.
 * See       docs/UNWINDING.md: how often stacks of real programs are found.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/regs.h"
#include "rt/base.h"
#include "rt/check.h"
#include "unwind/walk.h"

/* A slot for a record. The record can match only if the low half of the word at sp + check_off is
 * `check`. */
struct hs_replay_slot {
    uint32_t tag; /* of (pc, sp) */
    uint32_t at;  /* the record's position in the arena, in words; 0: none */
    uint32_t check_off;
    uint32_t check;
};

/* The replay table of a thread. */
struct hs_replay {
    struct hs_replay_slot *slots; /* sets of HS_REPLAY_WAYS */
    uint64_t *arena;
    uint32_t slot_count;
    uint32_t slot_shift; /* 64 - log2(slot_count) */
    uint32_t arena_words;
    uint32_t arena_used; /* words handed out */
    /* Records that were replaced by others; when the arena was full, the number of slots. */
    uint32_t lost_count;
};

#define HS_REPLAY_WAYS 8U
/* Memory for hs_replay_init; slot_count is a power of two, 256 <= slot_count <= 65536. */
#define HS_REPLAY_BYTES(slot_count, arena_bytes)                                                   \
    ((size_t)(slot_count) * sizeof(struct hs_replay_slot) + (size_t)(arena_bytes))

/* Makes an empty table. `memory`: zero, 64-byte aligned, of HS_REPLAY_BYTES(slot_count,
 * arena_bytes). Good sizes: 1024 slots with 512 KiB; a record takes 48 bytes and 12 for each word,
 * of which a frame has one or two. */
void hs_replay_init(struct hs_replay *replay, void *memory, uint32_t slot_count,
                    uint32_t arena_bytes);

/* Finds the stack at `start`. True: it is the one that hs_replay_store has stored as *ret_user,
 * which is not HS_REPLAY_NONE. The window may be extended. `generation` is the rule cache's
 * generation. */
bool hs_replay_find(struct hs_replay *replay, const struct hs_regs *start,
                    struct hs_stack_window *window, uint64_t generation, uint32_t *ret_user);

/* No stack. */
#define HS_REPLAY_NONE UINT32_MAX

/* The stack at `start`, if it is among those found first; all words from sp to hi_va must be
 * readable at their addresses. HS_REPLAY_NONE: call hs_replay_find. */
uint32_t hs_replay_find_within(const struct hs_replay *replay, const struct hs_regs *start,
                               uint64_t hi_va, uint64_t generation);

/* Keeps `walk` (which began at `start`, a return address) as the stack `user`, if it can be
 * replayed. */
void hs_replay_store(struct hs_replay *replay, const struct hs_regs *start,
                     const struct hs_walk *walk, uint64_t generation, uint32_t user);

/* For assertions: is each slot's record whole, inside the part of the arena that was handed out,
 * and of no other slot of its set, and do the used slots of a set come first? */
bool hs_replay_is_valid(const struct hs_replay *replay);

/* --- hot -------------------------------------------------------------------------------------- */

/* The hash of (pc, sp). */
static inline uint64_t hs_replay_hash(const struct hs_regs *start)
{
    return (start->pc ^ (start->sp << 32 | start->sp >> 32)) * UINT64_C(0x9e3779b97f4a7c15);
}

/* The set of a hash. */
static inline struct hs_replay_slot *hs_replay_set(const struct hs_replay *replay, uint64_t hash)
{
    return &replay->slots[(hash >> replay->slot_shift) & ~(uint64_t)(HS_REPLAY_WAYS - 1)];
}

/* `start` will be looked for soon: prefetches its set of slots. */
static inline void hs_replay_prefetch(const struct hs_replay *replay, const struct hs_regs *start)
{
    const struct hs_replay_slot *set = hs_replay_set(replay, hs_replay_hash(start));
    __builtin_prefetch(set);
    __builtin_prefetch(set + HS_REPLAY_WAYS / 2);
}
