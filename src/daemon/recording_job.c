/*
 * Recording jobs: see recording_job.h.
 */
#include "daemon/recording_job.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl/ctl.pb-c.h"
#include "daemon/daemon_log.h"
#include "daemon/finalizer.h"
#include "daemon/handover/handover_save.h"
#include "daemon/peer.h"
#include "daemon/start_settings.h"

#define HS_ORDERS_OF_USER_MAX 128 /* not done */
#define HS_ORDERS_DONE_MAX    16
/* How long a new or resumed job waits for its command. The command looks for 10 seconds for a
 * restarted daemon. */
#define HS_OWNER_COMES_NS UINT64_C(15000000000)
/* How often the daemon checks whether a command was killed between two connections. */
#define HS_OWNER_LOOK_NS UINT64_C(100000000)
/* A command that asks for the end opens a new connection before it closes the old one; the daemon
 * may see both events in any order, and so waits this long for the new one. */
#define HS_OWNER_MISSED_NS UINT64_C(1000000000)

/* --- making and freeing ----------------------------------------------------------------------- */

struct hs_recording_job *hs_recording_job_new(uid_t uid, gid_t gid, const gid_t *groups,
                                              size_t group_count)
{
    struct hs_recording_job *job = calloc(1, sizeof(*job));
    if (!job) {
        return NULL;
    }
    job->file_fd = job->folder_fd = job->result_fd = job->about_fd = job->owner_fd = -1;
    job->uid = uid;
    job->gid = gid;
    job->groups = malloc((group_count + 1) * sizeof(gid_t));
    if (!job->groups) {
        return hs_recording_job_free(job);
    }
    memcpy(job->groups, groups, group_count * sizeof(gid_t));
    job->groups[group_count] = gid;
    job->group_count = group_count;
    job->start_real_ns = hs_daemon_real_ns();
    return job;
}

static void close_files(struct hs_recording_job *job)
{
    int *const fds[] = { &job->file_fd, &job->folder_fd, &job->result_fd, &job->about_fd,
                         &job->owner_fd };
    for (size_t i = 0; i < HS_COUNT_OF(fds); i++) {
        if (*fds[i] >= 0) {
            close(*fds[i]);
            *fds[i] = -1;
        }
    }
}

struct hs_recording_job *hs_recording_job_free(struct hs_recording_job *job)
{
    if (job) {
        close_files(job);
        hs_session_free(job->session);
        hs_session_settings_deinit(&job->settings);
        free(job->groups);
        free(job->temp_name);
        free(job->final_name);
        free(job->path);
        free(job);
    }
    return NULL;
}

bool hs_recording_job_name_file(struct hs_recording_job *job, const Hs__Ctl__Start *request)
{
    if (!hs_start_is_file_name(request->temp_name) || !hs_start_is_file_name(request->final_name) ||
        !request->path || strlen(request->path) >= PATH_MAX) {
        return false;
    }
    job->temp_name = strdup(request->temp_name);
    job->final_name = strdup(request->final_name);
    job->path = strdup(request->path);
    for (char *c = job->path; c && *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 127) {
            *c = '?'; /* the path is only used in logs and on terminals */
        }
    }
    return job->temp_name && job->final_name && job->path;
}

/* --- the list --------------------------------------------------------------------------------- */

static void take_out(struct hs_daemon *daemon, const struct hs_recording_job *job)
{
    for (size_t i = 0; i < daemon->job_count; i++) {
        if (daemon->jobs[i] == job) {
            daemon->job_count--;
            memmove(daemon->jobs + i, daemon->jobs + i + 1,
                    (daemon->job_count - i) * sizeof(daemon->jobs[0]));
            return;
        }
    }
}

static void forget_old(struct hs_daemon *daemon, size_t done_max)
{
    size_t done_count = 0;
    for (size_t i = daemon->job_count; i > 0; i--) {
        struct hs_recording_job *job = daemon->jobs[i - 1];
        done_count += job->state == HS_RECORDING_JOB_DONE;
        if (job->state == HS_RECORDING_JOB_DONE && done_count > done_max) {
            hs_recording_job_remove(daemon, job);
        }
    }
}

static size_t count_of_user(const struct hs_daemon *daemon, uid_t uid)
{
    size_t count = 0;
    for (size_t i = 0; i < daemon->job_count; i++) {
        const struct hs_recording_job *job = daemon->jobs[i];
        count += job->uid == uid && job->state != HS_RECORDING_JOB_DONE;
    }
    return count;
}

static struct hs_recording_job *find(const struct hs_daemon *daemon, const char *name)
{
    for (size_t i = 0; i < daemon->job_count; i++) {
        if (strcmp(daemon->jobs[i]->name, name) == 0) {
            return daemon->jobs[i];
        }
    }
    return NULL;
}

struct hs_recording_job *hs_recording_job_find(const struct hs_daemon *daemon, uint64_t number)
{
    for (size_t i = 0; i < daemon->job_count; i++) {
        if (daemon->jobs[i]->number == number) {
            return daemon->jobs[i];
        }
    }
    return NULL;
}

int hs_recording_job_add(struct hs_daemon *daemon, struct hs_recording_job *job)
{
    forget_old(daemon, HS_ORDERS_DONE_MAX);
    if (daemon->job_count == HS_ORDERS_MAX ||
        (job->uid != 0 && count_of_user(daemon, job->uid) >= HS_ORDERS_OF_USER_MAX)) {
        return -E2BIG;
    }
    if (job->name[0]) {
        struct hs_recording_job *known = find(daemon, job->name);
        if (known && (known->state != HS_RECORDING_JOB_DONE || known->uid != job->uid)) {
            return -EEXIST;
        }
        if (known) {
            hs_recording_job_remove(daemon, known); /* it is done: the new job takes its name */
        }
    }
    while (!job->name[0] || find(daemon, job->name)) {
        snprintf(job->name, sizeof(job->name), "%llu", (unsigned long long)daemon->next_job++);
    }
    if (job->number == 0) {
        job->number = ++daemon->job_number;
    } else if (job->number > daemon->job_number) {
        daemon->job_number = job->number;
    }
    daemon->jobs[daemon->job_count++] = job;
    return 0;
}

void hs_recording_job_remove(struct hs_daemon *daemon, struct hs_recording_job *job)
{
    take_out(daemon, job);
    hs_recording_job_free(job);
}

void hs_recording_jobs_free(struct hs_daemon *daemon)
{
    while (daemon->job_count > 0) {
        hs_recording_job_remove(daemon, daemon->jobs[0]);
    }
}

size_t hs_recording_jobs_finishing(const struct hs_daemon *daemon)
{
    size_t count = 0;
    for (size_t i = 0; i < daemon->job_count; i++) {
        count += daemon->jobs[i]->state == HS_RECORDING_JOB_FINISHING;
    }
    return count;
}

bool hs_recording_job_may_see(const struct hs_daemon *daemon, const struct hs_peer *peer,
                              const struct hs_target *target)
{
    const struct hs_session *session = hs_hub_session_of(target);
    const struct hs_recording_job *job = session ? session->owner : NULL;
    return hs_peer_may(daemon, peer, target->uid) || (job && job->uid == peer->uid);
}

/* --- the command that a job belongs to -------------------------------------------------------- */

void hs_recording_job_expect_owner(struct hs_recording_job *job, pid_t pid, uint64_t now_ns)
{
    job->is_owned = true;
    job->alone_until_ns = now_ns + HS_OWNER_COMES_NS;
    if (pid > 0) {
        job->owner_fd = (int)syscall(SYS_pidfd_open, pid, 0);
        /* ESRCH, or EINVAL from some kernels: the command has ended, and its parent has reaped
         * it. */
        bool is_gone = job->owner_fd < 0 && (errno == ESRCH || errno == EINVAL);
        job->alone_until_ns = is_gone ? now_ns : job->alone_until_ns;
    }
}

void hs_recording_job_miss_owner(struct hs_recording_job *job, uint64_t now_ns)
{
    job->alone_until_ns = now_ns + HS_OWNER_MISSED_NS;
}

static bool is_left(const struct hs_daemon *daemon, const struct hs_recording_job *job)
{
    bool is_left = job->is_owned && job->state == HS_RECORDING_JOB_RUNNING;
    for (size_t i = 0; is_left && i < daemon->peer_count; i++) {
        is_left = daemon->peers[i]->awaited != job;
    }
    return is_left;
}

static bool has_owner_ended(const struct hs_recording_job *job)
{
    struct pollfd fd = { .fd = job->owner_fd, .events = POLLIN };
    return job->owner_fd >= 0 && poll(&fd, 1, 0) > 0;
}

uint64_t hs_recording_jobs_end_left(struct hs_daemon *daemon, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    for (size_t i = 0; i < daemon->job_count;) {
        struct hs_recording_job *job = daemon->jobs[i];
        i++;
        if (!is_left(daemon, job)) {
            continue;
        }
        if (now_ns < job->alone_until_ns && !has_owner_ended(job)) {
            uint64_t look_ns = now_ns + HS_OWNER_LOOK_NS;
            next_ns = look_ns < next_ns ? look_ns : next_ns;
        } else {
            hs_daemon_log("session %s ends: the command that asked for it has ended", job->name);
            hs_hub_stop(daemon->hub, job->session, now_ns);
            i = 0; /* start again: the list may have changed. This job is not running any more. */
        }
    }
    return next_ns;
}

/* --- the end ---------------------------------------------------------------------------------- */

#define NOTHING_RECORDED                                                                           \
    "no process was recorded: none that the session names ran long enough to be noticed. "         \
    "heapscope compares names with the program's name without its folder: 'ps -eo pid,args' "      \
    "shows them"

const char *hs_recording_job_why(const struct hs_recording_job *job)
{
    int error = job->result.error;
    if (error == -ENODATA) {
        return job->note[0] ? job->note : NOTHING_RECORDED;
    }
    return error ? strerror(-error) : NULL;
}

int hs_recording_job_tell(struct hs_peer *peer, const struct hs_recording_job *job)
{
    Hs__Ctl__Stopped stopped = HS__CTL__STOPPED__INIT;
    stopped.session = (char *)(uintptr_t)job->name;
    stopped.path = job->path;
    stopped.has_file_bytes = stopped.has_process_count = stopped.has_dump_count =
        stopped.has_rejected_count = true;
    stopped.file_bytes = job->result.file_bytes;
    stopped.process_count = job->process_count;
    stopped.dump_count = job->dump_count;
    stopped.rejected_count = job->rejected_count;
    stopped.error = (char *)(uintptr_t)hs_recording_job_why(job);
    stopped.note = job->note[0] ? (char *)(uintptr_t)job->note : NULL;
    return hs_peer_reply(peer, HS_CTL_STOPPED, &stopped.base, NULL, 0);
}

/* The job is done: closes its files, and answers the peers that wait for it. */
static void set_done(struct hs_daemon *daemon, struct hs_recording_job *job)
{
    hs_handover_drop_job(daemon, job);
    close_files(job);
    job->state = HS_RECORDING_JOB_DONE;
    if (job->result.error) {
        hs_daemon_log("session %s has ended without a file %s: %s", job->name, job->path,
                      hs_recording_job_why(job));
    } else {
        hs_daemon_log("session %s has ended: %s", job->name, job->path);
    }
    for (size_t i = daemon->peer_count; i > 0; i--) {
        struct hs_peer *peer = daemon->peers[i - 1];
        if (peer->awaited == job) {
            peer->awaited = NULL;
            peer->heard_ns = hs_daemon_mono_ns();
            if (hs_recording_job_tell(peer, job) < 0) {
                hs_peer_drop(daemon, peer);
            }
        }
    }
    forget_old(daemon, HS_ORDERS_DONE_MAX);
}

static void on_result(struct hs_daemon *daemon, void *of, uint64_t now_ns)
{
    struct hs_recording_job *job = of;
    (void)now_ns;
    ssize_t got = read(job->result_fd, &job->result, sizeof(job->result));
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (got != (ssize_t)sizeof(job->result)) {
        job->result.error = -EIO; /* the finalizer died */
    }
    hs_daemon_unwatch(daemon, job->result_fd);
    waitpid(job->finalizer_pid, NULL, 0);
    set_done(daemon, job);
}

void hs_recording_job_finish(struct hs_daemon *daemon, struct hs_recording_job *job)
{
    struct hs_session *session = job->session;
    job->state = HS_RECORDING_JOB_FINISHING;
    job->end_real_ns = hs_daemon_real_ns();
    job->process_count = session->process_count;
    job->rejected_count = session->rejected_count;
    job->dump_count = session->dump_count;
    job->sample_count = session->ended_sample_count;
    job->result.file_bytes = session->bytes;
    job->source = (struct hs_source){ on_result, job };
    hs_handover_update_job(job); /* before a finalizer exists, which locks the job */
    int r = hs_finalizer_start(job);
    if (r == 0) {
        r = hs_daemon_watch(daemon, job->result_fd, &job->source);
    }
    job->settings = session->settings;
    session->settings = (struct hs_session_settings){ 0 };
    job->session = hs_session_free(session);
    if (r < 0) {
        job->result.error = r;
        set_done(daemon, job);
    }
}
