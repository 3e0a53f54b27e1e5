/*
 * Finds the process that is meant: see answer_choice.h.
 */
#include "session/answer_choice.h"

#include <string.h>

#include "ctl/ctl_message.h"
#include "session/match.h"
#include "session/process_facts.h"

static void remember(struct hs_answer_choice *choice, const struct hs_process_facts *facts)
{
    size_t i = choice->count++;
    hs_match_display(&facts->facts, choice->process, sizeof(choice->process));
    if (i < HS_CANDIDATES_TOLD) {
        Hs__Ctl__Candidate *it = choice->pointers[i] = &choice->candidates[i];
        hs__ctl__candidate__init(it);
        memcpy(choice->processes[i], choice->process, sizeof(choice->process));
        it->has_pid = true;
        it->pid = (uint32_t)facts->facts.pid;
        it->process = choice->processes[i];
        it->session = (char *)(uintptr_t)choice->session;
    }
}

static void consider(const struct hs_recorded *recorded, uint32_t pid, const char *name,
                     struct hs_target *target, struct hs_answer_choice *choice)
{
    struct hs_process_facts facts;
    if (target->process.has_ended || !recorded->may_see(recorded->ctx, target) ||
        (pid != 0 && target->process.pid != (pid_t)pid)) {
        return;
    }
    choice->has_client = true;
    const char *session = recorded->session_of(recorded->ctx, target);
    if (!session) {
        return;
    }
    hs_process_facts_of_target(target, &facts);
    if (name && !hs_match_name(name, &facts.facts)) {
        return;
    }
    choice->target = target;
    choice->session = session;
    remember(choice, &facts);
}

void hs_answer_choose(const struct hs_recorded *recorded, uint32_t pid, const char *name,
                      struct hs_answer_choice *ret_choice)
{
    *ret_choice = (struct hs_answer_choice){ .target = NULL };
    for (size_t i = 0; i < recorded->registry->target_count; i++) {
        consider(recorded, pid, name, recorded->registry->targets[i], ret_choice);
    }
}

int hs_answer_refuse_choice(int sock, uint32_t pid, const struct hs_answer_choice *choice)
{
    if (choice->count > 1) {
        return hs_ctl_refuse(sock, "%zu processes are recorded; name one with -p PID",
                             choice->count);
    }
    if (pid != 0) {
        return hs_ctl_refuse(sock, "process %u is not recorded any more", pid);
    }
    return hs_ctl_refuse(sock, "no such process is recorded any more");
}
