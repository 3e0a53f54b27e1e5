/* Datagrams with file descriptors: see fd_message.h. */
#include "util/fd_message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(HS_FD_MESSAGE_FDS_MAX * sizeof(int))];
};

int hs_fd_message_send(int sock, const void *data, size_t bytes, const int *fds, size_t fd_count,
                       int flags)
{
    union control control = { 0 };
    struct iovec iov = { .iov_base = (void *)(size_t)data, .iov_len = bytes };
    struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
    if (fd_count > HS_FD_MESSAGE_FDS_MAX) {
        return -EMSGSIZE;
    }
    if (fd_count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(c), fds, fd_count * sizeof(int));
    }
    if (sendmsg(sock, &message, flags | MSG_NOSIGNAL) < 0) {
        return errno == EPIPE ? -ECONNRESET : -errno;
    }
    return 0;
}

/* Keeps the first `fd_max` descriptors and closes the others. Returns how many it kept. */
static size_t take_fds(struct msghdr *from, int *ret_fds, size_t fd_max)
{
    size_t kept = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(from); c; c = CMSG_NXTHDR(from, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
            if (kept < fd_max) {
                ret_fds[kept++] = fd;
            } else {
                close(fd);
            }
        }
    }
    return kept;
}

ssize_t hs_fd_message_receive(int sock, void *data, size_t bytes, int *ret_fds, size_t fd_max,
                              size_t *ret_fd_count, int flags)
{
    union control control;
    struct iovec iov = { .iov_base = data, .iov_len = bytes };
    struct msghdr from = { .msg_iov = &iov,
                           .msg_iovlen = 1,
                           .msg_control = control.bytes,
                           .msg_controllen = sizeof(control.bytes) };
    ssize_t got = recvmsg(sock, &from, flags | MSG_CMSG_CLOEXEC);
    *ret_fd_count = got >= 0 ? take_fds(&from, ret_fds, fd_max) : 0;
    return got < 0 ? -errno : got;
}
