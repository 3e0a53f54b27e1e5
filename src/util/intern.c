/*
 * See intern.h. Open addressing with linear probing. The slots hold ids, so that keys are stored in
 * the order of their ids, and growing the table moves four bytes per key.
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

void hs_intern_deinit(struct hs_intern *table)
{
    free(table->keys);
    free(table->slots);
    *table = (struct hs_intern){ 0 };
}

static uint32_t first_slot(const struct hs_intern *table, struct hs_intern_key key)
{
    return (uint32_t)hs_mix64(key.hi ^ hs_mix64(key.lo)) & (table->slot_count - 1);
}

/* Returns the slot of `key`, or the empty slot where it would go. */
static uint32_t find_slot(const struct hs_intern *table, struct hs_intern_key key)
{
    uint32_t idx = first_slot(table, key);
    for (;;) {
        uint32_t id = table->slots[idx];
        if (id == 0 || (table->keys[id - 1].hi == key.hi && table->keys[id - 1].lo == key.lo)) {
            return idx;
        }
        idx = (idx + 1) & (table->slot_count - 1);
    }
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
            __builtin_prefetch(&slots[first_slot(table, table->keys[id + AHEAD_COUNT])], 1);
        }
        table->slots[find_slot(table, table->keys[id])] = id + 1;
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
    uint32_t slot = find_slot(table, key);
    *ret_is_new = table->slots[slot] == 0;
    if (*ret_is_new) {
        table->keys[table->count] = key;
        table->slots[slot] = ++table->count;
    }
    *ret_id = table->slots[slot] - 1;
    HS_ASSERT(*ret_id < table->count && (!*ret_is_new || *ret_id == table->count - 1));
    HS_ASSERT((uint64_t)table->count * 2 <= table->slot_count);
    return 0;
}

bool hs_intern_find(const struct hs_intern *table, struct hs_intern_key key, uint32_t *ret_id)
{
    if (table->slot_count == 0) {
        return false;
    }
    uint32_t id = table->slots[find_slot(table, key)];
    if (id == 0) {
        return false;
    }
    *ret_id = id - 1;
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
        if (table->slots[find_slot(table, table->keys[id])] != id + 1) {
            return false;
        }
    }
    return used_count == table->count;
}

#endif
