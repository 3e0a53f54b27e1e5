/*
 * The process that ends a recording job: it appends the names of functions to the trace, and gives the file its name.
 *
 * A fork of the daemon, so that it has the session as it is, while the daemon goes on. It gives up all rights
 * but those of the user who gave the recording job before it does anything: names are read from files that profiled
 * programs name, and the folder is the user's. It keeps no descriptor but those it needs; a daemon that
 * comes after ours must not find our socket alive.
 *
 * Sessions may end all at once: of their finalizers as many work as there are processors, at least two, and the others
 * wait for one of these to end. Each holds the symbols of all its programs in memory.
 *
 * Threads   one.
 * Fails     -errno of pipe and fork; all else is told through the pipe, or by its end.
 */
#pragma once

#include "daemon/recording_job.h"

/* Sets finalizer_pid and result_fd. */
int hs_finalizer_start(struct hs_recording_job *job);

/* Of a recording job that is being finished: it looks up no more names, and writes the file without them. */
void hs_finalizer_hurry(const struct hs_recording_job *job);
