/*
 * The handover: what a daemon leaves in the fdstore in case it is killed, and how the next daemon
 * continues (handover_restore.h).
 *
 * For each recording job the store holds its file, its folder, and a memfd with its request and its
 * progress. For each target it holds the region and the pidfd, under a name that contains the facts
 * that only the daemon knows. The daemon gives both to the store (fdstore.h) when they begin, and
 * removes them when they are over. All figures of a target are in its region, so the next dump
 * contains what happens between two daemons. The next daemon appends to the trace behind the last
 * complete dump.
 *
 *     hs_handover_save_job, _target     they have begun, or changed
 *     hs_handover_drop_job, _target     they are over
 *
 * Names in the store (all numbers are decimal):
 *     hs1-listener                        the daemon's listening socket
 *     hs1-order-NUMBER                    a recording job's file and folder
 *     hs1-about-NUMBER                    memfd: a struct hs_handover_head, then a KeptOrder
 *                                         (ctl.proto)
 *     hs1-target-PID-UID-FLAGS-BYTES-ORDER-BITS-SESSION_START-INTERVAL-RSS_START-SERIAL
 *
 * Ensures   only one process finishes the file of a recording job. A finalizer first locks the
 *           memfd (with fcntl(2), so the lock ends with the process), and checks that no other
 *           daemon has taken the job over since the finalizer was forked. A daemon takes over no
 *           job whose memfd is locked.
 * Threads   one.
 * Fails     a job or target that cannot be taken over is logged and dropped: a target continues
 *           unrecorded, a file stays as it is under its temporary name.
 */
#pragma once

#include "daemon/handover/fdstore.h"
#include "daemon/recording_job.h"

#define HS_HANDOVER_PREFIX    "hs1-"
#define HS_HANDOVER_LISTENER  "hs1-listener"
#define HS_HANDOVER_JOB       "hs1-order-"
#define HS_HANDOVER_ABOUT     "hs1-about-"

#define HS_HANDOVER_UNDECIDED UINT64_MAX

/* The progress of a recording job; rewritten with each dump. */
struct hs_handover_head {
    uint32_t version;
    uint32_t body_bytes; /* length of the KeptOrder that follows */
    uint32_t epoch;      /* how many daemons have taken the job over */
    uint32_t is_over;    /* the session is over, and its file must be finished */
    struct hs_session_progress progress;
};

struct hs_handover_target {
    pid_t pid;
    uid_t uid;
    uint32_t hello_flags;
    uint64_t region_bytes;
    uint64_t job_number; /* 0: no job's; HS_HANDOVER_UNDECIDED: a pending client */
    struct hs_target_state state;
};

/* Formats the facts about a target as the name of an item. The serial number makes each name
 * unique. */
void hs_handover_name_target(const struct hs_handover_target *target, uint64_t serial,
                             char ret_name[HS_FDSTORE_NAME_MAX + 1]);
/* Parses such a name. Returns false for any other name. */
bool hs_handover_parse_target(const char *name, struct hs_handover_target *ret_target);

/* What the daemon has put into the store. */
struct hs_handover {
    struct hs_fdstore store;     /* holds our descriptors if we are killed */
    struct hs_kept_target *kept; /* targets in the store */
    size_t kept_count, kept_capacity;
};

struct hs_kept_target;

/* Puts a recording job whose session has begun into the store. `request` is a packed Start. */
void hs_handover_save_job(struct hs_handover *handover, struct hs_recording_job *job,
                          const uint8_t *request, size_t request_bytes);
/* A recording job that came from the store stays in it, and is updated from now on. */
void hs_handover_restore_job(struct hs_recording_job *job);
/* Updates the progress of a job in its memfd, also whether its session is over. */
void hs_handover_update_job(struct hs_recording_job *job);
/* Removes a job from the store. */
void hs_handover_drop_job(struct hs_handover *handover, struct hs_recording_job *job);

/* Call it in the finalizer, with the job's about_fd and epoch: locks the job. Returns whether the
 * finalizer may finish the file. */
bool hs_handover_lock_job(int about_fd, uint32_t epoch);

/* Puts a pending client into the store. Has the form of hs_registry_pending_fn, which is called at
 * once: if the daemon is killed between receiving a region and saving it, the region is lost. */
void hs_handover_save_pending_client(void *handover, const struct hs_pending_client *pending);

/* Puts a target into the store, or updates it there. Has the form of hs_hub_target_fn. */
void hs_handover_save_target(void *handover, struct hs_target *target);
/* Removes a target from the store. Has the form of hs_hub_target_fn. */
void hs_handover_drop_target(void *handover, struct hs_target *target);

/* The daemon ends regularly: nothing must be held any more. */
void hs_handover_close(struct hs_handover *handover);
