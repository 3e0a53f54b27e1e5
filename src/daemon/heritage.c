/*
 * What is given to the store while the daemon lives: see heritage.h. How it comes back: adopt.c.
 */
#include "daemon/heritage.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ctl/ctl.pb-c.h"
#include "daemon/daemon_log.h"
#include "util/array.h"
#include "util/write_all.h"

/* Which target has which name in the store. */
struct hs_kept_target {
    const struct hs_target *target; /* NULL: of a hello, nothing has become of it yet */
    pid_t pid;
    size_t fact_bytes; /* of the name: all but its serial number */
    char name[HS_STORE_NAME_MAX + 1];
};

/* --- targets ----------------------------------------------------------------------------------- */

enum target_bit {
    BIT_DORMANT = 1U << 0,
    BIT_RECORDED = 1U << 1,
    BIT_LATE = 1U << 2,
};

#define TARGET_FORMAT                                                                              \
    HS_HERITAGE_PREFIX "target-%" PRIu64 "-%" PRIu64 "-%" PRIu64 "-%" PRIu64 "-%" PRIu64           \
                       "-%" PRIu64 "-%" PRIu64 "-%" PRIu64 "-%" PRIu64 "-%" PRIu64
#define TARGET_BEGIN   HS_HERITAGE_PREFIX "target-"
#define TARGET_NUMBERS 10

void hs_heritage_name_target(const struct hs_heritage_target *target, uint64_t serial,
                             char ret_name[HS_STORE_NAME_MAX + 1])
{
    const struct hs_target_state *state = &target->state;
    uint64_t bits = (state->is_dormant ? BIT_DORMANT : 0U) |
                    (state->has_recorded ? BIT_RECORDED : 0U) | (state->is_late ? BIT_LATE : 0U);
    snprintf(ret_name, HS_STORE_NAME_MAX + 1, TARGET_FORMAT, (uint64_t)target->pid,
             (uint64_t)target->uid, (uint64_t)target->hello_flags, target->region_bytes,
             target->order_number, bits, state->session_start_ns, state->session_interval_bytes,
             state->rss_start_bytes, serial);
}

/* Numbers with a '-' between each two; nothing else. */
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

bool hs_heritage_parse_target(const char *name, struct hs_heritage_target *ret_target)
{
    uint64_t n[TARGET_NUMBERS];
    if (strncmp(name, TARGET_BEGIN, strlen(TARGET_BEGIN)) != 0 ||
        !parse_numbers(name + strlen(TARGET_BEGIN), n, TARGET_NUMBERS) || n[0] == 0 ||
        n[0] > INT32_MAX || n[1] > UINT32_MAX || n[2] > UINT32_MAX) {
        return false;
    }
    *ret_target = (struct hs_heritage_target){
        .pid = (pid_t)n[0],
        .uid = (uid_t)n[1],
        .hello_flags = (uint32_t)n[2],
        .region_bytes = n[3],
        .order_number = n[4],
        .state = { .is_dormant = n[5] & BIT_DORMANT,
                   .has_recorded = n[5] & BIT_RECORDED,
                   .is_late = n[5] & BIT_LATE,
                   .session_start_ns = n[6],
                   .session_interval_bytes = n[7],
                   .rss_start_bytes = n[8] },
    };
    return true;
}

static struct hs_kept_target *find_kept(const struct hs_daemon *daemon,
                                        const struct hs_target *target)
{
    for (size_t i = daemon->kept_count; i > 0; i--) {
        if (daemon->kept[i - 1].target == target) {
            return &daemon->kept[i - 1];
        }
    }
    return NULL;
}

static struct hs_kept_target *find_guest(const struct hs_daemon *daemon, pid_t pid)
{
    for (size_t i = daemon->kept_count; i > 0; i--) {
        if (!daemon->kept[i - 1].target && daemon->kept[i - 1].pid == pid) {
            return &daemon->kept[i - 1];
        }
    }
    return NULL;
}

static void forget(struct hs_daemon *daemon, struct hs_kept_target *kept)
{
    hs_store_remove(&daemon->store, kept->name);
    *kept = daemon->kept[--daemon->kept_count];
}

/* Puts it, and remembers that; instead of `before`, if that is not NULL. */
static void keep(struct hs_daemon *daemon, const struct hs_kept_target *kept,
                 struct hs_kept_target *before, int region_fd, int pidfd)
{
    const int fds[] = { region_fd, pidfd };
    size_t before_idx = before ? (size_t)(before - daemon->kept) : daemon->kept_count;
    if (hs_array_reserve(&daemon->kept, &daemon->kept_capacity, daemon->kept_count + 1,
                         sizeof(daemon->kept[0])) < 0) {
        return;
    }
    /* The new one first: who finds both takes what belongs to an order. */
    hs_store_put(&daemon->store, kept->name, fds, pidfd >= 0 ? 2 : 1);
    if (before) {
        hs_store_remove(&daemon->store, daemon->kept[before_idx].name);
    } else {
        daemon->kept_count++;
    }
    daemon->kept[before_idx] = *kept;
}

void hs_heritage_keep_guest(void *ctx, const struct hs_guest *guest)
{
    struct hs_daemon *daemon = ctx;
    struct hs_kept_target kept = { .pid = guest->pid };
    if (daemon->kept_count > 0 && !daemon->kept[daemon->kept_count - 1].target) {
        forget(daemon, &daemon->kept[daemon->kept_count - 1]); /* nothing became of it */
    }
    if (daemon->store.sock < 0 || guest->pid <= 0) {
        return;
    }
    hs_heritage_name_target(&(struct hs_heritage_target){ .pid = guest->pid,
                                                          .uid = guest->uid,
                                                          .hello_flags = guest->hello.flags,
                                                          .region_bytes = guest->hello.region_bytes,
                                                          .order_number = HS_HERITAGE_UNDECIDED },
                            hs_daemon_real_ns(), kept.name);
    keep(daemon, &kept, NULL, guest->region_fd, guest->pidfd);
}

void hs_heritage_keep_target(void *ctx, struct hs_target *target)
{
    struct hs_daemon *daemon = ctx;
    const struct hs_session *session = target->owner;
    const struct hs_order *order = session ? session->owner : NULL;
    struct hs_kept_target kept = { .target = target, .pid = target->pid };
    struct hs_kept_target *before = find_kept(daemon, target);
    before = before ? before : find_guest(daemon, target->pid);
    if (daemon->store.sock < 0) {
        return;
    }
    if (target->has_ended) {
        /* Kept as it came, until its dump is written. */
        if (before) {
            before->target = target;
        }
        return;
    }
    hs_heritage_name_target(&(struct hs_heritage_target){ .pid = target->pid,
                                                          .uid = target->uid,
                                                          .hello_flags = target->hello_flags,
                                                          .region_bytes = target->region.file_bytes,
                                                          .order_number = order ? order->number : 0,
                                                          .state = hs_target_state(target) },
                            hs_daemon_real_ns(), kept.name);
    kept.fact_bytes = (size_t)(strrchr(kept.name, '-') - kept.name);
    if (before && before->fact_bytes == kept.fact_bytes &&
        memcmp(before->name, kept.name, kept.fact_bytes) == 0) {
        return;
    }
    keep(daemon, &kept, before, target->region.fd, target->pidfd);
}

void hs_heritage_drop_target(void *ctx, struct hs_target *target)
{
    struct hs_daemon *daemon = ctx;
    struct hs_kept_target *kept = find_kept(daemon, target);
    if (kept) {
        forget(daemon, kept);
    }
}

void hs_heritage_deinit(struct hs_daemon *daemon)
{
    free(daemon->kept);
    daemon->kept = NULL;
    daemon->kept_count = daemon->kept_capacity = 0;
}

/* --- orders ------------------------------------------------------------------------------------ */

static void name_item(char *ret_name, const char *kind, const struct hs_order *order)
{
    snprintf(ret_name, HS_STORE_NAME_MAX + 1, "%s%" PRIu64, kind, order->number);
}

static int write_about(const struct hs_order *order, Hs__Ctl__Start *start)
{
    Hs__Ctl__KeptOrder kept = HS__CTL__KEPT_ORDER__INIT;
    kept.start = start;
    kept.session = (char *)(uintptr_t)order->name;
    kept.has_number = kept.has_uid = kept.has_gid = kept.has_start_real_ns = true;
    kept.number = order->number;
    kept.uid = order->uid;
    kept.gid = order->gid;
    kept.n_group = order->group_count;
    kept.group = order->groups;
    kept.start_real_ns = order->start_real_ns;
    size_t bytes = hs__ctl__kept_order__get_packed_size(&kept);
    struct hs_heritage_head head = { .version = 1,
                                     .body_bytes = (uint32_t)bytes,
                                     .progress = hs_session_progress(order->session) };
    uint8_t *body = malloc(bytes + 1);
    if (!body) {
        return -ENOMEM;
    }
    hs__ctl__kept_order__pack(&kept, body);
    int r = hs_write_all(order->about_fd, &head, sizeof(head));
    r = r < 0 ? r : hs_write_all(order->about_fd, body, bytes);
    free(body);
    return r;
}

static void on_written(void *owner, struct hs_session *session)
{
    (void)session;
    hs_heritage_update_order(owner);
}

void hs_heritage_keep_order(struct hs_daemon *daemon, struct hs_order *order,
                            const uint8_t *request, size_t request_bytes)
{
    char name[HS_STORE_NAME_MAX + 1];
    Hs__Ctl__Start *start = hs__ctl__start__unpack(NULL, request_bytes, request);
    order->session->on_written = on_written;
    if (daemon->store.sock < 0 || !start) {
        hs__ctl__start__free_unpacked(start, NULL);
        return;
    }
    order->about_fd = memfd_create("heapscope-order", MFD_CLOEXEC);
    int r = order->about_fd < 0 ? -errno : write_about(order, start);
    hs__ctl__start__free_unpacked(start, NULL);
    if (r < 0) {
        hs_daemon_log("session %s would be lost with this daemon: %s", order->name, strerror(-r));
        return;
    }
    const int fds[] = { order->file_fd, order->folder_fd };
    name_item(name, HS_HERITAGE_ABOUT, order);
    hs_store_put(&daemon->store, name, &order->about_fd, 1);
    name_item(name, HS_HERITAGE_ORDER, order);
    hs_store_put(&daemon->store, name, fds, 2);
}

void hs_heritage_resume_order(struct hs_order *order)
{
    order->session->on_written = on_written;
    hs_heritage_update_order(order);
}

void hs_heritage_update_order(struct hs_order *order)
{
    struct hs_heritage_head head;
    if (order->about_fd < 0 || !order->session ||
        pread(order->about_fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head)) {
        return;
    }
    head.progress = hs_session_progress(order->session);
    head.epoch = order->epoch;
    head.is_over = order->state != HS_ORDER_RUNNING;
    if (pwrite(order->about_fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head)) {
        hs_daemon_log("session %s: how far it has come cannot be kept", order->name);
    }
}

bool hs_heritage_lock_order(const struct hs_order *order)
{
    struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    struct hs_heritage_head head;
    if (order->about_fd < 0) {
        return true; /* nobody keeps it */
    }
    return fcntl(order->about_fd, F_SETLK, &all) == 0 &&
           pread(order->about_fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
           head.epoch == order->epoch;
}

void hs_heritage_drop_order(struct hs_daemon *daemon, struct hs_order *order)
{
    char name[HS_STORE_NAME_MAX + 1];
    if (order->about_fd < 0) {
        return;
    }
    name_item(name, HS_HERITAGE_ORDER, order);
    hs_store_remove(&daemon->store, name);
    name_item(name, HS_HERITAGE_ABOUT, order);
    hs_store_remove(&daemon->store, name);
}
