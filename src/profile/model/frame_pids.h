/*
 * Finds the process that ran each frame first: whose JIT code it is, and whose application.
 *
 * Threads   a reader of the profile.
 * Fails     -ENOMEM
 */
#pragma once

#include "profile/model/profile.h"

/* Makes an array with the pid of each frame, 0 for none, which the caller frees. */
int hs_profile_frame_pids(const struct hs_profile *profile, uint32_t **ret_pids);
