/*
 * Reads HsLedger: what the resident memory of a process consisted of at a dump.
 *
 * Trust     a file's columns may have any lengths: a line is as many columns as there are, and the
 *           rest of it is 0.
 * Threads   one.
 * See       docs/FORMAT.md, trace/ledger.h
 */
#pragma once

#include "profile/read/load_state.h"

/* Adds the ledgers of a dump, and what was read with them, to the profile, and their numbers to
 * *head. A dump without ledgers keeps those that *head has from the dump before. */
void hs_load_ledgers(struct hs_load *load, const struct hs_interned *tables,
                     const Hs__Pb__HsDump *dump, struct hs_profile_dump *head);
