/*
 * Checks all threads, one after the other: see seccomp_survey.h.
 */
#include "inject/seccomp_survey.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "inject/brief_stop.h"
#include "rt/sys.h"
#include "util/array.h"
#include "util/proc.h"

/* Rounds in which every new thread is read. */
#define ROUNDS_MAX     8U
#define ROUND_PAUSE_NS 100000

struct hs_filtered_thread {
    pid_t tid;
    uint32_t filter_count;
    const struct hs_seccomp_policy *policy;
};

/* The result of one look at all threads. */
struct round {
    unsigned number;
    bool is_new;  /* the filters of some thread were read */
    bool is_busy; /* some thread could not be stopped */
};

static int fail(struct hs_inject_session *s, int error, const struct hs_seccomp_why *why)
{
    hs_inject_session_say(s, "%s", why->text);
    return error;
}

static int prepare(struct hs_inject_session *s)
{
    int r = hs_inject_check_filters(s->result->detail);
    if (r == HS_INJECT_DONE && !s->filters) {
        s->filters = malloc(sizeof(*s->filters));
        if (s->filters) {
            memset(s->filters, 0,
                   /* so that no page fault happens while a thread is stopped */
                   sizeof(*s->filters));
        }
    }
    return r == HS_INJECT_DONE && !s->filters ? HS_INJECT_OURS : r;
}

/* Translates s->filters_error into enum hs_inject_error. */
static int translate(struct hs_inject_session *s)
{
    switch (s->filters_error) {
    case 0:
        return HS_INJECT_DONE;
    case -EACCES:
    case -EPERM:
        hs_inject_session_say(s, "heapscope has that right in a user namespace only");
        return HS_INJECT_SECCOMP_UNREAD;
    case -EINVAL:
    case -EIO:
    case -EMEDIUMTYPE:
        hs_inject_session_say(s, "CONFIG_CHECKPOINT_RESTORE");
        return HS_INJECT_SECCOMP_KERNEL;
    default:
        hs_inject_session_say(s, "its filters: %s", strerror(-s->filters_error));
        return HS_INJECT_SECCOMP_UNREAD;
    }
}

/* Why a thread with these filters must not be borrowed; NULL: it may be. */
static const struct hs_seccomp_why *find_reason(const struct hs_inject_session *s,
                                                const struct hs_seccomp_policy *policy)
{
    const struct hs_seccomp_why *const reasons[] = { &policy->not_stopped, &policy->not_borrowed,
                                                     &policy->not_loading, &policy->not_function };
    for (size_t i = 0; i < HS_COUNT_OF(reasons); i++) {
        bool is_asked = reasons[i] != &policy->not_loading || s->function_va == 0;
        if (is_asked && reasons[i]->text[0]) {
            return reasons[i];
        }
    }
    return NULL;
}

static int apply_verdict(struct hs_inject_session *s, const struct hs_seccomp_policy *policy)
{
    const struct hs_seccomp_why *why = find_reason(s, policy);
    s->tracee.may_boost = !policy->not_hurried.text[0];
    return why ? fail(s, HS_INJECT_SECCOMP_FORBIDS, why) : HS_INJECT_DONE;
}

static struct hs_filtered_thread *find_thread(const struct hs_inject_session *s, pid_t tid)
{
    for (size_t i = 0; i < s->filtered_count; i++) {
        if (s->filtered[i].tid == tid) {
            return &s->filtered[i];
        }
    }
    return NULL;
}

int hs_seccomp_survey_expect(struct hs_inject_session *s, pid_t tid,
                             const struct hs_inject_thread *thread)
{
    if (thread->seccomp == HS_THREAD_UNFILTERED) {
        return HS_INJECT_DONE;
    }
    if (thread->seccomp == HS_THREAD_STRICT) {
        hs_inject_session_say(s, "thread %d", (int)tid);
        return HS_INJECT_SECCOMP;
    }
    const struct hs_filtered_thread *known = find_thread(s, tid);
    if (known && known->filter_count == thread->filter_count) {
        return apply_verdict(s, known->policy);
    }
    return prepare(s);
}

int hs_seccomp_survey_confirm(struct hs_inject_session *s, const struct hs_inject_thread *thread)
{
    if (!s->filters || (thread->seccomp == HS_THREAD_UNFILTERED && s->filters_error == -EINVAL)) {
        return HS_INJECT_DONE;
    }
    int r = translate(s);
    if (r != HS_INJECT_DONE) {
        return r;
    }
    const struct hs_seccomp_policy *policy = hs_seccomp_policies_find(&s->policies, s->filters);
    return policy ? apply_verdict(s, policy) : HS_BRIEF_STOP_AGAIN;
}

int hs_seccomp_survey_judge(struct hs_inject_session *s, pid_t tid,
                            const struct hs_inject_thread *thread)
{
    const struct hs_seccomp_policy *policy = hs_seccomp_policies_find(&s->policies, s->filters);
    struct hs_filtered_thread *known = find_thread(s, tid);
    if (!policy) {
        policy = hs_seccomp_policies_add(&s->policies, s->filters, &s->request->wants);
    }
    if (!policy || (!known && hs_array_reserve(&s->filtered, &s->filtered_capacity,
                                               s->filtered_count + 1, sizeof(*s->filtered)) < 0)) {
        hs_inject_session_say(s, "its threads have too many different seccomp filters");
        return HS_INJECT_OURS;
    }
    known = known ? known : &s->filtered[s->filtered_count++];
    *known = (struct hs_filtered_thread){ tid, thread->filter_count, policy };
    return HS_INJECT_DONE;
}

/* --- all threads ------------------------------------------------------------------------------ */

static bool has_known_count(const struct hs_inject_session *s, uint32_t filter_count)
{
    for (size_t i = 0; i < s->filtered_count; i++) {
        if (s->filtered[i].filter_count == filter_count) {
            return true;
        }
    }
    return false;
}

static int read_thread(struct hs_inject_session *s, pid_t tid,
                       const struct hs_inject_thread *thread, struct round *round)
{
    struct hs_candidate candidate = { .tid = tid };
    struct hs_proc_stat stat;
    struct hs_wait wait;
    if (hs_proc_read_stat(tid, &stat) < 0 || stat.state == 'Z' || stat.state == 'X') {
        return HS_INJECT_DONE;
    }
    if (stat.state == 'D') {
        round->is_busy = true;
        hs_inject_session_say(s, "thread %d is in a system call that cannot be interrupted",
                              (int)tid);
        return HS_INJECT_DONE;
    }
    hs_wait_look(s->request->pid, tid, &candidate.wait);
    int r = hs_brief_stop(s, &candidate, &wait);
    if (r == HS_BRIEF_STOP_AGAIN) {
        round->is_busy = true;
        return HS_INJECT_DONE;
    }
    if (r != HS_INJECT_DONE) {
        return r;
    }
    hs_brief_stop_end(s, &wait);
    round->is_new = true;
    r = translate(s);
    r = r == HS_INJECT_DONE ? hs_seccomp_survey_judge(s, tid, thread) : r;
    /* If the filters forbid the restart of a wait, no other thread may be stopped in a wait
     * either. */
    const struct hs_filtered_thread *known = r == HS_INJECT_DONE ? find_thread(s, tid) : NULL;
    return known && known->policy->not_stopped.text[0]
               ? fail(s, HS_INJECT_SECCOMP_FORBIDS, &known->policy->not_stopped)
               : r;
}

static int look_at_thread(struct hs_inject_session *s, pid_t tid, struct round *round)
{
    struct hs_inject_thread thread;
    if (!hs_inject_check_thread(tid, &thread)) {
        return HS_INJECT_DONE;
    }
    if (thread.seccomp == HS_THREAD_UNFILTERED) {
        s->has_free_thread = true;
        return HS_INJECT_DONE;
    }
    s->result->has_filters = true;
    const struct hs_filtered_thread *known = find_thread(s, tid);
    if (known ? known->filter_count == thread.filter_count
              : round->number > ROUNDS_MAX && has_known_count(s, thread.filter_count)) {
        return HS_INJECT_DONE;
    }
    int r = hs_seccomp_survey_expect(s, tid, &thread);
    return r == HS_INJECT_DONE ? read_thread(s, tid, &thread, round) : r;
}

static int look_at_all(struct hs_inject_session *s, struct round *round)
{
    char path[64];
    int r = HS_INJECT_DONE;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)s->request->pid);
    DIR *folder = opendir(path);
    if (!folder) {
        return errno == ENOENT ? HS_INJECT_DIED : HS_INJECT_OURS;
    }
    for (struct dirent *entry; r == HS_INJECT_DONE && (entry = readdir(folder));) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        r = tid > 0 ? look_at_thread(s, tid, round) : r;
    }
    closedir(folder);
    return r;
}

/* Can some thread be borrowed, and may all threads make the other calls? Filters of threads that
 * are gone count too: a thread that exists now may have inherited them. */
static int decide(struct hs_inject_session *s)
{
    const struct hs_seccomp_why *why = NULL;
    bool is_any = s->has_free_thread;
    for (size_t i = 0; i < s->policies.count; i++) {
        const struct hs_seccomp_policy *policy = &s->policies.items[i];
        if (policy->not_stopped.text[0] || policy->not_threads.text[0]) {
            return fail(s, HS_INJECT_SECCOMP_FORBIDS,
                        policy->not_stopped.text[0] ? &policy->not_stopped : &policy->not_threads);
        }
        s->result->is_limited = s->result->is_limited || policy->not_optional.text[0];
        const struct hs_seccomp_why *here = find_reason(s, policy);
        is_any = is_any || !here;
        why = here ? here : why;
    }
    return is_any || !why ? HS_INJECT_DONE : fail(s, HS_INJECT_SECCOMP_FORBIDS, why);
}

int hs_seccomp_survey(struct hs_inject_session *s)
{
    const struct timespec pause = { .tv_nsec = ROUND_PAUSE_NS };
    struct round round = { .is_new = true };
    while (round.is_new || round.is_busy) {
        round = (struct round){ .number = round.number + 1 };
        int r = look_at_all(s, &round);
        if (r != HS_INJECT_DONE) {
            return r;
        }
        if (round.is_busy && hs_sys_clock_ns(CLOCK_MONOTONIC) > s->deadline_ns) {
            return HS_INJECT_NO_SAFE_POINT;
        }
        if (round.is_busy) {
            nanosleep(&pause, NULL);
        }
    }
    return decide(s);
}

void hs_seccomp_survey_deinit(struct hs_inject_session *s)
{
    hs_seccomp_policies_deinit(&s->policies);
    free(s->filtered);
    free(s->filters);
}
