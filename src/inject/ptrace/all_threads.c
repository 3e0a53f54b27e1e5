/*
 * Stops threads until none runs: see all_threads.h.
 */
#include "inject/ptrace/all_threads.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arch/remote.h"
#include "inject/check/inject_check.h"
#include "inject/check/inject_error.h"
#include "inject/ptrace/wait_kind.h"
#include "rt/clock.h"
#include "util/array.h"
#include "util/proc.h"

/* A thread that is about to handle a signal is released to do so, and can be stopped at the next
 * look. This is the number of looks that may stop no new thread. */
#define LOOKS_MAX 8U

static bool is_held(const struct hs_all_threads *all, pid_t tid)
{
    for (size_t i = 0; i < all->count; i++) {
        if (all->items[i]->tracee.tid == tid) {
            return true;
        }
    }
    return false;
}

static struct hs_stopped_thread *make_thread(struct hs_all_threads *all)
{
    if (hs_array_reserve(&all->items, &all->capacity, all->count + 1, sizeof(*all->items)) < 0) {
        return NULL;
    }
    /* The largest part, the room for vector registers, is not used here and stays untouched. */
    struct hs_stopped_thread *thread = aligned_alloc(64, hs_align_up(sizeof(*thread), 64));
    if (thread) {
        memset(&thread->tracee, 0, offsetof(struct hs_tracee, state));
        memset(&thread->clock, 0, sizeof(thread->clock));
        thread->tracee.memory = all->memory;
        thread->tracee.pid = all->pid;
    }
    return thread;
}

/* Requests the stop of one thread. A thread that is gone, or is ending, is left out. */
static int request_stop(struct hs_all_threads *all, pid_t tid)
{
    struct hs_proc_stat stat;
    struct hs_wait wait;
    char detail[HS_INJECT_DETAIL_BYTES];
    int error;
    if (hs_proc_read_stat(tid, &stat) < 0 || stat.state == 'Z' || stat.state == 'X') {
        return HS_INJECT_DONE;
    }
    if (stat.state == 'D') {
        return HS_ALL_THREADS_AGAIN; /* waiting for it would keep all the other threads stopped */
    }
    struct hs_stopped_thread *thread = make_thread(all);
    if (!thread) {
        return HS_INJECT_OURS;
    }
    hs_wait_look(all->pid, tid, &wait);
    if (hs_wait_has_timeout_ms(wait.number)) {
        hs_wait_clock_read(all->pid, tid, &thread->clock);
    }
    switch (hs_tracee_ask(&thread->tracee, tid)) {
    case HS_TRACEE_STOPPED:
        all->items[all->count++] = thread;
        return HS_INJECT_DONE;
    case HS_TRACEE_REFUSED:
        error = thread->tracee.error;
        free(thread);
        return hs_inject_check_refusal(all->pid, error, detail);
    default:
        free(thread);
        return HS_INJECT_DONE;
    }
}

/* Looks at the thread list once and requests the stop of all new threads. */
static int request_new(struct hs_all_threads *all)
{
    char path[64];
    int r = HS_INJECT_DONE;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)all->pid);
    DIR *folder = opendir(path);
    if (!folder) {
        return errno == ENOENT ? HS_INJECT_DIED : HS_INJECT_OURS;
    }
    for (struct dirent *entry; r == HS_INJECT_DONE && (entry = readdir(folder));) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (tid > 0 && !is_held(all, tid)) {
            r = request_stop(all, tid);
        }
    }
    closedir(folder);
    return r;
}

static int await(struct hs_all_threads *all, struct hs_stopped_thread *thread, uint64_t deadline_ns)
{
    switch (hs_tracee_await(&thread->tracee, deadline_ns)) {
    case HS_TRACEE_STOPPED:
        hs_wait_clock_confirm(&thread->clock, all->pid, thread->tracee.tid);
        thread->tracee.may_restart =
            hs_wait_is_restartable(hs_remote_syscall(&thread->tracee.start));
        return HS_INJECT_DONE;
    case HS_TRACEE_GROUP:
        return HS_INJECT_STOPPED;
    default:
        return HS_ALL_THREADS_AGAIN;
    }
}

/* Awaits the threads from `first` on. A thread that is gone, or handles a signal first, is
 * dropped. */
static int await_each(struct hs_all_threads *all, size_t first, uint64_t deadline_ns)
{
    size_t kept = first;
    int r = HS_INJECT_DONE;
    for (size_t i = first; i < all->count; i++) {
        int r2 = await(all, all->items[i], deadline_ns);
        if (all->items[i]->tracee.is_seized) {
            all->items[kept++] = all->items[i];
            r = r == HS_INJECT_DONE ? r2 : r;
        } else {
            r = r2 == HS_INJECT_STOPPED ? r2 : r;
            free(all->items[i]);
        }
    }
    all->count = kept;
    return r;
}

int hs_all_threads_stop(struct hs_all_threads *all, uint64_t deadline_ns)
{
    size_t seen = 0;
    unsigned looks_in_vain = 0;
    all->begin_ns = hs_clock_ns(CLOCK_MONOTONIC);
    for (;;) {
        size_t before = all->count;
        int r = request_new(all);
        seen = all->count;
        int r2 = await_each(all, before, deadline_ns);
        r = r == HS_INJECT_DONE ? r2 : r;
        if (r != HS_INJECT_DONE) {
            return r;
        }
        if (seen == before) {
            return all->count > 0 ? HS_INJECT_DONE : HS_INJECT_DIED;
        }
        looks_in_vain += all->count == before;
        if (looks_in_vain > LOOKS_MAX || hs_clock_ns(CLOCK_MONOTONIC) > deadline_ns) {
            return HS_ALL_THREADS_AGAIN;
        }
    }
}

/* A wait whose timeout would start from the beginning gets what is left of it. */
static void release(struct hs_stopped_thread *thread)
{
    int32_t left_ms;
    struct hs_remote_regs *regs = &thread->tracee.start;
    if (hs_wait_has_timeout_ms(hs_remote_syscall(regs)) && hs_remote_has_eintr(regs) &&
        hs_wait_clock_left(&thread->clock, (int32_t)hs_remote_fourth(regs), &left_ms)) {
        hs_remote_set_fourth(regs, (uint32_t)left_ms);
    }
    hs_tracee_release(&thread->tracee);
    free(thread);
}

void hs_all_threads_release(struct hs_all_threads *all)
{
    for (size_t i = 0; i < all->count; i++) {
        release(all->items[i]);
    }
    free(all->items);
    all->items = NULL;
    all->count = all->capacity = 0;
}
