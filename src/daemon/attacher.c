/*
 * Forked processes that attach and detach: see attacher.h.
 */
#include "daemon/attacher.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/attachment.h"
#include "daemon/daemon_log.h"
#include "daemon/worker.h"
#include "util/fd_message.h"
#include "util/selfpath.h"

#define HS_PRELOAD_NAME "libheapscope_preload.so"
#define HS_PATIENCE_NS  UINT64_C(5000000000)

enum job { JOB_BRING, JOB_RELEASE, JOB_REFRESH };

/* One at work. */
struct hs_attacher {
    struct hs_source source; /* its socket */
    struct hs_attacher *next;
    uint64_t order_no; /* the order may be gone when it answers */
    pid_t pid;         /* of the process that is attached to */
    uid_t uid;         /* of that process */
    pid_t worker_pid;
    int sock;
    enum job job;
    /* What is wanted of the process as soon as this is done: one at a time. */
    bool has_next;
    enum job next_job;
    uint64_t next_order_no;
};

/* What it says; the region comes with it. */
struct news {
    bool is_done;
    struct hs_attachment attachment;
};

static struct hs_attacher *find(const struct hs_daemon *daemon, pid_t pid)
{
    struct hs_attacher *attacher = daemon->attachers;
    while (attacher && attacher->pid != pid) {
        attacher = attacher->next;
    }
    return attacher;
}

size_t hs_attachers_busy(const struct hs_daemon *daemon)
{
    size_t count = 0;
    for (const struct hs_attacher *a = daemon->attachers; a; a = a->next) {
        count++;
    }
    return count;
}

/* --- in the forked process ------------------------------------------------------------------------ */

static void send_news(int sock, const struct news *news)
{
    int fd = news->attachment.guest.region_fd;
    hs_fd_message_send(sock, news, sizeof(*news), &fd, fd >= 0, 0);
}

/* A process of somebody else is one that the policy gave the order: it is his rights that the kernel asks for. */
static int take_rights(const struct hs_order *order, pid_t pid, uid_t uid)
{
    return order->uid == 0 || order->uid == uid ? hs_worker_give_up_rights(order)
                                                : hs_worker_take_rights_of(pid, uid);
}

static void __attribute__((noreturn)) bring(const struct hs_order *order, uid_t uid,
                                            const struct hs_attachment_request *request, int sock)
{
    struct news news = { .attachment = { .guest = { .region_fd = -1, .pidfd = -1 } } };
    hs_worker_settle(&sock, 1);
    if (take_rights(order, request->pid, uid) == 0) {
        news.is_done = hs_attachment_begin(request, &news.attachment);
    }
    send_news(sock, &news);
    _exit(0);
}

static void __attribute__((noreturn))
call_in(const struct hs_order *order, enum job job, pid_t pid, uid_t uid, int sock)
{
    struct news news = { .attachment = { .guest = { .region_fd = -1, .pidfd = -1 } } };
    hs_worker_settle(&sock, 1);
    if (take_rights(order, pid, uid) == 0) {
        news.is_done = job == JOB_RELEASE
                           ? hs_attachment_end(pid, HS_PATIENCE_NS, &news.attachment)
                           : hs_attachment_refresh(pid, HS_PATIENCE_NS, &news.attachment);
    }
    send_news(sock, &news);
    _exit(0);
}

/* --- in the daemon ------------------------------------------------------------------------------------ */

static void forget(struct hs_daemon *daemon, struct hs_attacher *attacher)
{
    struct hs_attacher **link = &daemon->attachers;
    while (*link && *link != attacher) {
        link = &(*link)->next;
    }
    if (*link) {
        *link = attacher->next;
    }
    hs_daemon_unwatch(daemon, attacher->sock);
    close(attacher->sock);
    free(attacher);
}

void hs_attachers_forget_all(struct hs_daemon *daemon)
{
    while (daemon->attachers) {
        forget(daemon, daemon->attachers);
    }
}

/* The forked process owns the news until it is read: it may have been killed before it had any. */
static bool receive(const struct hs_attacher *attacher, struct news *ret_news)
{
    struct hs_guest *guest = &ret_news->attachment.guest;
    size_t fd_count;
    int fd = -1;
    ssize_t got = hs_fd_message_receive(attacher->sock, ret_news, sizeof(*ret_news), &fd, 1,
                                        &fd_count, MSG_DONTWAIT);
    guest->region_fd = fd;
    guest->pidfd = -1;
    return got == (ssize_t)sizeof(*ret_news) && ret_news->is_done &&
           (attacher->job != JOB_BRING || guest->region_fd >= 0);
}

static void note_failure(struct hs_daemon *daemon, const struct hs_attacher *attacher,
                         const struct news *news, uint64_t now_ns)
{
    static const char *const done[] = { "attached to", "let go of", "looked into again" };
    char words[sizeof(news->attachment.words)];
    snprintf(words, sizeof(words), "%.*s", (int)sizeof(words) - 1,
             news->attachment.words[0] ? news->attachment.words : "whoever tried has died");
    hs_daemon_log("process %d cannot be %s: %s", (int)attacher->pid, done[attacher->job], words);
    if (attacher->job != JOB_BRING) {
        return;
    }
    hs_hub_refuse(daemon->hub, attacher->pid, news->attachment.is_held, words, now_ns);
    struct hs_order *order = hs_order_find(daemon, attacher->order_no);
    if (order) {
        snprintf(order->note, sizeof(order->note), "process %d cannot be attached to: %s",
                 (int)attacher->pid, words);
    }
}

static void begin_next(struct hs_daemon *daemon, const struct hs_attacher *done);

static void on_news(struct hs_daemon *daemon, void *of, uint64_t now_ns)
{
    struct hs_attacher *attacher = of;
    struct news news = { .is_done = false };
    bool is_ok = receive(attacher, &news);
    if (!is_ok) {
        note_failure(daemon, attacher, &news, now_ns);
    }
    if (!is_ok && attacher->job == JOB_BRING) {
        hs_hub_give_up(daemon->hub, attacher->pid);
    } else if (is_ok && attacher->job == JOB_BRING) {
        news.attachment.guest.pid = attacher->pid;
        news.attachment.guest.uid = attacher->uid;
        hs_attachment_find_process(&news.attachment.guest);
        hs_hub_adopt(daemon->hub, &news.attachment.guest, now_ns);
    }
    waitpid(attacher->worker_pid, NULL, 0);
    const struct hs_attacher done = *attacher;
    forget(daemon, attacher);
    if (done.has_next) {
        begin_next(daemon, &done);
    }
}

/* A new one, forked: in the child its pid is 0. */
static int begin(struct hs_daemon *daemon, const struct hs_order *order, pid_t pid,
                 struct hs_attacher **ret_attacher, int *ret_sock)
{
    int socks[2];
    struct hs_attacher *attacher = calloc(1, sizeof(*attacher));
    if (!attacher || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) != 0) {
        free(attacher);
        return -ENOMEM;
    }
    *attacher = (struct hs_attacher){ .source = { on_news, attacher },
                                      .next = daemon->attachers,
                                      .order_no = order->number,
                                      .pid = pid,
                                      .sock = socks[0] };
    attacher->worker_pid = fork();
    *ret_attacher = attacher;
    *ret_sock = socks[1];
    if (attacher->worker_pid == 0) {
        return 0;
    }
    close(socks[1]);
    int r =
        attacher->worker_pid < 0 ? -errno : hs_daemon_watch(daemon, socks[0], &attacher->source);
    if (r < 0) {
        close(socks[0]);
        free(attacher);
        return r;
    }
    daemon->attachers = attacher;
    return 0;
}

/* Whoever is at this process is to be done first: it is let go of, or looked into again. */
static int wait_for(struct hs_attacher *attacher, enum job job, const struct hs_order *order)
{
    if (attacher->job == JOB_BRING || attacher->has_next) {
        return -EBUSY;
    }
    attacher->has_next = true;
    attacher->next_job = job;
    attacher->next_order_no = order->number;
    return 0;
}

int hs_attacher_bring(void *ctx, struct hs_session *session, const struct hs_process_facts *process)
{
    struct hs_daemon *daemon = ctx;
    const struct hs_order *order = session->owner;
    char client_path[PATH_MAX];
    struct hs_attacher *attacher;
    int sock;
    pid_t pid = process->facts.pid;
    if (pid == getpid()) {
        return -EBUSY;
    }
    if (find(daemon, pid)) {
        return wait_for(find(daemon, pid), JOB_BRING, order);
    }
    int r = hs_selfpath_find_lib(HS_PRELOAD_NAME, client_path, sizeof(client_path));
    if (r < 0) {
        return r;
    }
    const struct hs_attachment_request request = {
        .pid = pid,
        .client_path = client_path,
        .interval_bytes = session->settings.interval_bytes,
        .own_pid = getpid(),
        .collector = daemon->doorway.path,
        .patience_ns = HS_PATIENCE_NS,
    };
    r = begin(daemon, order, pid, &attacher, &sock);
    if (r == 0 && attacher->worker_pid == 0) {
        bring(order, process->facts.uid, &request, sock);
    }
    if (r == 0) {
        attacher->uid = process->facts.uid;
    }
    return r;
}

static int begin_call(struct hs_daemon *daemon, const struct hs_order *order, enum job job,
                      pid_t pid, uid_t uid)
{
    struct hs_attacher *attacher;
    int sock;
    int r = begin(daemon, order, pid, &attacher, &sock);
    if (r == 0 && attacher->worker_pid == 0) {
        call_in(order, job, pid, uid, sock);
    }
    if (r == 0) {
        attacher->job = job;
        attacher->uid = uid;
    }
    return r;
}

static uid_t uid_of(const struct hs_daemon *daemon, const struct hs_order *order, pid_t pid)
{
    const struct hs_target *target = hs_registry_find(&daemon->hub->registry, pid);
    return target ? target->uid : order->uid;
}

int hs_attacher_release(void *ctx, struct hs_session *session, pid_t pid)
{
    struct hs_daemon *daemon = ctx;
    const struct hs_order *order = session->owner;
    struct hs_attacher *busy = find(daemon, pid);
    return busy ? wait_for(busy, JOB_RELEASE, order)
                : begin_call(daemon, order, JOB_RELEASE, pid, uid_of(daemon, order, pid));
}

int hs_attacher_refresh(void *ctx, struct hs_session *session, pid_t pid)
{
    struct hs_daemon *daemon = ctx;
    const struct hs_order *order = session->owner;
    return find(daemon, pid)
               ? -EBUSY
               : begin_call(daemon, order, JOB_REFRESH, pid, uid_of(daemon, order, pid));
}

/* Of an order that may be over by now. */
static void begin_next(struct hs_daemon *daemon, const struct hs_attacher *done)
{
    struct hs_process_facts facts;
    const struct hs_order *order = hs_order_find(daemon, done->next_order_no);
    if (done->next_job == JOB_RELEASE) {
        if (order) {
            begin_call(daemon, order, JOB_RELEASE, done->pid, done->uid);
        }
        return;
    }
    if (!order || order->state != HS_ORDER_RUNNING ||
        hs_process_facts_read(done->pid, &facts) < 0 ||
        hs_attacher_bring(daemon, order->session, &facts) < 0) {
        hs_hub_give_up(daemon->hub, done->pid);
    }
}
