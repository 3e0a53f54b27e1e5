/*
 * A snapshot that the program asks for: sends its name to the collector that records this process,
 * and waits until the collector has opened the cut. See fmt/ctl_layout.h.
 *
 * The snapshot contains all that the calling thread did before the call, and nothing that it does
 * after it. Reading it is the collector's work, for which the process does not wait.
 *
 * Threads   any. Not from inside our own code (a signal handler that interrupted it gets -EAGAIN).
 *           Makes system calls only, allocates nothing, and leaves errno as it was.
 * Fails     -errno; there is no snapshot, except perhaps after -ETIMEDOUT.
 */
#pragma once

#include "rt/base.h"

/* Takes a snapshot. 0; -EINVAL: no name; -ENAMETOOLONG: more than HS_NAMED_SNAPSHOT_NAME_MAX
 * bytes; -ENOTCONN: nothing records this process, or it is under a seccomp filter; -ETIMEDOUT: the
 * collector does not answer; -EAGAIN: the process has no region of its own, because it has just
 * been forked or vforked, or the collector cannot take one at the moment. */
int hs_named_snapshot_take(const char *name);

/* The same, under a name that dlsym finds. */
HS_EXPORT int heapscope_take_snapshot_v1(const char *name);
