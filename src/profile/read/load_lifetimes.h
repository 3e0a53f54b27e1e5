/*
 * Reads HsLifetimes: how long the freed blocks of callstacks lived (trace/freed_sums.h).
 *
 * Like rows, they are written when they have changed, so those of a process are kept from dump to
 * dump.
 *
 * Trust     a file's columns may have any lengths and numbers: sums that are unknown are left out.
 * Threads   one.
 * See       docs/FORMAT.md, trace/writer_lifetimes.c
 */
#pragma once

#include "profile/read/load_parts.h"

/* The lifetimes of one process; NULL: it has none so far. */
struct hs_load_lifetimes;

/* Takes what a packet (NULL: nothing) says of callstacks that have rows. */
void hs_load_lifetimes_set(struct hs_load *load, struct hs_load_lifetimes **lifetimes,
                           const struct hs_load_row_table *table,
                           const Hs__Pb__HsLifetimes *packet);
/* Gives the lifetimes, as they are now, to a dump if its head says that they were measured. */
void hs_load_lifetimes_give(struct hs_load *load, const struct hs_load_lifetimes *lifetimes,
                            const struct hs_load_row_table *table,
                            const struct hs_profile_dump *head, uint32_t dump);
/* Frees them. */
void hs_load_lifetimes_free(struct hs_load_lifetimes *lifetimes);
