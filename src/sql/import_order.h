/*
 * The parts of packets that wait until all of the file was seen, to be taken in the order of their times.
 *
 * trace_processor sorts before it looks into packets, and what it makes of a file depends on it: a counter of a
 * process is its, or of the next one with its pid; cumulative totals of dumps rise or seem to fall.
 *
 * See       import_state.h, trace/trace_parts.h
 */
#pragma once

#include "sql/import_state.h"

/* Parts of the packet at hand wait; sequence: NULL when it is of none that matters. */
void hs_import_put_off(struct hs_import *import, struct hs_import_sequence *sequence,
                       struct hs_trace_reader *reader);
/* Takes all that wait; then sequences that nothing waits for have no state any more. */
void hs_import_put_off_finish(struct hs_import *import, struct hs_trace_reader *reader);
