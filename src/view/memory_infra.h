/*
 * MemoryInfra: the JSON trace in which Chrome's heap profiler writes its dumps, for
 * chrome://tracing and the scripts that read such traces.
 *
 * Each dump of each process is an event. Dumps of several processes within a second have the same
 * id, so that the viewer shows them as one. Rows are figures of each stack and type: of the stack
 * itself, without those that it calls. The file has the figures of one view, live memory by
 * default.
 *
 * The viewer knows a process by its pid alone. When a process executed another program, the part
 * after it gets a pid that no process of Linux has, and the label tells the real one.
 *
 * Ensures   the rules of Chrome's importer: docs/FORMAT.md, "MemoryInfra".
 * Threads   no state.
 * Fails     -ENOMEM or as the buffer does; HS_SELECT_E_* when the profile has no such dump.
 */
#pragma once

#include "profile/analyse/aggregate.h"
#include "profile/analyse/select.h"

struct hs_buf;

struct hs_memory_infra_options {
    enum hs_view view; /* HS_VIEW_AUTO: the one that fits the profile */
    /* write all dumps of the selected processes, not only the selected ones */
    bool is_all_dumps;
    bool is_compressed; /* as gzip */
    /* for the metadata: other_below.h has added up stacks with less than both; 0: it has not */
    uint64_t other_below_bytes, other_below_count;
};

/* Writes the file. Returns 0, -errno or HS_SELECT_E_*. */
int hs_memory_infra_write(const struct hs_profile *profile, const struct hs_select_spec *select,
                          const struct hs_memory_infra_options *options, struct hs_buf *buf);
