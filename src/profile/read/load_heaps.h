/*
 * Reads what heapscope's own packets say of the heaps of a process: HsHeap.
 *
 * A heap has the interval of its process, which budgets change, or one of its own, which they do
 * not. The file does not say which, and a heap may be a little late to learn of a change. So a heap
 * with an interval that the process has, or had, is taken to have had all of the process's. Any
 * other interval is its own; of several over time, the narrowest counts for hs_margin_split().
 *
 * Threads   as load_state.h.
 */
#pragma once

#include <stdint.h>

#include "profile/read/load_state.h"

/* The heaps of one process, by the index in the file's list. */
struct hs_load_heap_list;

/*
 * Takes the names and the heaps of a dump. *list is made when it is NULL; the caller frees it. A
 * failure is kept in load->err.
 */
void hs_load_heaps_set(struct hs_load *load, struct hs_load_heap_list **list,
                       const Hs__Pb__HsDump *dump);
void hs_load_heaps_free(struct hs_load_heap_list *list);

/* The profile's heap for an index of the file; that of "unknown" if there is no such index. */
uint32_t hs_load_heaps_id(struct hs_load *load, const struct hs_load_heap_list *list, uint32_t idx);

/*
 * The narrowest interval at which samples of a heap of the profile were taken. `process_bytes`,
 * that of the process, when the heap has no interval of its own.
 */
uint64_t hs_load_heaps_narrowest(const struct hs_load_heap_list *list, uint32_t heap,
                                 uint64_t process_bytes);

/*
 * Adds the heaps of the last dump to the profile's dump `dump`. If the file does not describe them,
 * and `only_heap` is not HS_PROFILE_NO_HEAP, then that is the only heap, and has the totals of
 * `head`.
 */
void hs_load_heaps_add(struct hs_load *load, const struct hs_load_heap_list *list, uint32_t dump,
                       const struct hs_profile_dump *head, uint32_t only_heap);
