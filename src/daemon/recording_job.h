/*
 * A recording job: a session that a command asked for, the file it goes to, and who waits for it.
 *
 *     RUNNING ──the session is over──► FINISHING ──its process ended──► DONE
 *
 * The file was opened by the command, under a name of its own in the folder where it will be, and came as a
 * descriptor together with that folder's. So the session outlives the command, and we open no path.
 * Recording jobs that are done are remembered for a while, for `list` and `stop`.
 *
 * Threads   one.
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

/* What the finishing process says. */
struct hs_recording_job_result {
    int error; /* 0: the file is there, under its name; -ENODATA: there was nothing to write */
    uint64_t file_bytes;
};

struct hs_recording_job {
    struct hs_source source; /* the pipe from the finishing process */
    enum hs_recording_job_state state;
    struct hs_session *session;          /* NULL: over */
    struct hs_session_settings settings; /* the session's, once that is over */
    uint64_t number;                     /* of all that there were */
    char name[HS_SESSION_NAME_MAX + 1];
    char note[512]; /* why a process could not be had; "" */
    uid_t uid;      /* whose it is, and with whose rights it is finished */
    gid_t gid;
    gid_t *groups; /* one more than their count: the last is `gid` */
    size_t group_count;
    int file_fd, folder_fd;
    int about_fd;            /* for a daemon after us, see handover_save.h; -1: nobody keeps it */
    uint32_t epoch;          /* times it was taken over */
    bool is_owned;           /* by a command: it ends when no peer waits for its end, */
    int owner_fd;            /* and the command has ended (a pidfd; -1: not known), */
    uint64_t alone_until_ns; /* or it is later than this (CLOCK_MONOTONIC) */
    bool is_inherited;       /* its file has a part that a daemon before us wrote */
    char *temp_name, *final_name, *path; /* in the folder; and for people */
    pid_t finalizer_pid;
    int result_fd; /* -1: none */
    struct hs_recording_job_result result;
    uint64_t start_real_ns, end_real_ns;
    uint64_t process_count, rejected_count, dump_count, sample_count; /* when it was over */
};

/* Empty, of this user, its descriptors -1; not in the daemon's list yet. NULL: no memory. */
struct hs_recording_job *hs_recording_job_new(uid_t uid, gid_t gid, const gid_t *groups,
                                              size_t group_count);
/* NULL is fine. Returns NULL. */
struct hs_recording_job *hs_recording_job_free(struct hs_recording_job *job);

/* What its file is called, as the request says. False: it says no such thing, or there is no memory. */
bool hs_recording_job_name_file(struct hs_recording_job *job, const Hs__Ctl__Start *request);

/* The one of this number; NULL: it is not in the list, or no longer. */
struct hs_recording_job *hs_recording_job_find(const struct hs_daemon *daemon, uint64_t number);

/* Puts it in the list, and gives it a name if it has none. -E2BIG, -EEXIST. */
int hs_recording_job_add(struct hs_daemon *daemon, struct hs_recording_job *job);
/* Takes it out again, and frees it. */
void hs_recording_job_remove(struct hs_daemon *daemon, struct hs_recording_job *job);

/* Its session is over: writes what is left, in a process of its own. */
void hs_recording_job_finish(struct hs_daemon *daemon, struct hs_recording_job *job);

/* Why there is no file, in words; NULL: there is. */
const char *hs_recording_job_why(const struct hs_recording_job *job);

/* May this peer see a process: his own, or one that his own session records? */
bool hs_recording_job_may_see(const struct hs_daemon *daemon, const struct hs_peer *peer,
                              const struct hs_target *target);

/* Tells a peer what became of one that is done. */
int hs_recording_job_tell(struct hs_peer *peer, const struct hs_recording_job *job);

/* The recording job belongs to the command that asked for it, which is to come, or to come again, within some seconds, unless it
 * ends before. `pid` 0: not known. */
void hs_recording_job_expect_owner(struct hs_recording_job *job, pid_t pid, uint64_t now_ns);
/* A peer that waited for its end is gone: others have a moment to take its place. */
void hs_recording_job_miss_owner(struct hs_recording_job *job, uint64_t now_ns);
/* Ends sessions whose command is gone; returns when to come back. */
uint64_t hs_recording_jobs_end_left(struct hs_daemon *daemon, uint64_t now_ns);

size_t hs_recording_jobs_finishing(const struct hs_daemon *daemon);
void hs_recording_jobs_free(struct hs_daemon *daemon);
