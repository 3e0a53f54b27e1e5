/*
 * The sequence of an injection: see inject.h.
 *
 *     check        what /proc says against it
 *     prepare      maps, the loader's list, symbols, roles: read while the process runs
 *     find         stops the best candidate and decides whether it may be borrowed; if not,
 *                  releases it and tries the next one
 *     borrow       remote_call_sequence.c
 *     release
 */
#include "inject/inject.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "arch/return_frame.h"
#include "inject/brief_stop.h"
#include "inject/check/inject_check.h"
#include "inject/inject_session.h"
#include "inject/ptrace/fault_signals.h"
#include "inject/remote_call_sequence.h"
#include "inject/seccomp_survey.h"
#include "rt/clock.h"
#include "util/proc.h"

/* The pause between two rounds over all threads. */
#define ROUND_PAUSE_NS 100000
/* What prepare() has read is read again when it is older than this. */
#define PREPARED_NS UINT64_C(50000000)
/* Budgets of reads of the target's memory: for preparing, enough for a thousand libraries, about a
 * second; for an attempt, enough for the longest stacks, about a tenth of a second. */
#define PREPARE_READS_MAX 1000000U
#define ATTEMPT_READS_MAX 100000U
/* Not an outcome: try another thread, or later. */
#define TRY_AGAIN (-1)
/* The same, after the new filters have been judged. */
#define JUDGE_FIRST (-2)
/* The flag by which libc's internal entry point recognizes a dlopen. */
#define RTLD_MODE_DLOPEN INT32_MIN
/* In the path of glibc's loader; "" for a program that its loader was told to start. */
#define GLIBC_LOADER "/ld-linux"

/* --- preparing -------------------------------------------------------------------------------- */

/* Finds a function in libc, or in the libraries that older versions keep beside it. 0: not
 * found. */
static uint64_t find_in_libc(const struct hs_inject_session *s, const char *name)
{
    for (size_t i = 0; i < s->objects.count; i++) {
        struct hs_remote_symbol symbol;
        if (s->point.roles[i] == HS_OBJECT_LIBC &&
            hs_remote_objects_symbol(&s->memory, &s->objects.items[i], name, &symbol) &&
            symbol.type != STT_GNU_IFUNC) {
            return symbol.va;
        }
    }
    return 0;
}

/* The distance of errno from the thread pointer, which is the same in all threads; 0: not known. */
static int64_t find_errno(const struct hs_inject_session *s)
{
    uint8_t code[HS_REMOTE_ERRNO_CODE_BYTES];
    int64_t off = 0;
    if (s->errno_function_va == 0 ||
        hs_remote_memory_read(&s->memory, s->errno_function_va, code, sizeof(code)) < 0) {
        return 0;
    }
    uint64_t slot_va = hs_remote_errno_slot(code, s->errno_function_va);
    return slot_va != 0 && hs_remote_memory_read(&s->memory, slot_va, &off, sizeof(off)) == 0 ? off
                                                                                              : 0;
}

/* statx came with glibc 2.28, and arc4random with 2.36. */
static void find_hold(struct hs_inject_session *s)
{
    s->hold.mmap_va = find_in_libc(s, "mmap");
    s->hold.register_va = find_in_libc(s, "__register_atfork");
    s->hold.is_locked = find_in_libc(s, "statx") != 0 && find_in_libc(s, "arc4random") == 0;
}

/* Has the process executed another program since its memory was opened? */
static bool is_other_program(const struct hs_inject_session *s)
{
    char byte;
    return s->maps.count == 0 ||
           hs_remote_memory_read(&s->memory, s->maps.items[0].start_va, &byte, 1) == -ESRCH;
}

/* Why the loader's list has no glibc. The list grows while a program starts: until libc is in it,
 * only the loader tells which libc there will be. */
static int find_why_no_glibc(struct hs_inject_session *s)
{
    const char *loader = s->objects.loader;
    if (is_other_program(s)) {
        return HS_INJECT_DIED;
    }
    bool is_loader_of_glibc = loader[0] == '\0' || strstr(loader, GLIBC_LOADER);
    if (is_loader_of_glibc || !hs_remote_objects_are_settled(&s->memory, &s->objects)) {
        return HS_INJECT_STARTING;
    }
    hs_inject_session_say(s, "its loader is %s", loader);
    return HS_INJECT_OTHER_LIBC;
}

static int find_symbols(struct hs_inject_session *s)
{
    struct hs_remote_symbol symbol = { 0 };
    if (find_in_libc(s, "gnu_get_libc_version") == 0) {
        return find_why_no_glibc(s);
    }
    s->syscall_va = find_in_libc(s, "syscall");
    s->errno_function_va = find_in_libc(s, "__errno_location");
    s->errno_off = find_errno(s);
    s->dlerror_va = find_in_libc(s, "dlerror");
    s->dlopen_va = find_in_libc(s, "dlopen");
    s->dlopen_flags = 0;
    find_hold(s);
    if (s->dlopen_va == 0) {
        s->dlopen_va = find_in_libc(s, "__libc_dlopen_mode");
        s->dlopen_flags = RTLD_MODE_DLOPEN;
    }
    bool is_found =
        hs_remote_objects_search(&s->memory, &s->objects, s->request->symbol, &symbol) != NULL;
    s->function_va = is_found ? symbol.va : 0;
    s->result->was_loaded = is_found;
    if (!is_found && !s->request->library_path && !s->request->is_trial) {
        return HS_INJECT_NO_SYMBOL;
    }
    return s->syscall_va && s->errno_function_va && s->dlopen_va ? HS_INJECT_DONE
                                                                 : HS_INJECT_BAD_MEMORY;
}

/* Finds the code for the return chain in the target's libc. */
static int find_return_chain(struct hs_inject_session *s)
{
    struct hs_return_chain *way = &s->tracee.return_chain;
    const struct hs_remote_map *map = hs_remote_maps_find(&s->maps, s->syscall_va);
    way->syscall_va = s->syscall_va;
    way->copy_va = find_in_libc(s, "wmemcpy");
    if (way->gadget_va != 0) {
        return HS_INJECT_DONE; /* already found; libc does not move */
    }
    return map && hs_return_chain_find(way, &s->memory, map->start_va, map->end_va,
                                       find_in_libc(s, HS_RETURN_KEEPER),
                                       find_in_libc(s, "setcontext"))
               ? HS_INJECT_DONE
               : HS_INJECT_NO_RETURN_CHAIN;
}

static int prepare(struct hs_inject_session *s)
{
    s->prepared_ns = hs_clock_ns(CLOCK_MONOTONIC);
    s->reads_left = PREPARE_READS_MAX;
    hs_remote_stack_forget(&s->stack);
    hs_safe_point_deinit(&s->point);
    int r = hs_remote_maps_load(s->view_tid, &s->maps);
    if (r < 0) {
        return r == -ENOMEM ? HS_INJECT_OURS
                            : hs_inject_check_refusal(s->request->pid, -r, s->result->detail);
    }
    if (is_other_program(s)) {
        return HS_INJECT_DIED;
    }
    r = hs_remote_objects_load(s->view_tid, &s->memory, &s->objects);
    if (r != HS_INJECT_DONE) {
        return r;
    }
    if (hs_safe_point_init(&s->point, &s->memory, &s->objects, &s->maps, s->request->symbol) < 0) {
        return HS_INJECT_BAD_MEMORY;
    }
    r = find_symbols(s);
    r = r == HS_INJECT_DONE ? find_return_chain(s) : r;
    if (r != HS_INJECT_DONE || s->function_va != 0 || s->library.bytes || s->request->is_trial) {
        return r;
    }
    r = hs_library_bytes_load(s->request->library_path, &s->library);
    if (r < 0) {
        hs_inject_session_say(s, "%.120s: %s", s->request->library_path, strerror(-r));
        return r == -ENOMEM ? HS_INJECT_OURS : HS_INJECT_LIBRARY_FILE;
    }
    return hs_inject_check_proc(s->view_tid);
}

/* --- finding a thread ------------------------------------------------------------------------- */

/* Notes that a thread's filters forbid the calls; another thread may have other filters. */
static bool note_refusal(struct hs_inject_session *s, int error)
{
    s->refusal = error != HS_INJECT_DONE ? error : s->refusal;
    s->refused_count += error != HS_INJECT_DONE;
    return error != HS_INJECT_DONE;
}

/* Would a stop of this thread certainly be useless? If not, notes what its return chain needs. */
static bool is_useless(struct hs_inject_session *s, pid_t tid, struct hs_inject_thread *ret_thread)
{
    struct hs_proc_stat stat;
    if (hs_proc_read_stat(tid, &stat) < 0 || !hs_inject_check_thread(tid, ret_thread)) {
        return true;
    }
    if (note_refusal(s, hs_seccomp_survey_expect(s, tid, ret_thread))) {
        return true;
    }
    s->tracee.return_chain.own_pid = ret_thread->own_pid;
    s->tracee.return_chain.own_tid = ret_thread->own_tid;
    s->tracee.return_chain.notify_signal =
        hs_return_chain_choose_signal(ret_thread->ignored, ret_thread->caught);
    if (stat.state == 'D') {
        hs_inject_session_say(s, "thread %d is in a system call that cannot be interrupted",
                              (int)tid);
    }
    return stat.state == 'D' || stat.state == 'Z' || stat.state == 'X';
}

/* May the stopped thread be borrowed? If not, notes the reason. */
static bool is_safe(struct hs_inject_session *s, const struct hs_wait *wait)
{
    char why[HS_SAFE_POINT_WHY_BYTES];
    const struct hs_remote_regs *regs = &s->tracee.start;
    uint64_t need_bytes = s->function_va ? HS_SAFE_POINT_CALL_BYTES : HS_SAFE_POINT_LOAD_BYTES;
    int tid = (int)s->tracee.tid;
    if (!hs_remote_is_native(regs)) {
        hs_inject_session_say(s, "thread %d runs 32-bit code", tid);
        return false;
    }
    if (!hs_safe_point_has_room(&s->maps, hs_remote_sp(regs), hs_remote_thread_va(regs),
                                need_bytes)) {
        hs_inject_session_say(s, "thread %d has too little stack, or one that is not its own", tid);
        return false;
    }
    if (!hs_remote_objects_are_settled(&s->memory, &s->objects)) {
        hs_inject_session_say(s, "libraries are being loaded or unloaded");
        s->prepared_ns = 0;
        return false;
    }
    if (hs_fault_signal_is_pending(s->tracee.tid)) {
        hs_inject_session_say(s, "thread %d is about to get a signal of its own", tid);
        return false;
    }
    if (wait->kind == HS_WAIT_RUNNING && hs_tracee_is_in_sequence(&s->tracee)) {
        hs_inject_session_say(s, "thread %d is in a sequence that restarts when interrupted", tid);
        return false;
    }
    struct hs_regs start = hs_remote_unwind_regs(regs);
    hs_remote_stack_walk(&s->stack, &start);
    if (!hs_safe_point_judge(&s->point, &s->stack, wait->kind, why)) {
        hs_inject_session_say(s, "thread %d: %s", tid, why);
        return false;
    }
    return true;
}

/* Of a waiting thread, /proc tells pc and sp. A walk from there is mostly the same as the one after
 * the stop, so everything that the later walk needs is then cached. Often this walk already shows
 * that the thread cannot be borrowed. */
static bool check_waiting_stack(struct hs_inject_session *s, const struct hs_candidate *candidate)
{
    char why[HS_SAFE_POINT_WHY_BYTES];
    const struct hs_wait *wait = &candidate->wait;
    struct hs_regs start = { .pc = wait->pc, .sp = wait->sp };
    if (wait->number < 0 || wait->sp == 0) {
        return true;
    }
    hs_remote_stack_walk(&s->stack, &start);
    if (hs_safe_point_judge(&s->point, &s->stack, HS_WAIT_SURE, why)) {
        return true;
    }
    hs_inject_session_say(s, "thread %d: %s", (int)candidate->tid, why);
    return false;
}

static int borrow(struct hs_inject_session *s, const struct hs_wait *wait)
{
    s->result->detail[0] = '\0';
    s->result->tid = s->tracee.tid;
    int r = hs_tracee_borrow(&s->tracee);
    if (r < 0) {
        hs_inject_session_say(s, "its registers cannot be read: %s", strerror(-r));
        r = HS_INJECT_BAD_MEMORY;
    } else {
        r = hs_remote_call_sequence_run(s);
    }
    hs_brief_stop_end(s, wait);
    /* A waiting thread stops at once; a running one stops when it gets a processor. */
    bool has_waited = hs_remote_syscall(&s->tracee.start) >= 0;
    s->result->stopped_ns =
        hs_clock_ns(CLOCK_MONOTONIC) - (has_waited ? s->tracee.asked_ns : s->tracee.seen_ns);
    return r;
}

/* Stops one thread, and borrows it if that is safe. */
static int stop_and_use(struct hs_inject_session *s, const struct hs_candidate *candidate,
                        const struct hs_inject_thread *thread)
{
    struct hs_wait wait;
    int r = hs_brief_stop(s, candidate, &wait);
    if (r != HS_INJECT_DONE) {
        return r == HS_BRIEF_STOP_AGAIN ? TRY_AGAIN : r;
    }
    s->tracee.may_boost = true;
    r = hs_seccomp_survey_confirm(s, thread);
    if (r == HS_INJECT_DONE && is_safe(s, &wait)) {
        return borrow(s, &wait);
    }
    hs_brief_stop_end(s, &wait);
    s->result->try_count++;
    if (r == HS_BRIEF_STOP_AGAIN) {
        return JUDGE_FIRST;
    }
    note_refusal(s, r);
    return TRY_AGAIN;
}

static int attempt(struct hs_inject_session *s, const struct hs_candidate *candidate)
{
    struct hs_inject_thread thread;
    struct hs_sched_boost own;
    s->reads_left = ATTEMPT_READS_MAX;
    if (is_useless(s, candidate->tid, &thread) || !check_waiting_stack(s, candidate)) {
        return TRY_AGAIN;
    }
    hs_sched_boost_look(0, &own);
    hs_sched_boost_begin(0, HS_SCHED_BOOST_BORROWER, &own);
    int r = stop_and_use(s, candidate, &thread);
    hs_sched_boost_end(0, &own);
    if (r == JUDGE_FIRST) {
        r = hs_seccomp_survey_judge(s, candidate->tid, &thread);
        return r == HS_INJECT_DONE ? TRY_AGAIN : r;
    }
    return r;
}

static int try_each(struct hs_inject_session *s)
{
    int r = hs_candidates_load(s->request->pid, &s->candidates);
    if (r == -ENOMEM) {
        return HS_INJECT_OURS;
    }
    if (r < 0 || s->candidates.count == 0) {
        return HS_INJECT_DIED;
    }
    s->refused_count = 0;
    for (size_t i = 0; i < s->candidates.count; i++) {
        r = attempt(s, &s->candidates.items[i]);
        if (r != TRY_AGAIN || s->prepared_ns == 0 ||
            hs_clock_ns(CLOCK_MONOTONIC) > s->deadline_ns) {
            return r;
        }
    }
    return s->refused_count == s->candidates.count ? s->refusal : TRY_AGAIN;
}

/* Checks the filters of all threads, if the request lists calls that all threads will make. */
static int survey(struct hs_inject_session *s)
{
    const struct hs_inject_request *request = s->request;
    int r = request->wants.threads.count > 0 ? hs_seccomp_survey(s) : HS_INJECT_DONE;
    if (r == HS_INJECT_DONE && s->result->is_limited && request->limited_flag != 0) {
        uint32_t flags;
        uint8_t *at = (uint8_t *)request->arg + request->limited_flag_off;
        memcpy(&flags, at, sizeof(flags));
        flags |= request->limited_flag;
        memcpy(at, &flags, sizeof(flags));
    }
    return r;
}

static int search(struct hs_inject_session *s)
{
    const struct timespec pause = { .tv_nsec = ROUND_PAUSE_NS };
    for (;;) {
        int r = TRY_AGAIN;
        if (s->prepared_ns == 0 || hs_clock_ns(CLOCK_MONOTONIC) - s->prepared_ns > PREPARED_NS) {
            r = prepare(s);
            r = r == HS_INJECT_DONE ? survey(s) : r;
        }
        /* While libraries are loaded and unloaded, the loader's list is inconsistent at times. */
        bool is_passing = r == HS_INJECT_STARTING || r == HS_INJECT_BAD_MEMORY;
        if (r == HS_INJECT_DONE && s->request->is_trial) {
            return r;
        }
        if (r == TRY_AGAIN || r == HS_INJECT_DONE) {
            r = try_each(s);
            is_passing = r == TRY_AGAIN;
        } else {
            s->prepared_ns = 0;
        }
        if (!is_passing) {
            return r;
        }
        if (hs_clock_ns(CLOCK_MONOTONIC) > s->deadline_ns) {
            return r == TRY_AGAIN ? HS_INJECT_NO_SAFE_POINT : r;
        }
        nanosleep(&pause, NULL);
    }
}

/* --- life ------------------------------------------------------------------------------------- */

static int run(struct hs_inject_session *s)
{
    int r = hs_inject_check(s->request->pid, &s->view_tid, s->result->detail);
    if (r != HS_INJECT_DONE) {
        return r;
    }
    r = hs_remote_memory_open(s->view_tid, &s->memory);
    if (r < 0) {
        return hs_inject_check_refusal(s->request->pid, -r, s->result->detail);
    }
    s->memory.reads_left = &s->reads_left;
    if (hs_remote_stack_init(&s->stack, &s->memory, &s->objects, &s->maps) < 0) {
        return HS_INJECT_OURS;
    }
    s->pidfd = (int)syscall(SYS_pidfd_open, s->request->pid, 0);
    s->tracee.memory = &s->memory;
    s->tracee.pid = s->request->pid;
    return search(s);
}

static void deinit(struct hs_inject_session *s)
{
    hs_tracee_release(&s->tracee);
    hs_seccomp_survey_deinit(s);
    hs_remote_stack_deinit(&s->stack);
    hs_safe_point_deinit(&s->point);
    hs_remote_objects_deinit(&s->objects);
    hs_remote_maps_deinit(&s->maps);
    hs_candidates_deinit(&s->candidates);
    hs_library_bytes_deinit(&s->library);
    hs_remote_memory_close(&s->memory);
    if (s->pidfd >= 0) {
        close(s->pidfd);
    }
}

struct job {
    const struct hs_inject_request *request;
    struct hs_inject_result *result;
    int error;
};

static void *run_job(void *arg)
{
    struct job *job = arg;
    size_t bytes = hs_align_up(sizeof(struct hs_inject_session), 64);
    struct hs_inject_session *s = aligned_alloc(64, bytes);
    if (!s) {
        return NULL;
    }
    memset(s, 0, sizeof(*s));
    s->request = job->request;
    s->result = job->result;
    s->memory.fd = -1;
    s->pidfd = -1;
    s->deadline_ns = hs_clock_ns(CLOCK_MONOTONIC) + job->request->patience_ns;
    prctl(PR_SET_TIMERSLACK, 1); /* nanoseconds, for this thread: keeps short pauses short */
    job->error = run(s);
    deinit(s);
    free(s);
    return NULL;
}

int hs_inject_call(const struct hs_inject_request *request, struct hs_inject_result *ret_result)
{
    struct job job = { request, ret_result, HS_INJECT_OURS };
    sigset_t all, old;
    pthread_t thread;
    *ret_result = (struct hs_inject_result){ .fd = -1 };
    if (request->arg_bytes > HS_INJECT_ARG_BYTES_MAX ||
        (request->fetch_fd_off >= 0 &&
         (size_t)request->fetch_fd_off + sizeof(int32_t) > request->arg_bytes) ||
        (request->limited_flag != 0 &&
         request->limited_flag_off + sizeof(uint32_t) > request->arg_bytes)) {
        return HS_INJECT_OURS;
    }
    /* No signal handler of heapscope runs in that thread, and Ctrl-C waits until the target is
     * restored. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int r = pthread_create(&thread, NULL, run_job, &job);
    if (r == 0) {
        pthread_join(thread, NULL);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (job.error != HS_INJECT_DONE && ret_result->fd >= 0) {
        close(ret_result->fd);
        ret_result->fd = -1;
    }
    return job.error;
}
