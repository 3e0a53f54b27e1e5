/*
 * Which code is an allocator's. See allocator_code.h.
 */
#include "client/host/allocator_code.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

#include "client/host/linkmap.h"
#include "client/host/real.h"

/* An allocator, and libraries between it and the program that wrap it. */
#define LIBRARIES_MAX 4U

typedef int (*find_object_fn)(void *, struct dl_find_object *);

static struct {
    uint64_t start_va, end_va;
} libraries[LIBRARIES_MAX];
static uint32_t library_count;

static bool is_allocator(const struct link_map *map)
{
    return map != hs_real.self && map != hs_real.other_client && map != hs_linkmap_first() &&
           map != hs_real_libc() && hs_linkmap_symbol(map, "malloc") &&
           hs_linkmap_symbol(map, "free") && hs_linkmap_symbol(map, "calloc");
}

void hs_allocator_code_find(void)
{
    find_object_fn find_object =
        (find_object_fn)hs_linkmap_search(NULL, NULL, "_dl_find_object", NULL);
    const struct link_map *map = hs_linkmap_first();
    library_count = 0;
    for (uint32_t i = hs_linkmap_lasting_count(); find_object && map && i > 0; i--) {
        struct dl_find_object found;
        if (library_count < LIBRARIES_MAX && is_allocator(map) &&
            find_object(map->l_ld, &found) == 0) {
            libraries[library_count].start_va = (uint64_t)(uintptr_t)found.dlfo_map_start;
            libraries[library_count++].end_va = (uint64_t)(uintptr_t)found.dlfo_map_end;
        }
        map = map->l_next;
    }
}

bool hs_allocator_code_has(uint64_t pc)
{
    for (uint32_t i = 0; i < library_count; i++) {
        if (pc >= libraries[i].start_va && pc < libraries[i].end_va) {
            return true;
        }
    }
    return false;
}
