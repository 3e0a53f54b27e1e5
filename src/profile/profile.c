/*
 * Giving a profile back. See profile.h.
 */
#include "profile/profile.h"

#include <stdlib.h>

void hs_profile_free(struct hs_profile *profile)
{
    if (!profile) {
        return;
    }
    for (uint32_t i = 0; i < profile->string_count; i++) {
        free(profile->strings[i]);
    }
    free(profile->strings);
    free(profile->modules);
    free(profile->lines);
    free(profile->frames);
    free(profile->nodes);
    free(profile->heaps);
    free(profile->processes);
    free(profile->dumps);
    free(profile->samples);
    free(profile->threads);
    free(profile->losses);
    free(profile->changes);
    free(profile->tracks);
    free(profile->counters);
    free(profile);
}
