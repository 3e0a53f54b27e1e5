/*
 * From ids of a table to places in an array. Ids that count 0, 1, 2 ... as our tables' do, are their own places and
 * cost nothing; with the first that does not, a hash table is made.
 *
 * Threads   one user.
 * Fails     -ENOMEM, -EOVERFLOW; the map stays as it was.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "util/intern.h"

struct hs_id_map {
    uint32_t count;
    bool has_gaps;
    struct hs_intern numbers; /* when it has gaps */
};

void hs_id_map_deinit(struct hs_id_map *map);
/* The place of an id, a new one behind all others when it was never seen. */
int hs_id_map_put(struct hs_id_map *map, int64_t id, uint32_t *ret_place, bool *ret_is_new);
bool hs_id_map_find_far(const struct hs_id_map *map, int64_t id, uint32_t *ret_place);

static inline bool hs_id_map_find(const struct hs_id_map *map, int64_t id, uint32_t *ret_place)
{
    if (map->has_gaps) {
        return hs_id_map_find_far(map, id, ret_place);
    }
    bool is_there = id >= 0 && id < map->count;
    if (is_there) {
        *ret_place = (uint32_t)id;
    }
    return is_there;
}

static inline int64_t hs_id_map_id(const struct hs_id_map *map, uint32_t place)
{
    return map->has_gaps ? (int64_t)map->numbers.keys[place].lo : (int64_t)place;
}
