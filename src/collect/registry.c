/*
 * Takes hellos in and hands ended targets out: see registry.h.
 */
#include "collect/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/inspect/exit_cause.h"
#include "collect/named_request.h"
#include "util/array.h"

/* The subject of an epoll event: one of these small numbers, or a pointer to a target. */
#define HS_EVENT_LISTENER  1U
#define HS_EVENT_SILENT    2U /* plus the slot */

#define HS_ROOM_WAIT_MS    2
#define HS_TURN_EVENTS_MAX 128

_Static_assert(HS_EVENT_SILENT + HS_SILENT_CONNECTIONS_MAX < 4096, "below any pointer");

static int watch(struct hs_registry *registry, int fd, uint64_t tag)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = tag };
    return epoll_ctl(registry->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

static void unwatch(struct hs_registry *registry, int fd)
{
    epoll_ctl(registry->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static void set_listening(struct hs_registry *registry, bool is_listening)
{
    if (registry->is_listening != is_listening && registry->listener.fd >= 0) {
        registry->is_listening = is_listening;
        if (is_listening) {
            watch(registry, registry->listener.fd, HS_EVENT_LISTENER);
        } else {
            unwatch(registry, registry->listener.fd);
        }
    }
}

/* Ensures that there are descriptors for one more hello: holds them in reserve. False: there are
 * none. */
static bool ensure_room(struct hs_registry *registry)
{
    for (size_t i = 0; i < HS_PENDING_CLIENT_FDS; i++) {
        if (registry->room[i] < 0) {
            registry->room[i] = fcntl(registry->epoll_fd, F_DUPFD_CLOEXEC, 0);
        }
        if (registry->room[i] < 0) {
            return false;
        }
    }
    return true;
}

static void release_room(struct hs_registry *registry)
{
    for (size_t i = 0; i < HS_PENDING_CLIENT_FDS; i++) {
        if (registry->room[i] >= 0) {
            close(registry->room[i]);
            registry->room[i] = -1;
        }
    }
}

int hs_registry_open_with(struct hs_registry *registry, const struct hs_registry_config *config)
{
    *registry = (struct hs_registry){ .epoll_fd = epoll_create1(EPOLL_CLOEXEC),
                                      .listener = config->listener,
                                      .config = *config };
    for (size_t i = 0; i < HS_SILENT_CONNECTIONS_MAX; i++) {
        registry->silent_fds[i] = -1;
    }
    for (size_t i = 0; i < HS_PENDING_CLIENT_FDS; i++) {
        registry->room[i] = -1;
    }
    if (registry->epoll_fd < 0) {
        int r = -errno;
        hs_registry_close(registry);
        return r;
    }
    set_listening(registry, true);
    return 0;
}

static void drop_silent(struct hs_registry *registry, size_t slot)
{
    /* Another process may hold a descriptor of the same connection. */
    unwatch(registry, registry->silent_fds[slot]);
    close(registry->silent_fds[slot]);
    registry->silent_fds[slot] = -1;
}

void hs_registry_close(struct hs_registry *registry)
{
    for (size_t i = 0; i < registry->target_count; i++) {
        hs_target_close(registry->targets[i]);
    }
    free(registry->targets);
    registry->targets = NULL;
    registry->target_count = registry->target_capacity = 0;
    for (size_t i = 0; registry->epoll_fd >= 0 && i < HS_SILENT_CONNECTIONS_MAX; i++) {
        if (registry->silent_fds[i] >= 0) {
            drop_silent(registry, i);
        }
    }
    hs_listener_close(&registry->listener);
    if (registry->epoll_fd >= 0) {
        release_room(registry);
        close(registry->epoll_fd);
        registry->epoll_fd = -1;
    }
}

static void take_out(struct hs_registry *registry, struct hs_target *target)
{
    for (size_t i = 0; i < registry->target_count; i++) {
        if (registry->targets[i] == target) {
            registry->targets[i] = registry->targets[--registry->target_count];
            break;
        }
    }
    if (target->process.pidfd >= 0) {
        unwatch(registry, target->process.pidfd);
    }
}

void hs_registry_drop(struct hs_registry *registry, struct hs_target *target)
{
    take_out(registry, target);
    hs_target_close(target);
    set_listening(registry, true);
}

/* Hands an ended target to the owner. Afterwards descriptors may be free again. */
static void hand_out(struct hs_registry *registry, struct hs_target *target)
{
    take_out(registry, target);
    registry->config.on_end(registry->config.ctx, target);
    set_listening(registry, true);
}

struct hs_target *hs_registry_find(const struct hs_registry *registry, pid_t pid)
{
    for (size_t i = 0; pid > 0 && i < registry->target_count; i++) {
        if (registry->targets[i]->process.pid == pid) {
            return registry->targets[i];
        }
    }
    return NULL;
}

void hs_registry_end(struct hs_registry *registry, pid_t pid, uint64_t now_ns,
                     enum hs_exit_kind exit_kind, int exit_value)
{
    struct hs_target *target = hs_registry_find(registry, pid);
    if (target) {
        hs_target_process_end(&target->process, now_ns, exit_kind, exit_value);
        hand_out(registry, target);
    }
}

/* Hands out the targets of processes that had ended when their hello came: by now all their images
 * have been seen. */
static void hand_out_ended(struct hs_registry *registry)
{
    for (size_t i = registry->target_count; i > 0; i--) {
        if (registry->targets[i - 1]->process.has_ended) {
            hand_out(registry, registry->targets[i - 1]);
        }
    }
}

static int keep_target(struct hs_registry *registry, struct hs_target *target)
{
    int err = hs_array_reserve(&registry->targets, &registry->target_capacity,
                               registry->target_count + 1, sizeof(registry->targets[0]));
    if (err < 0) {
        return err;
    }
    registry->targets[registry->target_count++] = target;
    return target->process.pidfd >= 0
               ? watch(registry, target->process.pidfd, (uint64_t)(uintptr_t)target)
               : 0;
}

static void count_bad(struct hs_registry *registry, const char *why)
{
    registry->bad_count++;
    registry->bad_why = why;
}

static void call_on_begin(struct hs_registry *registry, struct hs_target *target)
{
    if (registry->config.on_begin) {
        registry->config.on_begin(registry->config.ctx, target);
    }
}

/* The same process announced itself again: it has executed another program, and the older image is
 * over. */
static void supersede(struct hs_registry *registry, struct hs_target *older,
                      const struct hs_target *newer, uint64_t now_ns)
{
    if (hs_target_is_prelude(older, newer)) {
        if (registry->config.on_skip) {
            registry->config.on_skip(registry->config.ctx, older);
        }
        hs_target_close(older);
    } else {
        hs_target_process_end(&older->process, now_ns, HS_EXIT_EXECUTED, 0);
        registry->config.on_end(registry->config.ctx, older);
    }
    set_listening(registry, true); /* descriptors may be free again */
}

int hs_registry_take(struct hs_registry *registry, struct hs_pending_client *pending,
                     uint64_t now_ns)
{
    struct hs_target *target;
    const char *why = "out of memory or descriptors";
    if (!registry->config.is_taking_hidden && pending->pid <= 0) {
        /* An owner that runs for long must learn of the target's end, and must have each process
         * once. */
        hs_pending_client_close(pending);
        count_bad(registry, "its process cannot be seen from here");
        return -ESRCH;
    }
    int r = hs_target_open(pending, now_ns, &target, &why);
    if (r < 0) {
        count_bad(registry, why);
        return r;
    }
    registry->image_count++;
    registry->own_malloc_count += (pending->hello.flags & HS_HELLO_OWN_MALLOC) != 0;
    struct hs_target *known = hs_registry_find(registry, pending->pid);
    if (known && hs_target_is_older(target, known)) {
        hs_target_process_end(&target->process, now_ns, HS_EXIT_EXECUTED, 0);
        call_on_begin(registry, target);
        supersede(registry, target, known, now_ns);
        return 0;
    }
    if (known) {
        take_out(registry, known);
        supersede(registry, known, target, now_ns);
    }
    if (keep_target(registry, target) < 0) {
        /* The process cannot be watched: the snapshot of what it has so far is the only one. */
        hs_target_process_end(&target->process, now_ns, HS_EXIT_UNKNOWN, 0);
        call_on_begin(registry, target);
        hand_out(registry, target);
        return 0;
    }
    call_on_begin(registry, target);
    return 0;
}

static void pass_to_peer(struct hs_registry *registry, int connection_fd)
{
    int fd = fcntl(connection_fd, F_DUPFD_CLOEXEC, 0);
    if (fd >= 0) {
        registry->config.on_peer(registry->config.ctx, fd);
    }
}

/* Passes a request to the owner, or answers why it cannot. */
static void serve_named(struct hs_registry *registry, const struct hs_named_request *request)
{
    int r = -ENOENT;
    for (size_t i = 0; i < registry->target_count; i++) {
        struct hs_target *target = registry->targets[i];
        int is_of = hs_named_request_is_of(request, target);
        if (is_of == 0) {
            registry->config.on_named(registry->config.ctx, target, request);
            return;
        }
        r = is_of != -ENOENT ? is_of : r;
    }
    if (r == -ENOENT) {
        registry->config.on_named(registry->config.ctx, NULL, request);
    } else {
        hs_named_request_answer(request, r);
    }
}

static int take_named(struct hs_registry *registry, int connection_fd)
{
    struct hs_named_request request = { .pidfd = -1, .connection_fd = connection_fd };
    int r = hs_named_request_receive(&registry->listener, connection_fd, &request);
    if (r == 0) {
        serve_named(registry, &request);
        hs_named_request_close(&request);
    } else if (r == -EACCES) {
        registry->stranger_count++;
    } else if (r != -EAGAIN) {
        hs_named_request_answer(&request, r);
        count_bad(registry, "its request for a snapshot was not valid");
    }
    return r == -EAGAIN ? r : 0;
}

/* Passes on a connection that speaks another protocol. 0: it does, and was passed on; -ENOMSG: it
 * does not; -EAGAIN: its first message has not arrived yet. A message that arrives between this
 * look and the next read stays in the socket. */
static int pass_on(struct hs_registry *registry, int connection_fd)
{
    uint64_t magic;
    if (!registry->config.on_peer && !registry->config.on_named) {
        return -ENOMSG;
    }
    int r = hs_listener_peek(connection_fd, &magic);
    if (r < 0) {
        return r;
    }
    if (magic == HS_CTL_MAGIC && registry->config.on_peer) {
        pass_to_peer(registry, connection_fd);
        return 0;
    }
    return magic == HS_NAMED_SNAPSHOT_MAGIC && registry->config.on_named
               ? take_named(registry, connection_fd)
               : -ENOMSG;
}

/* Is this region a target already? A bound process offers its region again if it thinks that no
 * daemon has it. */
static bool is_known(const struct hs_registry *registry, const struct hs_pending_client *pending)
{
    const struct hs_target *target = hs_registry_find(registry, pending->pid);
    struct stat ours, its;
    return target && fstat(target->region.fd, &ours) == 0 && fstat(pending->region_fd, &its) == 0 &&
           its.st_dev == ours.st_dev && its.st_ino == ours.st_ino;
}

/* Reads a hello and handles it. True: the connection is no longer needed. */
static bool receive(struct hs_registry *registry, int connection_fd, uint64_t now_ns)
{
    struct hs_pending_client pending;
    int passed = pass_on(registry, connection_fd);
    if (passed != -ENOMSG) {
        return passed == 0;
    }
    int r = hs_pending_client_receive(&registry->listener, connection_fd, &pending);
    switch (r) {
    case 0:
        if (is_known(registry, &pending)) {
            hs_pending_client_close(&pending);
            return true;
        }
        if (registry->config.on_pending) {
            registry->config.on_pending(registry->config.ctx, &pending);
        }
        if (pending.hello.flags & HS_HELLO_WAITS && registry->config.on_waiting) {
            registry->config.on_waiting(registry->config.ctx, &pending, connection_fd);
        }
        hs_registry_take(registry, &pending, now_ns);
        return true;
    case -EAGAIN:
        return false;
    case -EACCES:
        registry->stranger_count++;
        return true;
    case -ENODATA:
        registry->unseen_count++;
        return true;
    case -ECONNRESET:
        count_bad(registry, "it closed the connection before it identified itself");
        return true;
    default:
        count_bad(registry, "its hello message was not valid");
        return true;
    }
}

/* Keeps a connection until its hello comes. Between connect and hello a client needs microseconds.
 * When too many connections are silent, the one that has been silent for longest is dropped. */
static void keep_silent(struct hs_registry *registry, int connection_fd, uint64_t now_ns)
{
    size_t slot = registry->silent_next++ % HS_SILENT_CONNECTIONS_MAX;
    if (registry->silent_fds[slot] >= 0) {
        /* A hello may have arrived since the last look: connections are taken before hellos. */
        if (!receive(registry, registry->silent_fds[slot], now_ns)) {
            count_bad(registry, "it connected and sent nothing");
        }
        drop_silent(registry, slot);
    }
    registry->silent_fds[slot] = connection_fd;
    watch(registry, connection_fd, HS_EVENT_SILENT + slot);
}

/* Accepts one connection. False: there are no free descriptors for those of the hello. */
static bool accept_one(struct hs_registry *registry, uint64_t now_ns, int *ret_result)
{
    int fd;
    if (registry->listener.fd < 0) {
        *ret_result = -EAGAIN;
        return true;
    }
    if (!ensure_room(registry)) {
        return false;
    }
    release_room(registry);
    *ret_result = hs_listener_accept(&registry->listener, &fd);
    if (*ret_result == 0) {
        if (receive(registry, fd, now_ns)) {
            close(fd);
        } else {
            keep_silent(registry, fd, now_ns);
        }
    }
    return true;
}

static void accept_all(struct hs_registry *registry, uint64_t now_ns)
{
    int r = 0;
    for (unsigned i = 0; i < HS_TURN_EVENTS_MAX; i++) {
        if (r != 0 && r != -EINTR && r != -ECONNABORTED) {
            return;
        }
        if (!accept_one(registry, now_ns, &r)) {
            /* Until a process ends, or until the next turn. */
            set_listening(registry, false);
            return;
        }
    }
}

static void serve_silent(struct hs_registry *registry, size_t slot, uint64_t now_ns)
{
    if (registry->silent_fds[slot] < 0) {
        return;
    }
    if (!ensure_room(registry)) {
        /* The connection stays readable, so this pause prevents a busy loop until there is room. */
        poll(NULL, 0, HS_ROOM_WAIT_MS);
        return;
    }
    release_room(registry);
    if (receive(registry, registry->silent_fds[slot], now_ns)) {
        drop_silent(registry, slot);
    }
}

static void handle(struct hs_registry *registry, uint64_t tag, uint64_t now_ns)
{
    if (tag == HS_EVENT_LISTENER) {
        accept_all(registry, now_ns);
    } else if (tag < HS_EVENT_SILENT + HS_SILENT_CONNECTIONS_MAX) {
        serve_silent(registry, (size_t)(tag - HS_EVENT_SILENT), now_ns);
    } else {
        struct hs_target *target = (struct hs_target *)(uintptr_t)tag;
        int value;
        enum hs_exit_kind kind =
            hs_exit_cause_find(target->process.pid, target->process.pidfd, &value);
        hs_target_process_end(&target->process, now_ns, kind, value);
        hand_out(registry, target);
    }
}

void hs_registry_turn(struct hs_registry *registry, uint64_t now_ns)
{
    struct epoll_event event;
    /* Connections come first: a hello of the same pid distinguishes an exec from an end. Events are
     * handled one at a time: handling one may close the subject of another. The number of events is
     * bounded, because signals wait too. */
    set_listening(registry, true);
    accept_all(registry, now_ns);
    for (unsigned i = 0; i < HS_TURN_EVENTS_MAX && epoll_wait(registry->epoll_fd, &event, 1, 0) > 0;
         i++) {
        handle(registry, event.data.u64, now_ns);
    }
    hand_out_ended(registry);
}
