/*
 * The replay table: keeps walks, and finds them again.
 *
 * A record is followed by its words, in groups of four that are compared at once:
 *
 *   struct record | struct hs_arch_words | struct hs_arch_words | ...
 *     48 bytes      48 bytes
 *
 * The last group is filled up by repeating the last word, so that a comparison has no remainder.
 *
 * Holds     all words of a record lie at or above its sp. Hence a caller that may read from sp up
 *           to sp + top_off may compare them. Records are aligned to 16 bytes, as groups must be.
 */
#include "unwind/replay.h"

#include <string.h>

#include "arch/words.h"
#include "rt/bits.h"
#include "unwind/reader.h"

struct record {
    uint64_t pc;
    uint64_t sp;
    uint64_t bp; /* if has_used_bp */
    uint64_t generation;
    uint32_t user;
    uint32_t top_off;    /* offset of the highest word above sp */
    uint32_t room_words; /* arena words that the record has, including itself */
    uint16_t size_words; /* those in use */
    bool has_used_bp;
};

/* Where the first record is: 0 means none. */
#define FIRST_AT     2U
#define RECORD_WORDS (sizeof(struct record) / 8)
#define GROUP_WORDS  (sizeof(struct hs_arch_words) / 8)

_Static_assert(sizeof(struct record) == 48 && sizeof(struct hs_arch_words) == 48, "no gaps");

static struct record *record_at(const struct hs_replay *replay, uint32_t at)
{
    HS_ASSERT(at >= FIRST_AT && at < replay->arena_words);
    HS_ASSERT((uintptr_t)(replay->arena + at) % 16 == 0);
    return (struct record *)(void *)(replay->arena + at);
}

static struct hs_arch_words *groups_of(struct record *record)
{
    return (struct hs_arch_words *)(void *)(record + 1);
}

static struct hs_arch_words *groups_end(struct record *record)
{
    return (struct hs_arch_words *)(void *)((uint64_t *)(void *)record + record->size_words);
}

void hs_replay_init(struct hs_replay *replay, void *memory, uint32_t slot_count,
                    uint32_t arena_bytes)
{
    struct hs_replay_slot *slots = memory;
    *replay = (struct hs_replay){ .slots = slots,
                                  .arena = (uint64_t *)(void *)(slots + slot_count),
                                  .slot_count = slot_count,
                                  .slot_shift = 64 - hs_log2_floor(slot_count),
                                  .arena_words = arena_bytes / 8,
                                  .arena_used = FIRST_AT };
}

/* --- room ------------------------------------------------------------------------------------- */

static void reset(struct hs_replay *replay)
{
    memset(replay->slots, 0, sizeof(replay->slots[0]) * replay->slot_count);
    replay->arena_used = FIRST_AT;
    replay->lost_count += replay->slot_count;
}

static uint32_t size_of_record(uint32_t word_count)
{
    uint32_t group_count = (word_count + HS_ARCH_WORDS - 1) / HS_ARCH_WORDS;
    return (uint32_t)(RECORD_WORDS + group_count * GROUP_WORDS);
}

/* Moves a slot to the front of its set. Most stacks are found there already, so this is not
 * inlined. */
static __attribute__((noinline)) void touch(struct hs_replay_slot *set, struct hs_replay_slot *slot)
{
    struct hs_replay_slot touched = *slot;
    for (; slot != set; slot--) {
        *slot = slot[-1];
    }
    *set = touched;
}

/* The way whose record is replaced: one of the back half that has room, otherwise the last. */
static uint32_t choose_way(const struct hs_replay *replay, const struct hs_replay_slot *set,
                           uint32_t size_words)
{
    for (uint32_t way = HS_REPLAY_WAYS - 1; way >= HS_REPLAY_WAYS / 2; way--) {
        if (set[way].at == 0 || record_at(replay, set[way].at)->room_words >= size_words) {
            return way;
        }
    }
    return HS_REPLAY_WAYS - 1;
}

/* Room for a record, whose slot moves to the front of the set. NULL: there is none. */
static struct record *make_room(struct hs_replay *replay, struct hs_replay_slot *set,
                                uint32_t size_words)
{
    uint32_t way = choose_way(replay, set, size_words), at = set[way].at;
    if (at == 0 || record_at(replay, at)->room_words < size_words) {
        if (size_words > replay->arena_words - replay->arena_used) {
            return NULL;
        }
        at = replay->arena_used;
        replay->arena_used += size_words;
        record_at(replay, at)->room_words = size_words;
    }
    replay->lost_count += set[way].at != 0;
    set[way].at = at;
    touch(set, &set[way]);
    return record_at(replay, at);
}

/* --- storing ---------------------------------------------------------------------------------- */

static void fill_groups(struct record *record, const struct hs_walk *walk)
{
    uint32_t word = 0, last = walk->word_count - 1, low_sp = (uint32_t)record->sp;
    for (struct hs_arch_words *group = groups_of(record); group != groups_end(record); group++) {
        for (uint32_t i = 0; i < HS_ARCH_WORDS; i++) {
            group->expected[i] = walk->word[word];
            group->offs[i] = walk->word_va_low[word] - low_sp;
            HS_ASSERT(group->offs[i] <= record->top_off);
            word += word < last;
        }
    }
}

void hs_replay_store(struct hs_replay *replay, const struct hs_regs *start,
                     const struct hs_walk *walk, uint64_t generation, uint32_t user)
{
    if (!walk->is_replayable || walk->word_count == 0 || walk->top_va - start->sp > INT32_MAX) {
        return;
    }
    uint64_t hash = hs_replay_hash(start);
    struct hs_replay_slot *set = hs_replay_set(replay, hash);
    uint32_t size_words = size_of_record(walk->word_count);
    struct record *record = make_room(replay, set, size_words);
    if (!record) {
        if (size_words > replay->arena_words - FIRST_AT) {
            return;
        }
        reset(replay);
        record = make_room(replay, set, size_words);
    }
    *record = (struct record){ .pc = start->pc,
                               .sp = start->sp,
                               .bp = start->bp,
                               .generation = generation,
                               .user = user,
                               .top_off = (uint32_t)(walk->top_va - 8 - start->sp),
                               .room_words = record->room_words,
                               .size_words = (uint16_t)size_words,
                               .has_used_bp = walk->has_used_bp };
    fill_groups(record, walk);
    /* The second return address, until it is known which word tells this record from others. */
    const struct hs_arch_words *first = groups_of(record);
    set->tag = (uint32_t)hash;
    set->check_off = first->offs[1];
    set->check = (uint32_t)first->expected[1];
}

/* --- finding ---------------------------------------------------------------------------------- */

/* Remembers the word that differs, so that the next search skips the slot by it. */
static HS_COLD void learn(struct hs_replay_slot *slot, const struct hs_arch_words *group,
                          uint64_t base)
{
    for (uint32_t i = 0; i < HS_ARCH_WORDS; i++) {
        if ((uint32_t)group->expected[i] != (uint32_t)hs_stack_load(base + group->offs[i], 0)) {
            slot->check_off = group->offs[i];
            slot->check = (uint32_t)group->expected[i];
            return;
        }
    }
}

static bool is_same_stack(struct hs_replay_slot *slot, struct record *record, uint64_t base)
{
    const struct hs_arch_words *group = groups_of(record), *end = groups_end(record);
    do {
        if (hs_unlikely(!hs_arch_words_are_at(group, group + 1, base))) {
            learn(slot, group, base);
            return false;
        }
    } while (++group != end);
    return true;
}

/* Words that begin at offsets below this above sp can be read. */
static uint64_t readable_bytes(const struct hs_stack_window *window, uint64_t sp)
{
    bool has_any = sp >= window->lo_va && sp < window->hi_va && window->hi_va - sp >= 8;
    return has_any ? window->hi_va - sp - 7 : 0;
}

static bool is_passed_over(const struct hs_replay_slot *slot, uint64_t base, uint64_t readable)
{
    return slot->check_off < readable &&
           (uint32_t)hs_stack_load(base + slot->check_off, 0) != slot->check;
}

static bool is_start_of(const struct record *record, const struct hs_regs *start,
                        uint64_t generation)
{
    return record->pc == start->pc && record->sp == start->sp && record->generation == generation &&
           (!record->has_used_bp || record->bp == start->bp);
}

/* Stacks are contiguous. So if the highest word is readable, all of them are, unless the window was
 * moved to reach it. (What was readable before still is.) */
static HS_COLD bool extend_to(struct hs_stack_window *window, uint64_t sp, uint32_t off)
{
    return hs_stack_window_has(window, sp + off) && sp >= window->lo_va;
}

/* Learns which word differs, and extends the window. */
bool hs_replay_find(struct hs_replay *replay, const struct hs_regs *start,
                    struct hs_stack_window *window, uint64_t generation, uint32_t *ret_user)
{
    const uint64_t sp = start->sp, hash = hs_replay_hash(start);
    const uint64_t base = sp + window->shift, readable = readable_bytes(window, sp);
    struct hs_replay_slot *set = hs_replay_set(replay, hash), *slot = set;
    for (; slot != set + HS_REPLAY_WAYS && slot->at != 0; slot++) {
        if (slot->tag != (uint32_t)hash || is_passed_over(slot, base, readable)) {
            continue;
        }
        struct record *record = record_at(replay, slot->at);
        if (is_start_of(record, start, generation) &&
            (record->top_off < readable || extend_to(window, sp, record->top_off)) &&
            is_same_stack(slot, record, base)) {
            HS_ASSERT(record->generation == generation);
            *ret_user = record->user;
            if (slot >= set + HS_REPLAY_WAYS / 2) {
                touch(set, slot);
            }
            return true;
        }
    }
    return false;
}

/* Calls no function, and so has no registers to save. */
uint32_t hs_replay_find_within(const struct hs_replay *replay, const struct hs_regs *start,
                               uint64_t hi_va, uint64_t generation)
{
    const uint64_t sp = start->sp, hash = hs_replay_hash(start);
    if (hs_unlikely(hi_va - sp < 8)) {
        return HS_REPLAY_NONE;
    }
    const uint64_t readable = hi_va - sp - 7;
    const struct hs_replay_slot *slot = hs_replay_set(replay, hash);
    const struct hs_replay_slot *end = slot + HS_REPLAY_WAYS / 2;
    for (; slot != end && slot->at != 0; slot++) {
        if (slot->tag != (uint32_t)hash || is_passed_over(slot, sp, readable)) {
            continue;
        }
        struct record *record = record_at(replay, slot->at);
        if (hs_unlikely(!is_start_of(record, start, generation))) {
            continue;
        }
        if (hs_unlikely(record->top_off >= readable)) {
            break;
        }
        if (hs_likely(hs_arch_words_are_at(groups_of(record), groups_end(record), sp))) {
            HS_ASSERT(record->generation == generation);
            return record->user;
        }
        break;
    }
    return HS_REPLAY_NONE;
}

#if HS_HAS_CHECKS

static bool is_record_valid(const struct hs_replay *replay, uint32_t at)
{
    if (at < FIRST_AT || at + RECORD_WORDS + GROUP_WORDS > replay->arena_used) {
        return false;
    }
    struct record *record = record_at(replay, at);
    if ((record->size_words - RECORD_WORDS) % GROUP_WORDS != 0 ||
        record->size_words < RECORD_WORDS + GROUP_WORDS ||
        record->room_words < record->size_words || record->room_words > replay->arena_used - at) {
        return false;
    }
    bool has_top = true;
    for (struct hs_arch_words *group = groups_of(record); group != groups_end(record); group++) {
        for (uint32_t i = 0; i < HS_ARCH_WORDS; i++) {
            has_top = has_top && group->offs[i] <= record->top_off;
        }
    }
    return has_top;
}

static bool is_set_valid(const struct hs_replay *replay, const struct hs_replay_slot *set)
{
    for (uint32_t way = 0; way < HS_REPLAY_WAYS; way++) {
        uint32_t at = set[way].at;
        if (at == 0) {
            continue;
        }
        if ((way > 0 && set[way - 1].at == 0) || !is_record_valid(replay, at)) {
            return false;
        }
        for (uint32_t other = 0; other < way; other++) {
            if (set[other].at == at) {
                return false;
            }
        }
    }
    return true;
}

bool hs_replay_is_valid(const struct hs_replay *replay)
{
    uint64_t room_words = 0;
    bool is_valid = replay->arena_used >= FIRST_AT && replay->arena_used <= replay->arena_words &&
                    replay->slot_shift == 64 - hs_log2_floor(replay->slot_count);
    for (uint32_t i = 0; is_valid && i < replay->slot_count; i++) {
        is_valid = i % HS_REPLAY_WAYS != 0 || is_set_valid(replay, &replay->slots[i]);
        room_words += is_valid && replay->slots[i].at != 0
                          ? record_at(replay, replay->slots[i].at)->room_words
                          : 0;
    }
    /* More would mean that records overlap. */
    return is_valid && room_words <= replay->arena_used - FIRST_AT;
}

#endif
