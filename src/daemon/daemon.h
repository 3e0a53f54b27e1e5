/*
 * The daemon: one loop around the hub. It has a socket for programs and commands, and writes the
 * files of sessions, which outlive the command that asked for them.
 *
 *     heapscoped.c         options, signals, start and end
 *     daemon.c             the loop
 *     daemon_socket.c      the socket and the startup hint file in the file system
 *     peer.c               connections of commands: their users, their number, their timeouts
 *     requests.c           the requests; request_start.c: start; request_list.c: list
 *     recording_job.c      a session, its file, and the commands that wait for it
 *     finalizer.c          the process that looks up names and gives the file its final name
 *     attach_worker.c      processes that bring clients into running programs and take them out
 *     worker_process.c     what such a process does first
 *     access_control.c     which user may record which process; the policy
 *     handover/            what outlives a daemon that is killed:
 *     supervisor.c         systemd
 *     fdstore.c            hands descriptors to a process that outlives the daemon: systemd, or
 *     fd_holder.c          a process of ours
 *     handover_save.c      what the daemon leaves there
 *     handover_restore.c   how the next daemon takes it over after a daemon was killed
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
 * Holds     a daemon with `is_stopping` begins no session.
 * Threads   one.
 * Fails     -errno from hs_daemon_open(). In the loop a failure concerns one peer, one session or
 *           one process, and is logged or answered.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/access_control.h"
#include "daemon/daemon_socket.h"
#include "daemon/handover/fdstore.h"
#include "session/hub.h"

struct hs_daemon;

/* An event source of the loop: what to call when its descriptor is readable. It is part of the
 * structure that it concerns, to which `of` points. */
struct hs_source {
    void (*handle)(struct hs_daemon *daemon, void *of, uint64_t now_ns);
    void *of;
};

struct hs_peer;
struct hs_recording_job;
struct hs_attach_worker;
struct hs_kept_target;

#define HS_PEERS_MAX  512
#define HS_ORDERS_MAX 512

struct hs_daemon {
    bool is_system;
    bool is_stopping; /* no more sessions begin; the daemon ends when all files are finished */
    uid_t uid;
    struct hs_daemon_socket daemon_socket;
    struct hs_access_control access;
    struct hs_hub *hub;
    int epoll_fd;
    int signal_fd;
    uint64_t start_real_ns;
    uint64_t stop_ns;      /* CLOCK_MONOTONIC: when it ends at the latest; while it is stopping */
    uint64_t complaint_ns; /* when it may log again that it has no descriptors */
    struct hs_source hub_source, signal_source;
    struct hs_peer *peers[HS_PEERS_MAX];
    size_t peer_count;
    struct hs_recording_job *jobs[HS_ORDERS_MAX]; /* oldest first */
    size_t job_count;
    struct hs_attach_worker *attach_workers; /* list of those at work */
    uint64_t job_number;                     /* number of the newest recording job */
    struct hs_fdstore store;                 /* holds our descriptors if we are killed */
    struct hs_kept_target *kept;             /* targets in the store: handover_save.c */
    size_t kept_count, kept_capacity;
    uint64_t next_job; /* the name that the next session without a name gets */
};

/* Opens the hub and the signals. Signals must be blocked: hs_daemon_block_signals(). Takes over the
 * daemon socket, the store and the access control. Returns 0 or -errno. */
int hs_daemon_open(struct hs_daemon_socket *daemon_socket, const struct hs_fdstore *store,
                   struct hs_access_control *access, bool is_system, struct hs_daemon *ret_daemon);
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

/* Has the loop call a source's handler when the descriptor is readable. Returns 0 or -errno. */
int hs_daemon_watch(struct hs_daemon *daemon, int fd, struct hs_source *source);
/* Ends that; call it before the descriptor is closed. */
void hs_daemon_unwatch(struct hs_daemon *daemon, int fd);

/* Updates the startup hint file; call it after a session began or ended. Logs errors. */
void hs_daemon_write_startup_hint(struct hs_daemon *daemon);

/* The time now, of CLOCK_MONOTONIC. */
uint64_t hs_daemon_mono_ns(void);
/* The time now, of CLOCK_REALTIME. */
uint64_t hs_daemon_real_ns(void);
