/*
 * Finds and connects to a daemon: see ctl_socket.h.
 */
#include "ctl/ctl_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int hs_ctl_socket_paths(char ret_paths[2][HS_CTL_PATH_MAX + 1])
{
    const char *named = getenv(HS_ENV_SOCKET);
    const char *folder = getenv(HS_ENV_RUNTIME_FOLDER);
    int count = 0;
    if (named) {
        if (named[0] != '/') {
            return -EINVAL;
        }
        if (strlen(named) > HS_CTL_PATH_MAX) {
            return -ENAMETOOLONG;
        }
        memcpy(ret_paths[0], named, strlen(named) + 1);
        return 1;
    }
    if (folder && folder[0] == '/' &&
        snprintf(ret_paths[0], HS_CTL_PATH_MAX + 1, "%s/" HS_CTL_SOCKET_NAME, folder) <=
            (int)HS_CTL_PATH_MAX) {
        count++;
    }
    memcpy(ret_paths[count++], HS_CTL_SYSTEM_SOCKET, sizeof(HS_CTL_SYSTEM_SOCKET));
    return count;
}

int hs_ctl_socket_connect(const char *path)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    size_t bytes = strlen(path);
    if (bytes > HS_CTL_PATH_MAX) {
        return -ENAMETOOLONG;
    }
    memcpy(addr.sun_path, path, bytes);
    return hs_ctl_socket_connect_to(&addr, sizeof(addr));
}

int hs_ctl_socket_connect_to(const struct sockaddr_un *addr, socklen_t addr_bytes)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -errno;
    }
    if (connect(fd, (const struct sockaddr *)addr, addr_bytes) != 0) {
        int r = -errno;
        close(fd);
        return r;
    }
    return fd;
}

int hs_ctl_socket_peer(int sock, pid_t *ret_pid, uid_t *ret_uid, gid_t *ret_gid)
{
    struct ucred peer;
    socklen_t bytes = sizeof(peer);
    if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) {
        return -errno;
    }
    *ret_pid = peer.pid;
    *ret_uid = peer.uid;
    *ret_gid = peer.gid;
    return 0;
}
