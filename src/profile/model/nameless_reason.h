/*
 * Says why functions of a module have no name, and what helps.
 *
 * Threads   pure functions.
 */
#pragma once

#include "profile/model/profile.h"

struct hs_buf;

/*
 * Writes it for a module of a file: a clause without a subject, "no symbol that was found covers
 * them; ...". If the recording has looked names up, its reason counts, and not what a reader on
 * another machine finds.
 */
void hs_nameless_write_reason(const struct hs_profile *profile,
                              const struct hs_profile_module *module, struct hs_buf *buf);

/* Is the reason of two modules the same, but for their build ids? */
bool hs_nameless_has_same_reason(const struct hs_profile_module *a,
                                 const struct hs_profile_module *b);

/* The short name of a reason (enum hs_symbol_reason), for JSON and SQL. */
const char *hs_nameless_reason_name(uint32_t reason);
/* The reason in words, as `heapscope symbolize` has it. */
const char *hs_nameless_reason_text(uint32_t reason);
