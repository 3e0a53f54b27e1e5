/*
 * Looks at a client from outside: see client_state.h.
 */
#include "collect/inspect/client_state.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "fmt/region_layout.h"
#include "util/buf.h"
#include "util/proc.h"

static bool read_control(const char *proc, const char *pid_text, uint64_t va,
                         struct hs_region_control_v1 *ret_control)
{
    char path[PATH_MAX];
    int len = snprintf(path, sizeof(path), "%s/%s/mem", proc, pid_text);
    int fd = len > 0 && (size_t)len < sizeof(path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) {
        return false;
    }
    bool is_read = va <= INT64_MAX && pread(fd, ret_control, sizeof(*ret_control), (off_t)va) ==
                                          (ssize_t)sizeof(*ret_control);
    close(fd);
    return is_read && ret_control->magic == HS_REGION_MAGIC;
}

/* Another process may have the same pid by now; the start time tells them apart. */
static bool is_running(const char *proc, uint32_t pid, uint64_t start_ticks)
{
    char folder[PATH_MAX];
    struct hs_buf text = HS_BUF_INIT;
    struct hs_proc_stat stat;
    int len = snprintf(folder, sizeof(folder), "%s/%u", proc, pid);
    bool is_there = len > 0 && (size_t)len < sizeof(folder) &&
                    hs_proc_read_whole(folder, "stat", &text) == 0 &&
                    hs_proc_parse_stat(text.data, text.bytes, &stat) == 0 && !stat.is_exiting &&
                    stat.start_ticks == start_ticks;
    hs_buf_deinit(&text);
    return is_there;
}

void hs_client_state_look(const char *proc, const char *pid_text,
                          const struct hs_loaded_runtimes *runtimes, bool is_in_our_pid_ns,
                          struct hs_client_activity *ret_client)
{
    struct hs_client_activity client = { .state = HS_CLIENT_NONE };
    struct hs_region_control_v1 control;
    if (!runtimes->has_client) {
        *ret_client = client;
        return;
    }
    if (runtimes->control_va == 0) {
        client.state = HS_CLIENT_ASLEEP;
    } else if (!read_control(proc, pid_text, runtimes->control_va, &control)) {
        client.state = HS_CLIENT_ACTIVE;
    } else {
        bool is_on = control.interval_bytes != HS_INTERVAL_OFF;
        bool is_gone = control.collector_pid != 0 && is_in_our_pid_ns &&
                       !is_running(proc, control.collector_pid, control.collector_start_ticks);
        bool is_bound = (control.flags & HS_CONTROL_BOUND) != 0;
        client.collector_pid = control.collector_pid;
        client.is_kept = is_on && (control.flags & HS_CONTROL_KEPT || (is_bound && is_gone));
        if (is_on) {
            client.state = is_gone && !is_bound ? HS_CLIENT_ORPHANED : HS_CLIENT_ACTIVE;
        } else {
            bool is_unowned = is_gone || control.collector_pid == 0;
            client.state = is_unowned ? HS_CLIENT_ASLEEP : HS_CLIENT_WAITING;
        }
    }
    *ret_client = client;
}
