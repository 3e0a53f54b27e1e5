/*
 * For tests of the daemon's parts: an event loop, a hub and a list of recording jobs, connected as
 * in a daemon; and the daemon's log.
 */
#pragma once

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
