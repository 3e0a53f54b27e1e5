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
    free(snap->heaps);
    free(snap->modules);
    free(snap->frames);
    free(snap->frame_ids);
    free(snap->stacks);
    free(snap->threads);
    free(snap);
}
