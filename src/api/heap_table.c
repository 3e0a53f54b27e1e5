/*
 * The table itself. It is complete in the file: no relocation and no constructor has to run before
 * a client may fill it in, or a constructor of the program may register a heap.
 *
 * Holds     heap 0 is no heap, and the client never gives it a name.
 * See       fmt/api_layout.h.
 */
#include "api/heap_table.h"

#include <stddef.h>

#include "rt/check.h"

_Static_assert(sizeof(struct hs_api_heap_v1) == 120, "the layout is fixed");
_Static_assert(offsetof(struct hs_api_v1, generation_off) == 16, "the layout is fixed");
_Static_assert(offsetof(struct hs_api_v1, heaps) == 120, "the layout is fixed");
_Static_assert(sizeof(struct hs_api_stats_v1) == 64, "the layout is fixed");

/* The words that a report compares are in one cache line. */
struct hs_api_v1 hs_heap_table __attribute__((aligned(64))) = {
    .magic = HS_API_MAGIC,
    .version = HS_API_VERSION,
    .table_bytes = sizeof(struct hs_api_v1),
    .generation_off = offsetof(struct hs_api_v1, no_generation),
    .heap_count = 1,
};
extern HS_EXPORT struct hs_api_v1 heapscope_api_v1 __attribute__((alias("hs_heap_table")));

/* The client has this function, if it is there already and its symbols can be found; otherwise it
 * looks for the library by itself. */
void heapscope_api_found_v1(struct hs_api_v1 *table) __attribute__((weak));

__attribute__((constructor)) void hs_heap_table_announce(void)
{
    HS_ASSERT(hs_heap_table.heaps[0].client_heap == 0);
    if (heapscope_api_found_v1) {
        heapscope_api_found_v1(&hs_heap_table);
    }
}
