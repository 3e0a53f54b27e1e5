/*
 * Reads what /proc tells of a target's process: see target_process.h.
 */
#include "collect/target_process.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/proc.h"

#define HS_CMDLINE_BYTES_MAX       65536
#define HS_LOOK_PERIOD_FIRST_NS    UINT64_C(2000000)
#define HS_LOOK_PERIOD_MAX_NS      UINT64_C(250000000)
#define HS_LIBRARIES_PERIOD_NS     UINT64_C(1000000000)
#define HS_LIBRARIES_PERIOD_MAX_NS UINT64_C(64000000000)

/* The start of a stack that can no longer be read: no program has its stack there. */
#define HS_STACK_UNKNOWN UINT64_C(1)

/* Most processes end before their cgroup matters; it is looked up only from this age on. */
#define HS_OOM_AGE_NS UINT64_C(10000000)

void hs_target_process_init(struct hs_target_process *process,
                            const struct hs_pending_client *pending)
{
    *process = (struct hs_target_process){
        .pid = pending->pid,
        .pidfd = pending->pidfd,
        .uid = pending->uid,
        .hello_flags = pending->hello.flags,
        .look_period_ns = HS_LOOK_PERIOD_FIRST_NS,
        .look_period_max_ns = HS_LOOK_PERIOD_MAX_NS,
    };
}

void hs_target_process_deinit(struct hs_target_process *process)
{
    if (process->pidfd >= 0) {
        close(process->pidfd);
        process->pidfd = -1;
    }
    free(process->names.cmdline);
    process->names = (struct hs_process_names){ .cmdline = NULL };
}

bool hs_target_process_started_after(const struct hs_target_process *process,
                                     uint64_t start_boot_ns)
{
    struct hs_proc_stat stat;
    long ticks = sysconf(_SC_CLK_TCK);
    if (process->pid <= 0 || ticks <= 0 || hs_proc_read_stat(process->pid, &stat) < 0) {
        return false;
    }
    uint64_t tick_ns = UINT64_C(1000000000) / (uint64_t)ticks;
    /* An exec keeps the start time, so only a later one is wrong. The clock of stat is coarse. */
    return stat.start_ticks * tick_ns > start_boot_ns + tick_ns;
}

/* --- names ------------------------------------------------------------------------------------ */

static void read_names(pid_t pid, struct hs_process_names *ret_names)
{
    char text[64];
    size_t bytes;
    *ret_names = (struct hs_process_names){ .cmdline = NULL };
    if (hs_proc_read(pid, "comm", text, sizeof(text), &bytes) == 0) {
        hs_proc_parse_comm(text, bytes, ret_names->comm, sizeof(ret_names->comm));
    }
    char *cmdline = malloc(HS_CMDLINE_BYTES_MAX);
    if (cmdline && hs_proc_read(pid, "cmdline", cmdline, HS_CMDLINE_BYTES_MAX, &bytes) == 0 &&
        bytes > 0) {
        char *shorter = realloc(cmdline, bytes);
        ret_names->cmdline = shorter ? shorter : cmdline;
        ret_names->cmdline_bytes = (uint32_t)bytes;
    } else {
        free(cmdline);
    }
}

/* Takes over `names`. */
static void replace_names(struct hs_target_process *process, const struct hs_process_names *names)
{
    if (names->comm[0] != '\0') {
        memcpy(process->names.comm, names->comm, sizeof(process->names.comm));
    }
    if (names->cmdline) {
        free(process->names.cmdline);
        process->names.cmdline = names->cmdline;
        process->names.cmdline_bytes = names->cmdline_bytes;
    }
}

void hs_target_process_read_names(struct hs_target_process *process)
{
    struct hs_process_names names;
    read_names(process->pid, &names);
    replace_names(process, &names);
}

void hs_target_process_name_snapshot(const struct hs_target_process *process,
                                     struct hs_snapshot *snap)
{
    const struct hs_process_names *names = &process->names;
    if (names->comm[0] != '\0') {
        memcpy(snap->comm, names->comm, sizeof(snap->comm));
    }
    char *copy = names->cmdline ? malloc(names->cmdline_bytes) : NULL;
    if (copy) {
        memcpy(copy, names->cmdline, names->cmdline_bytes);
        free(snap->cmdline);
        snap->cmdline = copy;
        snap->cmdline_bytes = names->cmdline_bytes;
    }
}

/* --- while it lives --------------------------------------------------------------------------- */

/* Has the process executed another program? An attached process does not announce that, others only
 * if the new program loads our library; and the kernel tells only tracers. A new program has its
 * stack elsewhere, unless addresses are not randomized. False: it is just executing one, which has
 * its name before it has a stack. */
static bool look_for_exec(struct hs_target_process *process)
{
    struct hs_proc_stat stat;
    if (process->pid <= 0 || hs_proc_read_stat(process->pid, &stat) < 0 || stat.is_exiting) {
        return true;
    }
    if (stat.stack_start_va == 0) {
        return process->stack_start_va == 0; /* without permission, it is never known */
    }
    if (process->stack_start_va == 0) {
        process->stack_start_va = stat.stack_start_va;
    }
    bool is_other = stat.stack_start_va != process->stack_start_va;
    bool is_late = (process->hello_flags & HS_HELLO_LATE) != 0;
    process->has_executed = is_other && is_late;
    process->has_silent_program = is_other && !is_late;
    return true;
}

/* The process may execute another program between two reads of /proc: what was read before a look
 * that finds the old program is of the old program. */
static void look_for_names_and_exec(struct hs_target_process *process, bool is_forked)
{
    struct hs_process_names names = { .cmdline = NULL };
    if (process->pid > 0 && is_forked) {
        read_names(process->pid, &names);
    }
    bool is_known = look_for_exec(process);
    if (!is_known || process->has_executed || process->has_silent_program) {
        free(names.cmdline);
    } else {
        replace_names(process, &names);
    }
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Is `now` the file `exe`? File names are compared, as the process may see another root folder. */
static bool is_file_of(const char *exe, const char *now)
{
    const char *name = base_of(exe);
    const char *name_now = base_of(now);
    size_t name_bytes = strlen(name);
    return strncmp(name, name_now, name_bytes) == 0 &&
           (name_now[name_bytes] == '\0' || strcmp(name_now + name_bytes, " (deleted)") == 0);
}

void hs_target_process_check_exe(struct hs_target_process *process, const char *exe,
                                 const char *comm)
{
    char link[64], now[PATH_MAX], text[64], comm_now[HS_PROC_COMM_BYTES];
    size_t text_bytes;
    snprintf(link, sizeof(link), "/proc/%d/exe", (int)process->pid);
    ssize_t bytes = process->pid > 0 ? readlink(link, now, sizeof(now) - 1) : 0;
    if (bytes <= 0 || exe[0] == '\0' ||
        hs_proc_read(process->pid, "comm", text, sizeof(text), &text_bytes) != 0) {
        return;
    }
    now[bytes] = '\0';
    hs_proc_parse_comm(text, text_bytes, comm_now, sizeof(comm_now));
    /* A program that cannot read /proc takes its file for the link that was executed; but with
     * another program comm changes as well. */
    if (!is_file_of(exe, now) && strncmp(comm, comm_now, sizeof(comm_now) - 1) != 0) {
        process->has_silent_program = true;
        process->stack_start_va = HS_STACK_UNKNOWN; /* /proc shows that of the other program */
    }
}

static void look_for_libraries(struct hs_target_process *process, uint64_t now_ns)
{
    if (process->pid <= 0 || now_ns < process->libraries_next_ns) {
        return;
    }
    uint64_t period_ns = HS_LIBRARIES_PERIOD_NS;
    if (hs_library_watch_look(&process->libraries, process->pid)) {
        process->has_new_libraries = true;
        period_ns = process->libraries_period_ns * 2;
        period_ns = period_ns < HS_LIBRARIES_PERIOD_MAX_NS ? period_ns : HS_LIBRARIES_PERIOD_MAX_NS;
    }
    process->libraries_period_ns = period_ns;
    process->libraries_next_ns = now_ns + period_ns;
}

void hs_target_process_look(struct hs_target_process *process, bool is_forked, bool is_dormant,
                            uint64_t now_ns)
{
    struct hs_proc_status status;
    if (process->has_ended || now_ns < process->look_next_ns) {
        return;
    }
    if (process->pid > 0 && hs_proc_read_status(process->pid, &status) == 0 &&
        status.vm_rss_bytes > 0) {
        process->rss_bytes = status.vm_rss_bytes;
        if (status.vm_hwm_bytes > process->rss_peak_bytes) {
            process->rss_peak_bytes = status.vm_hwm_bytes;
        }
    }
    look_for_names_and_exec(process, is_forked);
    if ((process->hello_flags & HS_HELLO_LATE) != 0 && !is_dormant) {
        look_for_libraries(process, now_ns);
    }
    if (process->look_period_ns > HS_OOM_AGE_NS) {
        hs_oom_watch_look(&process->oom, process->pid, now_ns);
    }
    process->look_next_ns = now_ns + process->look_period_ns;
    process->look_period_ns += process->look_period_ns / 2;
    if (process->look_period_ns > process->look_period_max_ns) {
        process->look_period_ns = process->look_period_max_ns;
    }
}

/* --- the end ---------------------------------------------------------------------------------- */

void hs_target_process_end(struct hs_target_process *process, uint64_t now_ns,
                           enum hs_exit_kind exit_kind, int exit_value)
{
    if (!process->has_ended) {
        process->has_ended = true;
        process->end_ns = now_ns;
        process->exit_kind = exit_kind;
        process->exit_value = exit_value;
    }
}

bool hs_target_process_is_oom_killed(const struct hs_target_process *process)
{
    return process->exit_kind == HS_EXIT_SIGNAL && process->exit_value == SIGKILL &&
           hs_oom_watch_has_risen(&process->oom);
}
