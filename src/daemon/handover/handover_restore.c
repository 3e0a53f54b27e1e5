/*
 * Takes over what a previous daemon left: see handover_restore.h.
 *
 * The contents of the store belong to our own user, and a heapscoped wrote them. They are checked
 * all the same, because that daemon may have been another version, or may have been killed while it
 * wrote.
 */
#include "daemon/handover/handover_restore.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collect/attach/attachment.h"
#include "daemon/daemon_log.h"
#include "daemon/handover/handover_v1.h"
#include "daemon/handover/job_lock.h"
#include "daemon/start_settings.h"
#include "rt/clock.h"

/* The item of this kind and number, or NULL. */
static struct hs_fdstore_item *find_item(struct hs_fdstore_items *items, const char *kind,
                                         uint64_t number)
{
    char name[HS_FDSTORE_NAME_MAX + 1];
    hs_handover_name(kind, number, name);
    return hs_fdstore_items_find(items, name);
}

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

static struct hs_session_progress progress_of(const Hs__Ctl__KeptProgress *kept)
{
    return (struct hs_session_progress){
        .place = { .sequence_id = kept->sequence_id,
                   .profile_packet_count = kept->profile_packet_count },
        .start_ns = kept->start_ns,
        .bytes = kept->file_bytes,
        .process_count = kept->process_count,
        .rejected_count = kept->rejected_count,
        .dump_count = kept->dump_count,
        .ended_sample_count = kept->ended_sample_count,
        .has_begun = kept->has_begun,
    };
}

static int resume_job(const struct hs_handover_parts *parts, struct hs_recording_job *job,
                      const Hs__Ctl__KeptJob *kept)
{
    struct hs_session_settings settings;
    const struct hs_session_progress progress = progress_of(kept->progress);
    const char *why = NULL;
    uint64_t now_ns = hs_clock_ns(CLOCK_MONOTONIC);
    int r = hs_start_settings(kept->start, &settings, &why);
    if (r < 0) {
        return r;
    }
    memcpy(settings.name, job->name, sizeof(job->name));
    settings.uid = parts->is_system ? job->rights.uid : parts->uid;
    settings.is_any_uid = hs_access_control_is_any_uid(parts->access, settings.uid);
    r = cut_file(job->file.file_fd, progress.bytes);
    if (r == 0) {
        r = hs_session_resume(&settings, &progress, hs_trace_write_fd,
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
    r = hs_hub_inherit_session(parts->hub, job->session, now_ns);
    if (r == 0) {
        hs_recording_job_save_progress(job);
    }
    return r;
}

static int make_job(const Hs__Ctl__KeptJob *kept, struct hs_fdstore_item *files,
                    const struct hs_job_lock *lock, struct hs_recording_job **ret_job)
{
    const struct hs_user_rights rights = { kept->uid, kept->gid, kept->group, kept->n_group };
    struct hs_recording_job *job = hs_recording_job_new(&rights);
    if (!job) {
        return -ENOMEM;
    }
    take_two(files, S_IFDIR, &job->file.folder_fd, &job->file.file_fd);
    job->number = kept->number;
    job->start_real_ns = kept->start_real_ns;
    job->is_inherited = job->is_kept = true;
    job->lock = *lock;
    strncpy(job->name, kept->session, sizeof(job->name) - 1);
    int r = job->file.file_fd < 0 || job->file.folder_fd < 0 ? -EBADF
            : hs_recording_file_set_names(&job->file, kept->start->temp_name,
                                          kept->start->final_name, kept->start->path)
                ? 0
                : -EBADMSG;
    if (r < 0) {
        hs_recording_job_free(job);
        return r;
    }
    *ret_job = job;
    return 0;
}

/* Is there enough to continue the job? */
static bool is_whole(const Hs__Ctl__KeptJob *kept)
{
    return kept->number != 0 && kept->start && kept->progress && kept->session &&
           hs_session_is_name(kept->session);
}

static void restore_job(const struct hs_handover_parts *parts, struct hs_fdstore_items *items,
                        const Hs__Ctl__KeptJob *kept)
{
    struct hs_job_lock lock;
    struct hs_fdstore_item *files = find_item(items, HS_HANDOVER_FILES, kept->number);
    bool is_complete = files && is_whole(kept);
    if (!is_complete || !hs_job_lock_claim(parts->handover->locks_fd, kept->number, &lock)) {
        hs_daemon_log("recording job %" PRIu64 ": %s", kept->number,
                      is_complete ? "a process of the previous daemon is finishing it"
                                  : "the previous daemon left too little to continue it");
        hs_handover_drop_job(parts->handover, kept->number);
        return;
    }
    struct hs_recording_job *job = NULL;
    int r = make_job(kept, files, &lock, &job);
    r = r < 0 ? r : hs_recording_job_add(parts->jobs, job);
    if (r < 0) {
        hs_recording_job_free(job);
        hs_daemon_log("session %s cannot continue: %s", kept->session, strerror(-r));
        hs_handover_drop_job(parts->handover, kept->number);
        return;
    }
    r = resume_job(parts, job, kept);
    if (r < 0) {
        hs_daemon_log("session %s cannot continue: %s; what it recorded so far is in %s", job->name,
                      strerror(-r), job->file.temp_name);
        hs_handover_drop_job(parts->handover, job->number);
        hs_recording_job_remove(job);
    } else if (kept->progress->is_over) {
        hs_hub_stop(parts->hub, job->session, hs_clock_ns(CLOCK_MONOTONIC));
    } else {
        hs_daemon_log("session %s of user %u continues: %s", job->name, job->rights.uid,
                      job->file.path);
    }
}

/* --- targets ---------------------------------------------------------------------------------- */

static struct hs_target_state state_of(const Hs__Ctl__KeptTarget *kept)
{
    return (struct hs_target_state){
        .is_dormant = kept->is_dormant,
        .has_recorded = kept->has_recorded,
        .is_late = kept->is_late,
        .session_start_ns = kept->session_start_ns,
        .session_interval_bytes = kept->session_interval_bytes,
        .rss_start_bytes = kept->rss_start_bytes,
        .bound_interval_bytes = kept->bound_interval_bytes,
    };
}

static int restore_target(const struct hs_handover_parts *parts, struct hs_fdstore_item *item,
                          const Hs__Ctl__KeptTarget *kept)
{
    struct hs_pending_client pending = { .hello = { .magic = HS_HELLO_MAGIC,
                                                    .version = HS_HELLO_VERSION,
                                                    .pid = kept->pid,
                                                    .flags = kept->hello_flags,
                                                    .region_bytes = kept->region_bytes },
                                         .region_fd = -1,
                                         .pidfd = -1,
                                         .pid = (pid_t)kept->pid,
                                         .uid = kept->uid };
    uint64_t now_ns = hs_clock_ns(CLOCK_MONOTONIC);
    take_two(item, S_IFREG, &pending.region_fd, &pending.pidfd);
    if (pending.pidfd < 0) {
        /* Most likely the process had ended already when the previous daemon read its hello. */
        hs_attachment_find_process(&pending);
    }
    if (pending.region_fd < 0) {
        hs_pending_client_close(&pending);
        return -EBADF;
    }
    if (kept->is_pending) {
        return hs_hub_take_client(parts->hub, &pending, now_ns);
    }
    const struct hs_recording_job *job =
        kept->job != 0 ? hs_recording_job_find(parts->jobs, kept->job) : NULL;
    const struct hs_target_state state = state_of(kept);
    return hs_hub_inherit_target(parts->hub, &pending, job ? job->session : NULL, &state, now_ns);
}

/* Is this region a target already? The state can name a region twice, for example if it was kept
 * when the region's process announced itself, and again when the daemon attached to it. Another
 * region of the same process is another program image. */
static bool is_target_already(const struct hs_handover_parts *parts,
                              const struct hs_fdstore_item *item, pid_t pid)
{
    const struct hs_target *target = hs_registry_find(&parts->hub->registry, pid);
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

enum target_kind { OF_A_JOB, OF_NO_JOB, PENDING, TARGET_KINDS };

static enum target_kind kind_of(const Hs__Ctl__KeptTarget *kept)
{
    return kept->is_pending ? PENDING : kept->job != 0 ? OF_A_JOB : OF_NO_JOB;
}

/* Takes over the targets of this kind. Returns how many. */
static size_t restore_targets(const struct hs_handover_parts *parts, struct hs_fdstore_items *items,
                              const Hs__Ctl__KeptState *state, enum target_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < state->n_targets; i++) {
        const Hs__Ctl__KeptTarget *kept = state->targets[i];
        if (kind_of(kept) != kind) {
            continue;
        }
        struct hs_fdstore_item *item = find_item(items, HS_HANDOVER_REGION, kept->number);
        if (!item || kept->pid == 0 || kept->pid > INT32_MAX ||
            is_target_already(parts, item, (pid_t)kept->pid)) {
            hs_handover_drop_kept(parts->handover, kept->number);
            continue;
        }
        hs_handover_expect_target(parts->handover, kept);
        int r = restore_target(parts, item, kept);
        hs_handover_end_expected(parts->handover, kept->number);
        if (r < 0) {
            hs_daemon_log("process %u is no longer recorded: %s", kept->pid, strerror(-r));
        }
        count += r == 0;
    }
    return count;
}

/* --- snapshots that were not read ------------------------------------------------------------- */

/* Reads the cut that the previous daemon had opened on this target for a named snapshot. */
static void restore_cut(const struct hs_handover_parts *parts, struct hs_fdstore_items *items,
                        const Hs__Ctl__KeptTarget *kept)
{
    struct hs_fdstore_item *item = find_item(items, HS_HANDOVER_CUT, kept->number);
    struct hs_target *target = hs_registry_find(&parts->hub->registry, (pid_t)kept->pid);
    int fd = item ? hs_fdstore_item_take(item, 0) : -1;
    char name[HS_NAMED_SNAPSHOT_NAME_MAX + 1];
    if (fd < 0) {
        return;
    }
    hs_fdstore_remove(&parts->handover->store, item->name);
    int r = target ? hs_hub_take_saved_cut(parts->hub, target, fd, name) : -ESRCH;
    if (r == 0) {
        hs_daemon_log("process %u: the snapshot '%s' that it has taken of itself is read now",
                      kept->pid, name);
    } else if (r != -ESTALE) { /* otherwise the previous daemon has stored it */
        hs_daemon_log("a snapshot that process %u has taken of itself is lost: %s", kept->pid,
                      strerror(-r));
    }
    close(fd);
}

/* --- all -------------------------------------------------------------------------------------- */

/* Removes descriptors from the store that the state does not name: the previous daemon was killed
 * before it had written what they are, or after it had dropped them. */
static void remove_nameless(struct hs_handover *handover, const struct hs_fdstore_items *items)
{
    static const char *const kinds[] = { HS_HANDOVER_FILES, HS_HANDOVER_REGION, HS_HANDOVER_CUT };
    for (size_t i = 0; i < items->count; i++) {
        const struct hs_fdstore_item *item = &items->items[i];
        for (size_t kind = 0; kind < HS_COUNT_OF(kinds); kind++) {
            if (strncmp(item->name, kinds[kind], strlen(kinds[kind])) == 0 && item->fd_count > 0 &&
                item->fds[0] >= 0) {
                hs_fdstore_remove(&handover->store, item->name);
            }
        }
    }
}

void hs_handover_restore(const struct hs_handover_parts *parts, struct hs_fdstore_items *items)
{
    Hs__Ctl__KeptState *state;
    size_t target_count = 0;
    hs_handover_v1_convert(parts->handover, items);
    parts->jobs->last_number = parts->handover->last_job;
    int r = hs_kept_state_read(&parts->handover->state, &state);
    if (r < 0) {
        hs_daemon_log("what the previous daemon kept is lost: %s", strerror(-r));
        remove_nameless(parts->handover, items);
        return;
    }
    /* Jobs and targets are sorted by number. The oldest sessions first: if several match a process,
     * the oldest one gets it. */
    for (size_t i = 0; i < state->n_jobs; i++) {
        restore_job(parts, items, state->jobs[i]);
    }
    for (enum target_kind kind = 0; kind < TARGET_KINDS; kind++) {
        target_count += restore_targets(parts, items, state, kind);
    }
    for (size_t i = 0; i < state->n_targets; i++) {
        restore_cut(parts, items, state->targets[i]);
    }
    hs__ctl__kept_state__free_unpacked(state, NULL);
    remove_nameless(parts->handover, items);
    hs_hub_inherit_done(parts->hub, hs_clock_ns(CLOCK_MONOTONIC));
    hs_daemon_log("the previous daemon was killed: took over %zu sessions and %zu processes",
                  parts->jobs->count, target_count);
}
