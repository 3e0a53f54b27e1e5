/*
 * Defers the parts of packets until the whole file was read, to process them in the order of their
 * times.
 *
 * trace_processor sorts the packets before it decodes them, and its results depend on that order:
 * whether a counter belongs to a process or to the next process with the same pid, and whether the
 * cumulative totals of dumps rise or seem to fall.
 *
 * See       import_state.h, trace/trace_parts.h
 */
#pragma once

#include "sql/import/import_state.h"

/* Defers the parts of the current packet. `sequence` is NULL if the packet belongs to no sequence
 * with state. */
void hs_import_defer(struct hs_import *import, struct hs_import_sequence *sequence,
                     struct hs_trace_reader *reader);
/* Processes all deferred parts. Clears the state of each ended sequence after its last deferred
 * part. */
void hs_import_defer_finish(struct hs_import *import, struct hs_trace_reader *reader);
