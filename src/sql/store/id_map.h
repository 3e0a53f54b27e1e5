/*
 * Maps the ids of a table to indices of an array. Ids that count 0, 1, 2 ..., as those of our
 * tables do, are their own indices and need no memory. At the first id that does not continue the
 * sequence, the map builds a hash table.
 *
 * Threads   one user.
 * Fails     -ENOMEM, -EOVERFLOW; the map stays unchanged.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "util/intern.h"

struct hs_id_map {
    uint32_t count;
    bool has_gaps;
    struct hs_intern numbers; /* used if has_gaps */
};

/* Frees the hash table. */
void hs_id_map_deinit(struct hs_id_map *map);
/* Finds the index of an id. A new id gets the next index. */
int hs_id_map_put(struct hs_id_map *map, int64_t id, uint32_t *ret_place, bool *ret_is_new);
/* Slow path of hs_id_map_find(): searches the hash table. */
bool hs_id_map_find_slow(const struct hs_id_map *map, int64_t id, uint32_t *ret_place);

/* Finds the index of an id. Returns false if the map does not have it. */
static inline bool hs_id_map_find(const struct hs_id_map *map, int64_t id, uint32_t *ret_place)
{
    if (map->has_gaps) {
        return hs_id_map_find_slow(map, id, ret_place);
    }
    bool is_there = id >= 0 && id < map->count;
    if (is_there) {
        *ret_place = (uint32_t)id;
    }
    return is_there;
}

/* The id at an index. */
static inline int64_t hs_id_map_id(const struct hs_id_map *map, uint32_t place)
{
    return map->has_gaps ? (int64_t)map->numbers.keys[place].lo : (int64_t)place;
}
