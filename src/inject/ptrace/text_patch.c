/*
 * Writes to code that no thread is executing: see text_patch.h.
 */
#include "inject/ptrace/text_patch.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "arch/remote.h"
#include "inject/check/inject_check.h"
#include "inject/ptrace/all_threads.h"
#include "rt/base.h"
#include "rt/clock.h"

/* All threads are stopped for at most this long when one of them does not stop. */
#define STOP_NS  UINT64_C(100000000)
#define PAUSE_NS 1000000
/* The part of each stack, from its top, in which signal frames are searched. */
#define STACK_BYTES (256U * 1024)

struct patching {
    const struct hs_text_patch_request *request;
    struct hs_text_patch_result *result;
    struct hs_remote_memory memory;
    struct hs_all_threads all;
    uint64_t *stack; /* a copy of one thread's stack */
    uint64_t lowest_va, highest_va;
    int error;
};

/* --- is a thread inside? ---------------------------------------------------------------------- */

static bool is_inside(const struct patching *p, uint64_t pc)
{
    if (pc <= p->lowest_va || pc >= p->highest_va) {
        return false;
    }
    for (size_t i = 0; i < p->request->count; i++) {
        const struct hs_text_change *change = &p->request->changes[i];
        if (pc > change->va && pc < change->va + change->size_bytes) {
            return true;
        }
    }
    return false;
}

static bool is_any_word_inside(struct patching *p, uint64_t sp)
{
    uint64_t start_va = hs_align_up(sp, sizeof(uint64_t));
    ssize_t got = hs_remote_memory_read_some(&p->memory, start_va, p->stack, STACK_BYTES);
    size_t n = got > 0 ? (size_t)got / sizeof(uint64_t) : 0;
    for (size_t i = 0; i < n; i++) {
        if (is_inside(p, p->stack[i])) {
            return true;
        }
    }
    return false;
}

static bool is_any_inside(struct patching *p)
{
    for (size_t i = 0; i < p->all.count; i++) {
        const struct hs_remote_regs *regs = &p->all.items[i]->tracee.start;
        if (is_inside(p, hs_remote_pc(regs)) || is_any_word_inside(p, hs_remote_sp(regs))) {
            snprintf(p->result->detail, sizeof(p->result->detail),
                     "thread %d is in code that has to be changed",
                     (int)p->all.items[i]->tracee.tid);
            return true;
        }
    }
    return false;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Checks the bytes. *ret_count is the number of changes that are not yet applied. */
static int check(const struct patching *p, size_t *ret_count)
{
    size_t count = 0;
    for (size_t i = 0; i < p->request->count; i++) {
        const struct hs_text_change *change = &p->request->changes[i];
        uint8_t bytes[HS_TEXT_CHANGE_BYTES_MAX];
        int r = hs_remote_memory_read(&p->memory, change->va, bytes, change->size_bytes);
        if (r < 0) {
            return r == -ESRCH ? HS_INJECT_DIED : HS_INJECT_BAD_MEMORY;
        }
        bool is_done = memcmp(bytes, change->now, change->size_bytes) == 0;
        count += !is_done;
        if (!is_done && memcmp(bytes, change->was, change->size_bytes) != 0) {
            snprintf(p->result->detail, sizeof(p->result->detail), "its code at 0x%llx has changed",
                     (unsigned long long)change->va);
            return HS_INJECT_BAD_MEMORY;
        }
    }
    *ret_count = count;
    return HS_INJECT_DONE;
}

static int write_all(const struct patching *p)
{
    const struct hs_text_change *changes = p->request->changes;
    size_t i = 0;
    int r = 0;
    for (; r == 0 && i < p->request->count; i++) {
        r = hs_remote_memory_write(&p->memory, changes[i].va, changes[i].now,
                                   changes[i].size_bytes);
    }
    if (r == 0) {
        return HS_INJECT_DONE;
    }
    snprintf(p->result->detail, sizeof(p->result->detail), "its code cannot be written: %s",
             strerror(-r));
    while (i-- > 0) {
        hs_remote_memory_write(&p->memory, changes[i].va, changes[i].was, changes[i].size_bytes);
    }
    return HS_INJECT_NOT_PERMITTED;
}

static int patch_stopped(struct patching *p)
{
    if (p->request->may_be_inside && is_any_inside(p)) {
        return HS_ALL_THREADS_AGAIN;
    }
    size_t count = 0;
    int r = check(p, &count);
    r = r == HS_INJECT_DONE && count > 0 ? write_all(p) : r;
    p->result->changed_count = r == HS_INJECT_DONE ? count : 0;
    return r;
}

static int attempt(struct patching *p)
{
    struct hs_sched_boost own;
    hs_sched_boost_look(0, &own);
    hs_sched_boost_begin(0, HS_SCHED_BOOST_BORROWER, &own); /* lasts until this thread ends */
    p->result->detail[0] = '\0';
    p->all = (struct hs_all_threads){ .pid = p->request->pid, .memory = &p->memory };
    int r = hs_all_threads_stop(&p->all, hs_clock_ns(CLOCK_MONOTONIC) + STOP_NS);
    if (r == HS_INJECT_DONE) {
        r = patch_stopped(p);
    } else if (r == HS_ALL_THREADS_AGAIN) {
        snprintf(p->result->detail, sizeof(p->result->detail),
                 "some of its threads did not stop in time");
    }
    uint64_t begin_ns = p->all.begin_ns;
    p->result->thread_count = p->all.count;
    hs_all_threads_release(&p->all);
    p->result->stopped_ns = begin_ns ? hs_clock_ns(CLOCK_MONOTONIC) - begin_ns : 0;
    return r;
}

static int run(struct patching *p)
{
    pid_t view_tid;
    int r = hs_inject_check(p->request->pid, &view_tid, p->result->detail);
    if (r != HS_INJECT_DONE) {
        return r;
    }
    r = hs_remote_memory_open(view_tid, &p->memory);
    if (r < 0) {
        return hs_inject_check_refusal(p->request->pid, -r, p->result->detail);
    }
    return attempt(p);
}

/* --- life ------------------------------------------------------------------------------------- */

/* Each attempt runs in a thread of its own: only the end of that thread detaches from a tracee that
 * did not stop. */
static void *run_job(void *arg)
{
    struct patching *p = arg;
    p->memory = (struct hs_remote_memory){ .fd = -1 };
    prctl(PR_SET_TIMERSLACK, 1);
    p->error = run(p);
    hs_remote_memory_close(&p->memory);
    return NULL;
}

static int run_in_thread(struct patching *p)
{
    pthread_t thread;
    sigset_t all, old;
    p->error = HS_INJECT_OURS;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    if (pthread_create(&thread, NULL, run_job, p) == 0) {
        pthread_join(thread, NULL);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return p->error;
}

int hs_text_patch(const struct hs_text_patch_request *request,
                  struct hs_text_patch_result *ret_result)
{
    const struct timespec pause = { .tv_nsec = PAUSE_NS };
    struct patching p = { .request = request, .result = ret_result, .lowest_va = UINT64_MAX };
    uint64_t end_ns = hs_clock_ns(CLOCK_MONOTONIC) + request->patience_ns;
    *ret_result = (struct hs_text_patch_result){ 0 };
    for (size_t i = 0; i < request->count; i++) {
        const struct hs_text_change *change = &request->changes[i];
        uint64_t end_va = change->va + change->size_bytes;
        p.lowest_va = change->va < p.lowest_va ? change->va : p.lowest_va;
        p.highest_va = end_va > p.highest_va ? end_va : p.highest_va;
    }
    p.stack = malloc(STACK_BYTES);
    if (!p.stack) {
        return HS_INJECT_OURS;
    }
    int r = run_in_thread(&p);
    while (r == HS_ALL_THREADS_AGAIN && hs_clock_ns(CLOCK_MONOTONIC) < end_ns) {
        ret_result->try_count++;
        nanosleep(&pause, NULL);
        r = run_in_thread(&p);
    }
    free(p.stack);
    return r == HS_ALL_THREADS_AGAIN ? HS_INJECT_NO_PAUSE : r;
}
