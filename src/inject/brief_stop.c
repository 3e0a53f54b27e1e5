/*
 * Stops a thread and releases it: see brief_stop.h.
 */
#include "inject/brief_stop.h"

#include <errno.h>
#include <time.h>

#include "arch/remote.h"
#include "inject/check/inject_check.h"
#include "rt/sys.h"

/* A running or sleeping thread stops within this time, unless it is deep in the kernel. */
#define STOP_NS UINT64_C(250000000)

static uint64_t later(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

static struct hs_wait look_again(const struct hs_inject_session *s,
                                 const struct hs_candidate *candidate)
{
    struct hs_wait wait = candidate->wait;
    int64_t number = hs_remote_syscall(&s->tracee.start);
    if (number < 0) {
        wait.kind = HS_WAIT_RUNNING;
        wait.number = -1;
    } else if (number != wait.number) {
        hs_wait_look(s->request->pid, candidate->tid, &wait);
    }
    return wait;
}

/* Reads the filters of the stopped thread. hs_inject_check_filters has checked the right to do
 * so. */
static void read_filters(struct hs_inject_session *s)
{
    struct hs_seccomp_why why = { "" };
    bool has_restart_block = hs_remote_has_restart_block(&s->tracee.start);
    if (has_restart_block) {
        hs_tracee_shield(&s->tracee);
    }
    s->filters_error = hs_seccomp_stack_read(s->tracee.tid, s->filters);
    if (has_restart_block && s->filters_error == 0) {
        hs_seccomp_ask(s->filters, &hs_seccomp_stop_calls, &why);
    }
    bool has_none = s->filters_error == -EINVAL;
    if (has_restart_block && !has_none && (s->filters_error != 0 || why.text[0])) {
        hs_remote_restart(&s->tracee.start);
    }
}

int hs_brief_stop(struct hs_inject_session *s, const struct hs_candidate *candidate,
                  struct hs_wait *ret_wait)
{
    int tid = (int)candidate->tid;
    s->clock.is_known = false;
    if (candidate->wait.kind == HS_WAIT_TIMED && hs_wait_has_timeout_ms(candidate->wait.number)) {
        hs_wait_clock_read(s->request->pid, candidate->tid, &s->clock);
    }
    uint64_t stop_ns = hs_sys_clock_ns(CLOCK_MONOTONIC) + STOP_NS;
    switch (hs_tracee_stop(&s->tracee, candidate->tid, later(s->deadline_ns, stop_ns))) {
    case HS_TRACEE_STOPPED:
        break;
    case HS_TRACEE_BUSY:
        s->result->try_count++;
        return HS_BRIEF_STOP_AGAIN;
    case HS_TRACEE_GROUP:
        return HS_INJECT_STOPPED;
    case HS_TRACEE_STUCK:
        hs_inject_session_say(s, "thread %d does not stop", tid);
        return HS_INJECT_NO_SAFE_POINT;
    case HS_TRACEE_REFUSED:
        return hs_inject_check_refusal(s->request->pid, s->tracee.error, s->result->detail);
    }
    if (s->filters) {
        read_filters(s);
    }
    *ret_wait = look_again(s, candidate);
    s->tracee.may_restart = hs_wait_is_restartable(ret_wait->number);
    hs_tracee_keep_wait(&s->tracee);
    hs_wait_clock_confirm(&s->clock, s->request->pid, candidate->tid);
    return HS_INJECT_DONE;
}

/* A wait whose timeout would start from the beginning gets what is left of it. */
void hs_brief_stop_end(struct hs_inject_session *s, const struct hs_wait *wait)
{
    int32_t left_ms;
    struct hs_remote_regs *regs = &s->tracee.start;
    if (hs_wait_has_timeout_ms(wait->number) && hs_remote_has_eintr(regs) &&
        hs_wait_clock_left(&s->clock, (int32_t)hs_remote_fourth(regs), &left_ms)) {
        hs_remote_set_fourth(regs, (uint32_t)left_ms);
    }
    hs_tracee_release(&s->tracee);
}
