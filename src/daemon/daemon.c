/*
 * The loop: see daemon.h.
 */
#include "daemon/daemon.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "daemon/attach_worker.h"
#include "daemon/daemon_log.h"
#include "daemon/handover/handover_save.h"
#include "daemon/peer.h"
#include "daemon/recording_job.h"
#include "daemon/handover/supervisor.h"
#include "rt/clock.h"

#define HS_TURN_EVENTS_MAX 64
/* Looking up the names of functions takes at most two minutes. */
#define HS_STOP_MAX_NS UINT64_C(150000000000)
/* The log gets the message about missing descriptors at most this often. */
#define HS_COMPLAINT_NS UINT64_C(60000000000)

uint64_t hs_daemon_mono_ns(void)
{
    return hs_clock_ns(CLOCK_MONOTONIC);
}

uint64_t hs_daemon_real_ns(void)
{
    return hs_clock_ns(CLOCK_REALTIME);
}

int hs_daemon_watch(struct hs_daemon *daemon, int fd, struct hs_source *source)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = source };
    return epoll_ctl(daemon->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

void hs_daemon_unwatch(struct hs_daemon *daemon, int fd)
{
    epoll_ctl(daemon->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

/* --- events ----------------------------------------------------------------------------------- */

static void on_peer(void *ctx, int connection_fd)
{
    hs_peer_add(ctx, connection_fd);
}

static void on_over(void *ctx, struct hs_session *session)
{
    struct hs_daemon *daemon = ctx;
    hs_recording_job_finish(daemon, session->owner);
    hs_daemon_write_startup_hint(daemon);
}

/* Does nothing: the loop calls hs_hub_turn() in any case. */
static void on_hub(struct hs_daemon *daemon, void *of, uint64_t now_ns)
{
    (void)daemon;
    (void)of;
    (void)now_ns;
}

static void begin_to_stop(struct hs_daemon *daemon, uint64_t now_ns)
{
    if (daemon->is_stopping) {
        return;
    }
    daemon->is_stopping = true;
    daemon->stop_ns = now_ns + HS_STOP_MAX_NS;
    hs_supervisor_tell("STOPPING=1");
    while (daemon->hub->session_count > 0) {
        hs_hub_stop(daemon->hub, daemon->hub->sessions[0], now_ns);
    }
}

void hs_daemon_stop(struct hs_daemon *daemon)
{
    begin_to_stop(daemon, hs_daemon_mono_ns());
}

static void on_signal(struct hs_daemon *daemon, void *of, uint64_t now_ns)
{
    struct signalfd_siginfo info;
    (void)of;
    while (read(daemon->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGUSR1) {
            hs_hub_dump_all(daemon->hub, now_ns);
        } else if (info.ssi_signo == SIGHUP && daemon->access.path) {
            hs_access_control_reload(daemon, now_ns);
        } else {
            begin_to_stop(daemon, now_ns);
        }
    }
}

void hs_daemon_write_startup_hint(struct hs_daemon *daemon)
{
    int r =
        hs_daemon_socket_write_hint(&daemon->daemon_socket, hs_hub_startup_interval(daemon->hub));
    if (r < 0) {
        hs_daemon_log("cannot write %s.board: %s; programs that start are recorded a moment later "
                      "than they could be",
                      daemon->daemon_socket.path, strerror(-r));
    }
}

/* Logs that no descriptor is left. Programs and commands that connect then wait until other
 * programs end; the user of a command would only see a daemon that does not answer. */
static void log_lack_of_descriptors(struct hs_daemon *daemon, uint64_t now_ns)
{
    struct rlimit limit = { 0 };
    if (hs_hub_is_deaf(daemon->hub) && now_ns >= daemon->complaint_ns) {
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

/* The daemon needs two descriptors for each process that announced itself, and three for each
 * session. */
static void raise_limits(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int open_hub(struct hs_daemon *daemon)
{
    const struct hs_hub_config config = {
        .listener = { .fd = daemon->daemon_socket.fd, .is_open_to_all = daemon->is_system },
        .on_peer = on_peer,
        .on_over = on_over,
        .attach = hs_attach_worker_bring,
        .release = hs_attach_worker_release,
        .refresh = hs_attach_worker_refresh,
        .on_pending = hs_handover_save_pending_client,
        .on_change = hs_handover_save_target,
        .on_gone = hs_handover_drop_target,
        .judge = hs_access_control_authorize,
        .is_hiding_others = hs_access_control_is_hiding_others(),
        .ctx = daemon,
    };
    int r = hs_hub_new(&config, &daemon->hub);
    if (r == 0) {
        daemon->daemon_socket.fd = -1; /* the registry owns it now */
        daemon->hub_source = (struct hs_source){ on_hub, NULL };
        r = hs_daemon_watch(daemon, hs_hub_fd(daemon->hub), &daemon->hub_source);
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
    daemon->signal_source = (struct hs_source){ on_signal, NULL };
    return hs_daemon_watch(daemon, daemon->signal_fd, &daemon->signal_source);
}

int hs_daemon_open(struct hs_daemon_socket *daemon_socket, const struct hs_fdstore *store,
                   struct hs_access_control *access, bool is_system, struct hs_daemon *ret_daemon)
{
    struct hs_daemon *daemon = ret_daemon;
    *daemon = (struct hs_daemon){ .is_system = is_system,
                                  .uid = geteuid(),
                                  .daemon_socket = *daemon_socket,
                                  .store = *store,
                                  .access = *access,
                                  .epoll_fd = epoll_create1(EPOLL_CLOEXEC),
                                  .signal_fd = -1,
                                  .start_real_ns = hs_daemon_real_ns(),
                                  .next_job = 1 };
    daemon_socket->fd = -1;
    daemon_socket->path[0] = '\0';
    *access = (struct hs_access_control){ 0 };
    int r = daemon->epoll_fd >= 0 ? 0 : -errno;
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
    raise_limits();
    return 0;
}

void hs_daemon_close(struct hs_daemon *daemon)
{
    hs_attach_workers_forget_all(daemon);
    hs_peers_drop_all(daemon);
    hs_recording_jobs_free(daemon);
    daemon->hub = hs_hub_free(daemon->hub);
    hs_daemon_socket_close(&daemon->daemon_socket);
    hs_fdstore_close(&daemon->store);
    hs_handover_deinit(daemon);
    hs_access_control_close(&daemon->access);
    if (daemon->signal_fd >= 0) {
        close(daemon->signal_fd);
    }
    if (daemon->epoll_fd >= 0) {
        close(daemon->epoll_fd);
    }
}

static int wait_ms(uint64_t now_ns, uint64_t until_ns)
{
    if (until_ns == UINT64_MAX) {
        return -1;
    }
    uint64_t ms = until_ns > now_ns ? (until_ns - now_ns + 999999) / 1000000 : 0;
    return ms < 3600000 ? (int)ms : 3600000;
}

/* Handles events one at a time, because handling one event may free what another one points to; and
 * at most HS_TURN_EVENTS_MAX of them, so that the hub has its turn. */
static void handle_events(struct hs_daemon *daemon, int first_wait_ms)
{
    struct epoll_event event;
    for (int i = 0; i < HS_TURN_EVENTS_MAX; i++) {
        if (epoll_wait(daemon->epoll_fd, &event, 1, i == 0 ? first_wait_ms : 0) <= 0) {
            return;
        }
        const struct hs_source *source = event.data.ptr;
        if (source == &daemon->hub_source) {
            return; /* the hub's turn is next; its descriptor stays readable until then */
        }
        source->handle(daemon, source->of, hs_daemon_mono_ns());
    }
}

int hs_daemon_run(struct hs_daemon *daemon)
{
    hs_supervisor_tell("READY=1");
    for (;;) {
        uint64_t now_ns = hs_daemon_mono_ns();
        uint64_t until_ns = hs_hub_turn(daemon->hub, now_ns);
        log_lack_of_descriptors(daemon, now_ns);
        uint64_t peers_ns = hs_peers_expire(daemon, now_ns);
        until_ns = peers_ns < until_ns ? peers_ns : until_ns;
        uint64_t left_ns = hs_recording_jobs_end_left(daemon, now_ns);
        until_ns = left_ns < until_ns ? left_ns : until_ns;
        if (daemon->is_stopping) {
            if ((hs_recording_jobs_finishing(daemon) == 0 && hs_attach_workers_busy(daemon) == 0) ||
                now_ns >= daemon->stop_ns) {
                return 0;
            }
            until_ns = daemon->stop_ns < until_ns ? daemon->stop_ns : until_ns;
        }
        handle_events(daemon, wait_ms(hs_daemon_mono_ns(), until_ns));
    }
}
