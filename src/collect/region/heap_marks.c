/*
 * Marks the stacks of carved heaps and of heaps that are left out: see heap_marks.h.
 */
#include "collect/region/heap_marks.h"

#include <errno.h>
#include <stdlib.h>

#include "collect/region/heap_selection.h"
#include "collect/region/record_scan.h"
#include "rt/atomic.h"

/* Fills in the mark of each heap. False: all are 0. */
static bool mark_heaps(const struct hs_region *region, const struct hs_heap_peaks *heaps,
                       uint16_t ret_marks[HS_REGION_HEAPS])
{
    bool is_any = false;
    for (unsigned i = 0; i < HS_REGION_HEAPS; i++) {
        const char *name = i > 0 ? heaps->heaps[i].name : HS_HEAP_MALLOC;
        bool is_left_out = region->heaps && name[0] &&
                           hs_heap_selection_interval(region->heaps, name) == HS_INTERVAL_OFF;
        ret_marks[i] = is_left_out ? HS_SCAN_LEFT_OUT : 0;
        if (!is_left_out && hs_heap_peaks_is_carved(heaps, (uint8_t)i)) {
            ret_marks[i] = (uint16_t)(i + 1);
        }
        is_any |= ret_marks[i] != 0;
    }
    return is_any;
}

int hs_heap_marks_find(const struct hs_region *region, struct hs_heap_peaks *heaps,
                       const struct hs_region_map *stacks, uint32_t stack_count,
                       uint16_t **ret_marks)
{
    uint16_t of_heap[HS_REGION_HEAPS];
    *ret_marks = NULL;
    /* The target names a heap before it stores a stack of it: these stacks' heaps are there. */
    int r = hs_heap_peaks_add_new(region, heaps);
    if (r < 0 || !mark_heaps(region, heaps, of_heap)) {
        return r;
    }
    uint16_t *marks = calloc((size_t)stack_count + 1, sizeof(*marks));
    if (!marks) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < stack_count; i++) {
        const struct hs_stack_v1 *stack = hs_region_map_at(stacks, i);
        marks[i] = of_heap[hs_load_relaxed(&stack->heap_id)];
    }
    *ret_marks = marks;
    return 0;
}
