/*
 * A lock-free hash index: from a 32-bit hash to the 32-bit id of an object that lies elsewhere.
 *
 * A slot is one word {hash, id + 1}; a cache line has eight slots. An entry stands in one of the
 * eight lines of its group, so a lookup reads one line, rarely two. The index only proposes ids:
 * the caller's match function looks at the object itself and decides, so a stale or torn proposal
 * does no harm.
 *
 * Growth. When a group is full, or too many entries stand outside their first lines, a level of
 * twice the size is published. Every later insert carries two old lines over, until the old level
 * is empty; no thread waits and nothing stops. An entry is written to the new level before it
 * leaves the old one, so a search from old to new cannot miss it. Old levels stay mapped, because a
 * slow reader may still look there, but their pages are given back.
 *
 * Holds     an entry is found by every search that starts after its insert returned, until its
 *           removal. It may be found twice while it moves.
 * Threads   any number of writers and readers; async-signal-safe. An abandoned operation (a thread
 *           was killed or jumped out in the middle) costs at most an entry that stays in an old
 *           level.
 * Fails     insert returns false when there is no memory for a larger level.
 * See       docs/CONCURRENCY.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/slots.h"
#include "client/tables/shared.h"
#include "rt/atomic.h"
#include "rt/base.h"
#include "rt/bits.h"
#include "rt/check.h"

#define HS_INDEX_LEVELS 28
#define HS_INDEX_LINE   8U /* slots in a cache line */
/* Lines that an entry may stand in. With groups of four lines, some of 16,384 groups are full
 * before the table is half full. With groups of eight, in a table of as many slots, some are full
 * when the table is six tenths full. */
#define HS_INDEX_GROUP_LINES 8

/* One hash table of an index. */
struct hs_index_level {
    uint64_t *slots;      /* NULL: this level does not exist yet */
    uint32_t line_shift;  /* a hash shifted right by this is a line number */
    uint32_t spill_count; /* entries placed outside their first two lines */
    uint32_t move_next;   /* next line to carry over to the next level */
    uint32_t move_done;   /* lines carried over */
    uint32_t move_found;  /* this pass has met entries to carry over */
};

/* An index: its levels, of which mostly one is in use. */
struct hs_index {
    uint32_t current;     /* newest level */
    uint32_t oldest;      /* levels below are empty */
    uint32_t first_lines; /* size of level 0: a power of two, at least 8 */
    struct hs_index_level levels[HS_INDEX_LEVELS];
};

/* Makes level 0 of `lines` cache lines (a power of two, at least 8). False: no memory. */
bool hs_index_init(struct hs_index *index, uint32_t lines);

/* Slow path of hs_index_insert: the first line is full, or entries are moving. False: no memory. */
bool hs_index_insert_slow(struct hs_index *index, uint32_t hash, uint32_t id);

/* Empties the index, as after hs_index_init; mapped levels stay mapped. No other thread may use it
 * meanwhile. */
void hs_index_clear(struct hs_index *index);

/* Called after an entry was placed in level `level_no`, which has since become an old one: makes
 * sure that the entry is in the index. False: no memory. */
bool hs_index_settle(struct hs_index *index, uint32_t level_no, uint64_t value);

/* Bytes of all levels that still hold pages (an upper bound). */
uint64_t hs_index_bytes(const struct hs_index *index);

/* Returns the id that an entry gets; UINT32_MAX: the entry is removed. Called twice for an entry
 * that is moving. */
typedef uint32_t hs_index_renumber_fn(void *ctx, uint32_t hash, uint32_t id);
/* Calls `renumber` for each entry. No other thread may use the index meanwhile. */
void hs_index_renumber(struct hs_index *index, hs_index_renumber_fn *renumber, void *ctx);

/* For assertions: are the levels complete, is each entry in a line of its group, in a level that is
 * searched, and nowhere else? So each entry is found. No thread may use the index meanwhile, and no
 * operation may have been abandoned in it. */
bool hs_index_is_valid(const struct hs_index *index);

/* Slow path of hs_index_remove: the entry has moved. False: it is gone. */
bool hs_index_remove_moved(const struct hs_index *index, uint64_t value);

/* Whether the object of this id is the one that is looked for. */
typedef bool (*hs_index_match_fn)(void *ctx, uint32_t id);

/* Cache lines of a level. */
static inline uint32_t hs_index_line_count(const struct hs_index_level *level)
{
    return UINT32_C(1) << (32 - hs_load_relaxed(&level->line_shift));
}

/* --- hot -------------------------------------------------------------------------------------- */

/* Line `i` of the group of `hash` in a level. */
static inline uint64_t *hs_index_line(const struct hs_index_level *level, uint32_t hash, uint32_t i)
{
    /* The high bits of a product are the ones that spread neighbours evenly. The lines of a group
     * are aligned together: i flips the low bits of the line number. */
    uint32_t line = (hash >> hs_load_relaxed(&level->line_shift)) ^ i;
    return hs_load_relaxed(&level->slots) + (uint64_t)line * HS_INDEX_LINE;
}

/* Prefetches the line that a search or an insert looks at first. */
static inline void hs_index_prefetch(const struct hs_index *index, uint32_t hash)
{
    /* ORDER index-level: a level's fields before its number. */
    uint32_t current = hs_load_acquire(&index->current);
    __builtin_prefetch(hs_index_line(&index->levels[current], hash, 0), 1);
}

/* The slot in `level` whose id matches, or NULL. *ret_slot_value is what stood there. */
static inline __attribute__((always_inline)) uint64_t *
hs_index_find_in(const struct hs_index_level *level, uint32_t hash, hs_index_match_fn match,
                 void *ctx, uint64_t *ret_slot_value)
{
    for (uint32_t i = 0; i < HS_INDEX_GROUP_LINES; i++) {
        uint64_t *line = hs_index_line(level, hash, i);
        for (unsigned found = hs_arch_slots_with_high(line, hash); found != 0; found &= found - 1) {
            uint64_t *slot = &line[hs_lowest_bit(found)];
            /* ORDER index-slot: the object an id names was complete before the id was put here. */
            uint64_t value = hs_load_acquire(slot);
            if ((uint32_t)(value >> 32) == hash && (uint32_t)value != 0 &&
                match(ctx, (uint32_t)value - 1)) {
                *ret_slot_value = value;
                return slot;
            }
        }
    }
    return NULL;
}

/* Searches all levels; see hs_index_find_in. */
static inline __attribute__((always_inline)) uint64_t *
hs_index_find(const struct hs_index *index, uint32_t hash, hs_index_match_fn match, void *ctx,
              uint64_t *ret_slot_value)
{
    /*
     * The oldest level is read first: if it is also the newest one, now and after the search, no
     * entry has moved meanwhile.
     * ORDER index-oldest: an entry that left a level for good stands in a newer one.
     */
    uint32_t level = hs_load_acquire(&index->oldest);
    /* ORDER index-level: a level's fields and zeroed slots before its number. */
    uint32_t newest = hs_load_acquire(&index->current);
    uint64_t *slot = hs_index_find_in(&index->levels[newest], hash, match, ctx, ret_slot_value);
    if (hs_likely(slot != NULL)) {
        return slot;
    }
    /* ORDER index-level: as above. */
    if (hs_likely(level == newest) && hs_load_acquire(&index->current) == newest) {
        return NULL;
    }
    /* Entries move from old to new levels, so a search in this order cannot miss one. */
    for (; level <= newest; level++) {
        slot = hs_index_find_in(&index->levels[level], hash, match, ctx, ret_slot_value);
        if (slot) {
            return slot;
        }
        /* ORDER index-level: as above; a level may have been added meanwhile. */
        newest = hs_load_acquire(&index->current);
    }
    return NULL;
}

/* Removes the entry that hs_index_find returned, even if it has moved since. False: it is gone. */
static inline bool hs_index_remove(const struct hs_index *index, uint64_t *slot, uint64_t value)
{
    uint64_t expected = value;
    return hs_likely(hs_shared_cas(slot, &expected, 0)) || hs_index_remove_moved(index, value);
}

/* Inserts an entry. False: no memory. */
static inline __attribute__((always_inline)) bool hs_index_insert(struct hs_index *index,
                                                                  uint32_t hash, uint32_t id)
{
    HS_ASSERT(id != UINT32_MAX); /* a slot holds id + 1, and 0 means that it is empty */
    /* ORDER index-level: a level's fields before its number. */
    uint32_t current = hs_load_acquire(&index->current);
    if (hs_likely(hs_load_relaxed(&index->oldest) == current)) {
        uint64_t value = (uint64_t)hash << 32 | (id + 1);
        uint64_t *line = hs_index_line(&index->levels[current], hash, 0);
        unsigned found = hs_arch_slots_with_low_0(line);
        uint64_t empty = 0;
        /* ORDER index-slot: the object the id names is complete before the id can be found. */
        if (hs_likely(found != 0) &&
            hs_likely(hs_shared_cas(&line[hs_lowest_bit(found)], &empty, value))) {
            /* ORDER index-level: did the level become an old one, perhaps already emptied? */
            return hs_likely(hs_load_acquire(&index->current) == current) ||
                   hs_index_settle(index, current, value);
        }
    }
    return hs_index_insert_slow(index, hash, id);
}
