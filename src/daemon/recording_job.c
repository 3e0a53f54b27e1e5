/*
 * Recording jobs: see recording_job.h.
 */
#include "daemon/recording_job.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "daemon/daemon_log.h"
#include "daemon/handover/handover_save.h"
#include "rt/clock.h"

#define HS_RECORDING_JOBS_OF_USER_MAX 128 /* not done */
#define HS_RECORDING_JOBS_DONE_MAX    16
/* How long a new or resumed job waits for its command. The command looks for 10 seconds for a
 * restarted daemon. */
#define HS_OWNER_COMES_NS UINT64_C(15000000000)
/* How often the daemon checks whether a command was killed between two connections. */
#define HS_OWNER_LOOK_NS UINT64_C(100000000)
/* A command that asks for the end opens a new connection before it closes the old one; the daemon
 * may see both events in any order, and so waits this long for the new one. */
#define HS_OWNER_MISSED_NS UINT64_C(1000000000)

/* --- making and freeing ----------------------------------------------------------------------- */

struct hs_recording_job *hs_recording_job_new(const struct hs_user_rights *rights)
{
    struct hs_recording_job *job = calloc(1, sizeof(*job));
    if (!job) {
        return NULL;
    }
    job->file = HS_RECORDING_FILE_NONE;
    job->finalizer = HS_FINALIZER_NONE;
    job->lock = HS_JOB_LOCK_NONE;
    job->owner_fd = -1;
    if (hs_user_rights_init(&job->rights, rights->uid, rights->gid, rights->groups,
                            rights->group_count) < 0) {
        return hs_recording_job_free(job);
    }
    job->start_real_ns = hs_clock_ns(CLOCK_REALTIME);
    return job;
}

static void close_files(struct hs_recording_job *job)
{
    if (job->owner_fd >= 0) {
        close(job->owner_fd);
        job->owner_fd = -1;
    }
    hs_recording_file_close(&job->file);
    hs_finalizer_close(&job->finalizer);
}

struct hs_recording_job *hs_recording_job_free(struct hs_recording_job *job)
{
    if (job) {
        close_files(job);
        hs_session_free(job->session);
        hs_session_settings_deinit(&job->settings);
        hs_user_rights_deinit(&job->rights);
        hs_recording_file_deinit(&job->file);
        free(job);
    }
    return NULL;
}

/* --- the list --------------------------------------------------------------------------------- */

static void take_out(struct hs_recording_jobs *jobs, const struct hs_recording_job *job)
{
    for (size_t i = 0; i < jobs->count; i++) {
        if (jobs->list[i] == job) {
            jobs->count--;
            memmove(jobs->list + i, jobs->list + i + 1, (jobs->count - i) * sizeof(jobs->list[0]));
            return;
        }
    }
}

static void forget_old(struct hs_recording_jobs *jobs)
{
    for (size_t i = jobs->count; i > 0; i--) {
        struct hs_recording_job *job = jobs->list[i - 1];
        if (job->state == HS_RECORDING_JOB_DONE &&
            job->done_number + HS_RECORDING_JOBS_DONE_MAX <= jobs->last_done) {
            hs_recording_job_remove(job);
        }
    }
}

static size_t count_of_user(const struct hs_recording_jobs *jobs, uid_t uid)
{
    size_t count = 0;
    for (size_t i = 0; i < jobs->count; i++) {
        const struct hs_recording_job *job = jobs->list[i];
        count += job->rights.uid == uid && job->state != HS_RECORDING_JOB_DONE;
    }
    return count;
}

static struct hs_recording_job *find(const struct hs_recording_jobs *jobs, const char *name)
{
    for (size_t i = 0; i < jobs->count; i++) {
        if (strcmp(jobs->list[i]->name, name) == 0) {
            return jobs->list[i];
        }
    }
    return NULL;
}

struct hs_recording_job *hs_recording_job_find(const struct hs_recording_jobs *jobs,
                                               uint64_t number)
{
    for (size_t i = 0; i < jobs->count; i++) {
        if (jobs->list[i]->number == number) {
            return jobs->list[i];
        }
    }
    return NULL;
}

int hs_recording_job_add(struct hs_recording_jobs *jobs, struct hs_recording_job *job)
{
    uid_t uid = job->rights.uid;
    forget_old(jobs);
    if (jobs->count == HS_RECORDING_JOBS_MAX ||
        (uid != 0 && count_of_user(jobs, uid) >= HS_RECORDING_JOBS_OF_USER_MAX)) {
        return -E2BIG;
    }
    if (job->name[0]) {
        struct hs_recording_job *known = find(jobs, job->name);
        if (known && (known->state != HS_RECORDING_JOB_DONE || known->rights.uid != uid)) {
            return -EEXIST;
        }
        if (known) {
            hs_recording_job_remove(known); /* it is done: the new job takes its name */
        }
    } else {
        do {
            snprintf(job->name, sizeof(job->name), "%llu", (unsigned long long)++jobs->last_name);
        } while (find(jobs, job->name));
    }
    if (job->number == 0) {
        job->number = ++jobs->last_number;
    } else if (job->number > jobs->last_number) {
        jobs->last_number = job->number;
    }
    job->jobs = jobs;
    jobs->list[jobs->count++] = job;
    return 0;
}

void hs_recording_job_remove(struct hs_recording_job *job)
{
    take_out(job->jobs, job);
    hs_recording_job_free(job);
}

void hs_recording_jobs_free(struct hs_recording_jobs *jobs)
{
    for (size_t i = 0; i < jobs->count; i++) {
        hs_recording_job_free(jobs->list[i]);
    }
    jobs->count = 0;
}

size_t hs_recording_jobs_finishing(const struct hs_recording_jobs *jobs)
{
    size_t count = 0;
    for (size_t i = 0; i < jobs->count; i++) {
        count += jobs->list[i]->state == HS_RECORDING_JOB_FINISHING;
    }
    return count;
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

void hs_recording_job_add_waiting(struct hs_recording_job *job)
{
    job->waiting_count++;
}

void hs_recording_job_drop_waiting(struct hs_recording_job *job, uint64_t now_ns)
{
    job->waiting_count--;
    job->alone_until_ns = now_ns + HS_OWNER_MISSED_NS;
}

static bool is_left(const struct hs_recording_job *job)
{
    return job->is_owned && job->state == HS_RECORDING_JOB_RUNNING && job->waiting_count == 0;
}

static bool has_owner_ended(const struct hs_recording_job *job)
{
    struct pollfd fd = { .fd = job->owner_fd, .events = POLLIN };
    return job->owner_fd >= 0 && poll(&fd, 1, 0) > 0;
}

uint64_t hs_recording_jobs_end_left(struct hs_recording_jobs *jobs, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    for (size_t i = 0; i < jobs->count;) {
        struct hs_recording_job *job = jobs->list[i];
        i++;
        if (!is_left(job)) {
            continue;
        }
        if (now_ns < job->alone_until_ns && !has_owner_ended(job)) {
            uint64_t look_ns = now_ns + HS_OWNER_LOOK_NS;
            next_ns = look_ns < next_ns ? look_ns : next_ns;
        } else {
            hs_daemon_log("session %s ends: the command that asked for it has ended", job->name);
            hs_hub_stop(jobs->hub, job->session, now_ns);
            i = 0; /* start again: the list may have changed. This job is not running any more. */
        }
    }
    return next_ns;
}

/* --- the next daemon -------------------------------------------------------------------------- */

static void on_written(void *owner, struct hs_session *session)
{
    (void)session;
    hs_recording_job_save_progress(owner);
}

void hs_recording_job_keep(struct hs_recording_job *job, const uint8_t *request,
                           size_t request_bytes)
{
    struct hs_handover *handover = job->jobs->handover;
    const struct hs_handover_job kept = {
        .number = job->number,
        .name = job->name,
        .rights = &job->rights,
        .file = &job->file,
        .start_real_ns = job->start_real_ns,
        .request = request,
        .request_bytes = request_bytes,
    };
    const struct hs_session_progress progress = hs_session_progress(job->session);
    if (!hs_handover_is_open(handover)) {
        return;
    }
    int r = hs_handover_save_job(handover, &kept, &progress);
    if (r < 0) {
        hs_daemon_log("session %s is lost if this daemon is killed: %s", job->name, strerror(-r));
        return;
    }
    job->is_kept = true;
    job->lock = (struct hs_job_lock){ .fd = handover->locks_fd, .number = job->number };
    job->session->on_written = on_written;
}

void hs_recording_job_save_progress(struct hs_recording_job *job)
{
    if (!job->is_kept || !job->session) {
        return;
    }
    const struct hs_session_progress progress = hs_session_progress(job->session);
    job->session->on_written = on_written;
    int r = hs_handover_update_job(job->jobs->handover, job->number,
                                   job->state != HS_RECORDING_JOB_RUNNING, &progress);
    if (r < 0) {
        hs_daemon_log("session %s: cannot save its progress for the next daemon: %s", job->name,
                      strerror(-r));
    }
}

void hs_recording_job_drop_kept(struct hs_recording_job *job)
{
    if (job->is_kept) {
        job->is_kept = false;
        hs_handover_drop_job(job->jobs->handover, job->number);
    }
}

/* --- the end ---------------------------------------------------------------------------------- */

#define NOTHING_RECORDED                                                                           \
    "no process was recorded: none that the session names ran long enough to be noticed. "         \
    "heapscope compares a name with the command that 'ps -eo pid,args' shows, without its "        \
    "folder, with the script that the process runs, and with the name that 'ps -eo pid,comm' "     \
    "shows"

const char *hs_recording_job_why(const struct hs_recording_job *job)
{
    int error = job->result.error;
    if (error == -ENODATA) {
        return job->note[0] ? job->note : NOTHING_RECORDED;
    }
    return error ? strerror(-error) : NULL;
}

/* The job is done: closes its files, and tells the owner of the list. */
static void set_done(struct hs_recording_job *job)
{
    struct hs_recording_jobs *jobs = job->jobs;
    hs_recording_job_drop_kept(job);
    close_files(job);
    job->state = HS_RECORDING_JOB_DONE;
    job->done_number = ++jobs->last_done;
    if (job->result.error) {
        hs_daemon_log("session %s has ended without a file %s: %s", job->name, job->file.path,
                      hs_recording_job_why(job));
    } else {
        hs_daemon_log("session %s has ended: %s", job->name, job->file.path);
    }
    jobs->on_done(jobs->ctx, job);
}

static void on_result(void *of, uint64_t now_ns)
{
    struct hs_recording_job *job = of;
    struct hs_recording_jobs *jobs = job->jobs;
    (void)now_ns;
    if (hs_finalizer_receive(&job->finalizer, &job->result)) {
        hs_event_loop_remove(jobs->loop, job->finalizer.result_fd);
        set_done(job);
        forget_old(jobs); /* not in set_done(): callers of hs_recording_job_finish() use the job */
    }
}

/* A previous daemon may have seen other heaps. */
static void note_heaps(struct hs_recording_job *job, const struct hs_session *session)
{
    struct hs_buf text = HS_BUF_INIT;
    if (!job->is_inherited && session->dump_count > 0) {
        hs_heaps_seen_words(&session->heaps_seen, &session->settings.heaps, &text);
        snprintf(job->heap_note, sizeof(job->heap_note), "%s", hs_buf_text(&text));
    }
    hs_buf_deinit(&text);
}

void hs_recording_job_finish(struct hs_recording_job *job)
{
    struct hs_session *session = job->session;
    job->state = HS_RECORDING_JOB_FINISHING;
    job->end_real_ns = hs_clock_ns(CLOCK_REALTIME);
    job->process_count = session->process_count;
    job->rejected_count = session->rejected_count;
    job->dump_count = session->dump_count;
    job->sample_count = session->ended_sample_count;
    job->result.file_bytes = session->bytes;
    note_heaps(job, session);
    job->source = (struct hs_event_source){ on_result, job };
    hs_recording_job_save_progress(job); /* before a finalizer exists, which locks the job */
    const struct hs_finalizer_task task = {
        .session = session,
        .file = &job->file,
        .rights = &job->rights,
        .lock = job->lock,
        .is_inherited = job->is_inherited,
        .is_empty = job->process_count == 0 && job->rejected_count == 0,
    };
    int r = hs_finalizer_start(&task, job->jobs->loop, &job->source, &job->finalizer);
    job->settings = session->settings;
    session->settings = (struct hs_session_settings){ 0 };
    job->session = hs_session_free(session);
    if (r < 0) {
        job->result.error = r;
        set_done(job);
    }
}
