/*
 * The daemon: one loop around the hub, with a socket for programs and commands, and files of sessions that
 * outlive the command that asked for them.
 *
 *     heapscoped.c   options, signals, start and end
 *     daemon.c       the loop
 *     daemon_socket.c      socket and startup hint file in the file system
 *     peer.c         connections of commands: who they are, how many, for how long
 *     requests.c     what they ask for; request_start.c: a session; request_list.c: what there is
 *     recording_job.c        a session that was asked for, its file, and whoever waits for it
 *     finalizer.c     the process that looks up names and gives the file its name
 *     attach_worker.c     processes that bring clients into running programs, and out again
 *     worker_process.c       what such a process does first
 *     access_control.c       who may have which process: users, and the policy
 *     supervisor.c   systemd
 *     fdstore.c        descriptors that outlive us, held by systemd or by fd_holder.c, a process of ours
 *     handover_save.c     what goes there; handover_restore.c: and comes back, after a daemon was killed
 *
 * The loop never waits for anybody: not for a peer, not for names, not for a file system that somebody else
 * provides. What may take time is done by a forked process with the rights of the user it is for.
 *
 * Rights. The user's daemon serves its user, and root. The machine's (`is_system`, run by root) serves
 * everybody: root may have all processes, others their own, as the kernel says whose a process was when it
 * connected, and what a policy gives them (access_control.h). It opens no path that it is given: files come as descriptors that the user could open.
 *
 * Threads   one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/daemon_socket.h"
#include "daemon/fdstore.h"
#include "daemon/access_control.h"
#include "session/hub.h"

struct hs_daemon;

/* Something the loop waits for, inside of whatever it is about. */
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
    bool is_stopping; /* no more sessions; it ends when all files are finished */
    uid_t uid;
    struct hs_daemon_socket daemon_socket;
    struct hs_access_control access;
    struct hs_hub *hub;
    int epoll_fd;
    int signal_fd;
    uint64_t start_real_ns;
    uint64_t stop_ns;      /* when it is over at the latest; only while it is stopping */
    uint64_t complaint_ns; /* when it may say again that it has no descriptors */
    struct hs_source hub_source, signal_source;
    struct hs_peer *peers[HS_PEERS_MAX];
    size_t peer_count;
    struct hs_recording_job *jobs[HS_ORDERS_MAX]; /* oldest first */
    size_t job_count;
    struct hs_attach_worker *attach_workers; /* at work */
    uint64_t job_number;                     /* of the newest */
    struct hs_fdstore store;                 /* who keeps what we have, if we are killed */
    struct hs_kept_target *kept;             /* handover_save.h */
    size_t kept_count, kept_capacity;
    uint64_t next_job; /* number of the next session without a name */
};

/* Signals must be blocked: hs_daemon_block_signals(). Takes over daemon socket, store and access control. */
int hs_daemon_open(struct hs_daemon_socket *daemon_socket, const struct hs_fdstore *store,
                   struct hs_access_control *access, bool is_system, struct hs_daemon *ret_daemon);
/* As a signal would end it. */
void hs_daemon_stop(struct hs_daemon *daemon);
/* Until a signal ends it, and all files are finished. */
int hs_daemon_run(struct hs_daemon *daemon);
void hs_daemon_close(struct hs_daemon *daemon);

/* Blocks what the loop reads, and ignores what would only end it. */
void hs_daemon_block_signals(void);

int hs_daemon_watch(struct hs_daemon *daemon, int fd, struct hs_source *source);
void hs_daemon_unwatch(struct hs_daemon *daemon, int fd);

/* Brings the startup hint file up to date: after a session began or ended. */
void hs_daemon_write_startup_hint(struct hs_daemon *daemon);

uint64_t hs_daemon_mono_ns(void);
uint64_t hs_daemon_real_ns(void);
