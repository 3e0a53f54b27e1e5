/* Frees snapshots. See snapshot.h. */
#include "trace/snapshot.h"

#include <stdlib.h>

void hs_snapshot_free(struct hs_snapshot *snap)
{
    if (!snap) {
        return;
    }
    for (uint32_t i = 0; snap->modules && i < snap->module_count; i++) {
        free(snap->modules[i].path);
    }
    free(snap->exe);
    free(snap->cmdline);
    free(snap->changes);
    hs_ledger_free(snap->ledger);
    hs_ledger_free(snap->rss_peak_ledger);
    hs_pinned_pages_free(snap->pins);
    free(snap->heaps);
    free(snap->modules);
    free(snap->frames);
    free(snap->frame_ids);
    free(snap->stacks);
    free(snap->threads);
    free(snap);
}

#if HS_HAS_CHECKS

bool hs_snapshot_is_valid(const struct hs_snapshot *snap)
{
    for (uint32_t i = 0; i < snap->stack_count; i++) {
        const struct hs_snap_stack *stack = &snap->stacks[i];
        if (stack->live.bytes > stack->alloc.bytes || stack->live.count > stack->alloc.count) {
            return false;
        }
        for (uint32_t k = 0; k < stack->frame_count; k++) {
            if (stack->frame_ids[k] >= snap->frame_count) {
                return false;
            }
        }
    }
    for (uint32_t i = 0; i < snap->frame_count; i++) {
        if (snap->frames[i].module_id >= snap->module_count) {
            return false;
        }
    }
    return true;
}

#endif
