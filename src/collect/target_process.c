/*
 * Reads what /proc tells of a target's process: see target_process.h.
 */
#include "collect/target_process.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/proc.h"

#define HS_CMDLINE_BYTES_MAX       65536
#define HS_LOOK_PERIOD_FIRST_NS    UINT64_C(2000000)
#define HS_LOOK_PERIOD_MAX_NS      UINT64_C(250000000)
#define HS_LIBRARIES_PERIOD_NS     UINT64_C(1000000000)
#define HS_LIBRARIES_PERIOD_MAX_NS UINT64_C(64000000000)

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

void hs_target_process_read_names(struct hs_target_process *process)
{
    struct hs_process_names *names = &process->names;
    char text[64];
    size_t bytes;
    if (hs_proc_read(process->pid, "comm", text, sizeof(text), &bytes) == 0) {
        hs_proc_parse_comm(text, bytes, names->comm, sizeof(names->comm));
    }
    char *cmdline = malloc(HS_CMDLINE_BYTES_MAX);
    if (cmdline &&
        hs_proc_read(process->pid, "cmdline", cmdline, HS_CMDLINE_BYTES_MAX, &bytes) == 0 &&
        bytes > 0) {
        char *shorter = realloc(cmdline, bytes);
        free(names->cmdline);
        names->cmdline = shorter ? shorter : cmdline;
        names->cmdline_bytes = (uint32_t)bytes;
    } else {
        free(cmdline);
    }
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

/* Has an attached process executed another program? Such a process does not announce that, and the
 * kernel tells only tracers. A new program has its stack elsewhere, unless addresses are not
 * randomized. */
static void look_for_exec(struct hs_target_process *process)
{
    struct hs_proc_stat stat;
    if (process->pid <= 0 || hs_proc_read_stat(process->pid, &stat) < 0 || stat.is_exiting ||
        stat.stack_start_va == 0) {
        return;
    }
    if (process->stack_start_va == 0) {
        process->stack_start_va = stat.stack_start_va;
    }
    process->has_executed = stat.stack_start_va != process->stack_start_va;
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
    if (process->pid > 0 && is_forked) {
        hs_target_process_read_names(process);
    }
    if ((process->hello_flags & HS_HELLO_LATE) != 0) {
        look_for_exec(process);
        if (!is_dormant) {
            look_for_libraries(process, now_ns);
        }
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
