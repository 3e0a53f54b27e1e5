/*
 * Receives and answers requests for named snapshots: see named_request.h.
 */
#include "collect/named_request.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "trace/snapshot.h"

_Static_assert(HS_SNAP_NAME_MAX == HS_NAMED_SNAPSHOT_NAME_MAX, "a name fits into a snapshot");

int hs_named_request_parse(const void *data, size_t bytes, struct hs_named_request *ret_request)
{
    struct hs_named_snapshot_v1 message;
    if (bytes != sizeof(message)) {
        return -EINVAL;
    }
    memcpy(&message, data, sizeof(message));
    /* A later version may be longer; the rest of it was cut off. */
    if (message.magic != HS_NAMED_SNAPSHOT_MAGIC || message.version == 0 ||
        message.message_bytes < sizeof(message) || message.name_bytes == 0 ||
        message.name_bytes > HS_NAMED_SNAPSHOT_NAME_MAX ||
        strnlen(message.name, sizeof(message.name)) != message.name_bytes) {
        return -EINVAL;
    }
    *ret_request = (struct hs_named_request){ .inner_pid = message.pid,
                                              .start_mono_ns = message.start_mono_ns,
                                              .pidfd = -1,
                                              .connection_fd = -1 };
    memcpy(ret_request->name, message.name, message.name_bytes);
    return 0;
}

int hs_named_request_receive(struct hs_listener *listener, int connection_fd,
                             struct hs_named_request *ret_request)
{
    struct hs_named_snapshot_v1 message;
    struct hs_pending_client peer;
    struct hs_named_request request;
    ssize_t got = recv(connection_fd, &message, sizeof(message), MSG_DONTWAIT);
    if (got < 0) {
        return errno == EINTR ? -EAGAIN : -errno;
    }
    int r = hs_listener_find_peer(listener, connection_fd, &peer);
    if (r < 0) {
        return r;
    }
    r = hs_named_request_parse(&message, (size_t)got, &request);
    if (r < 0) {
        hs_pending_client_close(&peer);
        return r;
    }
    request.pid = peer.pid;
    request.uid = peer.uid;
    request.pidfd = peer.pidfd;
    request.connection_fd = connection_fd;
    *ret_request = request;
    return 0;
}

void hs_named_request_close(struct hs_named_request *request)
{
    if (request->pidfd >= 0) {
        close(request->pidfd);
        request->pidfd = -1;
    }
}

static bool has_ended(int pidfd)
{
    struct pollfd fd = { .fd = pidfd, .events = POLLIN };
    return poll(&fd, 1, 0) > 0;
}

/* The pid of a process that has ended may be another process's by now. */
static bool is_same_process(const struct hs_named_request *request, const struct hs_target *target)
{
    bool is_gone = request->pidfd < 0 || has_ended(request->pidfd);
    return !is_gone || target->process.has_ended || target->process.pidfd < 0 ||
           has_ended(target->process.pidfd);
}

int hs_named_request_is_of(const struct hs_named_request *request, const struct hs_target *target)
{
    const struct hs_region_header_v2 *header = &target->region.header;
    bool is_this_region = header->start_mono_ns == request->start_mono_ns;
    if (request->pid <= 0) {
        bool is_it = target->process.pid <= 0 && target->process.uid == request->uid &&
                     header->pid == request->inner_pid && is_this_region;
        return is_it ? 0 : -ENOENT;
    }
    if (target->process.pid != request->pid) {
        return -ENOENT;
    }
    if (!is_this_region) {
        return -EAGAIN;
    }
    return header->pid == request->inner_pid && is_same_process(request, target) ? 0 : -EACCES;
}

int hs_named_request_answer(const struct hs_named_request *request, int error)
{
    const struct hs_named_answer_v1 answer = { .magic = HS_NAMED_SNAPSHOT_MAGIC,
                                               .answer_bytes = sizeof(answer),
                                               .error = error };
    ssize_t sent =
        send(request->connection_fd, &answer, sizeof(answer), MSG_DONTWAIT | MSG_NOSIGNAL);
    bool is_told = sent == (ssize_t)sizeof(answer);
    return is_told || (request->pidfd >= 0 && has_ended(request->pidfd)) ? 0 : -ECANCELED;
}
