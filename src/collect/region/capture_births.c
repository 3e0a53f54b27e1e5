/*
 * From the table of a scan to the births of a snapshot: see capture_births.h.
 *
 * The table is that of parts; the window stands in the place of the age class.
 */
#include "collect/region/capture_births.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/heap_births.h"

void hs_capture_births_begin(struct hs_record_scan *scan)
{
    uint64_t span_ms = scan->cut_mono_ns > scan->start_mono_ns
                           ? (scan->cut_mono_ns - scan->start_mono_ns) / 1000000
                           : 0;
    scan->birth_span_ms = span_ms;
    scan->birth_window_ms = hs_birth_window_ms(span_ms);
    scan->births = hs_part_table_new();
}

void hs_capture_births_end(struct hs_record_scan *scan)
{
    hs_part_table_free(scan->births);
    scan->births = NULL;
}

static int compare_births(const void *a, const void *b)
{
    const struct hs_part_key *left = &((const struct hs_snap_part *)a)->key;
    const struct hs_part_key *right = &((const struct hs_snap_part *)b)->key;
    return left->stack_id != right->stack_id
               ? (left->stack_id < right->stack_id ? -1 : 1)
               : (left->age_class > right->age_class) - (left->age_class < right->age_class);
}

int hs_capture_births(struct hs_record_scan *scan, struct hs_snapshot *snap)
{
    size_t count = 0;
    struct hs_snap_part *parts = scan->births ? hs_part_table_list(scan->births, &count) : NULL;
    snap->births = parts ? malloc((count + 1) * sizeof(snap->births[0])) : NULL;
    if (!snap->births) {
        free(parts);
        return -ENOMEM;
    }
    qsort(parts, count, sizeof(parts[0]), compare_births);
    for (size_t i = 0; i < count; i++) {
        /* What found no room in the table: it is not known when these were allocated. */
        uint32_t window =
            parts[i].key.age_class == HS_PART_OTHERS ? HS_BIRTH_WINDOWS : parts[i].key.age_class;
        snap->births[i] = (struct hs_snap_birth){ parts[i].key.stack_id, window, parts[i].amount };
    }
    free(parts);
    snap->birth_count = count;
    snap->birth_window_ms = scan->birth_window_ms;
    snap->birth_span_ms = scan->birth_span_ms;
    return 0;
}
