/*
 * Looking for a daemon. See daemon_lookup.h.
 */
#include "client/life/daemon_lookup.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "client/life/register.h"
#include "rt/base.h"
#include "rt/sys.h"

#define BOARD_PATH_BYTES (HS_CTL_PATH_MAX + sizeof(HS_STARTUP_HINT_SUFFIX))

/* Concatenates two strings. False: they are longer than `cap_bytes` with their NUL. */
static bool join(const char *first, const char *second, char *ret_text, size_t cap_bytes)
{
    size_t len = 0;
    for (unsigned part = 0; part < 2; part++) {
        for (const char *from = part == 0 ? first : second; *from; from++) {
            if (len + 1 >= cap_bytes) {
                return false;
            }
            ret_text[len++] = *from;
        }
    }
    ret_text[len] = '\0';
    return true;
}

static bool is_trusted(uint32_t uid)
{
    return uid == 0 || uid == hs_sys_geteuid();
}

/* Is the process that made the socket listen trusted? */
static bool is_peer_trusted(int sock)
{
    struct ucred peer = { 0 };
    socklen_t bytes = sizeof(peer);
    return hs_arch_syscall(SYS_getsockopt, sock, SOL_SOCKET, SO_PEERCRED, (long)&peer, (long)&bytes,
                           0) == 0 &&
           is_trusted(peer.uid);
}

/* Reads the text behind the fixed part. NULL: there is none. */
static const char *read_heaps(int fd, const struct hs_startup_hint_v1 *hint)
{
    static char heaps[HS_CTL_HEAPS_BYTES]; /* too large for a small stack */
    /* A later version may have more in front of the text; then it is another one. */
    bool is_read = hint->heaps_bytes > 0 && hint->heaps_bytes < sizeof(heaps) &&
                   hint->hint_bytes == sizeof(*hint) &&
                   hs_sys_read(fd, heaps, hint->heaps_bytes) == (long)hint->heaps_bytes;
    heaps[is_read ? hint->heaps_bytes : 0] = '\0';
    return is_read ? heaps : NULL;
}

/* Reads what a program that starts does. Without a hint it waits. */
static void read_hint(const char *socket_path, struct hs_daemon_lookup *ret_daemon)
{
    char path[BOARD_PATH_BYTES];
    struct hs_startup_hint_v1 hint = { 0 };
    struct stat st = { 0 };
    ret_daemon->startup_interval_bytes = 0;
    ret_daemon->startup_heaps = NULL;
    if (!join(socket_path, HS_STARTUP_HINT_SUFFIX, path, sizeof(path))) {
        return;
    }
    int fd = (int)hs_sys_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return;
    }
    bool is_whole = hs_arch_syscall(SYS_fstat, fd, (long)&st, 0, 0, 0, 0) == 0 &&
                    S_ISREG(st.st_mode) && is_trusted(st.st_uid) &&
                    hs_sys_read(fd, &hint, sizeof(hint)) == (long)sizeof(hint) &&
                    hint.magic == HS_STARTUP_HINT_MAGIC && hint.hint_bytes >= sizeof(hint);
    if (is_whole) {
        ret_daemon->startup_interval_bytes = hint.startup_interval_bytes;
        ret_daemon->startup_heaps = read_heaps(fd, &hint);
    }
    hs_sys_close(fd);
}

static bool try_socket(const char *path, struct hs_daemon_lookup *ret_daemon)
{
    if (path[0] != '/' || !join(path, "", ret_daemon->path, sizeof(ret_daemon->path))) {
        return false;
    }
    ret_daemon->sock = hs_register_connect(path, 1);
    if (ret_daemon->sock < 0) {
        return false;
    }
    if (!is_peer_trusted(ret_daemon->sock)) {
        hs_sys_close(ret_daemon->sock);
        return false;
    }
    read_hint(path, ret_daemon);
    return true;
}

bool hs_daemon_lookup_find(const struct hs_env *env, struct hs_daemon_lookup *ret_daemon)
{
    char path[HS_CTL_PATH_MAX + 1];
    /* A process that runs with other rights than those of the process that started it does not
     * trust its environment. */
    if (env->is_chosen || getauxval(AT_SECURE) == 0) {
        if (env->socket) {
            /* A socket was named: that one or none. */
            return try_socket(env->socket, ret_daemon);
        }
        if (env->runtime_folder &&
            join(env->runtime_folder, "/" HS_CTL_SOCKET_NAME, path, sizeof(path)) &&
            try_socket(path, ret_daemon)) {
            return true;
        }
    }
    return try_socket(HS_CTL_SYSTEM_SOCKET, ret_daemon);
}
