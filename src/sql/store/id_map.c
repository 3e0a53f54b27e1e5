/*
 * See id_map.h.
 */
#include "sql/store/id_map.h"

static struct hs_intern_key key_of(int64_t id)
{
    return (struct hs_intern_key){ .lo = (uint64_t)id };
}

void hs_id_map_deinit(struct hs_id_map *map)
{
    hs_intern_deinit(&map->numbers);
    *map = (struct hs_id_map){ 0 };
}

static int make_numbers(struct hs_id_map *map)
{
    int err = 0;
    for (uint32_t place = 0; place < map->count && err == 0; place++) {
        uint32_t number;
        bool is_new;
        err = hs_intern_put(&map->numbers, key_of(place), &number, &is_new);
    }
    map->has_gaps = err == 0;
    return err;
}

int hs_id_map_put(struct hs_id_map *map, int64_t id, uint32_t *ret_place, bool *ret_is_new)
{
    *ret_is_new = false;
    if (!map->has_gaps) {
        if (hs_id_map_find(map, id, ret_place)) {
            return 0;
        }
        if (id == map->count && map->count < INT32_MAX) {
            *ret_is_new = true;
            *ret_place = map->count++;
            return 0;
        }
    }
    int err = map->has_gaps ? 0 : make_numbers(map);
    err = err ? err : hs_intern_put(&map->numbers, key_of(id), ret_place, ret_is_new);
    if (err == 0) {
        map->count = map->numbers.count;
    }
    return err;
}

bool hs_id_map_find_slow(const struct hs_id_map *map, int64_t id, uint32_t *ret_place)
{
    return hs_intern_find(&map->numbers, key_of(id), ret_place);
}
