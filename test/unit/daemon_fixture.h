/*
 * For tests of the daemon's parts: an event loop, a hub and a list of recording jobs, connected as
 * in a daemon; and the daemon's log.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/event_loop.h"
#include "daemon/handover/handover_save.h"
#include "daemon/recording_job.h"
#include "rt/clock.h"
#include "session/hub.h"

struct parts {
    struct hs_event_loop loop;
    struct hs_hub *hub;
    struct hs_recording_jobs jobs;
    struct hs_handover handover;
    unsigned done_count;
    char folder[32];
    int folder_fd;
};

static inline void on_over(void *ctx, struct hs_session *session)
{
    (void)ctx;
    hs_recording_job_finish(session->owner);
}

static inline void on_done(void *ctx, struct hs_recording_job *job)
{
    struct parts *parts = ctx;
    assert_int_equal(job->state, HS_RECORDING_JOB_DONE);
    parts->done_count++;
}

static inline void parts_init(struct parts *parts)
{
    memset(parts, 0, sizeof(*parts));
    parts->handover = HS_HANDOVER_NONE;
    assert_int_equal(hs_event_loop_open(&parts->loop), 0);
    const struct hs_hub_config config = { .listener.fd = -1, .on_over = on_over, .ctx = parts };
    assert_int_equal(hs_hub_new(&config, &parts->hub), 0);
    parts->jobs.loop = &parts->loop;
    parts->jobs.hub = parts->hub;
    parts->jobs.handover = &parts->handover;
    parts->jobs.on_done = on_done;
    parts->jobs.ctx = parts;
    strcpy(parts->folder, "/tmp/hs-parts-XXXXXX");
    assert_non_null(mkdtemp(parts->folder));
    parts->folder_fd = open(parts->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(parts->folder_fd >= 0);
}

static inline void parts_deinit(struct parts *parts)
{
    hs_recording_jobs_free(&parts->jobs);
    hs_hub_free(parts->hub);
    hs_handover_close(&parts->handover);
    hs_event_loop_close(&parts->loop);
    close(parts->folder_fd);
    assert_int_equal(rmdir(parts->folder), 0);
}

static inline bool has_file(const struct parts *parts, const char *name)
{
    return faccessat(parts->folder_fd, name, F_OK, 0) == 0;
}

/* --- jobs ------------------------------------------------------------------------------------- */

/* Makes a job of our own user whose session has begun, and adds it. */
static inline struct hs_recording_job *add_job(struct parts *parts, const char *name)
{
    struct hs_session_settings settings = { .interval_bytes = 4096, .is_taking_running = true };
    const struct hs_user_rights rights = { .uid = getuid(), .gid = getgid() };
    char temp_name[64];
    uint64_t now_ns = hs_clock_ns(CLOCK_MONOTONIC);
    struct hs_recording_job *job = hs_recording_job_new(&rights);
    assert_non_null(job);
    snprintf(temp_name, sizeof(temp_name), ".%s", name);
    snprintf(job->name, sizeof(job->name), "%s", name);
    assert_true(hs_recording_file_set_names(&job->file, temp_name, name, name));
    job->file.folder_fd = fcntl(parts->folder_fd, F_DUPFD_CLOEXEC, 0);
    job->file.file_fd =
        openat(parts->folder_fd, temp_name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(job->file.file_fd >= 0 && job->file.folder_fd >= 0);
    assert_int_equal(hs_recording_job_add(&parts->jobs, job), 0);
    assert_int_equal(hs_session_settings_add_pid(&settings, getpid()), 0);
    assert_int_equal(hs_session_new(&settings, hs_trace_write_fd,
                                    (void *)(intptr_t)job->file.file_fd, now_ns, &job->session),
                     0);
    job->session->owner = job;
    assert_int_equal(hs_hub_inherit_session(parts->hub, job->session, now_ns), 0);
    return job;
}

static inline void stop_job(struct parts *parts, const struct hs_recording_job *job)
{
    hs_hub_stop(parts->hub, job->session, hs_clock_ns(CLOCK_MONOTONIC));
}

static inline void remove_file(const struct parts *parts, const char *name)
{
    assert_int_equal(unlinkat(parts->folder_fd, name, 0), 0);
}

/* Handles events until `count` jobs are done. */
static inline void wait_for_done(struct parts *parts, unsigned count)
{
    uint64_t until_ns = hs_clock_ns(CLOCK_MONOTONIC) + UINT64_C(20000000000);
    while (parts->done_count < count && hs_clock_ns(CLOCK_MONOTONIC) < until_ns) {
        hs_event_loop_turn(&parts->loop, until_ns);
    }
    assert_int_equal(parts->done_count, count);
}

/* --- the log ---------------------------------------------------------------------------------- */

struct log {
    int fd, stderr_fd;
    char text[2048];
};

static inline void log_begin(struct log *log)
{
    log->fd = memfd_create("log", MFD_CLOEXEC);
    log->stderr_fd = dup(STDERR_FILENO);
    assert_true(log->fd >= 0 && log->stderr_fd >= 0);
    assert_int_equal(dup2(log->fd, STDERR_FILENO), STDERR_FILENO);
}

/* Returns what was logged since log_begin(). */
static inline const char *log_end(struct log *log)
{
    dup2(log->stderr_fd, STDERR_FILENO);
    ssize_t got = pread(log->fd, log->text, sizeof(log->text) - 1, 0);
    log->text[got > 0 ? got : 0] = '\0';
    close(log->fd);
    close(log->stderr_fd);
    return log->text;
}
