/*
 * Takes over what a previous daemon left: see handover_restore.h.
 *
 * The contents of the store belong to our own user, and a heapscoped wrote them. They are checked
 * all the same, because that daemon may have been another version, or may have been killed while it
 * wrote.
 */
#include "daemon/handover/handover_restore.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collect/attach/attachment.h"
#include "ctl/ctl.pb-c.h"
#include "daemon/daemon_log.h"
#include "daemon/start_settings.h"
#include "rt/clock.h"

#define HS_ABOUT_MAX (1U << 24)

/* Takes the two descriptors of an item. systemd returns the descriptors of a name in any order, so
 * the type of the file tells them apart. A result for which there is no descriptor keeps its
 * value. */
static void take_two(struct hs_fdstore_item *item, mode_t type, int *ret_fd, int *ret_other_fd)
{
    for (size_t i = 0; i < HS_FDSTORE_FDS_MAX; i++) {
        struct stat st;
        int fd = hs_fdstore_item_take(item, i);
        if (fd >= 0 && *ret_fd < 0 && fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type) {
            *ret_fd = fd;
        } else if (fd >= 0 && *ret_other_fd < 0) {
            *ret_other_fd = fd;
        } else if (fd >= 0) {
            close(fd);
        }
    }
}

/* --- recording jobs --------------------------------------------------------------------------- */

static Hs__Ctl__KeptOrder *read_about(int fd, struct hs_handover_head *ret_head)
{
    Hs__Ctl__KeptOrder *kept = NULL;
    if (pread(fd, ret_head, sizeof(*ret_head), 0) != (ssize_t)sizeof(*ret_head) ||
        ret_head->version != 1 || ret_head->body_bytes > HS_ABOUT_MAX) {
        return NULL;
    }
    uint8_t *body = malloc(ret_head->body_bytes + 1);
    if (body &&
        pread(fd, body, ret_head->body_bytes, sizeof(*ret_head)) == (ssize_t)ret_head->body_bytes) {
        kept = hs__ctl__kept_order__unpack(NULL, ret_head->body_bytes, body);
    }
    free(body);
    if (kept && (!kept->start || !kept->session || !hs_session_is_name(kept->session))) {
        hs__ctl__kept_order__free_unpacked(kept, NULL);
        kept = NULL;
    }
    return kept;
}

/* Takes the job over. Returns false if a finalizer of the previous daemon is finishing it. */
static bool take_job(int about_fd, struct hs_handover_head *head)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    if (fcntl(about_fd, F_SETLK, &lock) != 0) {
        return false;
    }
    head->epoch++;
    bool is_ours = pwrite(about_fd, head, sizeof(*head), 0) == (ssize_t)sizeof(*head);
    lock.l_type = F_UNLCK;
    fcntl(about_fd, F_SETLK, &lock);
    return is_ours;
}

/* Cuts the file back to the end of its last complete dump. */
static int cut_file(int fd, uint64_t bytes)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return -errno;
    }
    if (!S_ISREG(st.st_mode) || bytes > (uint64_t)st.st_size) {
        return -ENODATA; /* another program has replaced or shortened the file */
    }
    return ftruncate(fd, (off_t)bytes) == 0 && lseek(fd, (off_t)bytes, SEEK_SET) == (off_t)bytes
               ? 0
               : -errno;
}

static int resume_job(const struct hs_handover_heir *heir, struct hs_recording_job *job,
                      const Hs__Ctl__KeptOrder *kept, const struct hs_handover_head *head)
{
    struct hs_session_settings settings;
    const char *why = NULL;
    uint64_t now_ns = hs_clock_ns(CLOCK_MONOTONIC);
    int r = hs_start_settings(kept->start, &settings, &why);
    if (r < 0) {
        return r;
    }
    memcpy(settings.name, job->name, sizeof(job->name));
    settings.uid = heir->is_system ? job->rights.uid : heir->uid;
    settings.is_any_uid = hs_access_control_is_any_uid(heir->access, settings.uid);
    r = cut_file(job->file.file_fd, head->progress.bytes);
    if (r == 0) {
        r = hs_session_resume(&settings, &head->progress, hs_trace_write_fd,
                              (void *)(intptr_t)job->file.file_fd, now_ns, &job->session);
    }
    hs_session_settings_deinit(&settings);
    if (r < 0) {
        return r;
    }
    job->session->owner = job;
    if (kept->start->is_owned) {
        hs_recording_job_expect_owner(job, 0, now_ns);
    }
    r = hs_hub_inherit_session(heir->hub, job->session, now_ns);
    if (r == 0) {
        hs_handover_restore_job(job);
    }
    return r;
}

static struct hs_recording_job *make_job(const Hs__Ctl__KeptOrder *kept,
                                         struct hs_fdstore_item *files,
                                         struct hs_fdstore_item *about)
{
    const struct hs_user_rights rights = { kept->uid, kept->gid, kept->group, kept->n_group };
    struct hs_recording_job *job = hs_recording_job_new(&rights);
    if (!job) {
        return NULL;
    }
    take_two(files, S_IFDIR, &job->file.folder_fd, &job->file.file_fd);
    job->about_fd = hs_fdstore_item_take(about, 0);
    job->number = kept->number;
    job->start_real_ns = kept->start_real_ns;
    job->is_inherited = true;
    strncpy(job->name, kept->session, sizeof(job->name) - 1);
    return job->file.file_fd >= 0 && job->file.folder_fd >= 0 &&
                   hs_recording_file_set_names(&job->file, kept->start->temp_name,
                                               kept->start->final_name, kept->start->path)
               ? job
               : hs_recording_job_free(job);
}

static void restore_job(const struct hs_handover_heir *heir, struct hs_fdstore_items *items,
                        struct hs_fdstore_item *about)
{
    struct hs_handover_head head;
    char name[HS_FDSTORE_NAME_MAX + 1];
    const char *number = about->name + strlen(HS_HANDOVER_ABOUT);
    snprintf(name, sizeof(name), HS_HANDOVER_JOB "%s", number);
    struct hs_fdstore_item *files = hs_fdstore_items_find(items, name);
    Hs__Ctl__KeptOrder *kept = about->fd_count > 0 ? read_about(about->fds[0], &head) : NULL;
    if (!files || !kept || !take_job(about->fds[0], &head)) {
        hs_daemon_log("recording job %s: %s", number,
                      kept && files ? "a process of the previous daemon is finishing it"
                                    : "the previous daemon left too little to continue it");
        hs_fdstore_remove(&heir->handover->store, about->name);
        hs_fdstore_remove(&heir->handover->store, name);
        hs__ctl__kept_order__free_unpacked(kept, NULL);
        return;
    }
    struct hs_recording_job *job = make_job(kept, files, about);
    if (job) {
        job->epoch = head.epoch;
    }
    int r = job ? hs_recording_job_add(heir->jobs, job) : -ENOMEM;
    if (r < 0) {
        hs_recording_job_free(job);
        hs_daemon_log("session %s cannot continue: %s", kept->session, strerror(-r));
    } else {
        r = resume_job(heir, job, kept, &head);
        if (r < 0) {
            hs_daemon_log("session %s cannot continue: %s; what it recorded so far is in %s",
                          job->name, strerror(-r), job->file.temp_name);
            hs_handover_drop_job(heir->handover, job);
            hs_recording_job_remove(job);
        } else if (head.is_over) {
            hs_hub_stop(heir->hub, job->session, hs_clock_ns(CLOCK_MONOTONIC));
        } else {
            hs_daemon_log("session %s of user %u continues: %s", job->name, job->rights.uid,
                          job->file.path);
        }
    }
    hs__ctl__kept_order__free_unpacked(kept, NULL);
}

/* --- targets ---------------------------------------------------------------------------------- */

static void restore_target(const struct hs_handover_heir *heir, struct hs_fdstore_item *item,
                           const struct hs_handover_target *kept)
{
    struct hs_pending_client pending = { .hello = { .magic = HS_HELLO_MAGIC,
                                                    .version = HS_HELLO_VERSION,
                                                    .pid = (uint32_t)kept->pid,
                                                    .flags = kept->hello_flags,
                                                    .region_bytes = kept->region_bytes },
                                         .region_fd = -1,
                                         .pidfd = -1,
                                         .pid = kept->pid,
                                         .uid = kept->uid };
    uint64_t now_ns = hs_clock_ns(CLOCK_MONOTONIC);
    take_two(item, S_IFREG, &pending.region_fd, &pending.pidfd);
    const struct hs_recording_job *job = hs_recording_job_find(heir->jobs, kept->job_number);
    int r = -EBADF;
    if (pending.pidfd < 0) {
        /* Most likely the process had ended already when the previous daemon read its hello. */
        hs_attachment_find_process(&pending);
    }
    if (pending.region_fd >= 0 && kept->job_number == HS_HANDOVER_UNDECIDED) {
        r = hs_hub_restore_target(heir->hub, &pending, now_ns);
    } else if (pending.region_fd >= 0) {
        r = hs_hub_inherit_target(heir->hub, &pending, job ? job->session : NULL, &kept->state,
                                  now_ns);
    }
    if (r < 0) {
        hs_daemon_log("process %d is no longer recorded: %s", (int)kept->pid, strerror(-r));
    }
    hs_fdstore_remove(&heir->handover->store, item->name);
}

/* Is this region a target already? The store can hold a region under two names, for example under
 * the one from before its session began. Another region of the same process is another program
 * image. */
static bool is_target_already(const struct hs_handover_heir *heir,
                              const struct hs_fdstore_item *item, pid_t pid)
{
    const struct hs_target *target = hs_registry_find(&heir->hub->registry, pid);
    struct stat ours, its;
    if (!target || fstat(target->region.fd, &ours) != 0) {
        return false;
    }
    for (size_t i = 0; i < item->fd_count; i++) {
        if (fstat(item->fds[i], &its) == 0 && its.st_dev == ours.st_dev &&
            its.st_ino == ours.st_ino) {
            return true;
        }
    }
    return false;
}

/* Takes over the targets of the recording jobs from `first_job` to `last_job`. Returns how many. */
static size_t restore_targets(const struct hs_handover_heir *heir, struct hs_fdstore_items *items,
                              uint64_t first_job, uint64_t last_job)
{
    size_t count = 0;
    for (size_t i = 0; i < items->count; i++) {
        struct hs_handover_target kept;
        if (hs_handover_parse_target(items->items[i].name, &kept) && kept.job_number >= first_job &&
            kept.job_number <= last_job) {
            if (is_target_already(heir, &items->items[i], kept.pid)) {
                hs_fdstore_remove(&heir->handover->store, items->items[i].name);
            } else {
                restore_target(heir, &items->items[i], &kept);
                count++;
            }
        }
    }
    return count;
}

/* --- all -------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const char *x = ((const struct hs_fdstore_item *)a)->name;
    const char *y = ((const struct hs_fdstore_item *)b)->name;
    size_t x_bytes = strlen(x), y_bytes = strlen(y);
    return x_bytes != y_bytes ? (x_bytes > y_bytes ? 1 : -1) : strcmp(x, y);
}

void hs_handover_restore(const struct hs_handover_heir *heir, struct hs_fdstore_items *items)
{
    if (items->count == 0) {
        return;
    }
    /* The oldest sessions first: if several match a process, the oldest one gets it. */
    qsort(items->items, items->count, sizeof(items->items[0]), by_number);
    for (size_t i = 0; i < items->count; i++) {
        if (strncmp(items->items[i].name, HS_HANDOVER_ABOUT, strlen(HS_HANDOVER_ABOUT)) == 0) {
            restore_job(heir, items, &items->items[i]);
        }
    }
    /* Targets of a job first, then those of no job, and pending clients last. */
    size_t target_count = restore_targets(heir, items, 1, HS_HANDOVER_UNDECIDED - 1);
    target_count += restore_targets(heir, items, 0, 0);
    target_count += restore_targets(heir, items, HS_HANDOVER_UNDECIDED, HS_HANDOVER_UNDECIDED);
    hs_hub_inherit_done(heir->hub, hs_clock_ns(CLOCK_MONOTONIC));
    hs_daemon_log("the previous daemon was killed: took over %zu sessions and %zu processes",
                  heir->jobs->count, target_count);
}
