/*
 * Clients for running processes: brought in when a session wants one, taken out when it is over.
 *
 * To find a safe point in another process may take seconds, and ptrace(2) asks for the rights of whoever
 * wants it. So it is done by a forked process with the rights of the user who gave the recording job; a region that
 * it got comes back as a descriptor.
 *
 *     hs_attach_worker_bring ──fork──► hs_attachment_begin ──region──► hs_hub_restore_target, or hs_hub_give_up
 *     hs_attach_worker_release ──fork──► hs_attachment_end
 *     hs_attach_worker_refresh ──fork──► hs_attachment_refresh
 *
 * Threads   one.
 * Fails     -errno, before anything was begun; later failures are the recording job's note, and logged.
 * See       collect/attachment.h
 */
#pragma once

#include "daemon/recording_job.h"

/* As hs_hub_attach_fn, hs_hub_release_fn, hs_hub_refresh_fn. */
int hs_attach_worker_bring(void *daemon, struct hs_session *session,
                           const struct hs_process_facts *process);
int hs_attach_worker_release(void *daemon, struct hs_session *session, pid_t pid);
int hs_attach_worker_refresh(void *daemon, struct hs_session *session, pid_t pid);

/* Processes that are at work. */
size_t hs_attach_workers_busy(const struct hs_daemon *daemon);

void hs_attach_workers_forget_all(struct hs_daemon *daemon);
