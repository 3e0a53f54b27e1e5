/*
 * Finds when code made at run time was used first: see code_times.h.
 */
#include "session/code_times.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/heap_births.h"

/* A thread takes the time of a birth from the kernel's coarse clock, which lags behind: by 10 ms
 * where the kernel ticks slowest (CONFIG_HZ=100). */
#define CLOCK_LAG_MS 10U

/* When the last block of a window was allocated, at the latest. */
static uint64_t end_of(const struct hs_snapshot *snap, uint32_t window)
{
    uint64_t span_ms = ((uint64_t)window + 1) * snap->birth_window_ms + CLOCK_LAG_MS;
    return snap->start_mono_ns + span_ms * UINT64_C(1000000);
}

/* Lowers the times of a stack's frames that have any. */
static void lower(const struct hs_snap_stack *stack, uint64_t time_ns, uint64_t *times_ns)
{
    for (uint16_t i = 0; i < stack->frame_count; i++) {
        uint64_t *of_frame = &times_ns[stack->frame_ids[i]];
        *of_frame = time_ns < *of_frame ? time_ns : *of_frame;
    }
}

static int compare_pcs(const void *a, const void *b)
{
    uint64_t left = ((const struct hs_symbol_pc_time *)a)->pc;
    uint64_t right = ((const struct hs_symbol_pc_time *)b)->pc;
    return (left > right) - (left < right);
}

int hs_code_times_find(const struct hs_snapshot *snap, const uint32_t *frame_ids, size_t count,
                       struct hs_symbol_pc_time **ret_times, size_t *ret_count)
{
    size_t n = 0;
    *ret_times = NULL;
    *ret_count = 0;
    for (size_t i = 0; i < count; i++) {
        n += snap->modules[snap->frames[frame_ids[i]].module_id].kind == HS_MODULE_ANON;
    }
    if (n == 0 || snap->birth_window_ms == 0) {
        return 0;
    }
    struct hs_symbol_pc_time *list = malloc(n * sizeof(list[0]));
    uint64_t *times_ns = malloc(snap->frame_count * sizeof(times_ns[0])); /* by frame id */
    if (!list || !times_ns) {
        free(list);
        free(times_ns);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < snap->frame_count; i++) {
        times_ns[i] = UINT64_MAX;
    }
    for (size_t i = 0; i < snap->birth_count; i++) {
        const struct hs_snap_birth *birth = &snap->births[i];
        if (birth->window < HS_BIRTH_WINDOWS && birth->stack_id < snap->stack_count) {
            lower(&snap->stacks[birth->stack_id], end_of(snap, birth->window), times_ns);
        }
    }
    n = 0;
    for (size_t i = 0; i < count; i++) {
        const struct hs_snap_frame *frame = &snap->frames[frame_ids[i]];
        if (snap->modules[frame->module_id].kind == HS_MODULE_ANON &&
            times_ns[frame_ids[i]] != UINT64_MAX) {
            list[n++] = (struct hs_symbol_pc_time){ frame->rel_pc, times_ns[frame_ids[i]] };
        }
    }
    free(times_ns);
    qsort(list, n, sizeof(list[0]), compare_pcs);
    *ret_times = list;
    *ret_count = n;
    return 0;
}
