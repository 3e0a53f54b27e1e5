/*
 * Makes and removes the socket and the startup hint file: see daemon_socket.h.
 */
#include "daemon/daemon_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "ctl/ctl_socket.h"
#include "daemon/daemon_log.h"
#include "util/write_all.h"

#define HS_BACKLOG                 4096
#define HS_STARTUP_HINT_PATH_BYTES (HS_CTL_PATH_MAX + sizeof(HS_STARTUP_HINT_SUFFIX) + 8)

/* --- the socket ------------------------------------------------------------------------------- */

/* Makes the folder of the machine's socket: its file system is empty after each boot. */
static void make_folder(const char *path)
{
    char folder[HS_CTL_PATH_MAX + 1];
    snprintf(folder, sizeof(folder), "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash && slash != folder) {
        *slash = '\0';
        mkdir(folder, 0755);
    }
}

/* Removes the socket's file if no process listens there any more. Returns 0 if the path is free
 * then. */
static int clear_path(const char *path)
{
    struct stat st;
    if (lstat(path, &st) != 0) {
        return errno == ENOENT ? 0 : -errno;
    }
    if (!S_ISSOCK(st.st_mode)) {
        return -EEXIST;
    }
    int fd = hs_ctl_socket_connect(path);
    if (fd >= 0) {
        close(fd);
        return -EADDRINUSE;
    }
    if (fd != -ECONNREFUSED) {
        return fd == -EAGAIN ? -EADDRINUSE : fd;
    }
    return unlink(path) == 0 || errno == ENOENT ? 0 : -errno;
}

static int listen_at(const char *path, bool is_system)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    memcpy(addr.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -errno;
    }
    /* It does not listen yet: no program may connect before the startup hint file exists. */
    mode_t was = umask(0177);
    int r = bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 ? 0 : -errno;
    umask(was);
    if (r == 0 && is_system && chmod(path, 0666) != 0) {
        r = -errno;
    }
    if (r < 0) {
        close(fd);
        return r;
    }
    return fd;
}

/* Reads the path of a socket that another process made. */
static int path_of_socket(int fd, char *ret_path)
{
    struct sockaddr_un addr;
    socklen_t bytes = sizeof(addr);
    memset(&addr, 0, sizeof(addr));
    if (getsockname(fd, (struct sockaddr *)&addr, &bytes) != 0) {
        return -errno;
    }
    snprintf(ret_path, HS_CTL_PATH_MAX + 1, "%.*s", (int)HS_CTL_PATH_MAX, addr.sun_path);
    return 0;
}

static int open_socket(const char *path, bool is_system, struct hs_daemon_socket *daemon_socket)
{
    size_t bytes = strlen(path);
    if (path[0] != '/' || bytes > HS_CTL_PATH_MAX) {
        return path[0] != '/' ? -EINVAL : -ENAMETOOLONG;
    }
    memcpy(daemon_socket->path, path, bytes + 1);
    if (strcmp(path, HS_CTL_SYSTEM_SOCKET) == 0) {
        make_folder(path);
    }
    int r = clear_path(path);
    if (r == 0) {
        daemon_socket->fd = listen_at(path, is_system);
        r = daemon_socket->fd < 0 ? daemon_socket->fd : 0;
    }
    return r;
}

static int open_for_all(struct hs_daemon_socket *daemon_socket)
{
    /* Also on a socket that listens already: the kernel then reports our credentials to its
     * peers. */
    int r = listen(daemon_socket->fd, HS_BACKLOG) == 0 ? 0 : -errno;
    if (r < 0) {
        hs_daemon_socket_close(daemon_socket);
    }
    return r;
}

int hs_daemon_socket_open(const char *path, bool is_system,
                          struct hs_daemon_socket *ret_daemon_socket)
{
    static const struct hs_startup nothing;
    struct hs_daemon_socket daemon_socket = { .fd = -1, .hint.interval_bytes = UINT64_MAX };
    int r = open_socket(path, is_system, &daemon_socket);
    if (r < 0) {
        return r;
    }
    r = hs_daemon_socket_write_hint(&daemon_socket, &nothing);
    if (r < 0) {
        hs_daemon_socket_close(&daemon_socket);
        return r;
    }
    r = open_for_all(&daemon_socket);
    *ret_daemon_socket = daemon_socket;
    return r;
}

int hs_daemon_socket_take(int fd, bool is_from_supervisor,
                          struct hs_daemon_socket *ret_daemon_socket)
{
    struct hs_daemon_socket daemon_socket = { .fd = fd,
                                              .is_from_supervisor = is_from_supervisor,
                                              .hint.interval_bytes = UINT64_MAX };
    int r = path_of_socket(fd, daemon_socket.path);
    if (r < 0) {
        close(fd);
        return r;
    }
    r = open_for_all(&daemon_socket);
    *ret_daemon_socket = daemon_socket;
    return r;
}

/* --- the startup hint file -------------------------------------------------------------------- */

static void name_hint(const struct hs_daemon_socket *daemon_socket, const char *end, char *ret_path)
{
    snprintf(ret_path, HS_STARTUP_HINT_PATH_BYTES, "%s" HS_STARTUP_HINT_SUFFIX "%s",
             daemon_socket->path, end);
}

static int write_hint(int fd, const struct hs_startup *startup)
{
    struct {
        struct hs_startup_hint_v1 head;
        char heaps[HS_CTL_HEAPS_BYTES];
    } hint = { .head = { .magic = HS_STARTUP_HINT_MAGIC,
                         .version = HS_STARTUP_HINT_VERSION,
                         .hint_bytes = sizeof(hint.head),
                         .startup_interval_bytes = startup->interval_bytes,
                         .heaps_bytes = (uint32_t)strlen(startup->heaps) } };
    memcpy(hint.heaps, startup->heaps, hint.head.heaps_bytes);
    return hs_write_all(fd, &hint, sizeof(hint.head) + hint.head.heaps_bytes);
}

int hs_daemon_socket_write_hint(struct hs_daemon_socket *daemon_socket,
                                const struct hs_startup *startup)
{
    char path[HS_STARTUP_HINT_PATH_BYTES], temp_path[HS_STARTUP_HINT_PATH_BYTES];
    if (daemon_socket->hint.interval_bytes == startup->interval_bytes &&
        strcmp(daemon_socket->hint.heaps, startup->heaps) == 0) {
        return 0;
    }
    name_hint(daemon_socket, "", path);
    name_hint(daemon_socket, ".new", temp_path);
    unlink(temp_path); /* a daemon that was killed may have left it */
    int fd = open(temp_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) {
        return -errno;
    }
    int r = fchmod(fd, 0644) == 0 ? write_hint(fd, startup) : -errno;
    close(fd);
    if (r == 0 && rename(temp_path, path) != 0) {
        r = -errno;
    }
    if (r < 0) {
        unlink(temp_path);
        return r;
    }
    daemon_socket->hint = *startup;
    return 0;
}

void hs_daemon_socket_update_hint(struct hs_daemon_socket *daemon_socket,
                                  const struct hs_startup *startup)
{
    int r = hs_daemon_socket_write_hint(daemon_socket, startup);
    if (r < 0) {
        hs_daemon_log(
            "cannot write the startup hint file %s.board: %s; programs that start are recorded "
            "only after the daemon has read their hello",
            daemon_socket->path, strerror(-r));
    }
}

void hs_daemon_socket_close(struct hs_daemon_socket *daemon_socket)
{
    char path[HS_STARTUP_HINT_PATH_BYTES];
    if (daemon_socket->path[0]) {
        name_hint(daemon_socket, "", path);
        unlink(path);
        if (!daemon_socket->is_from_supervisor) {
            unlink(daemon_socket->path);
        }
        daemon_socket->path[0] = '\0';
    }
    if (daemon_socket->fd >= 0) {
        close(daemon_socket->fd);
        daemon_socket->fd = -1;
    }
}
