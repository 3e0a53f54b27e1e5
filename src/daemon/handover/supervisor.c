/*
 * Speaks systemd's protocols: see supervisor.h.
 */
#include "daemon/handover/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

/* Checks that the descriptor is a listening SOCK_SEQPACKET unix socket with a path. Returns it, or
 * -errno. */
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

/* Copies name number `idx` of a list that is separated by ':'; "" if there is none. */
static void get_name(const char *names, size_t idx, char *ret_name)
{
    for (; idx > 0; idx--) {
        names += strcspn(names, ":");
        names += *names == ':';
    }
    size_t bytes = strcspn(names, ":");
    bytes = bytes <= HS_FDSTORE_NAME_MAX ? bytes : 0;
    memcpy(ret_name, names, bytes);
    ret_name[bytes] = '\0';
}

int hs_supervisor_take(const char *prefix, struct hs_fdstore_items *items)
{
    const char *pid_text = getenv("LISTEN_PID"), *count_text = getenv("LISTEN_FDS");
    const char *names = getenv("LISTEN_FDNAMES");
    char name[HS_FDSTORE_NAME_MAX + 1];
    uint64_t pid = 0, count = 0;
    int sock = -ENOENT;
    if (!pid_text || !count_text || hs_parse_number(pid_text, &pid) < 0 ||
        hs_parse_number(count_text, &count) < 0 || pid != (uint64_t)getpid() || count > INT_MAX) {
        count = 0;
    }
    for (int i = 0; i < (int)count; i++) {
        int fd = HS_FIRST_FD + i;
        get_name(names ? names : "", (size_t)i, name);
        if (strncmp(name, prefix, strlen(prefix)) == 0) {
            fcntl(fd, F_SETFD, FD_CLOEXEC);
            hs_fdstore_items_add(items, name, &fd, 1);
        } else {
            sock = sock == -ENOENT ? check_socket(fd) : -EINVAL; /* there must be only one */
        }
    }
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    return sock;
}

/* A connected socket for messages to the supervisor; -1: there is no supervisor. */
static int connect_supervisor(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    size_t bytes = path ? strlen(path) : 0;
    if (bytes == 0 || bytes >= sizeof(addr.sun_path) || (path[0] != '/' && path[0] != '@')) {
        return -1;
    }
    memcpy(addr.sun_path, path, bytes);
    if (path[0] == '@') {
        addr.sun_path[0] = '\0'; /* an abstract name */
    }
    socklen_t addr_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, addr_bytes) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

void hs_supervisor_tell(const char *state)
{
    int fd = connect_supervisor();
    if (fd >= 0) {
        send(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT);
        close(fd);
    }
}

struct hs_fdstore hs_supervisor_fdstore(void)
{
    const char *room_text = getenv("FDSTORE");
    uint64_t room = 0;
    if (!room_text || hs_parse_number(room_text, &room) < 0 || room == 0) {
        return HS_FDSTORE_NONE;
    }
    return hs_fdstore_open(connect_supervisor(), false);
}
