/*
 * The finalizer: the process that ends a recording job. It appends the names of functions to the
 * trace, and gives the file its final name.
 *
 * It is a fork of the daemon, so it has the session in memory while the daemon continues. First it
 * gives up all rights except those of the user whose recording job it is: names are read from files
 * that profiled programs name, and the folder is the user's. It closes all descriptors that it does
 * not need: the next daemon must not find our socket alive.
 *
 * All sessions may end at once. At most as many finalizers work as there are processors, but at
 * least two; the others wait until one of these ends. The reason is memory: each finalizer holds
 * the symbols of all its programs.
 *
 * Threads   one.
 * Fails     -errno of pipe and fork. Other failures come through the pipe; if the finalizer dies,
 *           the pipe closes without a result.
 */
#pragma once

#include "daemon/recording_job.h"

/* Forks a finalizer, and sets the job's finalizer_pid and result_fd. Returns 0 or -errno. */
int hs_finalizer_start(struct hs_recording_job *job);

/* Asks the job's finalizer to look up no more names, and to write the file without them. */
void hs_finalizer_hurry(const struct hs_recording_job *job);
