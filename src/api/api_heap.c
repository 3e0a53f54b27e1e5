/*
 * Heaps are slots of the table. The client reads a slot only once it is registered, and from then
 * on its name, flags and callbacks stay as they are.
 */
#include "api/api_heap.h"

#include <heapscope/heap_profile.h>

#include "api/heap_table.h"
#include "rt/check.h"

_Static_assert(HEAPSCOPE_HEAP_NAME_BYTES == HS_API_NAME_BYTES, "the header's limit");
_Static_assert(HEAPSCOPE_HEAPS == HS_API_HEAPS - 1, "id 0 is no heap");

/* The length of a name: HS_API_NAME_BYTES if it has no end before. */
static uint32_t length_of(const char *name)
{
    uint32_t length = 0;
    while (length < HS_API_NAME_BYTES && name[length] != '\0') {
        length++;
    }
    return length;
}

/* The next id; 0: all are taken. */
static uint32_t take_slot(void)
{
    uint32_t count = hs_load_relaxed(&hs_heap_table.heap_count);
    do {
        HS_ASSERT(count >= 1);
        if (count >= HS_API_HEAPS) {
            return 0;
        }
    } while (!hs_cas_relaxed(&hs_heap_table.heap_count, &count, count + 1));
    return count;
}

heapscope_heap *hs_api_heap_of(uint32_t id)
{
    return (heapscope_heap *)&hs_heap_table.heaps[id];
}

uint32_t hs_api_heap_id(const heapscope_heap *heap)
{
    uintptr_t off = (uintptr_t)heap - (uintptr_t)hs_heap_table.heaps;
    uintptr_t id = off / sizeof(hs_heap_table.heaps[0]);
    bool is_heap = off % sizeof(hs_heap_table.heaps[0]) == 0 &&
                   id < hs_load_relaxed(&hs_heap_table.heap_count);
    return is_heap ? (uint32_t)id : 0;
}

int hs_api_heap_new(const char *name, heapscope_heap **ret_heap)
{
    uint32_t length = name ? length_of(name) : 0;
    if (length == 0) {
        return -EINVAL;
    }
    if (length >= HS_API_NAME_BYTES) {
        return -ENAMETOOLONG;
    }
    uint32_t id = take_slot();
    if (id == 0) {
        return -ENOSPC;
    }
    for (uint32_t i = 0; i < length; i++) {
        hs_heap_table.heaps[id].name[i] = name[i];
    }
    *ret_heap = hs_api_heap_of(id);
    return 0;
}

int hs_api_heap_changeable(const heapscope_heap *heap, uint32_t *ret_id)
{
    uint32_t id = hs_api_heap_id(heap);
    if (id == 0) {
        return -EINVAL;
    }
    if (hs_heap_table_is_registered(id)) {
        return -EBUSY;
    }
    *ret_id = id;
    return 0;
}

heapscope_heap *heapscope_heap_create(const char *name)
{
    heapscope_heap *heap = NULL;
    int err = hs_api_heap_new(name, &heap);
    if (err != 0) {
        errno = -err;
    }
    return heap;
}

AHeapInfo *AHeapInfo_create(const char *heap_name)
{
    heapscope_heap *heap = NULL;
    return hs_api_heap_new(heap_name, &heap) == 0 ? heap : NULL;
}

/* A heap is primary or lies in another one: the later setting counts. */
int heapscope_heap_set_primary(heapscope_heap *heap, bool is_primary)
{
    uint32_t id;
    int err = hs_api_heap_changeable(heap, &id);
    if (err != 0) {
        return err;
    }
    hs_heap_table.heaps[id].flags = is_primary ? HS_API_HEAP_PRIMARY : 0;
    hs_heap_table.heaps[id].parent = is_primary ? 0 : hs_heap_table.heaps[id].parent;
    return 0;
}

int heapscope_heap_set_parent(heapscope_heap *heap, uint32_t parent)
{
    uint32_t id;
    int err = hs_api_heap_changeable(heap, &id);
    if (err != 0) {
        return err;
    }
    if (parent != 0 && !hs_heap_table_is_registered(parent)) {
        return -EINVAL;
    }
    hs_heap_table.heaps[id].flags = 0;
    hs_heap_table.heaps[id].parent = parent;
    return 0;
}

uint32_t heapscope_heap_register(heapscope_heap *heap)
{
    uint32_t id = hs_api_heap_id(heap);
    if (id == 0 || hs_heap_table_is_registered(id)) {
        return id;
    }
    struct hs_api_heap_v1 *slot = &hs_heap_table.heaps[id];
    /* ORDER api-heap: the heap's name, parent and callbacks before it counts as registered. */
    hs_store_release(&slot->flags, slot->flags | HS_API_HEAP_REGISTERED);
    /* ORDER api-register: either the client, which reads the heaps after it has stored `calls` and
     * passed the same fence, finds this heap; or this thread finds the client. */
    hs_fence_seq_cst();
    const struct hs_api_calls_v1 *calls = hs_heap_table_calls();
    if (calls) {
        hs_store_relaxed(&hs_heap_table.quiet, HS_API_NEVER_QUIET);
        calls->poll();
    }
    return id;
}

uint32_t AHeapProfile_registerHeap(AHeapInfo *info)
    __attribute__((alias("heapscope_heap_register")));
