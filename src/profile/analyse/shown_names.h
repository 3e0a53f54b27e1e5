/*
 * Changes the names of functions to those that a view shows: shorter ones, and ones with marks.
 *
 *     std::vector<int, std::allocator<int> >::push_back(int&&)    std::vector<…>::push_back
 *     interpreted [interp], compiled [jit], put [inlined]
 *
 * Functions that have equal names afterwards, such as overloads, become one in a view.
 *
 * Ensures   system names stay. A mark is put once.
 * Threads   one user, and no reader meanwhile.
 * Fails     -ENOMEM, -EOVERFLOW; the profile stays valid, and some names are changed.
 */
#pragma once

#include <stdbool.h>

#include "profile/model/profile.h"

struct hs_shown_names {
    bool is_short;        /* without template arguments and parameters */
    bool has_annotations; /* with " [jit]", " [interp]" and " [inlined]" */
};

/* Changes the names. */
int hs_shown_names_apply(struct hs_profile *profile, const struct hs_shown_names *how);
