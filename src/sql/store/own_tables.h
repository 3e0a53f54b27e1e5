/*
 * Our own tables: everything that the profile of the file contains, with confidence intervals.
 *
 * Stacks and samples stay in the profile. A dump of a hundred thousand stacks has as many samples
 * of twenty figures each, of which a query usually reads two.
 *
 * Requires  the profile lives as long as the tables.
 * Threads   one user.
 * Fails     through store->err.
 * See       docs/SQL.md
 */
#pragma once

#include "profile/model/profile.h"
#include "sql/store/sql_store.h"

struct hs_own_tables;

/* Fills the tables. The tables take over the profile, even after a failure. NULL: out of memory. */
struct hs_own_tables *hs_own_tables_new(struct hs_sql_store *store, struct hs_profile *profile);
/* Frees the tables and the profile. NULL is allowed. */
void hs_own_tables_free(struct hs_own_tables *own);
