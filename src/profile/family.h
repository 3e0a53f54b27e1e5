/*
 * Which processes share samples: a process, its forked children and theirs.
 *
 * A forked child begins with its parent's blocks, so the same samples count in both. The error of these is one and the
 * same: in a sum over n processes it grows n times, its variance n * n times. What two processes share lies within what
 * the one that began later has inherited, or, of two children, each of them. So one that has inherited no sample begins
 * a family of its own. What no sample hit it may have inherited all the same.
 *
 * Threads   pure.
 * See       docs/SAMPLING.md, "Forked processes"; select.h adds up.
 */
#pragma once

#include <stdint.h>

#include "profile/profile.h"

enum hs_kinship {
    HS_KINSHIP_SAMPLES, /* may have samples in common */
    HS_KINSHIP_DESCENT, /* may have blocks in common, which no sample need have hit */
};

/* *ret_families, by process: equal for processes of one family. The caller frees it. -ENOMEM. */
int hs_family_find(const struct hs_profile *profile, enum hs_kinship kinship,
                   uint32_t **ret_families);
