/*
 * See intern.h. Open addressing with linear probing. The slots hold ids, so that keys are stored in
 * the order of their ids, and growing the table moves four bytes per key.
 *
 * A table of millions of keys is larger than the caches, and the time goes into reading memory. So
 * a slot has, above the bits that an id needs, bits of the hash: a key is hardly ever read but to
 * find that it is the wanted one.
 *
 *     1,000,000 keys, 4,194,304 slots:   hash 11 bits | id + 1  21 bits
 *
 * And a search begins near the place that the upper half of `hi` names, in a few cache lines. Keys
 * of call trees have the caller's number there, and callers that are added one after the other
 * have their callees side by side. When these slots are taken, the hash names the place.
 */
#include "util/intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt/bits.h"
#include "rt/check.h"
#include "util/array.h"

#define SLOTS_MIN 64U
#define KEYS_MAX  (UINT32_C(1) << 31)
/* How many slots ahead are prefetched when a larger table is filled. */
#define AHEAD_COUNT 16U
/* The slots that each caller has for its callees. */
#define CALLEE_SLOTS 2U
/* Searches for callees of one caller begin at one of so many slots, and see so many of them. */
#define NEAR_SPREAD 16U
#define NEAR_SLOTS  8U

void hs_intern_deinit(struct hs_intern *table)
{
    free(table->keys);
    free(table->slots);
    *table = (struct hs_intern){ 0 };
}

/* Where a key is searched for. */
struct search {
    uint32_t near_idx;
    uint32_t far_idx;
    uint32_t tag; /* the bits of the hash in a slot, which has zeros in place of the id */
};

static struct search search_of(const struct hs_intern *table, struct hs_intern_key key)
{
    uint64_t hash = hs_mix64(key.hi ^ hs_mix64(key.lo));
    uint32_t mask = table->slot_count - 1;
    uint32_t callees = (uint32_t)(key.hi >> 32) * CALLEE_SLOTS;
    /* At most half of the slots are used, so that an id and 1 need the bits of half of them. */
    return (struct search){
        .near_idx = (callees + (uint32_t)(hash >> 32) % NEAR_SPREAD) & mask,
        .far_idx = (uint32_t)hash & mask,
        .tag = (uint32_t)(hash >> 32) & ~mask,
    };
}

/* Whether a slot holds the key. */
static bool is_of(const struct hs_intern *table, uint32_t slot, uint32_t tag,
                  struct hs_intern_key key)
{
    uint32_t mask = table->slot_count - 1;
    const struct hs_intern_key *other = &table->keys[(slot & mask) - 1];
    return (slot & ~mask) == tag && other->hi == key.hi && other->lo == key.lo;
}

/* Returns the slot of `key`, or the empty slot where it would go. */
static uint32_t find_slot(const struct hs_intern *table, const struct search *search,
                          struct hs_intern_key key)
{
    uint32_t mask = table->slot_count - 1;
    uint32_t idx = search->near_idx;
    for (uint32_t i = 0; i < NEAR_SLOTS; i++, idx = (idx + 1) & mask) {
        uint32_t slot = table->slots[idx];
        if (slot == 0 || is_of(table, slot, search->tag, key)) {
            return idx;
        }
    }
    for (idx = search->far_idx;; idx = (idx + 1) & mask) {
        uint32_t slot = table->slots[idx];
        if (slot == 0 || is_of(table, slot, search->tag, key)) {
            return idx;
        }
    }
}

/* What the slot of a key holds. */
static uint32_t slot_value(const struct search *search, uint32_t id)
{
    return search->tag | (id + 1);
}

static uint32_t id_at(const struct hs_intern *table, uint32_t idx)
{
    return (table->slots[idx] & (table->slot_count - 1)) - 1;
}

static int grow_slots(struct hs_intern *table)
{
    uint32_t slot_count = table->slot_count ? table->slot_count * 2 : SLOTS_MIN;
    uint32_t *slots = slot_count ? calloc(slot_count, sizeof(*slots)) : NULL;
    if (!slots) {
        return -ENOMEM;
    }
    free(table->slots);
    table->slots = slots;
    table->slot_count = slot_count;
    for (uint32_t id = 0; id < table->count; id++) {
        if (id + AHEAD_COUNT < table->count) {
            struct search ahead = search_of(table, table->keys[id + AHEAD_COUNT]);
            __builtin_prefetch(&slots[ahead.near_idx], 1);
        }
        struct search search = search_of(table, table->keys[id]);
        /* All keys are different: the first empty slot is the key's. */
        slots[find_slot(table, &search, table->keys[id])] = slot_value(&search, id);
    }
    return 0;
}

/* Makes room for one more key. */
static int make_room(struct hs_intern *table)
{
    if (table->count >= KEYS_MAX) {
        return -EOVERFLOW;
    }
    int err = 0;
    /*
     * Each slot that a search passes costs a read of a distant key, so at least half of the slots
     * stay empty.
     */
    if ((uint64_t)table->count * 2 >= table->slot_count) {
        err = grow_slots(table);
    }
    if (err == 0) {
        err = hs_array_reserve(&table->keys, &table->capacity, (size_t)table->count + 1,
                               sizeof(table->keys[0]));
    }
    return err;
}

int hs_intern_put(struct hs_intern *table, struct hs_intern_key key, uint32_t *ret_id,
                  bool *ret_is_new)
{
    /*
     * Grow first, so that one search is enough. When that fails, the key may still be in the table.
     */
    int err = make_room(table);
    if (err < 0) {
        *ret_is_new = false;
        return hs_intern_find(table, key, ret_id) ? 0 : err;
    }
    struct search search = search_of(table, key);
    uint32_t idx = find_slot(table, &search, key);
    *ret_is_new = table->slots[idx] == 0;
    if (*ret_is_new) {
        table->slots[idx] = slot_value(&search, table->count);
        table->keys[table->count++] = key;
    }
    *ret_id = id_at(table, idx);
    HS_ASSERT(*ret_id < table->count && (!*ret_is_new || *ret_id == table->count - 1));
    HS_ASSERT((uint64_t)table->count * 2 <= table->slot_count);
    return 0;
}

bool hs_intern_find(const struct hs_intern *table, struct hs_intern_key key, uint32_t *ret_id)
{
    if (table->slot_count == 0) {
        return false;
    }
    struct search search = search_of(table, key);
    uint32_t idx = find_slot(table, &search, key);
    if (table->slots[idx] == 0) {
        return false;
    }
    *ret_id = id_at(table, idx);
    return true;
}

struct hs_intern_key hs_intern_mix(struct hs_intern_key key, uint64_t word)
{
    /* Two lanes, which the word enters in different ways; each step is a bijection of its lane. */
    uint64_t mixed = hs_mix64(word + UINT64_C(0x9e3779b97f4a7c15));
    return (struct hs_intern_key){
        .hi = hs_hash_step(key.hi, mixed),
        .lo = hs_mix64(key.lo ^ word) + (key.hi << 7 | key.hi >> 57),
    };
}

/*
 * Adds a word to each lane of a text's hash. Each step is a bijection of its lane, and the lanes
 * have different multipliers, so that what cancels out in one does not in the other.
 */
static inline struct hs_intern_key add_word(struct hs_intern_key key, uint64_t word)
{
    key.hi = (key.hi ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    key.lo = (key.lo + word) * UINT64_C(0xd6e8feb86659fd93);
    return (struct hs_intern_key){ .hi = key.hi ^ key.hi >> 32, .lo = key.lo ^ key.lo >> 29 };
}

struct hs_intern_key hs_intern_hash(const void *data, size_t bytes)
{
    const unsigned char *at = data;
    struct hs_intern_key key = { .hi = bytes, .lo = ~(uint64_t)bytes };
    uint64_t word;
    for (; bytes >= sizeof(word); bytes -= sizeof(word), at += sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        key = add_word(key, word);
    }
    word = 0;
    if (bytes > 0) {
        memcpy(&word, at, bytes);
        key = add_word(key, word);
    }
    /* The last words have to influence every bit of both lanes. */
    return (struct hs_intern_key){ .hi = hs_mix64(key.hi ^ key.lo >> 32), .lo = hs_mix64(key.lo) };
}

#if HS_HAS_CHECKS

bool hs_intern_is_valid(const struct hs_intern *table)
{
    uint32_t used_count = 0;
    if (table->count > table->capacity || (uint64_t)table->count * 2 > table->slot_count ||
        (table->slot_count & (table->slot_count - 1)) != 0) {
        return false;
    }
    for (uint32_t i = 0; i < table->slot_count; i++) {
        used_count += table->slots[i] != 0;
    }
    for (uint32_t id = 0; id < table->count; id++) {
        struct search search = search_of(table, table->keys[id]);
        uint32_t idx = find_slot(table, &search, table->keys[id]);
        if (table->slots[idx] == 0 || id_at(table, idx) != id) {
            return false;
        }
    }
    return used_count == table->count;
}

#endif
