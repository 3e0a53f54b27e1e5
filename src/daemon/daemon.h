/*
 * The daemon: one loop around the hub. It has a socket for programs and commands, and writes the
 * files of sessions, which outlive the command that asked for them.
 *
 *     heapscoped.c         options, signals, start and end
 *     daemon.c             owns the parts below, and connects them; the loop
 *     event_loop.c         waits for descriptors
 *     daemon_socket.c      the socket and the startup hint file in the file system
 *     peer.c               connections of commands: their users, their number, their timeouts
 *     requests.c           the requests; request_start.c: start; request_list.c: list
 *     recording_job.c      a session, its file, and the commands that wait for it
 *     recording_file.c     that file
 *     finalizer.c          the process that looks up names and gives the file its final name
 *     attach_worker.c      processes that bring clients into running programs and take them out
 *     store_worker.c       processes that store snapshots with names
 *     worker_process.c     what such a process does first; user_rights.c: whose rights it takes
 *     access_control.c     which user may record which process; the policy
 *     handover/            what outlives a daemon that is killed
 *
 * No part includes this header: each is given what it needs of the others.
 *
 * The loop never waits: not for a peer, not for names, not for a file system that another process
 * provides. Work that may take time is done by a forked process with the rights of the user for
 * whom it is done.
 *
 * Rights. A user's daemon serves its user and root. The machine's daemon (`is_system`, run by root)
 * serves all users. Root may record all processes. Other users may record their own processes, and
 * those that a policy gives them (access_control.h); the user of a process is the one that the
 * kernel reports for its connect(). The daemon opens no path from a request: files come as
 * descriptors, which the user could open.
 *
 * Ensures   a daemon with `is_stopping` begins no session.
 * Threads   one.
 * Fails     -errno from hs_daemon_open(). In the loop a failure concerns one peer, one session or
 *           one process, and is logged or answered.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/access_control.h"
#include "daemon/attach_worker.h"
#include "daemon/daemon_socket.h"
#include "daemon/event_loop.h"
#include "daemon/handover/fdstore.h"
#include "daemon/handover/handover_save.h"
#include "daemon/peer.h"
#include "daemon/recording_job.h"
#include "daemon/requests.h"
#include "daemon/store_worker.h"
#include "session/hub.h"

struct hs_daemon {
    bool is_system;
    bool is_stopping; /* no more sessions begin; the daemon ends when all files are finished */
    uid_t uid;
    struct hs_daemon_socket daemon_socket;
    struct hs_access_control access;
    struct hs_hub *hub;
    struct hs_event_loop loop;
    struct hs_event_source hub_source, signal_source;
    int signal_fd;
    uint64_t stop_ns;      /* CLOCK_MONOTONIC: when it ends at the latest; while it is stopping */
    uint64_t complaint_ns; /* when it may log again that it has no descriptors */
    struct hs_requests requests;
    struct hs_peers peers;
    struct hs_recording_jobs jobs;
    struct hs_attach_workers attach_workers;
    struct hs_store_workers store_workers;
    struct hs_watches watches;
    struct hs_handover handover;
};

/* Opens the hub and the signals. Signals must be blocked: hs_daemon_block_signals(). Takes over the
 * daemon socket and the access control. The structure must stay at its address. Returns 0 or
 * -errno. */
int hs_daemon_open(struct hs_daemon_socket *daemon_socket, struct hs_access_control *access,
                   bool is_system, struct hs_daemon *ret_daemon);
/* Stores snapshots with names in this folder, "": nowhere, within these limits. */
void hs_daemon_set_store(struct hs_daemon *daemon, const char *root,
                         const struct hs_store_limits *limits);
/* Takes over the store of descriptors, and what a previous daemon left; the caller closes the
 * descriptors that remain in `items`. Call it before hs_daemon_run(), also if nothing was left. */
void hs_daemon_restore(struct hs_daemon *daemon, const struct hs_fdstore *store,
                       struct hs_fdstore_items *items);
/* Ends all sessions, as a signal does; hs_daemon_run() then returns when their files are
 * finished. */
void hs_daemon_stop(struct hs_daemon *daemon);
/* Runs the loop until a signal has ended the daemon and all files are finished. Returns 0. */
int hs_daemon_run(struct hs_daemon *daemon);
/* Closes and frees everything. */
void hs_daemon_close(struct hs_daemon *daemon);

/* Blocks the signals that the loop reads, and ignores SIGPIPE and SIGXFSZ, which would only end
 * it. */
void hs_daemon_block_signals(void);
