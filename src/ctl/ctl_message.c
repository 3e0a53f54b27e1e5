/*
 * Datagrams: see ctl_message.h.
 */
#include "ctl/ctl_message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/write_all.h"

#define HS_DATAGRAM_MAX (sizeof(struct hs_ctl_head_v1) + HS_CTL_BODY_MAX)
#define HS_RIGHTS_MAX   16 /* room to receive, and then close, more than are allowed */

int hs_ctl_parse(const void *data, size_t bytes, struct hs_ctl_head_v1 *ret_head)
{
    struct hs_ctl_head_v1 head;
    if (bytes < sizeof(head)) {
        return -EPROTO;
    }
    memcpy(&head, data, sizeof(head));
    if (head.magic != HS_CTL_MAGIC) {
        return -EPROTO;
    }
    if (head.version != HS_CTL_VERSION) {
        return -EPROTONOSUPPORT;
    }
    bool is_in_file = (head.flags & HS_CTL_IN_FILE) != 0;
    size_t follows = is_in_file ? 0 : head.body_bytes;
    /* Requests are even, and short. */
    if ((is_in_file && head.kind % 2 == 0) || head.kind >= HS_CTL_KIND_N || head.kind == 1 ||
        bytes != sizeof(head) + follows || head.body_bytes > HS_CTL_FILE_MAX) {
        return -EPROTO;
    }
    *ret_head = head;
    return 0;
}

/* --- sending ----------------------------------------------------------------------------------- */

static int put_in_file(const uint8_t *body, size_t bytes, int *ret_fd)
{
    int fd = memfd_create("heapscope-message", MFD_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    int r = hs_write_all(fd, body, bytes);
    if (r < 0) {
        close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

static int send_datagram(int sock, const void *data, size_t bytes, const int *fds, size_t fd_count)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(HS_CTL_FDS_MAX * sizeof(int))];
    } control = { 0 };
    struct iovec iov = { .iov_base = (void *)(uintptr_t)data, .iov_len = bytes };
    struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
    if (fd_count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(c), fds, fd_count * sizeof(int));
    }
    if (sendmsg(sock, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        return errno == EPIPE ? -ECONNRESET : -errno;
    }
    return 0;
}

int hs_ctl_send(int sock, enum hs_ctl_kind kind, const ProtobufCMessage *body, const int *fds,
                size_t fd_count)
{
    int all[HS_CTL_FDS_MAX];
    int file_fd = -1;
    size_t bytes = protobuf_c_message_get_packed_size(body);
    struct hs_ctl_head_v1 head = { .magic = HS_CTL_MAGIC,
                                   .version = HS_CTL_VERSION,
                                   .kind = kind,
                                   .body_bytes = (uint32_t)bytes };
    if (bytes > HS_CTL_FILE_MAX || fd_count + (bytes > HS_CTL_BODY_MAX) > HS_CTL_FDS_MAX) {
        return -EMSGSIZE;
    }
    uint8_t *datagram = malloc(sizeof(head) + bytes);
    if (!datagram) {
        return -ENOMEM;
    }
    protobuf_c_message_pack(body, datagram + sizeof(head));
    int r = 0;
    size_t datagram_bytes = sizeof(head) + bytes;
    for (size_t i = 0; i < fd_count; i++) {
        all[i] = fds[i];
    }
    if (bytes > HS_CTL_BODY_MAX) {
        r = put_in_file(datagram + sizeof(head), bytes, &file_fd);
        head.flags |= HS_CTL_IN_FILE;
        datagram_bytes = sizeof(head);
        all[fd_count++] = file_fd;
    }
    memcpy(datagram, &head, sizeof(head));
    if (r == 0) {
        r = send_datagram(sock, datagram, datagram_bytes, all, fd_count);
    }
    if (file_fd >= 0) {
        close(file_fd);
    }
    free(datagram);
    return r;
}

/* --- receiving --------------------------------------------------------------------------------- */

/* Keeps the first ones, closes what is too much. */
static void take_fds(struct msghdr *from, struct hs_ctl_message *message)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(from); c; c = CMSG_NXTHDR(from, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
            if (message->fd_count < HS_CTL_FDS_MAX) {
                message->fds[message->fd_count++] = fd;
            } else {
                close(fd);
            }
        }
    }
}

/* A body in a file: copied, so that it stays as it is. */
static int read_file(struct hs_ctl_message *message, size_t bytes)
{
    size_t done = 0;
    int fd = message->fd_count > 0 ? message->fds[--message->fd_count] : -1;
    struct stat st;
    int r = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? 0 : -EPROTO;
    message->body = r == 0 ? malloc(bytes + 1) : NULL;
    if (r == 0 && !message->body) {
        r = -ENOMEM;
    }
    while (r == 0 && done < bytes) {
        ssize_t got = pread(fd, message->body + done, bytes - done, (off_t)done);
        if (got <= 0) {
            r = got < 0 && errno == EINTR ? 0 : -EPROTO;
        } else {
            done += (size_t)got;
        }
    }
    message->body_bytes = done;
    if (fd >= 0) {
        close(fd);
    }
    return r;
}

/* Takes over what came. */
static int take_body(const uint8_t *datagram, size_t bytes, struct hs_ctl_message *message)
{
    struct hs_ctl_head_v1 head;
    int r = hs_ctl_parse(datagram, bytes, &head);
    if (r < 0) {
        return r;
    }
    message->kind = head.kind;
    if (head.flags & HS_CTL_IN_FILE) {
        return read_file(message, head.body_bytes);
    }
    message->body = malloc(head.body_bytes + 1);
    if (!message->body) {
        return -ENOMEM;
    }
    memcpy(message->body, datagram + sizeof(head), head.body_bytes);
    message->body_bytes = head.body_bytes;
    return 0;
}

int hs_ctl_receive(int sock, bool may_wait, struct hs_ctl_message *ret_message)
{
    struct hs_ctl_message message = { 0 };
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(HS_RIGHTS_MAX * sizeof(int))];
    } control;
    /* One more than can be: a datagram that is cut is too long. */
    uint8_t *datagram = malloc(HS_DATAGRAM_MAX + 1);
    if (!datagram) {
        return -ENOMEM;
    }
    struct iovec iov = { .iov_base = datagram, .iov_len = HS_DATAGRAM_MAX + 1 };
    struct msghdr from = { .msg_iov = &iov,
                           .msg_iovlen = 1,
                           .msg_control = control.bytes,
                           .msg_controllen = sizeof(control.bytes) };
    ssize_t got = recvmsg(sock, &from, MSG_CMSG_CLOEXEC | (may_wait ? 0 : MSG_DONTWAIT));
    int r = got < 0 ? (errno == EINTR ? -EAGAIN : -errno) : 0;
    if (r == 0) {
        take_fds(&from, &message);
        r = got == 0 ? -ECONNRESET : take_body(datagram, (size_t)got, &message);
    }
    free(datagram);
    if (r < 0) {
        hs_ctl_message_deinit(&message);
        return r;
    }
    *ret_message = message;
    return 0;
}

ProtobufCMessage *hs_ctl_unpack(const struct hs_ctl_message *message,
                                const ProtobufCMessageDescriptor *descriptor)
{
    return protobuf_c_message_unpack(descriptor, NULL, message->body_bytes, message->body);
}

int hs_ctl_take_fd(struct hs_ctl_message *message, size_t idx)
{
    if (idx >= message->fd_count) {
        return -1;
    }
    int fd = message->fds[idx];
    message->fds[idx] = -1;
    return fd;
}

void hs_ctl_message_deinit(struct hs_ctl_message *message)
{
    for (size_t i = 0; i < message->fd_count; i++) {
        if (message->fds[i] >= 0) {
            close(message->fds[i]);
        }
    }
    free(message->body);
    *message = (struct hs_ctl_message){ 0 };
}
