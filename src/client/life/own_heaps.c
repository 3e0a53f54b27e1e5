/*
 * Naming the heaps of allocators with a prefix. See own_heaps.h.
 */
#include "client/life/own_heaps.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "client/host/real.h"
#include "client/patch/detours.h"
#include "client/patch/own_hook_table.h"
#include "client/tables/heaps.h"
#include "fmt/allocator_functions.h"
#include "rt/text.h"

#define BASE_NAME(name, kind, whose) #name,
static const char *const base_names[] = { HS_ALLOCATOR_FUNCTIONS(BASE_NAME) };

/* The length of the prefix of a detoured function's name. */
static size_t prefix_len(const char *name, const char *base_name)
{
    size_t len = strlen(name), base_len = strlen(base_name);
    return len > base_len && hs_text_is_same(name + len - base_len, base_name) ? len - base_len : 0;
}

/* Writes the name of the heap of a set of hooks. False: the set is not used, or has no prefix. */
static bool find_name(uint32_t set, char ret_name[HS_DETOUR_NAME_BYTES])
{
    const struct hs_detours_v1 *detours = &heapscope_detours_v1;
    for (uint32_t i = 0; i < detours->count; i++) {
        uint32_t number = detours->rows[i].own_number - 1; /* 0 becomes a number beyond all sets */
        if (number / HS_ALLOCATOR_FUNCTION_COUNT != set) {
            continue;
        }
        const char *name = detours->rows[i].name;
        size_t len = prefix_len(name, base_names[number % HS_ALLOCATOR_FUNCTION_COUNT]);
        while (len > 0 && name[len - 1] == '_') {
            len--;
        }
        if (len > 0) {
            memcpy(ret_name, name, len);
            ret_name[len] = '\0';
            return true;
        }
    }
    return false;
}

void hs_own_heaps_name(void)
{
    static bool is_done;
    char name[HS_DETOUR_NAME_BYTES];
    if (is_done || heapscope_detours_v1.count == 0 || !hs_own_hook_table_set_heap) {
        return;
    }
    is_done = true;
    for (uint32_t set = 0; set < HS_ALLOCATOR_SETS; set++) {
        if (find_name(set, name)) {
            bool is_carved = hs_detours_are_carved;
            uint8_t heap_id =
                hs_heaps_add(name, is_carved ? HS_HEAP_CARVED : 0U, is_carved ? 1 : 0);
            hs_own_hook_table_set_heap(set, heap_id, is_carved);
        }
    }
}
