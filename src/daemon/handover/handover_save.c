/*
 * Keeps recording jobs and targets while the daemon lives: see handover_save.h.
 */
#include "daemon/handover/handover_save.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/daemon_log.h"
#include "daemon/handover/job_lock.h"
#include "util/array.h"
#include "util/parse.h"

/* Room for a packed KeptTarget: 14 fields of at most 10 bytes, each with one byte in front. */
#define HS_KEPT_TARGET_MAX 160

/* A target in the store. */
struct hs_held_target {
    const struct hs_target *target; /* NULL: still a pending client, or expected */
    pid_t pid;
    uint64_t number;
    uint8_t packed[HS_KEPT_TARGET_MAX]; /* what the state says of it */
    size_t packed_bytes;
};

/* --- the state -------------------------------------------------------------------------------- */

void hs_handover_name(const char *kind, uint64_t number, char ret_name[HS_FDSTORE_NAME_MAX + 1])
{
    snprintf(ret_name, HS_FDSTORE_NAME_MAX + 1, "%s%" PRIu64, kind, number);
}

/* The number in the name of a state; 0: another item. */
static uint64_t number_of_state(const struct hs_fdstore_item *item)
{
    uint64_t number = 0;
    bool is_state = strncmp(item->name, HS_HANDOVER_STATE, strlen(HS_HANDOVER_STATE)) == 0 &&
                    hs_parse_number(item->name + strlen(HS_HANDOVER_STATE), &number) == 0;
    return is_state ? number : 0;
}

bool hs_handover_has_state(const struct hs_fdstore_items *items)
{
    for (size_t i = 0; i < items->count; i++) {
        if (number_of_state(&items->items[i]) != 0) {
            return true;
        }
    }
    return false;
}

/* Opens a state, and reads the numbers that were used. Takes over the descriptor unless it
 * fails. */
static int open_state(struct hs_handover *handover, int fd)
{
    struct hs_kept_state state;
    Hs__Ctl__KeptState *kept;
    int r = hs_kept_state_open(fd, &state);
    r = r < 0 ? r : hs_kept_state_read(&state, &kept);
    if (r == 0) {
        hs_kept_state_close(&handover->state);
        handover->state = state;
        handover->last_job = kept->last_job;
        handover->last_target = kept->last_target;
        hs__ctl__kept_state__free_unpacked(kept, NULL);
    }
    return r;
}

/* Takes the newest state that can be read out of the items, and removes others from the store. A
 * daemon that was killed while it compacted its state left two. */
static void take_state(struct hs_handover *handover, struct hs_fdstore_items *items)
{
    for (size_t i = 0; i < items->count; i++) {
        struct hs_fdstore_item *item = &items->items[i];
        uint64_t number = number_of_state(item);
        if (number <= handover->state_number) {
            continue;
        }
        int fd = hs_fdstore_item_take(item, 0);
        int r = open_state(handover, fd);
        if (r == 0) {
            handover->state_number = number;
        } else {
            hs_daemon_log("this version cannot read what the previous daemon kept (%s)",
                          strerror(-r));
            hs_fdstore_remove(&handover->store, item->name);
            if (fd >= 0) {
                close(fd);
            }
        }
    }
    for (size_t i = 0; i < items->count; i++) {
        uint64_t number = number_of_state(&items->items[i]);
        if (number != 0 && number < handover->state_number) {
            hs_fdstore_remove(&handover->store, items->items[i].name);
        }
    }
}

static void put_state(struct hs_handover *handover)
{
    char name[HS_FDSTORE_NAME_MAX + 1];
    hs_handover_name(HS_HANDOVER_STATE, handover->state_number, name);
    hs_fdstore_put(&handover->store, name, &handover->state.fd, 1);
}

int hs_handover_open(const struct hs_fdstore *store, struct hs_fdstore_items *items,
                     struct hs_handover *ret_handover)
{
    struct hs_handover *handover = ret_handover;
    int r = 0;
    *handover = HS_HANDOVER_NONE;
    handover->store = *store;
    take_state(handover, items);
    struct hs_fdstore_item *locks = hs_fdstore_items_find(items, HS_HANDOVER_LOCKS);
    handover->locks_fd = locks ? hs_fdstore_item_take(locks, 0) : -1;
    if (store->sock < 0 && items->count == 0) {
        return 0; /* nothing can be kept, and nothing was */
    }
    if (handover->locks_fd < 0) {
        handover->locks_fd = hs_job_lock_new_file();
        r = handover->locks_fd < 0 ? handover->locks_fd : 0;
        hs_fdstore_put(&handover->store, HS_HANDOVER_LOCKS, &handover->locks_fd, r == 0);
    }
    if (r == 0 && handover->state.fd < 0) {
        r = hs_kept_state_new(&handover->state);
        handover->state_number++;
        if (r == 0) {
            put_state(handover);
        }
    }
    if (r < 0) {
        hs_kept_state_close(&handover->state);
    }
    return r;
}

void hs_handover_close(struct hs_handover *handover)
{
    hs_fdstore_close(&handover->store);
    hs_kept_state_close(&handover->state);
    if (handover->locks_fd >= 0) {
        close(handover->locks_fd);
    }
    free(handover->targets);
    *handover = HS_HANDOVER_NONE;
}

/* A new state takes the place of the old one, which is mostly out of date. */
static void compact(struct hs_handover *handover)
{
    struct hs_kept_state state;
    char old_name[HS_FDSTORE_NAME_MAX + 1];
    if (hs_kept_state_compact(&handover->state, &state) < 0) {
        handover->state.compact_bytes = handover->state.bytes; /* try again when it has grown */
        return;
    }
    hs_handover_name(HS_HANDOVER_STATE, handover->state_number, old_name);
    hs_kept_state_close(&handover->state);
    handover->state = state;
    handover->state_number++;
    put_state(handover);
    hs_fdstore_remove(&handover->store, old_name);
}

/* Appends a change. Logs an error once; the next one is logged after a change was written. */
static int append(struct hs_handover *handover, const Hs__Ctl__KeptState *change)
{
    int r = hs_kept_state_append(&handover->state, change);
    if (r < 0 && hs_handover_is_open(handover) && !handover->is_failing) {
        hs_daemon_log("cannot write what the next daemon needs (%s): if this daemon is killed now, "
                      "the next one does not know all sessions and processes",
                      strerror(-r));
    }
    handover->is_failing = r < 0;
    if (r == 0 && hs_kept_state_is_stale(&handover->state)) {
        compact(handover);
    }
    return r;
}

/* --- targets ---------------------------------------------------------------------------------- */

static struct hs_held_target *find_held(const struct hs_handover *handover,
                                        const struct hs_target *target)
{
    for (size_t i = handover->target_count; i > 0; i--) {
        if (handover->targets[i - 1].target == target) {
            return &handover->targets[i - 1];
        }
    }
    return NULL;
}

static struct hs_held_target *find_pending(const struct hs_handover *handover, pid_t pid)
{
    for (size_t i = handover->target_count; i > 0; i--) {
        if (!handover->targets[i - 1].target && handover->targets[i - 1].pid == pid) {
            return &handover->targets[i - 1];
        }
    }
    return NULL;
}

/* Adds a target to our list. NULL: no memory, which is logged. */
static struct hs_held_target *hold(struct hs_handover *handover, const struct hs_target *target,
                                   pid_t pid, uint64_t number)
{
    if (hs_array_reserve(&handover->targets, &handover->target_capacity, handover->target_count + 1,
                         sizeof(handover->targets[0])) < 0) {
        hs_daemon_log("no memory to keep process %d for the next daemon", (int)pid);
        return NULL;
    }
    struct hs_held_target *held = &handover->targets[handover->target_count++];
    *held = (struct hs_held_target){ .target = target, .pid = pid, .number = number };
    return held;
}

void hs_handover_drop_kept(struct hs_handover *handover, uint64_t number)
{
    char name[HS_FDSTORE_NAME_MAX + 1];
    Hs__Ctl__KeptState change = HS__CTL__KEPT_STATE__INIT;
    change.n_dropped_targets = 1;
    change.dropped_targets = &number;
    append(handover, &change);
    hs_handover_name(HS_HANDOVER_REGION, number, name);
    hs_fdstore_remove(&handover->store, name);
}

static void drop(struct hs_handover *handover, struct hs_held_target *held)
{
    uint64_t number = held->number;
    *held = handover->targets[--handover->target_count];
    hs_handover_drop_kept(handover, number);
}

static int append_target(struct hs_handover *handover, const Hs__Ctl__KeptTarget *target)
{
    Hs__Ctl__KeptState change = HS__CTL__KEPT_STATE__INIT;
    Hs__Ctl__KeptTarget *targets[1] = { (Hs__Ctl__KeptTarget *)(uintptr_t)target };
    change.n_targets = 1;
    change.targets = targets;
    return append(handover, &change);
}

int hs_handover_put_target(struct hs_handover *handover, const Hs__Ctl__KeptTarget *target,
                           int region_fd, int pidfd)
{
    char name[HS_FDSTORE_NAME_MAX + 1];
    const int fds[] = { region_fd, pidfd };
    hs_handover_name(HS_HANDOVER_REGION, target->number, name);
    hs_fdstore_put(&handover->store, name, fds, pidfd >= 0 ? 2 : 1);
    if (target->number > handover->last_target) {
        handover->last_target = target->number;
    }
    return append_target(handover, target);
}

Hs__Ctl__KeptTarget hs_handover_describe_target(uint64_t number,
                                                const struct hs_pending_client *client,
                                                uint64_t job, const struct hs_target_state *state)
{
    Hs__Ctl__KeptTarget kept = HS__CTL__KEPT_TARGET__INIT;
    kept.has_number = kept.has_pid = kept.has_uid = kept.has_hello_flags = kept.has_region_bytes =
        true;
    kept.number = number;
    kept.pid = (uint32_t)client->pid;
    kept.uid = client->uid;
    kept.hello_flags = client->hello.flags;
    kept.region_bytes = client->hello.region_bytes;
    kept.has_job = job != 0;
    kept.job = job;
    if (!state) {
        kept.has_is_pending = kept.is_pending = true;
        return kept;
    }
    kept.has_is_dormant = kept.has_has_recorded = kept.has_is_late = true;
    kept.is_dormant = state->is_dormant;
    kept.has_recorded = state->has_recorded;
    kept.is_late = state->is_late;
    kept.has_session_start_ns = kept.has_session_interval_bytes = kept.has_rss_start_bytes = true;
    kept.session_start_ns = state->session_start_ns;
    kept.session_interval_bytes = state->session_interval_bytes;
    kept.rss_start_bytes = state->rss_start_bytes;
    kept.has_bound_interval_bytes = state->bound_interval_bytes != 0;
    kept.bound_interval_bytes = state->bound_interval_bytes;
    return kept;
}

void hs_handover_save_pending_client(struct hs_handover *handover,
                                     const struct hs_pending_client *pending)
{
    size_t count = handover->target_count;
    if (count > 0 && !handover->targets[count - 1].target) {
        drop(handover, &handover->targets[count - 1]); /* it never became a target */
    }
    if (!hs_handover_is_open(handover) || pending->pid <= 0 ||
        !hold(handover, NULL, pending->pid, handover->last_target + 1)) {
        return;
    }
    const Hs__Ctl__KeptTarget kept =
        hs_handover_describe_target(handover->last_target + 1, pending, 0, NULL);
    hs_handover_put_target(handover, &kept, pending->region_fd, pending->pidfd);
}

void hs_handover_save_target(struct hs_handover *handover, const struct hs_target *target,
                             uint64_t job)
{
    uint8_t packed[HS_KEPT_TARGET_MAX];
    struct hs_held_target *held = find_held(handover, target);
    held = held ? held : find_pending(handover, target->process.pid);
    if (!hs_handover_is_open(handover)) {
        return;
    }
    if (target->process.has_ended) {
        /* It stays in the store as it is until its dump is written. */
        if (held) {
            held->target = target;
        }
        return;
    }
    bool is_new = !held;
    held = held ? held : hold(handover, target, target->process.pid, handover->last_target + 1);
    if (!held) {
        return;
    }
    const struct hs_pending_client client = { .hello = { .flags = target->process.hello_flags,
                                                         .region_bytes =
                                                             target->region.file_bytes },
                                              .pid = target->process.pid,
                                              .uid = target->process.uid };
    Hs__Ctl__KeptTarget kept =
        hs_handover_describe_target(held->number, &client, job, &target->state);
    size_t packed_bytes = hs__ctl__kept_target__pack(&kept, packed);
    if (held->target == target && held->packed_bytes == packed_bytes &&
        memcmp(held->packed, packed, packed_bytes) == 0) {
        return;
    }
    held->target = target;
    int r = is_new
                ? hs_handover_put_target(handover, &kept, target->region.fd, target->process.pidfd)
                : append_target(handover, &kept);
    held->packed_bytes = r == 0 ? packed_bytes : 0; /* 0: the next call tries again */
    memcpy(held->packed, packed, packed_bytes);
}

void hs_handover_save_cut(struct hs_handover *handover, const struct hs_target *target, int fd)
{
    char name[HS_FDSTORE_NAME_MAX + 1];
    const struct hs_held_target *held = find_held(handover, target);
    if (!held || !hs_handover_is_open(handover)) {
        return;
    }
    hs_handover_name(HS_HANDOVER_CUT, held->number, name);
    if (fd >= 0) {
        hs_fdstore_put(&handover->store, name, &fd, 1);
    } else {
        hs_fdstore_remove(&handover->store, name);
    }
}

void hs_handover_drop_target(struct hs_handover *handover, const struct hs_target *target)
{
    struct hs_held_target *held = find_held(handover, target);
    if (held) {
        drop(handover, held);
    }
}

void hs_handover_expect_target(struct hs_handover *handover, const Hs__Ctl__KeptTarget *kept)
{
    hold(handover, NULL, (pid_t)kept->pid, kept->number);
}

void hs_handover_end_expected(struct hs_handover *handover, uint64_t number)
{
    for (size_t i = handover->target_count; i > 0; i--) {
        struct hs_held_target *held = &handover->targets[i - 1];
        if (held->number == number && !held->target) {
            drop(handover, held);
            return;
        }
    }
}

/* --- recording jobs --------------------------------------------------------------------------- */

Hs__Ctl__KeptProgress hs_handover_describe_progress(uint64_t number, bool is_over,
                                                    const struct hs_session_progress *progress)
{
    Hs__Ctl__KeptProgress kept = HS__CTL__KEPT_PROGRESS__INIT;
    kept.has_job = kept.has_is_over = kept.has_start_ns = kept.has_file_bytes = true;
    kept.job = number;
    kept.is_over = is_over;
    kept.start_ns = progress->start_ns;
    kept.file_bytes = progress->bytes;
    kept.has_sequence_id = kept.has_profile_packet_count = true;
    kept.sequence_id = progress->place.sequence_id;
    kept.profile_packet_count = progress->place.profile_packet_count;
    kept.has_process_count = kept.has_rejected_count = kept.has_dump_count =
        kept.has_ended_sample_count = kept.has_has_begun = true;
    kept.process_count = progress->process_count;
    kept.rejected_count = progress->rejected_count;
    kept.dump_count = progress->dump_count;
    kept.ended_sample_count = progress->ended_sample_count;
    kept.has_begun = progress->has_begun;
    return kept;
}

int hs_handover_put_job(struct hs_handover *handover, const Hs__Ctl__KeptJob *job, int file_fd,
                        int folder_fd)
{
    char name[HS_FDSTORE_NAME_MAX + 1];
    const int fds[] = { file_fd, folder_fd };
    Hs__Ctl__KeptState change = HS__CTL__KEPT_STATE__INIT;
    Hs__Ctl__KeptJob *jobs[1] = { (Hs__Ctl__KeptJob *)(uintptr_t)job };
    hs_handover_name(HS_HANDOVER_FILES, job->number, name);
    hs_fdstore_put(&handover->store, name, fds, 2);
    if (job->number > handover->last_job) {
        handover->last_job = job->number;
    }
    change.n_jobs = 1;
    change.jobs = jobs;
    return append(handover, &change);
}

int hs_handover_save_job(struct hs_handover *handover, const struct hs_handover_job *job,
                         const struct hs_session_progress *progress)
{
    Hs__Ctl__Start *start = hs__ctl__start__unpack(NULL, job->request_bytes, job->request);
    if (!start) {
        return -EBADMSG;
    }
    Hs__Ctl__KeptProgress kept_progress =
        hs_handover_describe_progress(job->number, false, progress);
    Hs__Ctl__KeptJob kept = HS__CTL__KEPT_JOB__INIT;
    kept.start = start;
    kept.session = (char *)(uintptr_t)job->name;
    kept.has_number = kept.has_uid = kept.has_gid = kept.has_start_real_ns = true;
    kept.number = job->number;
    kept.uid = job->rights->uid;
    kept.gid = job->rights->gid;
    kept.n_group = job->rights->group_count;
    kept.group = job->rights->groups;
    kept.start_real_ns = job->start_real_ns;
    kept.progress = &kept_progress;
    int r = hs_handover_put_job(handover, &kept, job->file->file_fd, job->file->folder_fd);
    hs__ctl__start__free_unpacked(start, NULL);
    return r;
}

int hs_handover_update_job(struct hs_handover *handover, uint64_t number, bool is_over,
                           const struct hs_session_progress *progress)
{
    Hs__Ctl__KeptState change = HS__CTL__KEPT_STATE__INIT;
    Hs__Ctl__KeptProgress kept = hs_handover_describe_progress(number, is_over, progress);
    Hs__Ctl__KeptProgress *all[1] = { &kept };
    change.n_progress = 1;
    change.progress = all;
    return append(handover, &change);
}

void hs_handover_drop_job(struct hs_handover *handover, uint64_t number)
{
    char name[HS_FDSTORE_NAME_MAX + 1];
    Hs__Ctl__KeptState change = HS__CTL__KEPT_STATE__INIT;
    change.n_dropped_jobs = 1;
    change.dropped_jobs = &number;
    append(handover, &change);
    hs_handover_name(HS_HANDOVER_FILES, number, name);
    hs_fdstore_remove(&handover->store, name);
}
