/*
 * The tables of stacks and allocations from a profile, for files that have no packets: pprof and texts of others.
 *
 * A dump has what it adds to the one before, as a trace would have it. Kinds of figures are aggregate profiles, too, with
 * the names that pprof has for them.
 *
 * Threads   one user.
 * Fails     through store->err.
 * See       docs/SQL.md
 */
#pragma once

#include "profile/profile.h"
#include "sql/sql_store.h"

void hs_sql_from_profile(struct hs_sql_store *store, const struct hs_profile *profile);
