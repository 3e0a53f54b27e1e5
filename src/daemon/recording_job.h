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

#include "ctl/ctl.pb-c.h"
#include "daemon/daemon.h"

struct hs_peer;

enum hs_recording_job_state {
    HS_RECORDING_JOB_RUNNING,
    HS_RECORDING_JOB_FINISHING,
    HS_RECORDING_JOB_DONE,
};

/* What the finalizer reports through its pipe. */
struct hs_recording_job_result {
    int error; /* 0: the file has its final name; -ENODATA: there was nothing to write */
    uint64_t file_bytes;
};

struct hs_recording_job {
    struct hs_source source; /* the pipe from the finalizer */
    enum hs_recording_job_state state;
    struct hs_session *session;          /* NULL: it is over */
    struct hs_session_settings settings; /* those of the session, after it is over */
    uint64_t number;                     /* unique, also among the jobs of previous daemons */
    char name[HS_SESSION_NAME_MAX + 1];
    char note[512]; /* why a process could not be attached to; "" */
    uid_t uid;      /* its user; it is finished with that user's rights */
    gid_t gid;
    gid_t *groups; /* group_count groups, and one more: `gid` */
    size_t group_count;
    int file_fd, folder_fd;
    int about_fd;            /* for the next daemon, see handover_save.h; -1: not in the store */
    uint32_t epoch;          /* how many daemons have taken the job over */
    bool is_owned;           /* by a command: the job ends when no peer waits for its end, */
    int owner_fd;            /* and the command has ended (a pidfd; -1: unknown) */
    uint64_t alone_until_ns; /* or this time has passed (CLOCK_MONOTONIC) */
    bool is_inherited;       /* a previous daemon wrote a part of the file */
    char *temp_name, *final_name; /* of the file in its folder */
    char *path;                   /* of the file, for messages only */
    pid_t finalizer_pid;
    int result_fd; /* -1: none */
    struct hs_recording_job_result result;
    uint64_t start_real_ns, end_real_ns;
    uint64_t process_count, rejected_count, dump_count, sample_count; /* at the session's end */
};

/* Makes a job of this user without a session, which is not in the daemon's list yet; all its
 * descriptors are -1. Returns NULL if there is no memory. */
struct hs_recording_job *hs_recording_job_new(uid_t uid, gid_t gid, const gid_t *groups,
                                              size_t group_count);
/* Closes and frees the job. Accepts NULL; returns NULL. */
struct hs_recording_job *hs_recording_job_free(struct hs_recording_job *job);

/* Takes the names of the file from the request. Returns false if a name is missing or invalid, or
 * if there is no memory. */
bool hs_recording_job_name_file(struct hs_recording_job *job, const Hs__Ctl__Start *request);

/* The job of this number in the daemon's list, or NULL. */
struct hs_recording_job *hs_recording_job_find(const struct hs_daemon *daemon, uint64_t number);

/* Adds the job to the list, and gives it a name if it has none. Returns 0, -E2BIG if there are too
 * many jobs, or -EEXIST if another job has the name. */
int hs_recording_job_add(struct hs_daemon *daemon, struct hs_recording_job *job);
/* Removes the job from the list, and frees it. */
void hs_recording_job_remove(struct hs_daemon *daemon, struct hs_recording_job *job);

/* The job's session is over: has a finalizer finish the file. */
void hs_recording_job_finish(struct hs_daemon *daemon, struct hs_recording_job *job);

/* A text that says why there is no file; NULL: there is one. */
const char *hs_recording_job_why(const struct hs_recording_job *job);

/* May this peer see a process: one of its user's, or one that a session of its user records? */
bool hs_recording_job_may_see(const struct hs_daemon *daemon, const struct hs_peer *peer,
                              const struct hs_target *target);

/* Sends a peer the result of a job that is done. Returns as hs_peer_reply() does. */
int hs_recording_job_tell(struct hs_peer *peer, const struct hs_recording_job *job);

/* The job belongs to the command that asked for it. That command must connect, or connect again,
 * within 15 seconds and wait for the job's end; otherwise, or if the command ends before, the job
 * ends. `pid` is the command's; 0: unknown. */
void hs_recording_job_expect_owner(struct hs_recording_job *job, pid_t pid, uint64_t now_ns);
/* A peer that waited for the job's end is gone: another one has a second to take its place. */
void hs_recording_job_miss_owner(struct hs_recording_job *job, uint64_t now_ns);
/* Ends the jobs whose command is gone. Returns when to call it again (CLOCK_MONOTONIC; UINT64_MAX:
 * no job is without its command). */
uint64_t hs_recording_jobs_end_left(struct hs_daemon *daemon, uint64_t now_ns);

/* How many jobs have a finalizer at work. */
size_t hs_recording_jobs_finishing(const struct hs_daemon *daemon);
/* Frees all jobs in the list. */
void hs_recording_jobs_free(struct hs_daemon *daemon);
