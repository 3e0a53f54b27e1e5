/*
 * The first steps of a forked process of the daemon: it drops the daemon's descriptors, signals and
 * rights.
 *
 * Threads   one.
 * Fails     -errno where the rights cannot be changed; the process must then not continue.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "daemon/user_rights.h"

struct hs_target_files;

#define HS_WORKER_PROCESS_FDS_MAX 5U

/* Closes all descriptors except these (-1 is skipped; at most HS_WORKER_PROCESS_FDS_MAX) and 0 to
 * 2. */
void hs_worker_process_close_others(const int *fds, size_t count);

/* Closes the other descriptors, ignores the signals that are meant for the daemon, and unblocks
 * all. */
void hs_worker_process_settle(const int *fds, size_t count);
/* The same, and keeps the descriptors of these files open. */
void hs_worker_process_settle_with(const struct hs_target_files *files, const int *fds,
                                   size_t count);

/* Gives up all other rights, irrevocably. Does nothing without root's rights, or if these are
 * root's. Returns 0 or -errno. */
int hs_worker_process_keep_rights(const struct hs_user_rights *rights);

/* Takes the rights of the process's user, irrevocably, for a recording job to which the policy
 * gives the process. Returns 0 or -errno; never takes root's rights. */
int hs_worker_process_take_rights_of(pid_t pid, uid_t uid);
