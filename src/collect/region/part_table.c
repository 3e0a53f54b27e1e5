/*
 * Sums by stack, thread, type and age: see part_table.h.
 *
 * A hash table with open addressing, which is at most half full. Most programs have few parts, so
 * it begins small enough for a processor's cache.
 */
#include "collect/region/part_table.h"

#include <stdbool.h>
#include <stdlib.h>

#include "rt/base.h"
#include "rt/bits.h"
#include "util/array.h"

#define ROOM_FIRST 1024U
#define ROOM_MAX   (UINT32_C(1) << 19)

struct entry {
    struct hs_part_key key;
    bool is_used;
    struct hs_estimate sum;
};

struct hs_part_table {
    struct entry *entries;
    size_t room; /* a power of two */
    size_t count;
    bool has_failed;
};

static bool are_equal(const struct hs_part_key *a, const struct hs_part_key *b)
{
    return a->stack_id == b->stack_id && a->thread_id == b->thread_id && a->type_id == b->type_id &&
           a->age_class == b->age_class;
}

static size_t place_of(const struct hs_part_table *table, const struct hs_part_key *key)
{
    uint64_t word = (uint64_t)key->stack_id << 32 | (uint64_t)key->thread_id << 16 | key->type_id;
    size_t at = hs_mix64(hs_hash_step(key->age_class, word)) & (table->room - 1);
    while (table->entries[at].is_used && !are_equal(&table->entries[at].key, key)) {
        at = (at + 1) & (table->room - 1);
    }
    return at;
}

struct hs_part_table *hs_part_table_new(void)
{
    struct hs_part_table *table = calloc(1, sizeof(*table));
    if (table) {
        table->room = ROOM_FIRST;
        table->entries = calloc(table->room, sizeof(table->entries[0]));
    }
    if (table && !table->entries) {
        free(table);
        table = NULL;
    }
    return table;
}

void hs_part_table_free(struct hs_part_table *table)
{
    if (table) {
        free(table->entries);
        free(table);
    }
}

static bool grow(struct hs_part_table *table)
{
    struct hs_part_table larger = { .room = table->room * 2 };
    larger.entries = calloc(larger.room, sizeof(larger.entries[0]));
    if (!larger.entries) {
        return false;
    }
    for (size_t i = 0; i < table->room; i++) {
        if (table->entries[i].is_used) {
            larger.entries[place_of(&larger, &table->entries[i].key)] = table->entries[i];
        }
    }
    free(table->entries);
    table->entries = larger.entries;
    table->room = larger.room;
    return true;
}

static struct hs_part_key others_of(uint32_t stack_id)
{
    return (struct hs_part_key){ stack_id, HS_PART_OTHERS, HS_PART_OTHERS, HS_PART_OTHERS, 0 };
}

/* Finds or adds the sum. Of others there is one for each stack, so they always find room. */
static struct entry *find(struct hs_part_table *table, const struct hs_part_key *key)
{
    size_t at = place_of(table, key);
    if (table->entries[at].is_used) {
        return &table->entries[at];
    }
    if (table->count >= ROOM_MAX / 2 && key->age_class != HS_PART_OTHERS) {
        const struct hs_part_key others = others_of(key->stack_id);
        return find(table, &others);
    }
    if (table->count * 2 >= table->room) {
        if (!grow(table)) {
            table->has_failed = true;
            return NULL;
        }
        at = place_of(table, key);
    }
    table->count++;
    table->entries[at] = (struct entry){ .key = *key, .is_used = true };
    return &table->entries[at];
}

void hs_part_table_add(struct hs_part_table *table, const struct hs_part_key *key,
                       const struct hs_estimate *more)
{
    struct entry *entry = table->has_failed ? NULL : find(table, key);
    if (entry) {
        hs_estimate_add(&entry->sum, more);
    }
}

static int compare_bytes(const void *a, const void *b)
{
    const struct hs_snap_part *left = a, *right = b;
    return left->amount.bytes > right->amount.bytes   ? -1
           : left->amount.bytes < right->amount.bytes ? 1
                                                      : 0;
}

static int compare_keys(const struct hs_part_key *left, const struct hs_part_key *right)
{
    uint64_t a = hs_part_order(left), b = hs_part_order(right);
    return a < b ? -1 : a > b;
}

/* By stack, and of one stack the smallest first. */
static int compare_parts(const void *a, const void *b)
{
    const struct hs_snap_part *left = a, *right = b;
    if (left->key.stack_id != right->key.stack_id) {
        return left->key.stack_id < right->key.stack_id ? -1 : 1;
    }
    int by_bytes = compare_bytes(right, left);
    return by_bytes != 0 ? by_bytes : compare_keys(&left->key, &right->key);
}

struct hs_snap_part *hs_part_table_list(const struct hs_part_table *table, size_t *ret_count)
{
    struct hs_snap_part *parts =
        table->has_failed ? NULL : malloc((table->count + 1) * sizeof(parts[0]));
    size_t count = 0;
    if (!parts) {
        return NULL;
    }
    for (size_t i = 0; i < table->room; i++) {
        if (table->entries[i].is_used) {
            parts[count++] = (struct hs_snap_part){ table->entries[i].key, table->entries[i].sum };
        }
    }
    *ret_count = count;
    return parts;
}

static int compare_only_keys(const void *a, const void *b)
{
    const struct hs_snap_part *left = a, *right = b;
    if (left->key.stack_id != right->key.stack_id) {
        return left->key.stack_id < right->key.stack_id ? -1 : 1;
    }
    return compare_keys(&left->key, &right->key);
}

struct hs_snap_part *hs_part_table_take(struct hs_part_table *table, size_t parts_max,
                                        size_t *ret_count)
{
    size_t count = 0;
    struct hs_snap_part *parts = hs_part_table_list(table, &count);
    if (!parts) {
        return NULL;
    }
    if (count > parts_max) {
        qsort(parts, count, sizeof(parts[0]), compare_bytes);
        for (size_t i = parts_max; i < count; i++) {
            parts[i].key = others_of(parts[i].key.stack_id);
        }
        count = hs_array_merge(parts, count, sizeof(parts[0]), compare_only_keys, hs_snap_part_add);
    }
    qsort(parts, count, sizeof(parts[0]), compare_parts);
    *ret_count = count;
    return parts;
}
