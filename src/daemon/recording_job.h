/*
 * A recording job: a session that a command asked for, the file that it goes to, and the commands
 * that wait for it.
 *
 *     RUNNING ──the session is over──► FINISHING ──the finalizer has ended──► DONE
 *
 * The command opens the file under a temporary name in the folder of the final file, and sends the
 * descriptors of the file and of the folder. So the session outlives the command, and the daemon
 * opens no path. The daemon remembers the last jobs that are done for `list` and `stop`.
 *
 * Threads   one.
 * Fails     -errno; a job without a file keeps the error in `result`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/event_loop.h"
#include "daemon/finalizer.h"
#include "daemon/handover/job_lock.h"
#include "daemon/recording_file.h"
#include "daemon/user_rights.h"
#include "session/hub.h"

#define HS_RECORDING_JOBS_MAX 512

struct hs_handover;
struct hs_recording_jobs;

enum hs_recording_job_state {
    HS_RECORDING_JOB_RUNNING,
    HS_RECORDING_JOB_FINISHING,
    HS_RECORDING_JOB_DONE,
};

struct hs_recording_job {
    struct hs_recording_jobs *jobs; /* the list that the job is or was in; NULL: in none so far */
    struct hs_event_source source;  /* the pipe from the finalizer */
    enum hs_recording_job_state state;
    struct hs_session *session;          /* NULL: it is over */
    struct hs_session_settings settings; /* those of the session, after it is over */
    uint64_t number;                     /* unique, also among the jobs of previous daemons */
    char name[HS_SESSION_NAME_MAX + 1];
    char note[512];               /* why a process could not be attached to; "" */
    char heap_note[1024];         /* about heaps that no process registered; "" */
    struct hs_user_rights rights; /* of its user; it is finished with them */
    struct hs_recording_file file;
    bool is_kept;            /* for the next daemon: hs_recording_job_keep() */
    struct hs_job_lock lock; /* for its finalizer */
    bool is_owned;           /* by a command: the job ends when no peer waits for its end, */
    int owner_fd;            /* and the command has ended (a pidfd; -1: unknown) */
    uint64_t alone_until_ns; /* or this time has passed (CLOCK_MONOTONIC) */
    size_t waiting_count;    /* peers that wait for its end */
    bool is_inherited;       /* a previous daemon wrote a part of the file */
    struct hs_finalizer finalizer;
    struct hs_finalizer_result result;
    uint64_t done_number; /* its place in the order in which jobs became done; 0: it is not done */
    uint64_t start_real_ns, end_real_ns;
    uint64_t process_count, rejected_count, dump_count, sample_count; /* at the session's end */
};

/* The job is done, with or without a file. */
typedef void hs_recording_job_done_fn(void *ctx, struct hs_recording_job *job);

/* The daemon's jobs, with what they need of the daemon. The owner sets the first five fields. */
struct hs_recording_jobs {
    struct hs_event_loop *loop;
    struct hs_hub *hub;
    struct hs_handover *handover;
    hs_recording_job_done_fn *on_done;
    void *ctx;
    struct hs_recording_job *list[HS_RECORDING_JOBS_MAX]; /* oldest first */
    size_t count;
    uint64_t last_number; /* of the newest job */
    uint64_t last_done;   /* done_number of the job that became done last */
    uint64_t last_name;   /* the last number that became the name of a job without a name */
};

/* Makes a job of this user without a session, which is in no list yet; all its descriptors are -1.
 * Copies the rights. Returns NULL if there is no memory. */
struct hs_recording_job *hs_recording_job_new(const struct hs_user_rights *rights);
/* Closes and frees the job. Accepts NULL; returns NULL. */
struct hs_recording_job *hs_recording_job_free(struct hs_recording_job *job);

/* The job of this number in the list, or NULL. */
struct hs_recording_job *hs_recording_job_find(const struct hs_recording_jobs *jobs,
                                               uint64_t number);

/* Adds the job to the list, and gives it a name if it has none. Returns 0, -E2BIG if there are too
 * many jobs, or -EEXIST if another job has the name. */
int hs_recording_job_add(struct hs_recording_jobs *jobs, struct hs_recording_job *job);
/* Removes the job from the list, and frees it. */
void hs_recording_job_remove(struct hs_recording_job *job);

/* Keeps the job, whose session has begun, for the next daemon; logs an error. `request` is a packed
 * Start. From now on each dump is followed by hs_recording_job_save_progress(). */
void hs_recording_job_keep(struct hs_recording_job *job, const uint8_t *request,
                           size_t request_bytes);
/* Updates what is kept of the job's progress, also for a job of a previous daemon, which is kept
 * already. */
void hs_recording_job_save_progress(struct hs_recording_job *job);
/* Drops what is kept of the job. */
void hs_recording_job_drop_kept(struct hs_recording_job *job);

/* The job's session is over: has a finalizer finish the file. */
void hs_recording_job_finish(struct hs_recording_job *job);

/* A text that says why there is no file; NULL: there is one. */
const char *hs_recording_job_why(const struct hs_recording_job *job);

/* The job belongs to the command that asked for it. That command must connect, or connect again,
 * within 15 seconds and wait for the job's end; otherwise, or if the command ends before, the job
 * ends. `pid` is the command's; 0: unknown. */
void hs_recording_job_expect_owner(struct hs_recording_job *job, pid_t pid, uint64_t now_ns);
/* A peer waits for the job's end. */
void hs_recording_job_add_waiting(struct hs_recording_job *job);
/* A peer that waited for the job's end is gone: another one has a second to take its place. */
void hs_recording_job_drop_waiting(struct hs_recording_job *job, uint64_t now_ns);
/* Ends the jobs whose command is gone. Returns when to call it again (CLOCK_MONOTONIC; UINT64_MAX:
 * no job is without its command). */
uint64_t hs_recording_jobs_end_left(struct hs_recording_jobs *jobs, uint64_t now_ns);

/* How many jobs have a finalizer at work. */
size_t hs_recording_jobs_finishing(const struct hs_recording_jobs *jobs);
/* Frees all jobs in the list. */
void hs_recording_jobs_free(struct hs_recording_jobs *jobs);
