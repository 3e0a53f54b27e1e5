/*
 * Converts what a daemon of an older version left: see handover_v1.h.
 */
#include "daemon/handover/handover_v1.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/daemon_log.h"
#include "util/parse.h"

#define HS_V1_BODY_MAX (1U << 24)
#define HS_V1_FILES    HS_HANDOVER_PREFIX "order-"
#define HS_V1_ABOUT    HS_HANDOVER_PREFIX "about-"
#define HS_V1_TARGET   HS_HANDOVER_PREFIX "target-"

static_assert(sizeof(struct hs_handover_v1_head) == 88, "the layout of released versions");

static bool has_prefix(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* --- targets ---------------------------------------------------------------------------------- */

enum target_bit {
    BIT_DORMANT = 1U << 0,
    BIT_RECORDED = 1U << 1,
    BIT_LATE = 1U << 2,
};

#define TARGET_NUMBERS 10

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

bool hs_handover_v1_parse_target(const char *name, Hs__Ctl__KeptTarget *ret_kept)
{
    uint64_t n[TARGET_NUMBERS];
    if (!has_prefix(name, HS_V1_TARGET) ||
        !parse_numbers(name + strlen(HS_V1_TARGET), n, TARGET_NUMBERS) || n[0] == 0 ||
        n[0] > INT32_MAX || n[1] > UINT32_MAX || n[2] > UINT32_MAX) {
        return false;
    }
    const struct hs_pending_client client = { .hello = { .flags = (uint32_t)n[2],
                                                         .region_bytes = n[3] },
                                              .pid = (pid_t)n[0],
                                              .uid = (uid_t)n[1] };
    const struct hs_target_state state = { .is_dormant = (n[5] & BIT_DORMANT) != 0,
                                           .has_recorded = (n[5] & BIT_RECORDED) != 0,
                                           .is_late = (n[5] & BIT_LATE) != 0,
                                           .session_start_ns = n[6],
                                           .session_interval_bytes = n[7],
                                           .rss_start_bytes = n[8] };
    bool is_pending = n[4] == HS_HANDOVER_V1_PENDING;
    *ret_kept =
        hs_handover_describe_target(0, &client, is_pending ? 0 : n[4], is_pending ? NULL : &state);
    return true;
}

static void convert_target(struct hs_handover *handover, struct hs_fdstore_item *item,
                           Hs__Ctl__KeptTarget *kept)
{
    char old_name[sizeof(item->name)];
    memcpy(old_name, item->name, sizeof(old_name));
    kept->number = handover->last_target + 1;
    hs_handover_name(HS_HANDOVER_REGION, kept->number, item->name);
    int r = item->fd_count == 0 ? -EBADF
                                : hs_handover_put_target(handover, kept, item->fds[0],
                                                         item->fd_count > 1 ? item->fds[1] : -1);
    if (r < 0) {
        hs_daemon_log("process %u is no longer recorded: %s", kept->pid, strerror(-r));
    }
    hs_fdstore_remove(&handover->store, old_name);
}

/* --- recording jobs --------------------------------------------------------------------------- */

Hs__Ctl__KeptJob *hs_handover_v1_read_job(int about_fd, struct hs_handover_v1_head *ret_head)
{
    Hs__Ctl__KeptJob *kept = NULL;
    if (pread(about_fd, ret_head, sizeof(*ret_head), 0) != (ssize_t)sizeof(*ret_head) ||
        ret_head->version != 1 || ret_head->body_bytes > HS_V1_BODY_MAX) {
        return NULL;
    }
    uint8_t *body = malloc(ret_head->body_bytes + 1);
    if (body && pread(about_fd, body, ret_head->body_bytes, sizeof(*ret_head)) ==
                    (ssize_t)ret_head->body_bytes) {
        kept = hs__ctl__kept_job__unpack(NULL, ret_head->body_bytes, body);
    }
    free(body);
    Hs__Ctl__KeptProgress *progress = kept ? malloc(sizeof(*progress)) : NULL;
    if (!progress) {
        hs__ctl__kept_job__free_unpacked(kept, NULL);
        return NULL;
    }
    *progress = hs_handover_describe_progress(
        kept->number, ret_head->is_over != 0,
        &(struct hs_session_progress){
            .place = { .sequence_id = ret_head->sequence_id,
                       .profile_packet_count = ret_head->profile_packet_count },
            .start_ns = ret_head->start_ns,
            .bytes = ret_head->file_bytes,
            .process_count = ret_head->process_count,
            .rejected_count = ret_head->rejected_count,
            .dump_count = ret_head->dump_count,
            .ended_sample_count = ret_head->ended_sample_count,
            .has_begun = ret_head->has_begun != 0,
        });
    hs__ctl__kept_progress__free_unpacked(kept->progress, NULL);
    kept->progress = progress;
    return kept;
}

/* Takes the job over. Returns false if a finalizer of the previous daemon is finishing it. */
static bool claim(int about_fd, struct hs_handover_v1_head *head)
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

static void convert_job(struct hs_handover *handover, struct hs_fdstore_items *items,
                        const struct hs_fdstore_item *about)
{
    struct hs_handover_v1_head head;
    char files_name[HS_FDSTORE_NAME_MAX + 1];
    const char *number = about->name + strlen(HS_V1_ABOUT);
    uint64_t used = 0;
    if (hs_parse_number(number, &used) == 0 && used > handover->last_job) {
        handover->last_job = used; /* also if the job cannot be continued */
    }
    snprintf(files_name, sizeof(files_name), HS_V1_FILES "%s", number);
    struct hs_fdstore_item *files = hs_fdstore_items_find(items, files_name);
    Hs__Ctl__KeptJob *kept =
        about->fd_count > 0 ? hs_handover_v1_read_job(about->fds[0], &head) : NULL;
    const char *why = NULL;
    if (!files || files->fd_count < 2 || !kept) {
        why = "the previous daemon left too little to continue it";
    } else if (!claim(about->fds[0], &head)) {
        why = "a process of the previous daemon is finishing it";
    } else if (hs_handover_put_job(handover, kept, files->fds[0], files->fds[1]) < 0) {
        why = "it cannot be kept";
    }
    if (why) {
        hs_daemon_log("recording job %s: %s", number, why);
    } else {
        hs_handover_name(HS_HANDOVER_FILES, kept->number, files->name);
    }
    hs_fdstore_remove(&handover->store, files_name);
    hs_fdstore_remove(&handover->store, about->name);
    hs__ctl__kept_job__free_unpacked(kept, NULL);
}

void hs_handover_v1_convert(struct hs_handover *handover, struct hs_fdstore_items *items)
{
    for (size_t i = 0; i < items->count; i++) {
        struct hs_fdstore_item *item = &items->items[i];
        Hs__Ctl__KeptTarget target;
        if (has_prefix(item->name, HS_V1_ABOUT)) {
            convert_job(handover, items, item);
        } else if (hs_handover_v1_parse_target(item->name, &target)) {
            convert_target(handover, item, &target);
        }
    }
}
