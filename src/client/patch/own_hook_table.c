/*
 * Setting and finding the functions that own hooks call. See own_hook_table.h.
 */
#include "client/patch/own_hook_table.h"

#include <stddef.h>

#include "client/host/linkmap.h"
#include "client/host/real.h"
#include "rt/atomic.h"
#include "rt/text.h"

bool hs_own_hook_table_set(uint32_t number, uint64_t real_va)
{
    if (number >= hs_own_hook_count) {
        return false;
    }
    hs_store_relaxed(&hs_own_hooks[number]->real, (hs_own_fn)real_va);
    return true;
}

void hs_own_hook_table_set_heap(uint32_t set, uint8_t heap_id, bool is_carved)
{
    for (uint32_t i = 0; set < HS_ALLOCATOR_SETS && i < HS_ALLOCATOR_FUNCTION_COUNT; i++) {
        struct hs_own_hook *hook = hs_own_hooks[set * HS_ALLOCATOR_FUNCTION_COUNT + i];
        hook->heap_id = heap_id;
        hook->is_carved = is_carved;
    }
}

void hs_own_hook_table_bind_libc(void)
{
    const struct link_map *libc = hs_real_libc();
    for (uint32_t i = 0; i < hs_libc_second_hook_count; i++) {
        void *va = hs_real_find(hs_libc_second_hooks[i].name);
        hs_store_relaxed(&hs_libc_second_hooks[i].hook->real, (hs_own_fn)va);
    }
    for (uint32_t i = 0; libc && i < hs_libc_first_hook_count; i++) {
        void *va = hs_linkmap_symbol(libc, hs_libc_first_hooks[i].name);
        hs_store_relaxed(&hs_libc_first_hooks[i].hook->real, (hs_own_fn)va);
    }
}

void *hs_own_hook_table_of_libc(const char *name)
{
    const char *first_name = hs_text_starts_with(name, "__libc_") ? name + 7 : name;
    for (uint32_t i = 0; i < hs_libc_first_hook_count; i++) {
        if (hs_text_is_same(hs_libc_first_hooks[i].name, first_name)) {
            return (void *)hs_libc_first_hooks[i].function;
        }
    }
    return NULL;
}
