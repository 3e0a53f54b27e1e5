/*
 * Tables of our own, from the profile of the same file: all that it knows, with error bars.
 *
 * Threads   one user.
 * Fails     through store->err.
 * See       docs/SQL.md
 */
#pragma once

#include "profile/profile.h"
#include "sql/sql_store.h"

void hs_sql_own_tables(struct hs_sql_store *store, const struct hs_profile *profile);
