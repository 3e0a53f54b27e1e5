/*
 * Reads HsBirths: when what lives was allocated (trace/heap_births.h).
 *
 * Like rows and parts, births are written when they have changed, so those of a process are kept
 * from dump to dump. The last window of a callstack is what the others leave of its row.
 *
 * Trust     a file's columns may have any lengths, and its windows any numbers and figures: what
 *           lies in no window of the dump is left out, and the last window is never below 0.
 * Threads   one.
 * See       docs/FORMAT.md, trace/writer_births.c
 */
#pragma once

#include "profile/read/load_heaps.h"
#include "profile/read/load_parts.h"
#include "profile/read/load_state.h"

/* The births of one process; NULL: it has none so far. */
struct hs_load_births;

/* Takes what a packet says of the births of callstacks that have rows. */
void hs_load_births_set(struct hs_load *load, struct hs_load_births **births,
                        const struct hs_load_row_table *table, const Hs__Pb__HsBirths *packet);
/* Gives the births, as they are now, to a dump. `heaps` and `narrowest_bytes` are those of the
 * process. */
void hs_load_births_give(struct hs_load *load, const struct hs_load_births *births,
                         const struct hs_load_row_table *table,
                         const struct hs_load_heap_list *heaps, uint64_t narrowest_bytes,
                         uint32_t dump);
/* Frees the births. NULL is allowed. */
void hs_load_births_free(struct hs_load_births *births);
