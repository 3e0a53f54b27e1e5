/*
 * The handover: what a daemon leaves in the fdstore in case it is killed, and how the next daemon
 * continues (handover_restore.h).
 *
 * The store holds descriptors, and one state (kept_state.h), which says what they are: for each
 * recording job its file, its folder, its request and its progress; for each target its region, its
 * pidfd, and the facts that only the daemon knows. The daemon keeps both when they begin, and drops
 * them when they are over. All figures of a target are in its region, so the next dump contains
 * what happens between two daemons. The next daemon appends to the trace behind the last complete
 * dump.
 *
 *     hs_handover_save_job, _target     they have begun, or changed
 *     hs_handover_drop_job, _target     they are over
 *
 * Names in the store, where NUMBER is decimal (handover_v1.h lists the names of older versions,
 * with the same prefix):
 *     hs1-listener         the daemon's listening socket
 *     hs1-state-NUMBER     the state; of several, the one with the largest number
 *     hs1-locks            the locks of the jobs (job_lock.h)
 *     hs1-files-NUMBER     a recording job's file and folder
 *     hs1-region-NUMBER    a target's region and pidfd
 *     hs1-cut-NUMBER       an open cut of that target (collect/region/open_cut.h), until it is
 *                          read
 *
 * Ensures   the daemon puts the descriptors of a job or target into the store before it writes the
 *           entry of the state that names the job or target, and removes them after it wrote, or
 *           failed to write, the entry that drops it. A state that names descriptors that are not
 *           in the store does no harm.
 * Threads   one.
 * Fails     if a job or target cannot be written into the state, the daemon logs that the next
 *           daemon may not know it. A target whose change could not be written is written again
 *           when it changes next.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/listen.h"
#include "collect/target.h"
#include "daemon/handover/fdstore.h"
#include "daemon/handover/kept_state.h"
#include "daemon/recording_file.h"
#include "daemon/user_rights.h"
#include "session/session.h"

#define HS_HANDOVER_PREFIX   "hs1-"
#define HS_HANDOVER_LISTENER HS_HANDOVER_PREFIX "listener"
#define HS_HANDOVER_STATE    HS_HANDOVER_PREFIX "state-"
#define HS_HANDOVER_LOCKS    HS_HANDOVER_PREFIX "locks"
#define HS_HANDOVER_FILES    HS_HANDOVER_PREFIX "files-"
#define HS_HANDOVER_REGION   HS_HANDOVER_PREFIX "region-"
#define HS_HANDOVER_CUT      HS_HANDOVER_PREFIX "cut-"

struct hs_held_target;

/* What the daemon has put into the store. */
struct hs_handover {
    struct hs_fdstore store;        /* holds our descriptors if we are killed */
    struct hs_kept_state state;     /* fd -1: nothing is kept */
    bool is_failing;                /* the last change could not be written */
    uint64_t state_number;          /* in its name */
    int locks_fd;                   /* -1: nothing is kept */
    struct hs_held_target *targets; /* those in the store */
    size_t target_count, target_capacity;
    uint64_t last_job,
        last_target; /* the largest numbers that this daemon or a previous one used */
};

#define HS_HANDOVER_NONE                                                                           \
    ((struct hs_handover){ .store = HS_FDSTORE_NONE, .state = HS_KEPT_STATE_NONE, .locks_fd = -1 })

/* A recording job, as it begins. */
struct hs_handover_job {
    uint64_t number;
    const char *name;
    const struct hs_user_rights *rights;
    const struct hs_recording_file *file;
    uint64_t start_real_ns;
    const uint8_t *request; /* a packed Start */
    size_t request_bytes;
};

/* Continues the state in `items`, or begins a new one if the store can hold it. Takes over the
 * store, and in `items` the state and the locks. Returns 0, or -errno: nothing is kept. */
int hs_handover_open(const struct hs_fdstore *store, struct hs_fdstore_items *items,
                     struct hs_handover *ret_handover);
/* The daemon ends regularly: nothing must be held any more. */
void hs_handover_close(struct hs_handover *handover);

/* Is there a store that keeps what is saved? */
static inline bool hs_handover_is_open(const struct hs_handover *handover)
{
    return handover->state.fd >= 0;
}

/* Is a state among these items? */
bool hs_handover_has_state(const struct hs_fdstore_items *items);

/* Formats the name of an item: `kind` is HS_HANDOVER_STATE, _FILES or _REGION. */
void hs_handover_name(const char *kind, uint64_t number, char ret_name[HS_FDSTORE_NAME_MAX + 1]);

/* Keeps a recording job whose session has begun; the handover must be open. Returns 0, or -errno:
 * it is not kept. */
int hs_handover_save_job(struct hs_handover *handover, const struct hs_handover_job *job,
                         const struct hs_session_progress *progress);
/* Updates the progress of a job that is kept, also whether its session is over. Returns 0 or
 * -errno. */
int hs_handover_update_job(struct hs_handover *handover, uint64_t number, bool is_over,
                           const struct hs_session_progress *progress);
/* Drops a job that is kept. */
void hs_handover_drop_job(struct hs_handover *handover, uint64_t number);

/* Keeps a pending client. Call it at once: if the daemon is killed between receiving a region and
 * saving it, the region is lost. */
void hs_handover_save_pending_client(struct hs_handover *handover,
                                     const struct hs_pending_client *pending);

/* Keeps a target, or updates it. `job`: the number of the recording job that has it; 0: none. */
void hs_handover_save_target(struct hs_handover *handover, const struct hs_target *target,
                             uint64_t job);
/* Keeps an open cut of a target that is kept; fd -1: drops it. */
void hs_handover_save_cut(struct hs_handover *handover, const struct hs_target *target, int fd);
/* Drops a target. */
void hs_handover_drop_target(struct hs_handover *handover, const struct hs_target *target);

/* For handover_restore.c and handover_v1.c: */

/* Describes a target and its client, whose descriptors do not matter. `job`: as above. `state`
 * NULL: it is a pending client. */
Hs__Ctl__KeptTarget hs_handover_describe_target(uint64_t number,
                                                const struct hs_pending_client *client,
                                                uint64_t job, const struct hs_target_state *state);
/* Describes how far the job of this number has come. */
Hs__Ctl__KeptProgress hs_handover_describe_progress(uint64_t number, bool is_over,
                                                    const struct hs_session_progress *progress);
/* Keeps a job or target as this message says. A descriptor may be -1. Returns 0 or -errno. */
int hs_handover_put_job(struct hs_handover *handover, const Hs__Ctl__KeptJob *job, int file_fd,
                        int folder_fd);
int hs_handover_put_target(struct hs_handover *handover, const Hs__Ctl__KeptTarget *target,
                           int region_fd, int pidfd);
/* A kept target is about to come back: hs_handover_save_target() for its process then updates
 * it. */
void hs_handover_expect_target(struct hs_handover *handover, const Hs__Ctl__KeptTarget *kept);
/* It has come, or will not come: drops it unless it has become a target. */
void hs_handover_end_expected(struct hs_handover *handover, uint64_t number);
/* Drops a kept target that is not expected. */
void hs_handover_drop_kept(struct hs_handover *handover, uint64_t number);
