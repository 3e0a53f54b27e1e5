/*
 * Detaching from processes: see detach_list.h.
 */
#include "cli/daemon_client/detach_list.h"

#include <signal.h>
#include <stdlib.h>

#include "cli/message.h"
#include "collect/attach/attachment.h"
#include "util/array.h"
#include "util/proc.h"

static struct hs_attached_process *find(const struct hs_detach_list *list, pid_t pid)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->processes[i].pid == pid) {
            return &list->processes[i];
        }
    }
    return NULL;
}

bool hs_detach_list_has(const struct hs_detach_list *list, pid_t pid)
{
    return find(list, pid) != NULL;
}

void hs_detach_list_add(struct hs_detach_list *list, pid_t pid)
{
    struct hs_proc_stat stat = { .pid = 0 };
    struct hs_attached_process *process = find(list, pid);
    hs_proc_read_stat(pid, &stat);
    if (!process && hs_array_reserve(&list->processes, &list->capacity, list->count + 1,
                                     sizeof(*list->processes)) == 0) {
        process = &list->processes[list->count++];
    }
    if (process) {
        *process = (struct hs_attached_process){ pid, stat.stack_start_va };
    }
}

void hs_detach_list_add_children(struct hs_detach_list *list, const struct hs_registry *registry)
{
    for (size_t i = 0; i < registry->target_count; i++) {
        const struct hs_target *target = registry->targets[i];
        if (target->session.owner && target->process.pid > 0 &&
            target->region.header.forked_from_pid != 0 &&
            !hs_detach_list_has(list, target->process.pid)) {
            hs_detach_list_add(list, target->process.pid);
        }
    }
}

void hs_detach_list_detach(const struct hs_detach_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct hs_attachment it;
        struct hs_proc_stat stat;
        pid_t pid = list->processes[i].pid;
        bool is_there = hs_proc_read_stat(pid, &stat) == 0 && stat.state != 'Z' &&
                        !stat.is_exiting &&
                        stat.stack_start_va == list->processes[i].stack_start_va;
        if (is_there && !hs_attachment_end(pid, HS_PATIENCE_END_NS, &it) && kill(pid, 0) == 0) {
            hs_message("cannot detach from %d: %s\n"
                       "The process runs on and records nothing; its calls still go through "
                       "heapscope's library. Try 'heapscope detach %d'.",
                       (int)pid, it.words, (int)pid);
        }
    }
}

void hs_detach_list_deinit(struct hs_detach_list *list)
{
    free(list->processes);
    *list = (struct hs_detach_list){ 0 };
}
