/*
 * What a record of the replay table looks like, for replay.c and replay_join.c.
 *
 *   struct record | expected words | their offsets |        a leaf
 *     64 bytes       8 * count        4 * count    | points | frame ids    a trunk
 *
 * Words come in groups of four, filled up by repeating the last one, so that a comparison has no
 * remainder; within a group there is no branch. In a trunk a group begins at each point.
 *
 * Holds     all words from a point on lie at or above the sp of that point; those of a leaf lie at or
 *           above its own. Hence who may read from sp up to sp + top_off may compare.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "unwind/reader.h"
#include "unwind/replay.h"

#define GROUP 4U
/* Trunks that one stack is spread over. */
#define DEPTH_MAX 6U

struct record {
    uint64_t pc; /* of a leaf */
    uint64_t sp;
    uint64_t bp; /* if has_used_bp */
    uint64_t generation;
    uint32_t user;
    uint32_t top_off;    /* the highest word of the whole stack, above sp */
    uint32_t room_words; /* of the arena, the record itself included */
    uint32_t serial;
    /* The stack goes on in this trunk, at this group and frame of it. 0: this was all. */
    uint32_t trunk_at;
    uint32_t trunk_serial;
    uint16_t trunk_frame;
    uint8_t trunk_group;
    uint8_t group_count;
    uint16_t frame_count; /* of a trunk: its own frames */
    uint8_t point_count;
    uint8_t has_used_bp : 1;
    uint8_t depth : 7; /* trunks behind this record */
};

/* A frame of a trunk at which walks may join. */
struct record_point {
    uint64_t pc;
    uint64_t bp; /* if has_used_bp */
    uint32_t sp_off;
    uint16_t frame_idx; /* of the trunk's frames */
    uint8_t group;
    uint8_t has_used_bp;
};

#define RECORD_WORDS (sizeof(struct record) / 8)
#define POINT_WORDS  (sizeof(struct record_point) / 8)

_Static_assert(sizeof(struct record) == 64, "a cache line");
_Static_assert(sizeof(struct record_point) == 24, "three words");
_Static_assert(HS_WALK_WORDS_MAX / GROUP + HS_CHECKPOINTS_MAX < 255, "group numbers");

static inline uint64_t replay_hash(uint64_t pc, uint64_t sp)
{
    return (pc ^ (sp << 32 | sp >> 32)) * UINT64_C(0x9e3779b97f4a7c15);
}

static inline struct record *record_at(const struct hs_replay *replay, uint32_t at)
{
    return (struct record *)(void *)(replay->arena + at);
}

static inline uint64_t *record_expected(struct record *record)
{
    return (uint64_t *)(void *)(record + 1);
}

static inline uint32_t *record_offs(struct record *record)
{
    return (uint32_t *)(void *)(record_expected(record) + (size_t)record->group_count * GROUP);
}

static inline struct record_point *record_points(struct record *record)
{
    return (struct record_point *)(void *)(record_offs(record) +
                                           (size_t)record->group_count * GROUP);
}

static inline uint32_t *record_frames(struct record *record)
{
    return (uint32_t *)(void *)(record_points(record) + record->point_count);
}

/* The first group from `group` on that the stack does not have; group_count: it has all. */
static inline uint32_t record_compare(struct record *record, uint32_t group, uint64_t shift)
{
    const uint64_t *expected = record_expected(record);
    const uint32_t *offs = record_offs(record);
    const uint64_t sp = record->sp;
    for (; group < record->group_count; group++) {
        uint64_t difference = 0;
        for (uint32_t i = group * GROUP; i < (group + 1) * GROUP; i++) {
            difference |= hs_stack_load(sp + offs[i], shift) ^ expected[i];
        }
        if (difference != 0) {
            break;
        }
    }
    return group;
}

/* Does the stack have all the words of the record from `group` on, and of the trunks behind? If not,
 * *ret_record and *ret_group are where it differs; a NULL record: a trunk is gone. */
static inline bool record_chain_matches(const struct hs_replay *replay, struct record *record,
                                        uint32_t group, uint64_t shift, struct record **ret_record,
                                        uint32_t *ret_group)
{
    for (;;) {
        *ret_record = record;
        *ret_group = record_compare(record, group, shift);
        if (*ret_group < record->group_count) {
            return false;
        }
        if (record->trunk_at == 0) {
            return true;
        }
        struct record *trunk = record_at(replay, record->trunk_at);
        if (trunk->serial != record->trunk_serial) {
            *ret_record = NULL;
            return false;
        }
        group = record->trunk_group;
        record = trunk;
    }
}

static inline struct hs_replay_point *point_place(const struct hs_replay *replay, uint64_t hash)
{
    return &replay->points[hash >> replay->slot_shift];
}
