/*
 * See describe.h.
 */
#include "profile/model/describe.h"

#include <string.h>

#include "rt/text.h"
#include "trace/snapshot.h"
#include "util/buf.h"
#include "util/human.h"

/* Of a deeper nest, the innermost ones are named. */
#define SCOPES_SHOWN 16U

void hs_describe_end(const struct hs_profile *profile, uint32_t process, struct hs_buf *buf)
{
    const struct hs_profile_process *p = &profile->processes[process];
    switch ((enum hs_exit_kind)p->exit_kind) {
    case HS_EXIT_RUNNING:
        hs_buf_str(buf, "still running at the last snapshot");
        return;
    case HS_EXIT_CODE:
        hs_buf_printf(buf, "exited with status %d", p->exit_value);
        return;
    case HS_EXIT_SIGNAL: {
        if (p->is_oom_killed) {
            hs_buf_str(buf, "killed by the kernel's OOM killer");
            return;
        }
        const char *name = sigabbrev_np(p->exit_value);
        hs_buf_printf(buf, "killed by signal %d", p->exit_value);
        if (name) {
            hs_buf_printf(buf, " (SIG%s)", name);
        }
        return;
    }
    case HS_EXIT_EXECUTED:
        hs_buf_str(buf, "executed another program");
        return;
    case HS_EXIT_UNKNOWN:
        break;
    }
    hs_buf_str(buf, "ended; how it ended is not known");
}

void hs_describe_end_predicate(const struct hs_profile *profile, uint32_t process,
                               struct hs_buf *buf)
{
    uint8_t kind = profile->processes[process].exit_kind;
    bool is_participle = kind == HS_EXIT_RUNNING || kind == HS_EXIT_SIGNAL;
    hs_buf_str(buf, is_participle ? "was " : "");
    hs_describe_end(profile, process, buf);
    hs_buf_str(buf, kind == HS_EXIT_RUNNING ? "," : "");
}

bool hs_describe_is_running(const struct hs_profile_process *process)
{
    return process->exit_kind == HS_EXIT_RUNNING;
}

bool hs_describe_has_status(const struct hs_profile_process *process)
{
    return process->exit_kind == HS_EXIT_CODE;
}

bool hs_describe_has_signal(const struct hs_profile_process *process)
{
    return process->exit_kind == HS_EXIT_SIGNAL;
}

bool hs_describe_has_executed(const struct hs_profile_process *process)
{
    return process->exit_kind == HS_EXIT_EXECUTED;
}

bool hs_describe_is_end_good(const struct hs_profile *profile, uint32_t process)
{
    const struct hs_profile_process *p = &profile->processes[process];
    return p->exit_kind == HS_EXIT_CODE && p->exit_value == 0;
}

static void describe_limit(const struct hs_profile_change *change, struct hs_buf *buf)
{
    char text[HS_HUMAN_BYTES];
    switch ((enum hs_change_reason)change->reason) {
    case HS_CHANGE_MEMORY:
        hs_buf_printf(buf, ", to stay within the memory budget of %s",
                      hs_human_bytes(text, (double)change->limit));
        break;
    case HS_CHANGE_OVERHEAD:
        hs_buf_printf(buf, ", to stay within the overhead budget of %g %%",
                      (double)change->limit / 1e4);
        break;
    case HS_CHANGE_COLLECTOR_CPU:
        hs_buf_printf(buf, ", to stay within the CPU budget of heapscope itself, %s",
                      hs_human_duration(text, change->limit));
        break;
    case HS_CHANGE_EASED:
        hs_buf_printf(buf, ", because recording cost far less than the overhead budget of %g %%",
                      (double)change->limit / 1e4);
        break;
    case HS_CHANGE_UNKNOWN:
    case HS_CHANGE_N:
        break;
    }
}

void hs_describe_change(const struct hs_profile *profile, const struct hs_profile_change *change,
                        struct hs_buf *buf)
{
    char from[HS_HUMAN_BYTES], to[HS_HUMAN_BYTES];
    uint64_t start_ns = change->process < profile->process_count
                            ? profile->processes[change->process].start_ns
                            : change->time_ns;
    uint64_t after_ns = change->time_ns > start_ns ? change->time_ns - start_ns : 0;
    bool is_collector = change->reason == HS_CHANGE_COLLECTOR_CPU;
    if (change->to_bytes != change->from_bytes) {
        hs_buf_printf(buf, "sampling interval %s from %s to %s%s",
                      change->to_bytes > change->from_bytes ? "raised" : "lowered",
                      hs_human_bytes(from, (double)change->from_bytes),
                      hs_human_bytes(to, (double)change->to_bytes), is_collector ? ", " : "");
    }
    if (is_collector && change->rarity == 0) {
        hs_buf_str(buf, "no more scheduled snapshots");
    } else if (is_collector) {
        hs_buf_printf(buf, "scheduled snapshots %u times less often than requested",
                      change->rarity);
    }
    hs_buf_printf(buf, " after %s", hs_human_duration(from, after_ns));
    describe_limit(change, buf);
}

const char *hs_describe_change_reason(const struct hs_profile_change *change)
{
    static const char *const names[HS_CHANGE_N] = {
        [HS_CHANGE_UNKNOWN] = "unknown",   [HS_CHANGE_MEMORY] = "memory",
        [HS_CHANGE_OVERHEAD] = "overhead", [HS_CHANGE_COLLECTOR_CPU] = "collector_cpu",
        [HS_CHANGE_EASED] = "eased",
    };
    return names[change->reason < HS_CHANGE_N ? change->reason : HS_CHANGE_UNKNOWN];
}

const char *hs_describe_module(const struct hs_profile *profile, uint32_t module)
{
    if (module >= profile->module_count) {
        return "";
    }
    return hs_text_base_name(hs_profile_string(profile, profile->modules[module].path));
}

void hs_describe_process(const struct hs_profile *profile, uint32_t process, struct hs_buf *buf)
{
    const struct hs_profile_process *at = &profile->processes[process];
    const char *program = hs_profile_string(profile, at->cmdline);
    size_t bytes = strcspn(program, " ");
    /* Arguments are separated by blanks, so that a path that contains one would end too early. */
    const char *exe = hs_profile_string(profile, at->exe);
    size_t exe_bytes = strlen(exe);
    if (exe_bytes > bytes && strncmp(program, exe, exe_bytes) == 0) {
        bytes = exe_bytes;
    }
    size_t start = bytes;
    while (start > 0 && program[start - 1] != '/') {
        start--;
    }
    if (start < bytes) {
        hs_buf_add(buf, program + start, bytes - start);
    } else {
        hs_buf_str(buf, hs_profile_string(profile, at->name));
    }
}

void hs_describe_scope(const struct hs_profile *p, uint32_t scope, struct hs_buf *buf)
{
    uint32_t chain[SCOPES_SHOWN], count = 0;
    for (; scope > 0 && count < SCOPES_SHOWN; scope = p->scopes[scope - 1].parent) {
        chain[count++] = scope;
    }
    hs_buf_str(buf, scope > 0 ? "… > " : count == 0 ? "(none)" : "");
    while (count-- > 0) {
        hs_buf_str(buf, hs_profile_string(p, p->scopes[chain[count] - 1].name));
        hs_buf_str(buf, count > 0 ? " > " : "");
    }
}
