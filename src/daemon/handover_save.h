/*
 * What a daemon leaves when it is killed, and how the next one goes on with it.
 *
 * For each recording job: its file and folder, and a memfd with its request and how far it has come. For each target: its
 * region and pidfd, under a name that says what only we know of it. Both are given to the store (fdstore.h) when they
 * begin, and taken back when they are over. A target's figures are all in its region, so whatever happens between two
 * daemons is in the next dump. The trace goes on behind what was written last.
 *
 *     hs_handover_save_job, _target     they are there, or changed
 *     hs_handover_drop_job, _target     they are over
 *     hs_handover_restore                   at the start, before the first turn
 *
 * Names (decimal numbers):
 *     hs1-listener                        the daemon's socket
 *     hs1-job-NUMBER                    file and folder
 *     hs1-about-NUMBER                    memfd: struct hs_handover_head, and a KeptOrder of ctl.proto
 *     hs1-target-PID-UID-FLAGS-BYTES-ORDER-BITS-SESSION_START-INTERVAL-RSS_START-SERIAL
 *
 * Holds     a recording job's file is finished by one process only. A finalizer locks the memfd first (as fcntl(2) does: until
 *           it dies), and looks whether another daemon has taken the recording job over since it was forked; and a
 *           daemon does not take over what is locked.
 * Threads   one.
 * Fails     what cannot be taken over is logged, and let go of: a target goes on unrecorded, a file stays as it is
 *           under its temporary name.
 */
#pragma once

#include "daemon/recording_job.h"
#include "daemon/fdstore.h"

#define HS_HANDOVER_PREFIX    "hs1-"
#define HS_HANDOVER_LISTENER  "hs1-listener"
#define HS_HANDOVER_JOB       "hs1-order-"
#define HS_HANDOVER_ABOUT     "hs1-about-"

#define HS_HANDOVER_UNDECIDED UINT64_MAX

/* How far a recording job has come; rewritten with each dump. */
struct hs_handover_head {
    uint32_t version;
    uint32_t body_bytes; /* of the KeptOrder behind it */
    uint32_t epoch;      /* times it was taken over */
    uint32_t is_over;    /* its file is to be finished */
    struct hs_session_progress progress;
};

struct hs_handover_target {
    pid_t pid;
    uid_t uid;
    uint32_t hello_flags;
    uint64_t region_bytes;
    uint64_t job_number; /* 0: nobody's; HS_HANDOVER_UNDECIDED: it has just said hello */
    struct hs_target_state state;
};

/* The name of an item; and back. The serial number is there so that no two are alike. */
void hs_handover_name_target(const struct hs_handover_target *target, uint64_t serial,
                             char ret_name[HS_FDSTORE_NAME_MAX + 1]);
bool hs_handover_parse_target(const char *name, struct hs_handover_target *ret_target);

/* `request`: a packed Start. The recording job's session has begun. */
void hs_handover_save_job(struct hs_daemon *daemon, struct hs_recording_job *job,
                          const uint8_t *request, size_t request_bytes);
/* A recording job that came from there is kept as it is. */
void hs_handover_restore_job(struct hs_recording_job *job);
/* It has come further; or it is over. */
void hs_handover_update_job(struct hs_recording_job *job);
void hs_handover_drop_job(struct hs_daemon *daemon, struct hs_recording_job *job);

/* In the process that finishes it: may it? */
bool hs_handover_lock_job(const struct hs_recording_job *job);

/* As hs_registry_pending_fn, at once: what was received before it is kept is lost, if we are killed in between. */
void hs_handover_save_pending_client(void *daemon, const struct hs_pending_client *pending);

/* As hs_hub_target_fn. */
void hs_handover_save_target(void *daemon, struct hs_target *target);
void hs_handover_drop_target(void *daemon, struct hs_target *target);

/* Takes over what is in `items`, and leaves the rest there. */
void hs_handover_restore(struct hs_daemon *daemon, struct hs_fdstore_items *items);

void hs_handover_deinit(struct hs_daemon *daemon);
