/*
 * Reads HsPinnedPages: which stacks' live blocks kept resident pages at a dump.
 *
 * Trust     a file's columns may have any lengths: a stack is as many columns as there are, and the
 *           rest of it is 0.
 * Threads   one.
 * See       docs/FORMAT.md, trace/pinned_pages.h
 */
#pragma once

#include "profile/read/load_state.h"

/* Adds the pinned pages of a dump to the profile, and their number to *head. A dump without ledgers
 * keeps those that *head has from the dump before. */
void hs_load_pins(struct hs_load *load, const struct hs_interned *tables,
                  const Hs__Pb__HsDump *dump, struct hs_profile_dump *head);
