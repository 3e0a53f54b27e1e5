/*
 * The heaps of a session's processes, as its dumps show them: for what is said at its end about
 * heaps that it selects by name and that no process registered.
 *
 * Threads   as the session.
 * Fails     names beyond HS_HEAPS_SEEN_MAX are not told, but count as registered.
 */
#pragma once

#include "collect/region/heap_selection.h"
#include "trace/snapshot.h"
#include "util/buf.h"

#define HS_HEAPS_SEEN_MAX 16U

struct hs_heaps_seen {
    uint32_t matched; /* bit i: some heap matched rule i of the selection */
    uint32_t count;
    char names[HS_HEAPS_SEEN_MAX][HS_HEAP_NAME_BYTES];
};

/* Adds the heaps of a snapshot. */
void hs_heaps_seen_add(struct hs_heaps_seen *seen, const struct hs_heap_selection *selection,
                       const struct hs_snapshot *snap);
/* Appends a sentence about rules that no heap matched; nothing if there are none. */
void hs_heaps_seen_words(const struct hs_heaps_seen *seen,
                         const struct hs_heap_selection *selection, struct hs_buf *out);
