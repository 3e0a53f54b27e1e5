/*
 * Detaching from processes: see attached.h.
 */
#include "cli/daemon_client/attached.h"

#include <signal.h>
#include <stdlib.h>

#include "cli/message.h"
#include "collect/attach/attachment.h"
#include "util/array.h"
#include "util/proc.h"

static struct hs_attached_process *find(const struct hs_attached *attached, pid_t pid)
{
    for (size_t i = 0; i < attached->count; i++) {
        if (attached->processes[i].pid == pid) {
            return &attached->processes[i];
        }
    }
    return NULL;
}

bool hs_attached_has(const struct hs_attached *attached, pid_t pid)
{
    return find(attached, pid) != NULL;
}

void hs_attached_add(struct hs_attached *attached, pid_t pid)
{
    struct hs_proc_stat stat = { .pid = 0 };
    struct hs_attached_process *process = find(attached, pid);
    hs_proc_read_stat(pid, &stat);
    if (!process && hs_array_reserve(&attached->processes, &attached->capacity, attached->count + 1,
                                     sizeof(*attached->processes)) == 0) {
        process = &attached->processes[attached->count++];
    }
    if (process) {
        *process = (struct hs_attached_process){ pid, stat.stack_start_va };
    }
}

void hs_attached_add_children(struct hs_attached *attached, const struct hs_registry *registry)
{
    for (size_t i = 0; i < registry->target_count; i++) {
        const struct hs_target *target = registry->targets[i];
        if (target->session.owner && target->process.pid > 0 &&
            target->region.header.forked_from_pid != 0 &&
            !hs_attached_has(attached, target->process.pid)) {
            hs_attached_add(attached, target->process.pid);
        }
    }
}

void hs_attached_let_go(const struct hs_attached *attached)
{
    for (size_t i = 0; i < attached->count; i++) {
        struct hs_attachment it;
        struct hs_proc_stat stat;
        pid_t pid = attached->processes[i].pid;
        bool is_there = hs_proc_read_stat(pid, &stat) == 0 && stat.state != 'Z' &&
                        !stat.is_exiting &&
                        stat.stack_start_va == attached->processes[i].stack_start_va;
        if (is_there && !hs_attachment_end(pid, HS_PATIENCE_END_NS, &it) && kill(pid, 0) == 0) {
            hs_message("cannot detach from %d: %s\n"
                       "The process runs on and records nothing; its calls still go through "
                       "heapscope's library. Try 'heapscope detach %d'.",
                       (int)pid, it.words, (int)pid);
        }
    }
}

void hs_attached_deinit(struct hs_attached *attached)
{
    free(attached->processes);
    *attached = (struct hs_attached){ 0 };
}
