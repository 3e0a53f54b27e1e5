/*
 * Forks the processes that attach and detach, and reads their results: see attach_worker.h.
 */
#include "daemon/attach_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/attach/attachment.h"
#include "daemon/daemon_log.h"
#include "daemon/worker_process.h"
#include "util/fd_message.h"
#include "util/selfpath.h"

#define HS_PATIENCE_NS UINT64_C(5000000000)

enum task { TASK_BRING, TASK_RELEASE, TASK_REFRESH };

/* An attach worker that is at work. */
struct hs_attach_worker {
    struct hs_attach_workers *workers; /* the list that it is in */
    struct hs_event_source source;     /* its socket */
    struct hs_attach_worker *next;
    uint64_t job_no; /* a number: the recording job may be gone when the worker answers */
    pid_t pid;       /* the process that it works on */
    uid_t uid;       /* the user of that process */
    pid_t worker_pid;
    int sock;
    enum task task;
    /* The next task for the same process: tasks run one after the other. */
    bool has_next;
    enum task next_task;
    uint64_t next_job_no;
};

/* The result that the worker sends; the region comes with it as a descriptor. */
struct result {
    bool is_done;
    struct hs_attachment attachment;
};

static struct hs_attach_worker *find(const struct hs_attach_workers *workers, pid_t pid)
{
    struct hs_attach_worker *worker = workers->list;
    while (worker && worker->pid != pid) {
        worker = worker->next;
    }
    return worker;
}

size_t hs_attach_workers_busy(const struct hs_attach_workers *workers)
{
    size_t count = 0;
    for (const struct hs_attach_worker *a = workers->list; a; a = a->next) {
        count++;
    }
    return count;
}

/* --- in the forked process -------------------------------------------------------------------- */

static void send_result(int sock, const struct result *result)
{
    int fd = result->attachment.pending.region_fd;
    hs_fd_message_send(sock, result, sizeof(*result), &fd, fd >= 0, 0);
}

/* If the process belongs to another user than the recording job, the policy gave it to the job. The
 * kernel then checks for the rights of the process's user. */
static int take_rights(const struct hs_recording_job *job, pid_t pid, uid_t uid)
{
    return job->rights.uid == 0 || job->rights.uid == uid
               ? hs_worker_process_keep_rights(&job->rights)
               : hs_worker_process_take_rights_of(pid, uid);
}

static void __attribute__((noreturn)) bring(const struct hs_recording_job *job, uid_t uid,
                                            const struct hs_attachment_request *request, int sock)
{
    struct result result = { .attachment = { .pending = { .region_fd = -1, .pidfd = -1 } } };
    hs_worker_process_settle(&sock, 1);
    if (take_rights(job, request->pid, uid) == 0) {
        result.is_done = hs_attachment_begin(request, &result.attachment);
    }
    send_result(sock, &result);
    _exit(0);
}

static void __attribute__((noreturn))
release_or_refresh(const struct hs_recording_job *job, enum task task, pid_t pid, uid_t uid,
                   int sock)
{
    struct result result = { .attachment = { .pending = { .region_fd = -1, .pidfd = -1 } } };
    hs_worker_process_settle(&sock, 1);
    if (take_rights(job, pid, uid) == 0) {
        result.is_done = task == TASK_RELEASE
                             ? hs_attachment_end(pid, HS_PATIENCE_NS, &result.attachment)
                             : hs_attachment_refresh(pid, HS_PATIENCE_NS, &result.attachment);
    }
    send_result(sock, &result);
    _exit(0);
}

/* --- in the daemon ---------------------------------------------------------------------------- */

static void forget(struct hs_attach_worker *worker)
{
    struct hs_attach_workers *workers = worker->workers;
    struct hs_attach_worker **link = &workers->list;
    while (*link && *link != worker) {
        link = &(*link)->next;
    }
    if (*link) {
        *link = worker->next;
    }
    hs_event_loop_remove(workers->loop, worker->sock);
    close(worker->sock);
    free(worker);
}

void hs_attach_workers_forget_all(struct hs_attach_workers *workers)
{
    while (workers->list) {
        forget(workers->list);
    }
}

/* Reads the worker's result. Returns whether it succeeded; it may also have been killed before it
 * sent one. */
static bool receive(const struct hs_attach_worker *worker, struct result *ret_result)
{
    struct hs_pending_client *pending = &ret_result->attachment.pending;
    size_t fd_count;
    int fd = -1;
    ssize_t got = hs_fd_message_receive(worker->sock, ret_result, sizeof(*ret_result), &fd, 1,
                                        &fd_count, MSG_DONTWAIT);
    pending->region_fd = fd;
    pending->pidfd = -1;
    return got == (ssize_t)sizeof(*ret_result) && ret_result->is_done &&
           (worker->task != TASK_BRING || pending->region_fd >= 0);
}

static void note_failure(const struct hs_attach_worker *worker, const struct result *result,
                         uint64_t now_ns)
{
    static const char *const done[] = { "attached to", "detached from",
                                        "searched for new libraries" };
    char words[sizeof(result->attachment.words)];
    snprintf(words, sizeof(words), "%.*s", (int)sizeof(words) - 1,
             result->attachment.words[0] ? result->attachment.words : "the attach worker died");
    hs_daemon_log("process %d cannot be %s: %s", (int)worker->pid, done[worker->task], words);
    if (worker->task != TASK_BRING) {
        return;
    }
    const struct hs_attach_workers *workers = worker->workers;
    hs_hub_refuse(workers->hub, worker->pid, result->attachment.is_held, words, now_ns);
    struct hs_recording_job *job = hs_recording_job_find(workers->jobs, worker->job_no);
    if (job) {
        snprintf(job->note, sizeof(job->note), "process %d cannot be attached to: %s",
                 (int)worker->pid, words);
    }
}

static void begin_next(const struct hs_attach_worker *done);

static void on_result(void *of, uint64_t now_ns)
{
    struct hs_attach_worker *worker = of;
    struct hs_attach_workers *workers = worker->workers;
    struct result result = { .is_done = false };
    struct hs_pending_client *pending = &result.attachment.pending;
    bool is_ok = receive(worker, &result);
    if (!is_ok) {
        note_failure(worker, &result, now_ns);
    }
    if (is_ok && worker->task == TASK_BRING) {
        pending->pid = worker->pid;
        pending->uid = worker->uid;
        hs_attachment_find_process(pending);
        hs_hub_take_client(workers->hub, pending, now_ns);
    } else {
        hs_pending_client_close(pending);
        if (worker->task == TASK_BRING) {
            hs_hub_give_up(workers->hub, worker->pid);
        }
    }
    waitpid(worker->worker_pid, NULL, 0);
    const struct hs_attach_worker done = *worker;
    forget(worker);
    if (done.has_next) {
        begin_next(&done);
    }
}

/* Forks a new worker. In the child, worker_pid is 0, and *ret_sock is the socket for its result. */
static int begin(struct hs_attach_workers *workers, const struct hs_recording_job *job, pid_t pid,
                 struct hs_attach_worker **ret_worker, int *ret_sock)
{
    int socks[2];
    struct hs_attach_worker *worker = calloc(1, sizeof(*worker));
    int r = worker ? 0 : -ENOMEM;
    if (r == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) != 0) {
        r = -errno;
    }
    if (r < 0) {
        free(worker);
        return r;
    }
    *worker = (struct hs_attach_worker){ .workers = workers,
                                         .source = { on_result, worker },
                                         .next = workers->list,
                                         .job_no = job->number,
                                         .pid = pid,
                                         .sock = socks[0] };
    *ret_worker = worker;
    *ret_sock = socks[1];
    /* Before the fork: a worker whose result could not be read must not touch the process. */
    r = hs_event_loop_add(workers->loop, socks[0], &worker->source);
    if (r == 0) {
        worker->worker_pid = fork();
        r = worker->worker_pid < 0 ? -errno : 0;
        if (r == 0 && worker->worker_pid == 0) {
            return 0;
        }
        workers->list = worker;
    }
    close(socks[1]);
    if (r < 0) {
        forget(worker);
    }
    return r;
}

/* Queues a task for a process that a worker is detaching from or refreshing. Returns 0, or -EBUSY
 * if the worker is attaching to the process, or if a task is queued already. */
static int queue_task(struct hs_attach_worker *worker, enum task task,
                      const struct hs_recording_job *job)
{
    if (worker->task == TASK_BRING || worker->has_next) {
        return -EBUSY;
    }
    worker->has_next = true;
    worker->next_task = task;
    worker->next_job_no = job->number;
    return 0;
}

int hs_attach_worker_bring(struct hs_attach_workers *workers, struct hs_session *session,
                           const struct hs_process_facts *process)
{
    const struct hs_recording_job *job = session->owner;
    char client_path[PATH_MAX];
    struct hs_attach_worker *worker;
    int sock;
    pid_t pid = process->facts.pid;
    if (pid == getpid()) {
        return -EBUSY;
    }
    if (find(workers, pid)) {
        return queue_task(find(workers, pid), TASK_BRING, job);
    }
    int r = hs_selfpath_find_lib(HS_PRELOAD_NAME, client_path, sizeof(client_path));
    if (r < 0) {
        return r;
    }
    const struct hs_attachment_request request = {
        .pid = pid,
        .client_path = client_path,
        .interval_bytes = session->settings.interval_bytes,
        .heaps = &session->settings.heaps,
        .own_pid = getpid(),
        .collector = workers->collector,
        .is_following = true,
        .patience_ns = HS_PATIENCE_NS,
    };
    r = begin(workers, job, pid, &worker, &sock);
    if (r == 0 && worker->worker_pid == 0) {
        bring(job, process->facts.uid, &request, sock);
    }
    if (r == 0) {
        worker->uid = process->facts.uid;
    }
    return r;
}

static int begin_call(struct hs_attach_workers *workers, const struct hs_recording_job *job,
                      enum task task, pid_t pid, uid_t uid)
{
    struct hs_attach_worker *worker;
    int sock;
    int r = begin(workers, job, pid, &worker, &sock);
    if (r == 0 && worker->worker_pid == 0) {
        release_or_refresh(job, task, pid, uid, sock);
    }
    if (r == 0) {
        worker->task = task;
        worker->uid = uid;
    }
    return r;
}

static uid_t uid_of(const struct hs_attach_workers *workers, const struct hs_recording_job *job,
                    pid_t pid)
{
    const struct hs_target *target = hs_registry_find(&workers->hub->registry, pid);
    return target ? target->process.uid : job->rights.uid;
}

int hs_attach_worker_release(struct hs_attach_workers *workers, struct hs_session *session,
                             pid_t pid)
{
    const struct hs_recording_job *job = session->owner;
    struct hs_attach_worker *busy = find(workers, pid);
    return busy ? queue_task(busy, TASK_RELEASE, job)
                : begin_call(workers, job, TASK_RELEASE, pid, uid_of(workers, job, pid));
}

int hs_attach_worker_refresh(struct hs_attach_workers *workers, struct hs_session *session,
                             pid_t pid)
{
    const struct hs_recording_job *job = session->owner;
    return find(workers, pid)
               ? -EBUSY
               : begin_call(workers, job, TASK_REFRESH, pid, uid_of(workers, job, pid));
}

/* Begins the queued task. Its recording job may be over by now. */
static void begin_next(const struct hs_attach_worker *done)
{
    struct hs_process_facts facts;
    struct hs_attach_workers *workers = done->workers;
    const struct hs_recording_job *job = hs_recording_job_find(workers->jobs, done->next_job_no);
    if (done->next_task == TASK_RELEASE) {
        if (job) {
            begin_call(workers, job, TASK_RELEASE, done->pid, done->uid);
        }
        return;
    }
    if (!job || job->state != HS_RECORDING_JOB_RUNNING ||
        hs_process_facts_read(done->pid, &facts) < 0 ||
        hs_attach_worker_bring(workers, job->session, &facts) < 0) {
        hs_hub_give_up(workers->hub, done->pid);
    }
}
