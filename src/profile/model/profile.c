/*
 * Frees a profile, and looks up where a module was mapped. See profile.h.
 */
#include "profile/model/profile.h"

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
    free(profile->places);
    free(profile->tracks);
    free(profile->counters);
    free(profile);
}

uint64_t hs_profile_bias_of(const struct hs_profile *p, uint32_t process, uint32_t module)
{
    uint64_t key = (uint64_t)process << 32 | module;
    uint32_t low = 0, high = p->place_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct hs_profile_place *place = &p->places[middle];
        if (((uint64_t)place->process << 32 | place->module) < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool is_known = low < p->place_count && p->places[low].process == process &&
                    p->places[low].module == module;
    return is_known ? p->places[low].bias_va : p->modules[module].bias_va;
}
