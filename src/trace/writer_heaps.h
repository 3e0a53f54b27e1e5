/*
 * What our own packets of a dump say about its heaps: HsHeap.
 *
 * The file has one list of heap names, and a heap is its index there. Heaps of a process that have
 * the same name become one heap of the file, and so do those of all processes; whether a heap is
 * carved, its parent and its figures belong to a dump. Heaps of one process with the same name of
 * which only some are carved stay two: the carved one is called "NAME (carved)".
 *
 * A process whose only heap is plain (primary, with the process's interval) has no HsHeap: the
 * totals of the dump say the same.
 *
 * Holds     at most HS_HEAP_NAMES_MAX names in a file. Further heaps share one of two names, one
 *           for primary and one for carved heaps.
 * Threads   as trace_writer.h.
 * Fails     -ENOMEM
 * See       docs/FORMAT.md 1.5 and 1.6
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/writer_state.h"

/* What an encoded HsDump points to. */
struct hs_heap_packets {
    char *names[HS_HEAP_NAMES_MAX];
    Hs__Pb__HsHeap *heaps;
    Hs__Pb__HsHeap **pointers;
    Hs__Pb__HsAmount *amounts; /* three for each heap */
};

/* Sets dump->heaps: the index in heap_names of each heap of the snapshot; UINT32_MAX: no name. */
int hs_writer_heaps_find(struct hs_trace_writer *writer, struct hs_writer_dump *dump);

/*
 * Puts the names of all heaps of the file so far, to which rows refer, and the HsHeaps of the dump
 * into `out`. They point into `packets` and the writer. The caller deinits `packets`.
 */
int hs_writer_heaps_fill(const struct hs_trace_writer *writer, const struct hs_writer_dump *dump,
                         struct hs_heap_packets *packets, Hs__Pb__HsDump *out);
void hs_heap_packets_deinit(struct hs_heap_packets *packets);
