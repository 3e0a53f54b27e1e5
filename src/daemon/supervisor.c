/*
 * systemd's protocols: see supervisor.h.
 */
#include "daemon/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/parse.h"

#define HS_FIRST_FD 3

/* A unix socket with a path that keeps messages apart, and listens. */
static int check_socket(int fd)
{
    struct sockaddr_un addr;
    socklen_t addr_bytes = sizeof(addr), bytes = sizeof(int);
    int type = 0, is_listening = 0;
    memset(&addr, 0, sizeof(addr));
    if (getsockname(fd, (struct sockaddr *)&addr, &addr_bytes) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &bytes) != 0) {
        return -errno;
    }
    if (addr.sun_family != AF_UNIX || addr.sun_path[0] != '/' || type != SOCK_SEQPACKET ||
        !is_listening) {
        return -EINVAL;
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

int hs_supervisor_take_socket(void)
{
    const char *pid_text = getenv("LISTEN_PID"), *count_text = getenv("LISTEN_FDS");
    uint64_t pid = 0, count = 0;
    bool is_ours = pid_text && count_text && hs_parse_number(pid_text, &pid) == 0 &&
                   hs_parse_number(count_text, &count) == 0 && pid == (uint64_t)getpid() &&
                   count > 0;
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    if (!is_ours) {
        return -ENOENT;
    }
    return count == 1 ? check_socket(HS_FIRST_FD) : -EINVAL;
}

void hs_supervisor_tell(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    size_t bytes = path ? strlen(path) : 0;
    if (bytes == 0 || bytes >= sizeof(addr.sun_path) || (path[0] != '/' && path[0] != '@')) {
        return;
    }
    memcpy(addr.sun_path, path, bytes);
    if (path[0] == '@') {
        addr.sun_path[0] = '\0'; /* an abstract name */
    }
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0) {
        socklen_t addr_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes);
        sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&addr, addr_bytes);
        close(fd);
    }
}
