/*
 * Tables of our own, from the profile of the same file: all that it knows, with error bars.
 *
 * Stacks and samples stay where they are in the profile: a dump of a hundred thousand stacks has as many samples of
 * twenty figures, of which a query wants two.
 *
 * Holds     the profile stays as long as the tables do.
 * Threads   one user.
 * Fails     through store->err.
 * See       docs/SQL.md
 */
#pragma once

#include "profile/profile.h"
#include "sql/sql_store.h"

struct hs_own_tables;

/* Fills the tables. The profile becomes theirs, even after a failure; NULL: out of memory. */
struct hs_own_tables *hs_own_tables_new(struct hs_sql_store *store, struct hs_profile *profile);
void hs_own_tables_free(struct hs_own_tables *own);
