/*
 * Parses /proc/PID/maps: see remote_maps.h.
 */
#include "inject/remote/remote_maps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

bool hs_remote_maps_parse(const char *line, struct hs_remote_map *ret_map)
{
    char *at;
    struct hs_remote_map map = { 0 };
    map.start_va = strtoull(line, &at, 16);
    if (at == line || *at != '-') {
        return false;
    }
    const char *end = at + 1;
    map.end_va = strtoull(end, &at, 16);
    if (at == end || *at != ' ' || map.end_va <= map.start_va || strnlen(at, 5) < 5) {
        return false;
    }
    map.is_readable = at[1] == 'r';
    map.is_writable = at[2] == 'w';
    map.is_executable = at[3] == 'x';
    map.is_growing = strstr(at, "[stack]") != NULL;
    *ret_map = map;
    return true;
}

int hs_remote_maps_load(pid_t tid, struct hs_remote_maps *maps)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)tid);
    FILE *file = fopen(path, "re");
    if (!file) {
        return -errno;
    }
    char *line = NULL;
    size_t line_bytes = 0;
    int r = 0;
    maps->count = 0;
    while (r == 0 && getline(&line, &line_bytes, file) > 0) {
        struct hs_remote_map map;
        if (!hs_remote_maps_parse(line, &map)) {
            continue;
        }
        r = hs_array_reserve(&maps->items, &maps->capacity, maps->count + 1, sizeof(map));
        if (r == 0) {
            maps->items[maps->count++] = map;
        }
    }
    free(line);
    fclose(file);
    return r;
}

void hs_remote_maps_deinit(struct hs_remote_maps *maps)
{
    free(maps->items);
    *maps = (struct hs_remote_maps){ 0 };
}

const struct hs_remote_map *hs_remote_maps_find(const struct hs_remote_maps *maps, uint64_t va)
{
    size_t lo = 0, hi = maps->count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (maps->items[mid].end_va <= va) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < maps->count && maps->items[lo].start_va <= va ? &maps->items[lo] : NULL;
}
