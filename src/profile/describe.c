/*
 * See describe.h.
 */
#include "profile/describe.h"

#include <string.h>

#include "rt/text.h"
#include "trace/snapshot.h"
#include "util/buf.h"

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
            hs_buf_str(buf, "killed by the kernel, which ran out of memory for it");
            return;
        }
        const char *name = sigabbrev_np(p->exit_value);
        hs_buf_printf(buf, "killed by signal %d", p->exit_value);
        if (name) {
            hs_buf_printf(buf, " (SIG%s)", name);
        }
        return;
    }
    case HS_EXIT_UNKNOWN:
        break;
    }
    hs_buf_str(buf, "ended, nobody saw how");
}

bool hs_describe_has_status(const struct hs_profile_process *process)
{
    return process->exit_kind == HS_EXIT_CODE;
}

bool hs_describe_has_signal(const struct hs_profile_process *process)
{
    return process->exit_kind == HS_EXIT_SIGNAL;
}

bool hs_describe_is_end_good(const struct hs_profile *profile, uint32_t process)
{
    const struct hs_profile_process *p = &profile->processes[process];
    return p->exit_kind == HS_EXIT_CODE && p->exit_value == 0;
}

const char *hs_describe_module(const struct hs_profile *profile, uint32_t module)
{
    if (module >= profile->module_count) {
        return "";
    }
    return hs_text_base_name(hs_profile_string(profile, profile->modules[module].path));
}
