/*
 * Notices libjvm.so. See jvm_module.h.
 */
#include "client/tables/jvm_module.h"

#include <dlfcn.h>
#include <stddef.h>

#include "client/host/linkmap.h"
#include "rt/text.h"

typedef int (*find_object_fn)(void *, struct dl_find_object *);

const struct link_map *hs_jvm_module_seen;
static uintptr_t code_va; /* an address in it */

void hs_jvm_module_note(const struct link_map *map)
{
    const char *name = map && map->l_name ? map->l_name : "";
    if (hs_text_is_same(hs_text_base_name(name), "libjvm.so")) {
        hs_store_relaxed(&code_va, (uintptr_t)map->l_ld);
        hs_store_relaxed(&hs_jvm_module_seen, map);
    }
}

const struct link_map *hs_jvm_module_find(void)
{
    const struct link_map *map = hs_load_relaxed(&hs_jvm_module_seen);
    find_object_fn find_object =
        (find_object_fn)hs_linkmap_search(NULL, NULL, "_dl_find_object", NULL);
    struct dl_find_object found;
    bool is_there = map && find_object &&
                    find_object((void *)hs_load_relaxed(&code_va), &found) == 0 &&
                    found.dlfo_link_map == map;
    return is_there ? map : NULL;
}
