/*
 * Fills the tables of stacks and allocations from a profile, for files that have no packets: pprof
 * files, and the heap profiles of other tools.
 *
 * A dump gets the differences to the previous dump, as in a trace. Each kind of figures is also an
 * aggregate profile, with the name that pprof has for it.
 *
 * Threads   one user.
 * Fails     through store->err.
 * See       docs/SQL.md
 */
#pragma once

#include "profile/model/heap_patterns.h"
#include "profile/model/profile.h"
#include "sql/store/sql_store.h"

/* Adds the rows of the profile to the store, after removing all rows that are there. The profile
 * has no other heaps than those that `heaps` matches (NULL: it has all). */
void hs_sql_from_profile(struct hs_sql_store *store, const struct hs_profile *profile,
                         const struct hs_heap_patterns *heaps);
