/*
 * Adds strings to a finished profile. A text that is among its strings already keeps its id, so
 * that frames of one function still have equal ids.
 *
 *     struct hs_profile_strings strings;
 *     int err = hs_profile_strings_init(&strings, profile);
 *     err = err ? err : hs_profile_strings_put(&strings, "main", &id);
 *     hs_profile_strings_deinit(&strings);
 *
 * Threads   one user, and no reader of the profile meanwhile.
 * Fails     -ENOMEM, -EOVERFLOW
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "profile/model/profile.h"
#include "util/intern.h"

struct hs_profile_strings {
    struct hs_profile *p;
    struct hs_intern ids; /* ids of the profile's strings */
    size_t capacity;
};

/* Looks at the strings that there are. hs_profile_strings_deinit() may follow a failure. */
int hs_profile_strings_init(struct hs_profile_strings *strings, struct hs_profile *profile);
/* Frees what was needed for adding. What was added stays. */
void hs_profile_strings_deinit(struct hs_profile_strings *strings);
/* Writes the id of a text, which is added if it is not there. */
int hs_profile_strings_put(struct hs_profile_strings *strings, const char *text, uint32_t *ret_id);
