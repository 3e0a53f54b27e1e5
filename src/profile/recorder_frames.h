/*
 * Leaving out the frames of the recorder that made a profile.
 *
 * A recorder takes the stack inside functions of its own, below the malloc that the program called. In some files these
 * functions are in the stacks: heapprofd's Client::RecordMalloc, jemalloc's prof_backtrace, tcmalloc's
 * DoSampledAllocation, heaptrack's hooks; and our own hs_slow_new, in files of early versions. None of them is why the
 * program needed memory, so a stack begins with the innermost frame that is not one of them. A stack that has no other
 * frame stays. Of stripped libraries of jemalloc and tcmalloc only the outermost frame is kept: the function that was called.
 *
 * Holds     sums: samples whose stacks become the same are added up.
 * Threads   the profile must not be in use meanwhile.
 * Fails     -ENOMEM; the profile is as it was.
 */
#pragma once

#include "profile/profile.h"

/* When names are known, and again when more are. */
int hs_profile_leave_out_recorder(struct hs_profile *profile);
