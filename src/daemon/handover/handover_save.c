/*
 * Gives recording jobs and targets to the store while the daemon lives: see handover_save.h.
 * handover_restore.c takes them back.
 */
#include "daemon/handover/handover_save.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "ctl/ctl.pb-c.h"
#include "daemon/daemon_log.h"
#include "rt/clock.h"
#include "util/array.h"
#include "util/write_all.h"

/* The name that a target has in the store. */
struct hs_kept_target {
    const struct hs_target *target; /* NULL: it is still a pending client */
    pid_t pid;
    size_t fact_bytes; /* length of the name without its serial number */
    char name[HS_FDSTORE_NAME_MAX + 1];
};

/* --- targets ---------------------------------------------------------------------------------- */

enum target_bit {
    BIT_DORMANT = 1U << 0,
    BIT_RECORDED = 1U << 1,
    BIT_LATE = 1U << 2,
};

#define TARGET_FORMAT                                                                              \
    HS_HANDOVER_PREFIX "target-%" PRIu64 "-%" PRIu64 "-%" PRIu64 "-%" PRIu64 "-%" PRIu64           \
                       "-%" PRIu64 "-%" PRIu64 "-%" PRIu64 "-%" PRIu64 "-%" PRIu64
#define TARGET_BEGIN   HS_HANDOVER_PREFIX "target-"
#define TARGET_NUMBERS 10

void hs_handover_name_target(const struct hs_handover_target *target, uint64_t serial,
                             char ret_name[HS_FDSTORE_NAME_MAX + 1])
{
    const struct hs_target_state *state = &target->state;
    uint64_t bits = (state->is_dormant ? BIT_DORMANT : 0U) |
                    (state->has_recorded ? BIT_RECORDED : 0U) | (state->is_late ? BIT_LATE : 0U);
    snprintf(ret_name, HS_FDSTORE_NAME_MAX + 1, TARGET_FORMAT, (uint64_t)target->pid,
             (uint64_t)target->uid, (uint64_t)target->hello_flags, target->region_bytes,
             target->job_number, bits, state->session_start_ns, state->session_interval_bytes,
             state->rss_start_bytes, serial);
}

/* Parses `count` decimal numbers with a '-' between them. Returns false for any other text. */
static bool parse_numbers(const char *text, uint64_t *ret_numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *end;
        if (*text < '0' || *text > '9') {
            return false;
        }
        errno = 0;
        ret_numbers[i] = strtoull(text, &end, 10);
        if (errno != 0 || *end != (i + 1 < count ? '-' : '\0')) {
            return false;
        }
        text = end + 1;
    }
    return true;
}

bool hs_handover_parse_target(const char *name, struct hs_handover_target *ret_target)
{
    uint64_t n[TARGET_NUMBERS];
    if (strncmp(name, TARGET_BEGIN, strlen(TARGET_BEGIN)) != 0 ||
        !parse_numbers(name + strlen(TARGET_BEGIN), n, TARGET_NUMBERS) || n[0] == 0 ||
        n[0] > INT32_MAX || n[1] > UINT32_MAX || n[2] > UINT32_MAX) {
        return false;
    }
    *ret_target = (struct hs_handover_target){
        .pid = (pid_t)n[0],
        .uid = (uid_t)n[1],
        .hello_flags = (uint32_t)n[2],
        .region_bytes = n[3],
        .job_number = n[4],
        .state = { .is_dormant = n[5] & BIT_DORMANT,
                   .has_recorded = n[5] & BIT_RECORDED,
                   .is_late = n[5] & BIT_LATE,
                   .session_start_ns = n[6],
                   .session_interval_bytes = n[7],
                   .rss_start_bytes = n[8] },
    };
    return true;
}

static struct hs_kept_target *find_kept(const struct hs_handover *handover,
                                        const struct hs_target *target)
{
    for (size_t i = handover->kept_count; i > 0; i--) {
        if (handover->kept[i - 1].target == target) {
            return &handover->kept[i - 1];
        }
    }
    return NULL;
}

static struct hs_kept_target *find_pending(const struct hs_handover *handover, pid_t pid)
{
    for (size_t i = handover->kept_count; i > 0; i--) {
        if (!handover->kept[i - 1].target && handover->kept[i - 1].pid == pid) {
            return &handover->kept[i - 1];
        }
    }
    return NULL;
}

static void forget(struct hs_handover *handover, struct hs_kept_target *kept)
{
    hs_fdstore_remove(&handover->store, kept->name);
    *kept = handover->kept[--handover->kept_count];
}

/* Puts a target into the store and into our list, where it replaces `before`, if that is not
 * NULL. */
static void keep(struct hs_handover *handover, const struct hs_kept_target *kept,
                 struct hs_kept_target *before, int region_fd, int pidfd)
{
    const int fds[] = { region_fd, pidfd };
    size_t before_idx = before ? (size_t)(before - handover->kept) : handover->kept_count;
    if (hs_array_reserve(&handover->kept, &handover->kept_capacity, handover->kept_count + 1,
                         sizeof(handover->kept[0])) < 0) {
        return;
    }
    /* The new name first: if the next daemon finds both, it takes the one that belongs to a
     * recording job. */
    hs_fdstore_put(&handover->store, kept->name, fds, pidfd >= 0 ? 2 : 1);
    if (before) {
        hs_fdstore_remove(&handover->store, handover->kept[before_idx].name);
    } else {
        handover->kept_count++;
    }
    handover->kept[before_idx] = *kept;
}

void hs_handover_save_pending_client(void *ctx, const struct hs_pending_client *pending)
{
    struct hs_handover *handover = ctx;
    struct hs_kept_target kept = { .pid = pending->pid };
    if (handover->kept_count > 0 && !handover->kept[handover->kept_count - 1].target) {
        forget(handover, &handover->kept[handover->kept_count - 1]); /* it never became a target */
    }
    if (handover->store.sock < 0 || pending->pid <= 0) {
        return;
    }
    hs_handover_name_target(
        &(struct hs_handover_target){ .pid = pending->pid,
                                      .uid = pending->uid,
                                      .hello_flags = pending->hello.flags,
                                      .region_bytes = pending->hello.region_bytes,
                                      .job_number = HS_HANDOVER_UNDECIDED },
        hs_clock_ns(CLOCK_REALTIME), kept.name);
    keep(handover, &kept, NULL, pending->region_fd, pending->pidfd);
}

void hs_handover_save_target(void *ctx, struct hs_target *target)
{
    struct hs_handover *handover = ctx;
    const struct hs_session *session = target->owner;
    const struct hs_recording_job *job = session ? session->owner : NULL;
    struct hs_kept_target kept = { .target = target, .pid = target->pid };
    struct hs_kept_target *before = find_kept(handover, target);
    before = before ? before : find_pending(handover, target->pid);
    if (handover->store.sock < 0) {
        return;
    }
    if (target->has_ended) {
        /* It stays in the store under its old name until its dump is written. */
        if (before) {
            before->target = target;
        }
        return;
    }
    hs_handover_name_target(&(struct hs_handover_target){ .pid = target->pid,
                                                          .uid = target->uid,
                                                          .hello_flags = target->hello_flags,
                                                          .region_bytes = target->region.file_bytes,
                                                          .job_number = job ? job->number : 0,
                                                          .state = hs_target_state(target) },
                            hs_clock_ns(CLOCK_REALTIME), kept.name);
    kept.fact_bytes = (size_t)(strrchr(kept.name, '-') - kept.name);
    if (before && before->fact_bytes == kept.fact_bytes &&
        memcmp(before->name, kept.name, kept.fact_bytes) == 0) {
        return;
    }
    keep(handover, &kept, before, target->region.fd, target->pidfd);
}

void hs_handover_drop_target(void *ctx, struct hs_target *target)
{
    struct hs_handover *handover = ctx;
    struct hs_kept_target *kept = find_kept(handover, target);
    if (kept) {
        forget(handover, kept);
    }
}

void hs_handover_close(struct hs_handover *handover)
{
    hs_fdstore_close(&handover->store);
    free(handover->kept);
    handover->kept = NULL;
    handover->kept_count = handover->kept_capacity = 0;
}

/* --- recording jobs --------------------------------------------------------------------------- */

static void name_item(char *ret_name, const char *kind, const struct hs_recording_job *job)
{
    snprintf(ret_name, HS_FDSTORE_NAME_MAX + 1, "%s%" PRIu64, kind, job->number);
}

static int write_about(const struct hs_recording_job *job, Hs__Ctl__Start *start)
{
    Hs__Ctl__KeptOrder kept = HS__CTL__KEPT_ORDER__INIT;
    kept.start = start;
    kept.session = (char *)(uintptr_t)job->name;
    kept.has_number = kept.has_uid = kept.has_gid = kept.has_start_real_ns = true;
    kept.number = job->number;
    kept.uid = job->rights.uid;
    kept.gid = job->rights.gid;
    kept.n_group = job->rights.group_count;
    kept.group = job->rights.groups;
    kept.start_real_ns = job->start_real_ns;
    size_t bytes = hs__ctl__kept_order__get_packed_size(&kept);
    struct hs_handover_head head = { .version = 1,
                                     .body_bytes = (uint32_t)bytes,
                                     .progress = hs_session_progress(job->session) };
    uint8_t *body = malloc(bytes + 1);
    if (!body) {
        return -ENOMEM;
    }
    hs__ctl__kept_order__pack(&kept, body);
    int r = hs_write_all(job->about_fd, &head, sizeof(head));
    r = r < 0 ? r : hs_write_all(job->about_fd, body, bytes);
    free(body);
    return r;
}

static void on_written(void *owner, struct hs_session *session)
{
    (void)session;
    hs_handover_update_job(owner);
}

void hs_handover_save_job(struct hs_handover *handover, struct hs_recording_job *job,
                          const uint8_t *request, size_t request_bytes)
{
    char name[HS_FDSTORE_NAME_MAX + 1];
    Hs__Ctl__Start *start = hs__ctl__start__unpack(NULL, request_bytes, request);
    job->session->on_written = on_written;
    if (handover->store.sock < 0 || !start) {
        hs__ctl__start__free_unpacked(start, NULL);
        return;
    }
    job->about_fd = memfd_create("heapscope-order", MFD_CLOEXEC);
    int r = job->about_fd < 0 ? -errno : write_about(job, start);
    hs__ctl__start__free_unpacked(start, NULL);
    if (r < 0) {
        hs_daemon_log("session %s is lost if this daemon is killed: %s", job->name, strerror(-r));
        return;
    }
    const int fds[] = { job->file.file_fd, job->file.folder_fd };
    name_item(name, HS_HANDOVER_ABOUT, job);
    hs_fdstore_put(&handover->store, name, &job->about_fd, 1);
    name_item(name, HS_HANDOVER_JOB, job);
    hs_fdstore_put(&handover->store, name, fds, 2);
}

void hs_handover_restore_job(struct hs_recording_job *job)
{
    job->session->on_written = on_written;
    hs_handover_update_job(job);
}

void hs_handover_update_job(struct hs_recording_job *job)
{
    struct hs_handover_head head;
    if (job->about_fd < 0 || !job->session ||
        pread(job->about_fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head)) {
        return;
    }
    head.progress = hs_session_progress(job->session);
    head.epoch = job->epoch;
    head.is_over = job->state != HS_RECORDING_JOB_RUNNING;
    if (pwrite(job->about_fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head)) {
        hs_daemon_log("session %s: cannot save its progress for the next daemon", job->name);
    }
}

bool hs_handover_lock_job(int about_fd, uint32_t epoch)
{
    struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    struct hs_handover_head head;
    if (about_fd < 0) {
        return true; /* the job is not in the store: no other daemon can take it over */
    }
    return fcntl(about_fd, F_SETLK, &all) == 0 &&
           pread(about_fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) && head.epoch == epoch;
}

void hs_handover_drop_job(struct hs_handover *handover, struct hs_recording_job *job)
{
    char name[HS_FDSTORE_NAME_MAX + 1];
    if (job->about_fd < 0) {
        return;
    }
    name_item(name, HS_HANDOVER_JOB, job);
    hs_fdstore_remove(&handover->store, name);
    name_item(name, HS_HANDOVER_ABOUT, job);
    hs_fdstore_remove(&handover->store, name);
}
