/*
 * Asks the kernel how a process ended: see exit_cause.h.
 */
#include "collect/inspect/exit_cause.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/proc.h"

/* From linux/pidfd.h of Linux 6.15, which few systems have. */
struct pidfd_info {
    uint64_t mask;
    uint64_t cgroup_id;
    uint32_t ids[11];
    int32_t exit_code;
};
#define PIDFD_GET_INFO  _IOWR(0xFF, 11, struct pidfd_info)
#define PIDFD_INFO_EXIT (UINT64_C(1) << 3)

#define TEXT_BYTES      4096
#define HS_DYING_NS     UINT64_C(1000000000)

static enum hs_exit_kind decode(int status, int *ret_value)
{
    if (WIFEXITED(status)) {
        *ret_value = WEXITSTATUS(status);
        return HS_EXIT_CODE;
    }
    *ret_value = WTERMSIG(status);
    return HS_EXIT_SIGNAL;
}

enum hs_exit_kind hs_exit_cause_find(pid_t pid, int pidfd, int *ret_value)
{
    struct hs_proc_stat stat;
    struct pidfd_info info = { .mask = PIDFD_INFO_EXIT };
    *ret_value = 0;
    if (pid > 0 && hs_proc_read_stat(pid, &stat) == 0 && stat.state == 'Z') {
        /* /proc shows the status only to processes that may trace it; to others it shows 0, which
         * says nothing. */
        char path[64];
        snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
        return stat.exit_code != 0 || access(path, R_OK) == 0
                   ? decode((int)stat.exit_code, ret_value)
                   : HS_EXIT_UNKNOWN;
    }
    if (pidfd >= 0 && ioctl(pidfd, PIDFD_GET_INFO, &info) == 0 && (info.mask & PIDFD_INFO_EXIT)) {
        return decode(info.exit_code, ret_value);
    }
    return HS_EXIT_UNKNOWN;
}

/* --- out of memory ---------------------------------------------------------------------------- */

static bool read_text(const char *path, char *ret_text)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t got = read(fd, ret_text, TEXT_BYTES - 1);
    close(fd);
    ret_text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

/* Lines look like "4:memory:/folder" or "0::/folder". */
bool hs_oom_watch_parse_cgroup(const char *text, bool wants_v2, char *ret_folder,
                               size_t folder_bytes)
{
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t bytes = strcspn(line, "\n");
        const char *names = memchr(line, ':', bytes);
        const char *folder =
            names ? memchr(names + 1, ':', bytes - (size_t)(names + 1 - line)) : NULL;
        if (!folder) {
            continue;
        }
        names++;
        folder++;
        size_t names_bytes = (size_t)(folder - 1 - names);
        size_t length = bytes - (size_t)(folder - line);
        const char *found = memmem(names, names_bytes, "memory", 6);
        bool is_it = wants_v2 ? names_bytes == 0 : found != NULL;
        if (is_it && length > 0 && length < folder_bytes && folder[0] == '/') {
            memcpy(ret_folder, folder, length);
            ret_folder[length] = '\0';
            return true;
        }
    }
    return false;
}

uint64_t hs_oom_watch_parse_count(const char *text)
{
    const char *found = strstr(text, "oom_kill ");
    return found && (found == text || found[-1] == '\n') ? strtoull(found + 9, NULL, 10) : 0;
}

/* Uses the first of these files that exists; a process may be in both hierarchies. */
static void find_file(struct hs_oom_watch *watch, const char *cgroups)
{
    static const struct {
        const char *mount, *file;
        bool is_v2;
    } places[] = {
        { "/sys/fs/cgroup", "memory.events", true },
        { "/sys/fs/cgroup/memory", "memory.oom_control", false },
        { "/sys/fs/cgroup/unified", "memory.events", true },
    };
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        char folder[sizeof(watch->path) / 2];
        if (hs_oom_watch_parse_cgroup(cgroups, places[i].is_v2, folder, sizeof(folder))) {
            snprintf(watch->path, sizeof(watch->path), "%s%s/%s", places[i].mount,
                     folder[1] ? folder : "", places[i].file);
            if (access(watch->path, R_OK) == 0) {
                return;
            }
        }
    }
    watch->path[0] = '\0';
}

static uint64_t read_count(const struct hs_oom_watch *watch)
{
    char text[TEXT_BYTES];
    return watch->path[0] && read_text(watch->path, text) ? hs_oom_watch_parse_count(text) : 0;
}

void hs_oom_watch_look(struct hs_oom_watch *watch, pid_t pid, uint64_t now_ns)
{
    if (!watch->is_known) {
        char path[64], text[TEXT_BYTES];
        snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
        watch->is_known = true;
        if (read_text(path, text)) {
            find_file(watch, text);
        }
        watch->count = watch->new_count = read_count(watch);
        watch->new_ns = now_ns;
    } else if (now_ns >= watch->new_ns + HS_DYING_NS) {
        watch->count = watch->new_count;
        watch->new_count = read_count(watch);
        watch->new_ns = now_ns;
    }
}

bool hs_oom_watch_has_risen(const struct hs_oom_watch *watch)
{
    return read_count(watch) > watch->count;
}
