/*
 * The replay table: leaves and trunks, kept and found again.
 */
#include "unwind/replay.h"

#include <string.h>

#include "rt/bits.h"
#include "unwind/replay_record.h"

static struct hs_replay_slot *set_of(const struct hs_replay *replay, uint64_t hash)
{
    return &replay->slots[(hash >> replay->slot_shift) & ~(uint64_t)(HS_REPLAY_WAYS - 1)];
}

void hs_replay_init(struct hs_replay *replay, void *memory, uint32_t slot_count,
                    uint32_t arena_bytes)
{
    struct hs_replay_slot *slots = memory;
    struct hs_replay_point *points = (struct hs_replay_point *)(void *)(slots + slot_count);
    *replay = (struct hs_replay){ .slots = slots,
                                  .points = points,
                                  .arena = (uint64_t *)(void *)(points + slot_count),
                                  .slot_count = slot_count,
                                  .slot_shift = 64 - hs_log2_floor(slot_count),
                                  .arena_words = arena_bytes / 8,
                                  .arena_used = 1 };
}

/* --- room -------------------------------------------------------------------------------------- */

static void reset(struct hs_replay *replay)
{
    memset(replay->slots, 0, sizeof(replay->slots[0]) * replay->slot_count);
    memset(replay->points, 0, sizeof(replay->points[0]) * replay->slot_count);
    replay->arena_used = 1;
    replay->reset_count++;
}

static bool has_fresh(const struct hs_replay *replay, uint32_t size_words)
{
    return size_words <= replay->arena_words - replay->arena_used;
}

static uint32_t take_fresh(struct hs_replay *replay, uint32_t size_words)
{
    uint32_t at = replay->arena_used;
    replay->arena_used += size_words;
    record_at(replay, at)->room_words = size_words;
    return at;
}

static uint32_t leaf_words(uint32_t group_count)
{
    return (uint32_t)RECORD_WORDS + group_count * (GROUP + GROUP / 2);
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

/* --- storing ----------------------------------------------------------------------------------- */

/* Words `from` to `to` of the walk as groups from `group` on; returns the next group. */
static uint32_t fill_groups(struct record *record, const struct hs_walk *walk, uint32_t from,
                            uint32_t to, uint32_t group)
{
    uint64_t *expected = record_expected(record) + (size_t)group * GROUP;
    uint32_t *offs = record_offs(record) + (size_t)group * GROUP;
    uint32_t low_sp = (uint32_t)record->sp, count = to - from;
    uint32_t padded = (uint32_t)hs_align_up(count, GROUP);
    for (uint32_t i = 0; i < count; i++) {
        expected[i] = walk->word[from + i];
        offs[i] = walk->word_va_low[from + i] - low_sp;
    }
    for (uint32_t i = count; i < padded; i++) {
        expected[i] = expected[count - 1];
        offs[i] = offs[count - 1];
    }
    return group + padded / GROUP;
}

static uint32_t groups_between(uint32_t from, uint32_t to)
{
    return (to - from + GROUP - 1) / GROUP;
}

/* What becomes a trunk: the part of a walk from its first checkpoint to its end, or to where it joined
 * another trunk. Checkpoint i begins a section of it. */
struct trunk_plan {
    const struct hs_walk *walk;
    uint32_t point_count;
    uint32_t word_end;
    uint32_t frame_end;
    uint32_t group_count;
};

static uint32_t section_end(const struct trunk_plan *plan, uint32_t i)
{
    return i + 1 < plan->point_count ? plan->walk->checkpoints[i + 1].word_idx : plan->word_end;
}

/* False: there is to be no trunk. */
static bool plan_trunk(struct trunk_plan *plan, const struct hs_walk *walk)
{
    bool is_joined = walk->join.at != 0;
    if (walk->end != HS_UNWIND_END || walk->cut_idx != 0 || walk->checkpoint_count <= is_joined ||
        (is_joined && walk->join.depth >= DEPTH_MAX)) {
        return false;
    }
    *plan = (struct trunk_plan){ .walk = walk, .point_count = walk->checkpoint_count - is_joined };
    const struct hs_walk_checkpoint *joined = &walk->checkpoints[plan->point_count];
    plan->word_end = is_joined ? joined->word_idx : walk->word_count;
    plan->frame_end = is_joined ? joined->frame_idx : walk->frame_count;
    for (uint32_t i = 0; i < plan->point_count; i++) {
        const struct hs_walk_checkpoint *from = &walk->checkpoints[i];
        if (from->word_idx >= section_end(plan, i)) {
            return false; /* nothing to compare */
        }
        for (uint32_t word = from->word_idx; word < plan->word_end; word++) {
            if (walk->word_va_low[word] - (uint32_t)from->sp > INT32_MAX) {
                return false; /* a word further in: not by compilers */
            }
        }
        plan->group_count += groups_between(from->word_idx, section_end(plan, i));
    }
    return true;
}

static void fill_trunk(struct hs_replay *replay, struct record *trunk, uint32_t at,
                       const struct trunk_plan *plan)
{
    const struct hs_walk *walk = plan->walk;
    uint32_t group = 0, first_frame = walk->checkpoints[0].frame_idx;
    struct record_point *points = record_points(trunk);
    for (uint32_t i = 0; i < plan->point_count; i++) {
        const struct hs_walk_checkpoint *from = &walk->checkpoints[i];
        uint64_t hash = replay_hash(from->pc, from->sp);
        points[i] = (struct record_point){ .pc = from->pc,
                                           .bp = from->bp,
                                           .sp_off = (uint32_t)(from->sp - trunk->sp),
                                           .frame_idx = (uint16_t)(from->frame_idx - first_frame),
                                           .group = (uint8_t)group,
                                           .has_used_bp = from->has_used_bp };
        *point_place(replay, hash) = (struct hs_replay_point){ (uint32_t)hash, at };
        group = fill_groups(trunk, walk, from->word_idx, section_end(plan, i), group);
    }
    memcpy(record_frames(trunk), walk->frames + first_frame,
           trunk->frame_count * sizeof(walk->frames[0]));
}

static void link_to(struct record *record, const struct hs_walk_join *join)
{
    record->trunk_at = join->at;
    record->trunk_serial = join->serial;
    record->trunk_group = (uint8_t)join->group;
    record->trunk_frame = (uint16_t)join->frame_idx;
    record->depth = (join->depth + 1) & 0x7f;
}

/* The trunk's link; at 0: there is no room. */
static struct hs_walk_join store_trunk(struct hs_replay *replay, const struct trunk_plan *plan,
                                       uint64_t generation)
{
    const struct hs_walk *walk = plan->walk;
    const struct hs_walk_checkpoint *first = &walk->checkpoints[0];
    uint32_t frame_count = plan->frame_end - first->frame_idx;
    uint32_t size_words = leaf_words(plan->group_count) +
                          (uint32_t)POINT_WORDS * plan->point_count + (frame_count + 1) / 2;
    if (!has_fresh(replay, size_words)) {
        return (struct hs_walk_join){ 0 };
    }
    uint32_t at = take_fresh(replay, size_words);
    struct record *trunk = record_at(replay, at);
    *trunk = (struct record){ .sp = first->sp,
                              .generation = generation,
                              .top_off = (uint32_t)(walk->top_va - 8 - first->sp),
                              .room_words = size_words,
                              .serial = ++replay->serial,
                              .group_count = (uint8_t)plan->group_count,
                              .point_count = (uint8_t)plan->point_count,
                              .frame_count = (uint16_t)frame_count };
    if (walk->join.at != 0) {
        link_to(trunk, &walk->join);
    }
    fill_trunk(replay, trunk, at, plan);
    return (struct hs_walk_join){ .at = at, .serial = trunk->serial, .depth = trunk->depth };
}

/* Where the record of the leaf goes, at the front of its set; 0: nowhere. */
static uint32_t place_leaf(struct hs_replay *replay, uint64_t hash, uint32_t size_words)
{
    struct hs_replay_slot *set = set_of(replay, hash);
    uint32_t way = choose_way(replay, set, size_words), at = set[way].at;
    if (at == 0 || record_at(replay, at)->room_words < size_words) {
        if (!has_fresh(replay, size_words)) {
            return 0;
        }
        at = take_fresh(replay, size_words);
    }
    set[way].at = at;
    touch(set, way);
    return at;
}

/* False: there is no room. */
static bool store_leaf(struct hs_replay *replay, const struct hs_regs *start,
                       const struct hs_walk *walk, uint32_t word_count, struct record from)
{
    uint64_t hash = replay_hash(start->pc, start->sp);
    from.group_count = (uint8_t)groups_between(0, word_count);
    uint32_t at = place_leaf(replay, hash, leaf_words(from.group_count));
    if (at == 0) {
        return false;
    }
    struct record *leaf = record_at(replay, at);
    from.room_words = leaf->room_words;
    from.serial = ++replay->serial;
    *leaf = from;
    fill_groups(leaf, walk, 0, word_count, 0);
    /* Until it is known by which word it differs from others: the second return address. */
    uint32_t check_idx = word_count > 1 ? 1 : 0;
    struct hs_replay_slot *slot = set_of(replay, hash);
    slot->tag = (uint32_t)hash;
    slot->check_off = record_offs(leaf)[check_idx];
    slot->check = (uint32_t)record_expected(leaf)[check_idx];
    return true;
}

/* The walk as a leaf and, if it can be, a trunk. */
static bool store_parts(struct hs_replay *replay, const struct hs_regs *start,
                        const struct hs_walk *walk, struct record leaf)
{
    struct trunk_plan plan;
    struct hs_walk_join trunk = { 0 };
    uint32_t word_count = walk->word_count;
    if (plan_trunk(&plan, walk)) {
        trunk = store_trunk(replay, &plan, leaf.generation);
        word_count = trunk.at ? walk->checkpoints[0].word_idx : word_count;
    }
    if (trunk.at == 0) {
        trunk = walk->join;
    }
    if (trunk.at != 0) {
        link_to(&leaf, &trunk);
    }
    return store_leaf(replay, start, walk, word_count, leaf);
}

void hs_replay_store(struct hs_replay *replay, const struct hs_regs *start,
                     const struct hs_walk *walk, uint64_t generation, uint32_t user)
{
    if (!walk->is_replayable || walk->word_count == 0 || walk->top_va - start->sp > INT32_MAX) {
        return;
    }
    struct record leaf = { .pc = start->pc,
                           .sp = start->sp,
                           .bp = start->bp,
                           .generation = generation,
                           .user = user,
                           .top_off = (uint32_t)(walk->top_va - 8 - start->sp),
                           .has_used_bp = walk->has_used_bp };
    if (!store_parts(replay, start, walk, leaf) &&
        leaf_words(groups_between(0, walk->word_count)) < replay->arena_words) {
        reset(replay);
        if (walk->join.at == 0) { /* else the trunk is gone: next time */
            store_parts(replay, start, walk, leaf);
        }
    }
}

/* --- finding ----------------------------------------------------------------------------------- */

/* Next time the slot is passed over by the word that differs. */
static HS_COLD void learn(struct hs_replay_slot *slot, struct record *record, uint32_t group,
                          uint64_t leaf_sp, uint64_t shift)
{
    const uint64_t *expected = record_expected(record);
    const uint32_t *offs = record_offs(record);
    for (uint32_t i = group * GROUP; i < (group + 1) * GROUP; i++) {
        uint64_t va = record->sp + offs[i];
        if ((uint32_t)expected[i] != (uint32_t)hs_stack_load(va, shift)) {
            slot->check_off = (uint32_t)(va - leaf_sp);
            slot->check = (uint32_t)expected[i];
            return;
        }
    }
}

static bool is_same_stack(const struct hs_replay *replay, struct hs_replay_slot *slot,
                          struct record *leaf, uint64_t shift)
{
    struct record *other;
    uint32_t group;
    if (record_chain_matches(replay, leaf, 0, shift, &other, &group)) {
        return true;
    }
    if (other) {
        learn(slot, other, group, leaf->sp, shift);
    }
    return false;
}

/* Of a slot with the right tag. */
static bool is_stack_of(const struct hs_replay *replay, struct hs_replay_slot *slot,
                        const struct hs_regs *start, struct hs_stack_window *window,
                        uint64_t generation)
{
    struct record *leaf = record_at(replay, slot->at);
    if (leaf->pc != start->pc || leaf->sp != start->sp || leaf->generation != generation ||
        (leaf->has_used_bp && leaf->bp != start->bp)) {
        return false;
    }
    /* Stacks are contiguous, so the highest word vouches for all of them, unless the window was
     * moved for it. */
    return hs_stack_window_has(window, start->sp + leaf->top_off) && start->sp >= window->lo_va &&
           is_same_stack(replay, slot, leaf, window->shift);
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
    uint64_t hash = replay_hash(start->pc, start->sp);
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
