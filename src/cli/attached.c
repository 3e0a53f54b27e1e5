/*
 * Letting go of processes: see attached.h.
 */
#include "cli/attached.h"

#include <signal.h>
#include <stdlib.h>

#include "cli/message.h"
#include "collect/attachment.h"
#include "util/array.h"
#include "util/proc.h"

void hs_attached_add(struct hs_attached *attached, pid_t pid)
{
    for (size_t i = 0; i < attached->count; i++) {
        if (attached->pids[i] == pid) {
            return;
        }
    }
    if (hs_array_reserve(&attached->pids, &attached->capacity, attached->count + 1,
                         sizeof(*attached->pids)) == 0) {
        attached->pids[attached->count++] = pid;
    }
}

void hs_attached_add_children(struct hs_attached *attached, const struct hs_registry *registry)
{
    for (size_t i = 0; i < registry->target_count; i++) {
        const struct hs_target *target = registry->targets[i];
        if (target->owner && target->pid > 0 && target->region.header.forked_from_pid != 0) {
            hs_attached_add(attached, target->pid);
        }
    }
}

void hs_attached_let_go(const struct hs_attached *attached)
{
    for (size_t i = 0; i < attached->count; i++) {
        struct hs_attachment it;
        struct hs_proc_stat stat;
        pid_t pid = attached->pids[i];
        bool is_there = hs_proc_read_stat(pid, &stat) == 0 && stat.state != 'Z' && !stat.is_exiting;
        if (is_there && !hs_attachment_end(pid, HS_PATIENCE_END_NS, &it) && kill(pid, 0) == 0) {
            hs_message("cannot let go of %d: %s\nIt runs on and records nothing; its calls still "
                       "go through "
                       "heapscope's library. Try 'heapscope detach %d'.",
                       (int)pid, it.words, (int)pid);
        }
    }
}

void hs_attached_deinit(struct hs_attached *attached)
{
    free(attached->pids);
    *attached = (struct hs_attached){ 0 };
}
