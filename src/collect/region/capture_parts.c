/*
 * From the tables of a scan to the parts of a snapshot: see capture_parts.h.
 */
#include "collect/region/capture_parts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The limit of parts: so that they take about as much room in a file as stacks and threads do. */
#define PARTS_MIN      1024U
#define PARTS_A_STACK  4U
#define PARTS_A_THREAD 2U

void hs_capture_parts_begin(const struct hs_region *region, const struct hs_open_cut *cut,
                            struct hs_record_scan *scan)
{
    scan->start_mono_ns = region->header.start_mono_ns;
    scan->cut_mono_ns = cut->now_ns;
    scan->peak_mono_ns = cut->peak_time_ns;
    scan->types = region->types;
    for (unsigned view = 0; view < HS_PART_VIEWS; view++) {
        scan->parts[view] = hs_part_table_new();
    }
}

void hs_capture_parts_end(struct hs_record_scan *scan)
{
    for (unsigned view = 0; view < HS_PART_VIEWS; view++) {
        hs_part_table_free(scan->parts[view]);
        scan->parts[view] = NULL;
    }
}

static size_t parts_max(const struct hs_record_scan *scan, const struct hs_snapshot *snap)
{
    size_t stack_count = 0, thread_count = 0;
    for (uint32_t i = 0; i < snap->stack_count; i++) {
        stack_count += snap->stacks[i].live.count > 0 || snap->stacks[i].peak.count > 0;
    }
    for (uint32_t i = 0; i < scan->thread_count; i++) {
        thread_count += scan->threads[i].count > 0;
    }
    return PARTS_MIN + PARTS_A_STACK * stack_count + PARTS_A_THREAD * thread_count;
}

static bool are_equal(const struct hs_estimate *a, const struct hs_estimate *b)
{
    return a->bytes == b->bytes && a->count == b->count && a->bytes_var == b->bytes_var &&
           a->count_var == b->count_var;
}

/* In which of the scan's tables the parts of a stack's peak are: the snapshot may have put what is
 * live in its place, or nothing. */
static enum hs_part_view peak_table(const struct hs_record_scan *scan,
                                    const struct hs_snapshot *snap, uint32_t stack_id)
{
    const struct hs_snap_stack *stack = &snap->stacks[stack_id];
    return are_equal(&stack->peak, &scan->sums[stack_id].peak) ? HS_PARTS_PEAK
           : are_equal(&stack->peak, &stack->live)             ? HS_PARTS_LIVE
                                                               : HS_PART_VIEWS;
}

/* Makes the peak's parts from those of both tables. Each list is in the order of the stacks. */
static int choose_peak(const struct hs_record_scan *scan, struct hs_snapshot *snap)
{
    const struct hs_snap_part *from[HS_PART_VIEWS] = { snap->parts[0], snap->parts[1] };
    size_t at[HS_PART_VIEWS] = { 0 }, count = 0;
    size_t room = snap->part_count[0] + snap->part_count[1] + 1;
    struct hs_snap_part *parts = malloc(room * sizeof(parts[0]));
    if (!parts) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < snap->stack_count; i++) {
        enum hs_part_view chosen = peak_table(scan, snap, i);
        for (unsigned view = 0; view < HS_PART_VIEWS; view++) {
            for (; at[view] < snap->part_count[view] && from[view][at[view]].key.stack_id == i;
                 at[view]++) {
                if (view == chosen) {
                    parts[count++] = from[view][at[view]];
                }
            }
        }
    }
    free(snap->parts[HS_PARTS_PEAK]);
    snap->parts[HS_PARTS_PEAK] = parts;
    snap->part_count[HS_PARTS_PEAK] = count;
    return 0;
}

/* Says which types the parts and blocks have. */
static bool *find_used(const struct hs_snapshot *snap)
{
    bool *is_used = calloc(HS_PART_OTHERS + 1, sizeof(is_used[0]));
    for (unsigned view = 0; is_used && view < HS_PART_VIEWS; view++) {
        for (size_t i = 0; i < snap->part_count[view]; i++) {
            is_used[snap->parts[view][i].key.type_id] = true;
        }
    }
    for (size_t i = 0; is_used && i < snap->block_count; i++) {
        is_used[snap->blocks[i].type_id] = true;
    }
    return is_used;
}

static int name_type(struct hs_snapshot *snap, uint32_t id, const char *name)
{
    struct hs_snap_type *type = &snap->types[snap->type_count];
    *type = (struct hs_snap_type){ (uint16_t)id, strdup(name) };
    if (!type->name) {
        return -ENOMEM;
    }
    snap->type_count++;
    return 0;
}

static int name_types(const struct hs_record_types *types, struct hs_snapshot *snap)
{
    bool *is_used = find_used(snap);
    uint32_t end = types->name_count < HS_PART_NOT_READ ? types->name_count : HS_PART_NOT_READ;
    snap->has_types = true;
    snap->types_time_mono_ns = types->time_mono_ns;
    snap->types = is_used ? calloc((size_t)end + 1, sizeof(snap->types[0])) : NULL;
    int r = snap->types ? 0 : -ENOMEM;
    for (uint32_t id = 1; id < end && r == 0; id++) {
        r = is_used[id] ? name_type(snap, id, types->names[id]) : 0;
    }
    if (r == 0 && is_used[HS_PART_NOT_READ]) {
        r = name_type(snap, HS_PART_NOT_READ, HS_PART_NOT_READ_NAME);
    }
    free(is_used);
    return r;
}

int hs_capture_parts(struct hs_record_scan *scan, struct hs_snapshot *snap)
{
    size_t max = parts_max(scan, snap);
    for (unsigned view = 0; view < HS_PART_VIEWS; view++) {
        snap->parts[view] =
            scan->parts[view] ? hs_part_table_take(scan->parts[view], max, &snap->part_count[view])
                              : NULL;
        if (!snap->parts[view]) {
            return -ENOMEM;
        }
    }
    int r = choose_peak(scan, snap);
    return r == 0 && scan->types ? name_types(scan->types, snap) : r;
}
