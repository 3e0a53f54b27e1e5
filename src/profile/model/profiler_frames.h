/*
 * Leaves out the frames of the recorder that made a profile.
 *
 * A recorder takes the stack inside functions of its own, below the malloc that the program called.
 * In some files these functions are in the stacks: heapprofd's Client::RecordMalloc, jemalloc's
 * prof_backtrace, tcmalloc's DoSampledAllocation, heaptrack's hooks, and hs_slow_new in files of
 * early heapscope versions. None of them is the reason why the program needed memory. A stack
 * therefore begins with the innermost frame that is not one of them. A stack that has no other
 * frame stays as it is. Of stripped libraries of jemalloc and tcmalloc only the outermost frame is
 * kept: the function that the program called.
 *
 * Ensures   sums: samples whose stacks become equal are added up.
 * Threads   no other thread may use the profile at the same time.
 * Fails     -ENOMEM; the profile is then unchanged.
 */
#pragma once

#include "profile/model/profile.h"

/* Call it when names are known, and again when more names are known. 0 or -ENOMEM. */
int hs_profile_leave_out_profiler(struct hs_profile *profile);
