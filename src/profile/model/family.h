/*
 * Finds which processes share samples: a process, its forked children, and their children.
 *
 * A forked child begins with its parent's blocks, so that the same samples count in both. The
 * errors of these samples are the same in both: in a sum over n processes such an error grows n
 * times, and its variance n * n times. The samples that two processes share are among those that
 * the later one inherited; two children of one process share samples that both inherited. A process
 * that inherited no sample therefore begins a family of its own. It may still have inherited blocks
 * that no sample hit.
 *
 * Threads   pure.
 * See       docs/SAMPLING.md, "Forked processes"; select.h adds the figures up.
 */
#pragma once

#include <stdint.h>

#include "profile/model/profile.h"

enum hs_kinship {
    HS_KINSHIP_SAMPLES, /* may have samples in common */
    HS_KINSHIP_DESCENT, /* may have blocks in common, even if no sample hit them */
};

/*
 * *ret_families has an element for each process; processes of one family have the same number. The
 * caller frees it. 0 or -ENOMEM.
 */
int hs_family_find(const struct hs_profile *profile, enum hs_kinship kinship,
                   uint32_t **ret_families);
