/*
 * The loop: see daemon.h.
 */
#include "daemon/daemon.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "daemon/daemon_log.h"
#include "daemon/handover/handover_restore.h"
#include "daemon/handover/supervisor.h"
#include "rt/clock.h"
#include "util/fd_limit.h"

/* Looking up the names of functions takes at most two minutes. */
#define HS_STOP_MAX_NS UINT64_C(150000000000)
/* The log gets the message about missing descriptors at most this often. */
#define HS_COMPLAINT_NS UINT64_C(60000000000)

/* --- calls of the hub ------------------------------------------------------------------------- */

static void update_startup_hint(struct hs_daemon *daemon)
{
    struct hs_startup startup;
    hs_hub_find_startup(daemon->hub, NULL, &startup);
    hs_daemon_socket_update_hint(&daemon->daemon_socket, &startup);
}

static void on_peer(void *ctx, int connection_fd)
{
    struct hs_daemon *daemon = ctx;
    hs_peer_add(&daemon->peers, connection_fd);
}

static void on_over(void *ctx, struct hs_session *session)
{
    hs_recording_job_finish(session->owner);
    update_startup_hint(ctx);
}

static int attach(void *ctx, struct hs_session *session, const struct hs_process_facts *process)
{
    struct hs_daemon *daemon = ctx;
    return hs_attach_worker_bring(&daemon->attach_workers, session, process);
}

static int release(void *ctx, struct hs_session *session, pid_t pid)
{
    struct hs_daemon *daemon = ctx;
    return hs_attach_worker_release(&daemon->attach_workers, session, pid);
}

static int refresh(void *ctx, struct hs_session *session, pid_t pid)
{
    struct hs_daemon *daemon = ctx;
    return hs_attach_worker_refresh(&daemon->attach_workers, session, pid);
}

static enum hs_refusal authorize(void *ctx, const struct hs_session *session,
                                 const struct hs_process_facts *process, struct hs_target *target,
                                 struct hs_refusal_words *ret_words)
{
    const struct hs_daemon *daemon = ctx;
    const struct hs_recording_job *job = session->owner;
    return hs_access_control_authorize(&daemon->access, session, &job->rights, process, target,
                                       ret_words);
}

static bool may_bind(void *ctx, const struct hs_process_facts *process, struct hs_target *target)
{
    const struct hs_daemon *daemon = ctx;
    return hs_access_control_may_bind(&daemon->access, process, target);
}

static void on_pending(void *ctx, const struct hs_pending_client *pending)
{
    struct hs_daemon *daemon = ctx;
    hs_handover_save_pending_client(&daemon->handover, pending);
}

static void on_change(void *ctx, struct hs_target *target)
{
    struct hs_daemon *daemon = ctx;
    const struct hs_session *session = hs_hub_session_of(target);
    const struct hs_recording_job *job = session ? session->owner : NULL;
    hs_handover_save_target(&daemon->handover, target, job ? job->number : 0);
}

static void on_keep(void *ctx, struct hs_target *target, const struct hs_snapshot *snap)
{
    struct hs_daemon *daemon = ctx;
    const struct hs_session *session = hs_hub_session_of(target);
    const struct hs_recording_job *job = session ? session->owner : NULL;
    /* Without a session it is the process itself that asks. */
    uid_t uid = job ? hs_access_control_find_owner(&daemon->access, &job->rights, target)
                    : target->process.uid;
    hs_store_workers_keep(&daemon->store_workers, session, uid, target, snap);
}

static void on_cut(void *ctx, const struct hs_target *target, int fd)
{
    struct hs_daemon *daemon = ctx;
    hs_handover_save_cut(&daemon->handover, target, fd);
}

static bool can_keep(void *ctx, const struct hs_target *target)
{
    const struct hs_daemon *daemon = ctx;
    (void)target;
    return hs_store_workers_have_room(&daemon->store_workers);
}

static void on_gone(void *ctx, struct hs_target *target)
{
    struct hs_daemon *daemon = ctx;
    hs_handover_drop_target(&daemon->handover, target);
}

/* --- events ----------------------------------------------------------------------------------- */

static void on_done(void *ctx, struct hs_recording_job *job)
{
    struct hs_daemon *daemon = ctx;
    hs_request_answer_waiting(&daemon->peers, job);
}

static void begin_to_stop(struct hs_daemon *daemon, uint64_t now_ns)
{
    if (daemon->is_stopping) {
        return;
    }
    daemon->is_stopping = daemon->requests.is_stopping = true;
    daemon->stop_ns = now_ns + HS_STOP_MAX_NS;
    hs_supervisor_tell("STOPPING=1");
    while (daemon->hub->session_count > 0) {
        hs_hub_stop(daemon->hub, daemon->hub->sessions[0], now_ns);
    }
}

void hs_daemon_stop(struct hs_daemon *daemon)
{
    begin_to_stop(daemon, hs_clock_ns(CLOCK_MONOTONIC));
}

static void on_signal(void *of, uint64_t now_ns)
{
    struct hs_daemon *daemon = of;
    struct signalfd_siginfo info;
    while (read(daemon->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGUSR1) {
            hs_hub_dump_all(daemon->hub, now_ns);
        } else if (info.ssi_signo == SIGHUP && daemon->access.path) {
            if (hs_access_control_reload(&daemon->access)) {
                hs_hub_review(daemon->hub, now_ns);
            }
        } else {
            begin_to_stop(daemon, now_ns);
        }
    }
}

/* Logs that no descriptor is left. Programs and commands that connect then wait until other
 * programs end; the user of a command would only see a daemon that does not answer. */
static void log_lack_of_descriptors(struct hs_daemon *daemon, uint64_t now_ns)
{
    struct rlimit limit = { 0 };
    if (hs_hub_is_out_of_fds(daemon->hub) && now_ns >= daemon->complaint_ns) {
        daemon->complaint_ns = now_ns + HS_COMPLAINT_NS;
        getrlimit(RLIMIT_NOFILE, &limit);
        hs_daemon_log(
            "all %llu descriptors are in use: new connections have to wait until programs end; "
            "start the daemon with a higher limit (ulimit -Hn, LimitNOFILE=)",
            (unsigned long long)limit.rlim_cur);
    }
}

/* --- start and end ---------------------------------------------------------------------------- */

/* The signals that the loop reads: all that would end the daemon by default, except faults and
 * SIGABRT. A daemon with such a fault ends as if it were killed, and the next one takes over. */
static void signals(sigset_t *ret_set)
{
    static const int left_alone[] = { SIGSEGV, SIGBUS,  SIGILL,  SIGFPE,  SIGTRAP, SIGSYS,
                                      SIGABRT, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGCHLD,
                                      SIGURG,  SIGPIPE, SIGXFSZ, SIGWINCH };
    sigfillset(ret_set);
    for (size_t i = 0; i < HS_COUNT_OF(left_alone); i++) {
        sigdelset(ret_set, left_alone[i]);
    }
}

void hs_daemon_block_signals(void)
{
    sigset_t set;
    signals(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* so that a file that may not grow is a write error */
}

static int open_hub(struct hs_daemon *daemon)
{
    const struct hs_hub_config config = {
        .listener = { .fd = daemon->daemon_socket.fd, .is_open_to_all = daemon->is_system },
        .on_peer = on_peer,
        .on_over = on_over,
        .attach = attach,
        .release = release,
        .refresh = refresh,
        .on_pending = on_pending,
        .on_change = on_change,
        .on_gone = on_gone,
        .on_keep = on_keep,
        .can_keep = can_keep,
        .on_cut = on_cut,
        .may_bind = may_bind,
        .authorize = authorize,
        .is_hiding_others = hs_access_control_is_hiding_others(),
        .ctx = daemon,
    };
    int r = hs_hub_new(&config, &daemon->hub);
    if (r == 0) {
        daemon->daemon_socket.fd = -1; /* the registry owns it now */
        /* Without a handler: the hub has its turn in any case. */
        r = hs_event_loop_add(&daemon->loop, hs_hub_fd(daemon->hub), &daemon->hub_source);
    }
    return r;
}

static int open_signals(struct hs_daemon *daemon)
{
    sigset_t set;
    signals(&set);
    daemon->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (daemon->signal_fd < 0) {
        return -errno;
    }
    daemon->signal_source = (struct hs_event_source){ on_signal, daemon };
    return hs_event_loop_add(&daemon->loop, daemon->signal_fd, &daemon->signal_source);
}

/* Gives each part what it needs of the others. */
static void connect_parts(struct hs_daemon *daemon)
{
    daemon->requests = (struct hs_requests){
        .hub = daemon->hub,
        .jobs = &daemon->jobs,
        .access = &daemon->access,
        .daemon_socket = &daemon->daemon_socket,
        .watches = &daemon->watches,
        .is_system = daemon->is_system,
        .uid = daemon->uid,
        .start_real_ns = hs_clock_ns(CLOCK_REALTIME),
    };
    daemon->peers.loop = &daemon->loop;
    daemon->peers.is_system = daemon->is_system;
    daemon->peers.uid = daemon->uid;
    daemon->peers.on_request = hs_request_handle;
    daemon->peers.ctx = &daemon->requests;
    daemon->jobs.loop = &daemon->loop;
    daemon->jobs.hub = daemon->hub;
    daemon->jobs.handover = &daemon->handover;
    daemon->jobs.on_done = on_done;
    daemon->jobs.ctx = daemon;
    daemon->store_workers.loop = &daemon->loop;
    daemon->store_workers.is_system = daemon->is_system;
    daemon->attach_workers.loop = &daemon->loop;
    daemon->attach_workers.hub = daemon->hub;
    daemon->attach_workers.jobs = &daemon->jobs;
    daemon->attach_workers.collector = daemon->daemon_socket.path;
}

int hs_daemon_open(struct hs_daemon_socket *daemon_socket, struct hs_access_control *access,
                   bool is_system, struct hs_daemon *ret_daemon)
{
    struct hs_daemon *daemon = ret_daemon;
    *daemon = (struct hs_daemon){ .is_system = is_system,
                                  .uid = geteuid(),
                                  .daemon_socket = *daemon_socket,
                                  .access = *access,
                                  .handover = HS_HANDOVER_NONE,
                                  .signal_fd = -1 };
    daemon_socket->fd = -1;
    daemon_socket->path[0] = '\0';
    *access = (struct hs_access_control){ 0 };
    int r = hs_event_loop_open(&daemon->loop);
    if (r == 0) {
        r = open_hub(daemon);
    }
    if (r == 0) {
        r = open_signals(daemon);
    }
    if (r < 0) {
        hs_daemon_close(daemon);
        return r;
    }
    connect_parts(daemon);
    hs_fd_limit_raise();
    return 0;
}

void hs_daemon_set_store(struct hs_daemon *daemon, const char *root,
                         const struct hs_store_limits *limits)
{
    snprintf(daemon->store_workers.root, sizeof(daemon->store_workers.root), "%s", root);
    daemon->store_workers.limits = *limits;
}

void hs_daemon_restore(struct hs_daemon *daemon, const struct hs_fdstore *store,
                       struct hs_fdstore_items *items)
{
    int r = hs_handover_open(store, items, &daemon->handover);
    if (r < 0) {
        hs_daemon_log("if this daemon is killed, its recordings are lost: %s", strerror(-r));
    }
    const struct hs_handover_parts parts = { .handover = &daemon->handover,
                                             .jobs = &daemon->jobs,
                                             .hub = daemon->hub,
                                             .access = &daemon->access,
                                             .is_system = daemon->is_system,
                                             .uid = daemon->uid };
    if (items->count > 0) {
        hs_handover_restore(&parts, items);
        update_startup_hint(daemon);
    }
}

void hs_daemon_close(struct hs_daemon *daemon)
{
    hs_attach_workers_forget_all(&daemon->attach_workers);
    hs_store_workers_forget_all(&daemon->store_workers);
    hs_watches_end_all(&daemon->watches);
    hs_peers_drop_all(&daemon->peers);
    hs_recording_jobs_free(&daemon->jobs);
    daemon->hub = hs_hub_free(daemon->hub);
    hs_daemon_socket_close(&daemon->daemon_socket);
    hs_handover_close(&daemon->handover);
    hs_access_control_close(&daemon->access);
    if (daemon->signal_fd >= 0) {
        close(daemon->signal_fd);
    }
    hs_event_loop_close(&daemon->loop);
}

int hs_daemon_run(struct hs_daemon *daemon)
{
    hs_supervisor_tell("READY=1");
    for (;;) {
        uint64_t now_ns = hs_clock_ns(CLOCK_MONOTONIC);
        uint64_t until_ns = hs_hub_turn(daemon->hub, now_ns);
        log_lack_of_descriptors(daemon, now_ns);
        uint64_t peers_ns = hs_peers_expire(&daemon->peers, now_ns);
        until_ns = peers_ns < until_ns ? peers_ns : until_ns;
        uint64_t watches_ns = hs_request_watches_turn(&daemon->requests, now_ns);
        until_ns = watches_ns < until_ns ? watches_ns : until_ns;
        uint64_t left_ns = hs_recording_jobs_end_left(&daemon->jobs, now_ns);
        until_ns = left_ns < until_ns ? left_ns : until_ns;
        if (daemon->is_stopping) {
            if ((hs_recording_jobs_finishing(&daemon->jobs) == 0 &&
                 hs_attach_workers_busy(&daemon->attach_workers) == 0 &&
                 daemon->store_workers.count == 0) ||
                now_ns >= daemon->stop_ns) {
                return 0;
            }
            until_ns = daemon->stop_ns < until_ns ? daemon->stop_ns : until_ns;
        }
        hs_event_loop_turn(&daemon->loop, until_ns);
    }
}
