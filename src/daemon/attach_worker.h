/*
 * Attach workers bring clients into running processes when a session needs them, and take them out
 * when the session is over.
 *
 * Finding a safe point in another process can take seconds, and ptrace(2) checks the rights of the
 * caller. So a forked process does it, with the rights of the user whose recording job it is. It
 * sends the region back as a descriptor.
 *
 *     hs_attach_worker_bring ──fork──► hs_attachment_begin
 *                      ──region──► hs_hub_take_client, or after a failure hs_hub_give_up
 *     hs_attach_worker_release ──fork──► hs_attachment_end
 *     hs_attach_worker_refresh ──fork──► hs_attachment_refresh
 *
 * Ensures   at most one attach worker works on a process.
 * Threads   one.
 * Fails     -errno, if the work could not begin. Later failures are logged, and that of attaching
 *           becomes the recording job's note.
 * See       collect/attach/attachment.h
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "daemon/event_loop.h"
#include "daemon/recording_job.h"
#include "session/hub.h"

struct hs_attach_worker;

/* The attach workers, with what they need of the daemon, which sets the first four fields. */
struct hs_attach_workers {
    struct hs_event_loop *loop;
    struct hs_hub *hub;
    const struct hs_recording_jobs *jobs;
    const char *collector;         /* the daemon's socket: where the client announces itself */
    struct hs_attach_worker *list; /* those at work */
};

/* Forks a worker that attaches to a process. Returns as hs_hub_attach_fn does. */
int hs_attach_worker_bring(struct hs_attach_workers *workers, struct hs_session *session,
                           const struct hs_process_facts *process);
/* Forks a worker that detaches from a process, or queues that. Returns as hs_hub_release_fn
 * does. */
int hs_attach_worker_release(struct hs_attach_workers *workers, struct hs_session *session,
                             pid_t pid);
/* Forks a worker that redirects the calls of new libraries. Returns as hs_hub_refresh_fn does. */
int hs_attach_worker_refresh(struct hs_attach_workers *workers, struct hs_session *session,
                             pid_t pid);

/* How many attach workers are at work. */
size_t hs_attach_workers_busy(const struct hs_attach_workers *workers);

/* Forgets all attach workers, without waiting for them. */
void hs_attach_workers_forget_all(struct hs_attach_workers *workers);
