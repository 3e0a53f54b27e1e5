/*
 * The replay table: walks, kept and found again.
 *
 * A record is followed by its words, in groups of four:
 *
 *   struct record | struct group | struct group | ...
 *     48 bytes        48 bytes
 *
 * The last group is filled up by repeating its last word, so that a comparison has no remainder.
 *
 * Holds     all words of a record lie at or above its sp. Hence who may read from sp up to
 *           sp + top_off may compare.
 */
#include "unwind/replay.h"

#include <string.h>

#include "rt/bits.h"
#include "unwind/reader.h"

#define GROUP 4U

struct record {
    uint64_t pc;
    uint64_t sp;
    uint64_t bp; /* if has_used_bp */
    uint64_t generation;
    uint32_t user;
    uint32_t top_off;    /* the highest word, above sp */
    uint32_t room_words; /* of the arena, the record itself included */
    uint16_t group_count;
    bool has_used_bp;
};

struct group {
    uint64_t expected[GROUP];
    uint32_t offs[GROUP]; /* above sp */
};

/* Where the first record is: 0 means none. */
#define FIRST_AT     1U
#define RECORD_WORDS (sizeof(struct record) / 8)
#define GROUP_WORDS  (sizeof(struct group) / 8)

_Static_assert(sizeof(struct record) == 48 && sizeof(struct group) == 48, "no gaps");

static uint64_t hash_start(const struct hs_regs *start)
{
    return (start->pc ^ (start->sp << 32 | start->sp >> 32)) * UINT64_C(0x9e3779b97f4a7c15);
}

static struct hs_replay_slot *set_of(const struct hs_replay *replay, uint64_t hash)
{
    return &replay->slots[(hash >> replay->slot_shift) & ~(uint64_t)(HS_REPLAY_WAYS - 1)];
}

static struct record *record_at(const struct hs_replay *replay, uint32_t at)
{
    return (struct record *)(void *)(replay->arena + at);
}

static struct group *groups_of(struct record *record)
{
    return (struct group *)(void *)(record + 1);
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

/* --- room -------------------------------------------------------------------------------------- */

static void reset(struct hs_replay *replay)
{
    memset(replay->slots, 0, sizeof(replay->slots[0]) * replay->slot_count);
    replay->arena_used = FIRST_AT;
    replay->reset_count++;
}

static uint32_t words_of_record(uint32_t group_count)
{
    return (uint32_t)RECORD_WORDS + group_count * (uint32_t)GROUP_WORDS;
}

/* Brings a slot to the front of its set. */
static void touch(struct hs_replay_slot *set, uint32_t way)
{
    struct hs_replay_slot slot = set[way];
    for (; way > 0; way--) {
        set[way] = set[way - 1];
    }
    set[0] = slot;
}

/* The way whose record gives way: an old one that has room, else the oldest. */
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

/* Where the record goes, its slot at the front of the set; NULL: nowhere. */
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
    set[way].at = at;
    touch(set, way);
    return record_at(replay, at);
}

/* --- storing ----------------------------------------------------------------------------------- */

static void fill_groups(struct record *record, const struct hs_walk *walk)
{
    struct group *groups = groups_of(record);
    for (uint32_t i = 0; i < record->group_count * GROUP; i++) {
        uint32_t word = i < walk->word_count ? i : walk->word_count - 1;
        groups[i / GROUP].expected[i % GROUP] = walk->word[word];
        groups[i / GROUP].offs[i % GROUP] = walk->word_va_low[word] - (uint32_t)record->sp;
    }
}

void hs_replay_store(struct hs_replay *replay, const struct hs_regs *start,
                     const struct hs_walk *walk, uint64_t generation, uint32_t user)
{
    if (!walk->is_replayable || walk->word_count == 0 || walk->top_va - start->sp > INT32_MAX) {
        return;
    }
    uint64_t hash = hash_start(start);
    struct hs_replay_slot *set = set_of(replay, hash);
    uint32_t group_count = (walk->word_count + GROUP - 1) / GROUP;
    struct record *record = make_room(replay, set, words_of_record(group_count));
    if (!record) {
        if (words_of_record(group_count) > replay->arena_words - FIRST_AT) {
            return;
        }
        reset(replay);
        record = make_room(replay, set, words_of_record(group_count));
    }
    *record = (struct record){ .pc = start->pc,
                               .sp = start->sp,
                               .bp = start->bp,
                               .generation = generation,
                               .user = user,
                               .top_off = (uint32_t)(walk->top_va - 8 - start->sp),
                               .room_words = record->room_words,
                               .group_count = (uint16_t)group_count,
                               .has_used_bp = walk->has_used_bp };
    fill_groups(record, walk);
    /* Until it is known by which word it differs from others: the second return address. */
    const struct group *first = groups_of(record);
    set->tag = (uint32_t)hash;
    set->check_off = first->offs[1];
    set->check = (uint32_t)first->expected[1];
}

/* --- finding ----------------------------------------------------------------------------------- */

/* Next time the slot is passed over by the word that differs. */
static HS_COLD void learn(struct hs_replay_slot *slot, const struct group *group, uint64_t base)
{
    for (uint32_t i = 0; i < GROUP; i++) {
        if ((uint32_t)group->expected[i] != (uint32_t)hs_stack_load(base + group->offs[i], 0)) {
            slot->check_off = group->offs[i];
            slot->check = (uint32_t)group->expected[i];
            return;
        }
    }
}

static bool has_words(const struct group *group, uint64_t base)
{
    uint64_t difference = 0;
    for (uint32_t i = 0; i < GROUP; i++) {
        difference |= hs_stack_load(base + group->offs[i], 0) ^ group->expected[i];
    }
    return difference == 0;
}

static bool is_same_stack(struct hs_replay_slot *slot, struct record *record, uint64_t base)
{
    const struct group *group = groups_of(record);
    for (uint32_t left = record->group_count; left > 0; left--, group++) {
        if (hs_unlikely(!has_words(group, base))) {
            learn(slot, group, base);
            return false;
        }
    }
    return true;
}

/* Of a slot with the right tag. */
static bool is_stack_of(const struct hs_replay *replay, struct hs_replay_slot *slot,
                        const struct hs_regs *start, struct hs_stack_window *window,
                        uint64_t generation)
{
    struct record *record = record_at(replay, slot->at);
    if (record->pc != start->pc || record->sp != start->sp || record->generation != generation ||
        (record->has_used_bp && record->bp != start->bp)) {
        return false;
    }
    /* Stacks are contiguous, so the highest word vouches for all of them, unless the window was
     * moved for it. */
    return hs_stack_window_has(window, start->sp + record->top_off) && start->sp >= window->lo_va &&
           is_same_stack(slot, record, start->sp + window->shift);
}

static bool is_passed_over(const struct hs_replay_slot *slot, uint64_t sp,
                           const struct hs_stack_window *window)
{
    uint64_t va = sp + slot->check_off;
    return sp >= window->lo_va && va < window->hi_va && window->hi_va - va >= 8 &&
           (uint32_t)hs_stack_load(va, window->shift) != slot->check;
}

bool hs_replay_find(struct hs_replay *replay, const struct hs_regs *start,
                    struct hs_stack_window *window, uint64_t generation, uint32_t *ret_user)
{
    uint64_t hash = hash_start(start);
    struct hs_replay_slot *set = set_of(replay, hash);
    for (uint32_t way = 0; way < HS_REPLAY_WAYS && set[way].at != 0; way++) {
        if (set[way].tag != (uint32_t)hash || is_passed_over(&set[way], start->sp, window)) {
            continue;
        }
        if (is_stack_of(replay, &set[way], start, window, generation)) {
            *ret_user = record_at(replay, set[way].at)->user;
            if (way > 0) {
                touch(set, way);
            }
            return true;
        }
    }
    return false;
}
