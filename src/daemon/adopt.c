/*
 * What a daemon before us left is ours: see heritage.h.
 *
 * What comes from the store is our own user's, and was written by a heapscoped; it is checked all the same, as that
 * may have been another version, or in the middle of writing.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/attachment.h"
#include "ctl/ctl.pb-c.h"
#include "daemon/daemon_log.h"
#include "daemon/heritage.h"
#include "daemon/start_settings.h"

#define HS_ABOUT_MAX (1U << 24)

/* Systemd gives the descriptors of a name back in any order: one is of this type, the other is not. Those that are not
 * there stay as they are. */
static void take_two(struct hs_store_item *item, mode_t type, int *ret_fd, int *ret_other_fd)
{
    for (size_t i = 0; i < HS_STORE_FDS_MAX; i++) {
        struct stat st;
        int fd = hs_store_item_take(item, i);
        if (fd >= 0 && *ret_fd < 0 && fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type) {
            *ret_fd = fd;
        } else if (fd >= 0 && *ret_other_fd < 0) {
            *ret_other_fd = fd;
        } else if (fd >= 0) {
            close(fd);
        }
    }
}

/* --- orders ------------------------------------------------------------------------------------ */

static Hs__Ctl__KeptOrder *read_about(int fd, struct hs_heritage_head *ret_head)
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

/* From now on it is ours; false: a finisher of the daemon before is at it. */
static bool take_order(int about_fd, struct hs_heritage_head *head)
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

/* The file as it was when the last dump was whole. */
static int cut_file(int fd, uint64_t bytes)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return -errno;
    }
    if (!S_ISREG(st.st_mode) || bytes > (uint64_t)st.st_size) {
        return -ENODATA; /* somebody else has been at it */
    }
    return ftruncate(fd, (off_t)bytes) == 0 && lseek(fd, (off_t)bytes, SEEK_SET) == (off_t)bytes
               ? 0
               : -errno;
}

static int begin_again(struct hs_daemon *daemon, struct hs_order *order,
                       const Hs__Ctl__KeptOrder *kept, const struct hs_heritage_head *head)
{
    struct hs_session_settings settings;
    const char *why = NULL;
    uint64_t now_ns = hs_daemon_mono_ns();
    int r = hs_start_settings(kept->start, &settings, &why);
    if (r < 0) {
        return r;
    }
    memcpy(settings.name, order->name, sizeof(order->name));
    settings.uid = daemon->is_system ? order->uid : daemon->uid;
    settings.is_any_uid = hs_warden_is_any_uid(&daemon->warden, settings.uid);
    r = cut_file(order->file_fd, head->progress.bytes);
    if (r == 0) {
        r = hs_session_resume(&settings, &head->progress, hs_trace_write_fd,
                              (void *)(intptr_t)order->file_fd, now_ns, &order->session);
    }
    hs_session_settings_deinit(&settings);
    if (r < 0) {
        return r;
    }
    order->session->owner = order;
    if (kept->start->is_owned) {
        hs_order_expect_owner(order, 0, now_ns);
    }
    r = hs_hub_inherit_session(daemon->hub, order->session, now_ns);
    if (r == 0) {
        hs_heritage_resume_order(order);
    }
    return r;
}

static struct hs_order *make_order(const Hs__Ctl__KeptOrder *kept, struct hs_store_item *files,
                                   struct hs_store_item *about)
{
    struct hs_order *order = hs_order_new(kept->uid, kept->gid, kept->group, kept->n_group);
    if (!order) {
        return NULL;
    }
    take_two(files, S_IFDIR, &order->folder_fd, &order->file_fd);
    order->about_fd = hs_store_item_take(about, 0);
    order->number = kept->number;
    order->start_real_ns = kept->start_real_ns;
    order->is_inherited = true;
    strncpy(order->name, kept->session, sizeof(order->name) - 1);
    return order->file_fd >= 0 && order->folder_fd >= 0 && hs_order_name_file(order, kept->start)
               ? order
               : hs_order_free(order);
}

static void adopt_order(struct hs_daemon *daemon, struct hs_store_items *items,
                        struct hs_store_item *about)
{
    struct hs_heritage_head head;
    char name[HS_STORE_NAME_MAX + 1];
    const char *number = about->name + strlen(HS_HERITAGE_ABOUT);
    snprintf(name, sizeof(name), HS_HERITAGE_ORDER "%s", number);
    struct hs_store_item *files = hs_store_items_find(items, name);
    Hs__Ctl__KeptOrder *kept = about->fd_count > 0 ? read_about(about->fds[0], &head) : NULL;
    if (!files || !kept || !take_order(about->fds[0], &head)) {
        hs_daemon_log("order %s: %s", number,
                      kept && files ? "is about to be finished by a process of the daemon before"
                                    : "the daemon before left too little to go on with it");
        hs_store_remove(&daemon->store, about->name);
        hs_store_remove(&daemon->store, name);
        hs__ctl__kept_order__free_unpacked(kept, NULL);
        return;
    }
    struct hs_order *order = make_order(kept, files, about);
    if (order) {
        order->epoch = head.epoch;
    }
    int r = order ? hs_order_add(daemon, order) : -ENOMEM;
    if (r < 0) {
        hs_order_free(order);
        hs_daemon_log("session %s cannot go on: %s", kept->session, strerror(-r));
    } else {
        r = begin_again(daemon, order, kept, &head);
        if (r < 0) {
            hs_daemon_log("session %s cannot go on: %s; what it has so far is in %s", order->name,
                          strerror(-r), order->temp_name);
            hs_heritage_drop_order(daemon, order);
            hs_order_remove(daemon, order);
        } else if (head.is_over) {
            hs_hub_stop(daemon->hub, order->session, hs_daemon_mono_ns());
        } else {
            hs_daemon_log("session %s of user %u goes on: %s", order->name, order->uid,
                          order->path);
        }
    }
    hs__ctl__kept_order__free_unpacked(kept, NULL);
}

/* --- targets ----------------------------------------------------------------------------------- */

static void adopt_target(struct hs_daemon *daemon, struct hs_store_item *item,
                         const struct hs_heritage_target *kept)
{
    struct hs_guest guest = { .hello = { .magic = HS_HELLO_MAGIC,
                                         .version = HS_HELLO_VERSION,
                                         .pid = (uint32_t)kept->pid,
                                         .flags = kept->hello_flags,
                                         .region_bytes = kept->region_bytes },
                              .region_fd = -1,
                              .pidfd = -1,
                              .pid = kept->pid,
                              .uid = kept->uid };
    uint64_t now_ns = hs_daemon_mono_ns();
    take_two(item, S_IFREG, &guest.region_fd, &guest.pidfd);
    const struct hs_order *order = hs_order_find(daemon, kept->order_number);
    int r = -EBADF;
    if (guest.pidfd < 0) {
        hs_attachment_find_process(&guest); /* it was gone when it said hello, most likely */
    }
    if (guest.region_fd >= 0 && kept->order_number == HS_HERITAGE_UNDECIDED) {
        r = hs_hub_adopt(daemon->hub, &guest, now_ns);
    } else if (guest.region_fd >= 0) {
        r = hs_hub_inherit_target(daemon->hub, &guest, order ? order->session : NULL, &kept->state,
                                  now_ns);
    }
    if (r < 0) {
        hs_daemon_log("process %d is recorded no longer: %s", (int)kept->pid, strerror(-r));
    }
    hs_store_remove(&daemon->store, item->name);
}

/* Under another name: of before its session began, for one. Another region of the same process is another image. */
static bool is_there(const struct hs_daemon *daemon, const struct hs_store_item *item, pid_t pid)
{
    const struct hs_target *target = hs_registry_find(&daemon->hub->registry, pid);
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

/* Those that belong to an order, that belong to none, or that just said hello: with sessions that came first. */
static size_t adopt_targets(struct hs_daemon *daemon, struct hs_store_items *items,
                            uint64_t first_order, uint64_t last_order)
{
    size_t count = 0;
    for (size_t i = 0; i < items->count; i++) {
        struct hs_heritage_target kept;
        if (hs_heritage_parse_target(items->items[i].name, &kept) &&
            kept.order_number >= first_order && kept.order_number <= last_order) {
            if (is_there(daemon, &items->items[i], kept.pid)) {
                hs_store_remove(&daemon->store, items->items[i].name);
            } else {
                adopt_target(daemon, &items->items[i], &kept);
                count++;
            }
        }
    }
    return count;
}

/* --- all --------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const char *x = ((const struct hs_store_item *)a)->name;
    const char *y = ((const struct hs_store_item *)b)->name;
    size_t x_bytes = strlen(x), y_bytes = strlen(y);
    return x_bytes != y_bytes ? (x_bytes > y_bytes ? 1 : -1) : strcmp(x, y);
}

void hs_heritage_adopt(struct hs_daemon *daemon, struct hs_store_items *items)
{
    if (items->count == 0) {
        return;
    }
    /* Oldest sessions first: of those that want one process the oldest has it. */
    qsort(items->items, items->count, sizeof(items->items[0]), by_number);
    for (size_t i = 0; i < items->count; i++) {
        if (strncmp(items->items[i].name, HS_HERITAGE_ABOUT, strlen(HS_HERITAGE_ABOUT)) == 0) {
            adopt_order(daemon, items, &items->items[i]);
        }
    }
    size_t target_count = adopt_targets(daemon, items, 1, HS_HERITAGE_UNDECIDED - 1);
    target_count += adopt_targets(daemon, items, 0, 0);
    target_count += adopt_targets(daemon, items, HS_HERITAGE_UNDECIDED, HS_HERITAGE_UNDECIDED);
    hs_hub_inherit_done(daemon->hub, hs_daemon_mono_ns());
    hs_daemon_post_board(daemon);
    hs_daemon_log("a daemon before this one was killed: took over %zu sessions and %zu processes",
                  daemon->order_count, target_count);
}
