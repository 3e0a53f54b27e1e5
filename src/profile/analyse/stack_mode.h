/*
 * Gives the samples of a profile other stacks, for --stack-mode: with the names of threads, or with
 * what the program said that it was doing (its scopes).
 *
 *     native                      main < load
 *     native-with-thread-names    worker < main < load
 *     pseudo                      worker < request < tenant=a
 *     mixed                       request < tenant=a < main < load
 *
 * Threads and scopes are recorded by part (trace/heap_parts.h), so each sample is divided into its
 * parts: of what lives and of the peak. A stack of scopes begins with the outermost one. In `mixed`
 * all scopes stand outside all frames, because between which frames a scope was opened is not
 * recorded.
 *
 * Of what was freed, threads are not recorded, and scopes only by recent recorders. What lives was
 * also allocated, so the allocated figures of a part are what lives of it, and the rest of the
 * stack or scope is in the frame "[freed: ...]". With `mixed`, allocated figures are those of the
 * scopes.
 *
 * Ensures   the sums over the samples of a dump and heap stay what they were, and the dump's own
 *           totals stay untouched. Parts keep the samples that they are of.
 * Threads   one user, and no reader meanwhile.
 * Fails     -ENOMEM, -EOVERFLOW: the profile must not be used then, except to free it.
 */
#pragma once

#include "profile/analyse/select.h"

/* In place of a thread without a name, or of a figure that has no parts. */
#define HS_STACK_UNKNOWN "<unknown>"
/* In place of the thread of small parts that were added up when they were recorded. */
#define HS_STACK_OTHERS "(others)"

/* As in --stack-mode. */
extern const char *const hs_stack_mode_names[HS_STACK_MODE_N];

/* Whether threads and scopes are known of all that lives, and of the peak, in the dumps that the
 * specification selects: 0, -ENODATA, or as hs_select_dumps(). */
int hs_stack_mode_check(const struct hs_profile *profile, const struct hs_select_spec *spec);
/* Changes the stacks of all dumps. In dumps without parts they are HS_STACK_UNKNOWN. */
int hs_stack_mode_apply(struct hs_profile *profile, enum hs_stack_mode mode);
