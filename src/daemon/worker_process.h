/*
 * What a forked process of the daemon does before anything else: it is not the daemon any more.
 *
 * Threads   one.
 */
#pragma once

#include "daemon/recording_job.h"

#define HS_WORKER_PROCESS_FDS_MAX 5U

/* All but these (-1: none; at most HS_WORKER_PROCESS_FDS_MAX) and the standard ones. */
void hs_worker_process_close_others(const int *fds, size_t count);

/* That, and leaves the daemon's signals alone. */
void hs_worker_process_settle(const int *fds, size_t count);

/* The rights of the user who gave the recording job, for good. -errno. */
int hs_worker_process_give_up_rights(const struct hs_recording_job *job);

/* The rights of the user whose process it is, for a recording job that the policy gave it to. Never root's. */
int hs_worker_process_take_rights_of(pid_t pid, uid_t uid);
