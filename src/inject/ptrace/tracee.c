/*
 * The ptrace requests, and how the kernel answers them: see tracee.h.
 */
#include "inject/ptrace/tracee.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "inject/ptrace/fault_signals.h"
#include "rt/base.h"
#include "rt/clock.h"
#include "util/proc.h"

/* A stop usually comes within microseconds, and sleeping takes longer than that. So the wait first
 * spins for AWAKE_NS, then sleeps for ASLEEP_NS (nanoseconds) at a time, because the tracee may
 * need this very processor. */
#define AWAKE_NS  30000U
#define ASLEEP_NS 15000

/* A call that is not asleep at its deadline gets WORK_NS more, and is checked every RETRY_NS. */
#define WORK_NS            UINT64_C(60000000000)
#define RETRY_NS           UINT64_C(100000000)

#define HS_PTRACE_GET_RSEQ 0x420f

/* Takes the tracee's next stop. 1: taken; 0: none yet; -errno: it is gone. An exit status is not
 * reaped: if the tracee is a child of heapscope, another part of heapscope wants to know how it
 * ended. */
static int take_stop(const struct hs_tracee *tracee, int *ret_status)
{
    siginfo_t info = { .si_pid = 0 };
    if (waitid(P_PID, (id_t)tracee->tid, &info, WSTOPPED | WEXITED | __WALL | WNOHANG | WNOWAIT) !=
        0) {
        return errno == EINTR ? 0 : -errno;
    }
    if (info.si_pid == 0) {
        return 0;
    }
    if (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED) {
        return -ESRCH;
    }
    info.si_pid = 0;
    if (waitid(P_PID, (id_t)tracee->tid, &info, WSTOPPED | __WALL | WNOHANG) != 0 ||
        info.si_pid == 0) {
        return 0; /* it was killed at that moment */
    }
    *ret_status = info.si_status << 8 | 0x7f; /* in the format of wait(2) */
    return 1;
}

/* Awaits the tracee's next stop. 0, -ETIMEDOUT, or -errno: it is gone. */
static int await(const struct hs_tracee *tracee, uint64_t deadline_ns, int *ret_status)
{
    const struct timespec pause = { .tv_nsec = ASLEEP_NS };
    uint64_t begin_ns = hs_clock_ns(CLOCK_MONOTONIC);
    for (;;) {
        int r = take_stop(tracee, ret_status);
        if (r != 0) {
            return r < 0 ? r : 0;
        }
        uint64_t now = hs_clock_ns(CLOCK_MONOTONIC);
        if (now >= deadline_ns) {
            return -ETIMEDOUT;
        }
        if (now - begin_ns > AWAKE_NS) {
            nanosleep(&pause, NULL);
        }
    }
}

static bool is_event_stop(int status)
{
    return status >> 16 == PTRACE_EVENT_STOP;
}

static int get_regs(const struct hs_tracee *tracee, struct hs_remote_regs *ret_regs)
{
    struct iovec iov = { ret_regs, sizeof(*ret_regs) };
    return ptrace(PTRACE_GETREGSET, tracee->tid, NT_PRSTATUS, &iov) == 0 &&
                   iov.iov_len == sizeof(*ret_regs)
               ? 0
               : -EIO;
}

static int set_regs(const struct hs_tracee *tracee, const struct hs_remote_regs *regs)
{
    struct iovec iov = { (void *)regs, sizeof(*regs) };
    return ptrace(PTRACE_SETREGSET, tracee->tid, NT_PRSTATUS, &iov) == 0 ? 0 : -errno;
}

static int set_mask(const struct hs_tracee *tracee, uint64_t mask)
{
    return ptrace(PTRACE_SETSIGMASK, tracee->tid, sizeof(mask), &mask) == 0 ? 0 : -errno;
}

static void detach(struct hs_tracee *tracee, int signal_number)
{
    ptrace(PTRACE_DETACH, tracee->tid, NULL, (void *)(intptr_t)signal_number);
    tracee->is_seized = false;
    tracee->is_stopped = false;
}

/* --- stopping --------------------------------------------------------------------------------- */

static enum hs_tracee_stop refused(struct hs_tracee *tracee)
{
    tracee->error = errno;
    return errno == ESRCH ? HS_TRACEE_BUSY : HS_TRACEE_REFUSED;
}

enum hs_tracee_stop hs_tracee_ask(struct hs_tracee *tracee, pid_t tid)
{
    tracee->tid = tid;
    tracee->held_count = 0;
    tracee->is_at_signal = false;
    tracee->is_shielded = false;
    tracee->is_borrowed = false;
    tracee->is_in_call = false;
    tracee->is_stopped = false;
    tracee->boost.is_on = false;
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0) {
        return refused(tracee);
    }
    tracee->is_seized = true;
    tracee->asked_ns = hs_clock_ns(CLOCK_MONOTONIC);
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0) {
        tracee->is_seized = false;
        return HS_TRACEE_BUSY;
    }
    return HS_TRACEE_STOPPED;
}

enum hs_tracee_stop hs_tracee_await(struct hs_tracee *tracee, uint64_t deadline_ns)
{
    int status = 0;
    int r = await(tracee, deadline_ns, &status);
    if (r == -ETIMEDOUT) {
        return HS_TRACEE_STUCK;
    }
    if (r < 0 || !WIFSTOPPED(status)) {
        tracee->is_seized = false;
        return HS_TRACEE_BUSY;
    }
    if (!is_event_stop(status)) {
        /* A signal is about to be delivered. It is delivered, and detaching cancels the requested
         * stop. */
        detach(tracee, WSTOPSIG(status));
        return HS_TRACEE_BUSY;
    }
    if (WSTOPSIG(status) != SIGTRAP) {
        detach(tracee, 0);
        return HS_TRACEE_GROUP;
    }
    tracee->seen_ns = hs_clock_ns(CLOCK_MONOTONIC);
    tracee->is_stopped = true;
    if (get_regs(tracee, &tracee->start) < 0) {
        detach(tracee, 0);
        return HS_TRACEE_BUSY;
    }
    return HS_TRACEE_STOPPED;
}

enum hs_tracee_stop hs_tracee_stop(struct hs_tracee *tracee, pid_t tid, uint64_t deadline_ns)
{
    enum hs_tracee_stop r = hs_tracee_ask(tracee, tid);
    return r == HS_TRACEE_STOPPED ? hs_tracee_await(tracee, deadline_ns) : r;
}

void hs_tracee_keep_wait(const struct hs_tracee *tracee)
{
    struct hs_remote_regs regs = tracee->start;
    if (hs_remote_has_eintr(&regs) && tracee->may_restart) {
        hs_remote_restart(&regs);
        set_regs(tracee, &regs);
    }
}

void hs_tracee_shield(struct hs_tracee *tracee)
{
    struct hs_remote_regs regs = tracee->start;
    hs_remote_restart(&regs);
    tracee->is_shielded = true;
    set_regs(tracee, &regs);
}

bool hs_tracee_is_in_sequence(const struct hs_tracee *tracee)
{
    /* The results of PTRACE_GET_RSEQ_CONFIGURATION (Linux 5.13), and struct rseq_cs. Not all
     * headers have them. */
    struct {
        uint64_t area_va;
        uint32_t area_bytes, signature, flags, unused;
    } config;
    struct {
        uint32_t version, flags;
        uint64_t start_va, size_bytes, abort_va;
    } sequence;
    uint64_t sequence_va = 0;
    if (ptrace((enum __ptrace_request)HS_PTRACE_GET_RSEQ, tracee->tid, sizeof(config), &config) <=
            0 ||
        config.area_va == 0 ||
        hs_remote_memory_read(tracee->memory, config.area_va + 8, &sequence_va, 8) < 0 ||
        sequence_va == 0 ||
        hs_remote_memory_read(tracee->memory, sequence_va, &sequence, sizeof(sequence)) < 0) {
        return false;
    }
    return hs_remote_pc(&tracee->start) - sequence.start_va < sequence.size_bytes;
}

static int build_return_chain(struct hs_tracee *tracee)
{
    struct hs_return_chain *way = &tracee->return_chain;
    way->memory = tracee->memory;
    way->call_mask = ~HS_FAULT_SIGNALS; /* the kernel would force these, even if blocked */
    memcpy(tracee->sealed, tracee->state, tracee->state_bytes);
    return hs_return_chain_build(way, &tracee->start, tracee->may_restart, tracee->signal_mask,
                                 tracee->sealed, tracee->state_bytes, &tracee->free_va);
}

/* Takes the thread out of any call. If heapscope is killed now, the thread puts itself back. */
static int park(struct hs_tracee *tracee)
{
    struct hs_remote_regs regs = tracee->start;
    hs_return_chain_park(&tracee->return_chain, &regs);
    tracee->is_in_call = false;
    return set_regs(tracee, &regs);
}

/* The chain's step that undoes the boost is written before the boost begins. */
static int boost(struct hs_tracee *tracee)
{
    if (tracee->may_boost) {
        hs_sched_boost_look(tracee->tid, &tracee->boost);
    }
    int r = tracee->boost.is_on
                ? hs_return_chain_set_attributes(&tracee->return_chain, &tracee->boost.was)
                : 0;
    if (r == 0) {
        hs_sched_boost_begin(tracee->tid, HS_SCHED_BOOST_BORROWED, &tracee->boost);
    }
    return r;
}

int hs_tracee_borrow(struct hs_tracee *tracee)
{
    struct iovec iov = { tracee->state, sizeof(tracee->state) };
    if (ptrace(PTRACE_GETREGSET, tracee->tid, HS_REMOTE_STATE_NOTE, &iov) != 0 ||
        ptrace(PTRACE_GETSIGMASK, tracee->tid, sizeof(tracee->signal_mask), &tracee->signal_mask) !=
            0) {
        return -errno;
    }
    if (ptrace(PTRACE_SETOPTIONS, tracee->tid, NULL, (void *)(intptr_t)PTRACE_O_TRACEEXEC) != 0) {
        return -errno;
    }
    if (iov.iov_len >= sizeof(tracee->state)) {
        return -E2BIG; /* there may be more state than was read */
    }
    tracee->state_bytes = iov.iov_len;
    tracee->free_va = hs_remote_sp(&tracee->start) - HS_REMOTE_RED_ZONE_BYTES;
    int r = build_return_chain(tracee);
    /* Registers first: until they are changed, the thread keeps the mask of the program at work. */
    r = r < 0 ? r : park(tracee);
    tracee->is_borrowed = r == 0;
    r = r < 0 ? r : set_mask(tracee, tracee->return_chain.call_mask);
    return r < 0 ? r : boost(tracee);
}

uint64_t hs_tracee_reserve(struct hs_tracee *tracee, size_t size_bytes)
{
    tracee->free_va = (tracee->free_va - size_bytes) & ~UINT64_C(15);
    return tracee->free_va;
}

/* --- calling ---------------------------------------------------------------------------------- */

/* A signal during a call: the notify signal, a fault's signal, or one that a process sent. */
enum arrival { ARRIVAL_NOTIFY, ARRIVAL_FAULT, ARRIVAL_SENT };

/* One of each is enough: the kernel, too, keeps only one of each of these signals. */
static void hold_signal(struct hs_tracee *tracee, const siginfo_t *info)
{
    for (unsigned i = 0; i < tracee->held_count; i++) {
        if (tracee->held[i].si_signo == info->si_signo) {
            return;
        }
    }
    if (tracee->held_count < HS_COUNT_OF(tracee->held)) {
        tracee->held[tracee->held_count++] = *info;
    }
}

static enum arrival classify_signal(struct hs_tracee *tracee, int number)
{
    siginfo_t info;
    struct hs_remote_regs regs;
    if (ptrace(PTRACE_GETSIGINFO, tracee->tid, NULL, &info) != 0 || get_regs(tracee, &regs) < 0) {
        return ARRIVAL_FAULT;
    }
    if (number == tracee->return_chain.notify_signal && info.si_code == SI_TKILL &&
        hs_return_chain_is_at_signal(&tracee->return_chain, &regs)) {
        return ARRIVAL_NOTIFY;
    }
    if (!hs_fault_signal_is(&info)) {
        hold_signal(tracee, &info);
        return ARRIVAL_SENT;
    }
    tracee->crash_signal = number;
    tracee->crash_pc = hs_remote_pc(&regs);
    return ARRIVAL_FAULT;
}

static enum hs_tracee_outcome gone(struct hs_tracee *tracee)
{
    tracee->is_seized = false;
    tracee->is_stopped = false;
    return HS_TRACEE_GONE;
}

static enum hs_tracee_outcome failed(struct hs_tracee *tracee, int r)
{
    tracee->error = -r;
    return r == -ESRCH || r == -ECHILD ? gone(tracee) : HS_TRACEE_FAILED;
}

/* Stops a call that takes too long, so that the thread can be put back all the same. This waits for
 * the stop without a limit: if heapscope left the thread in the call, the program would lack it for
 * as long as the call lasts. */
static enum hs_tracee_outcome give_up(struct hs_tracee *tracee)
{
    int status = 0;
    ptrace(PTRACE_INTERRUPT, tracee->tid, NULL, NULL);
    int r = await(tracee, UINT64_MAX, &status);
    if (r < 0 || !WIFSTOPPED(status)) {
        return gone(tracee);
    }
    tracee->is_stopped = true;
    return HS_TRACEE_HUNG;
}

/* A sleeping thread most likely waits for a lock. Otherwise it works, or waits for a disk, and its
 * call will end. */
static bool is_asleep(const struct hs_tracee *tracee)
{
    struct hs_proc_stat stat;
    return hs_proc_read_stat(tracee->tid, &stat) < 0 || stat.state == 'S';
}

static enum hs_tracee_outcome run(struct hs_tracee *tracee, uint64_t deadline_ns)
{
    const uint64_t last_ns = deadline_ns + WORK_NS;
    tracee->is_at_signal = false;
    int status = 0;
    for (;;) {
        if (ptrace(PTRACE_CONT, tracee->tid, NULL, NULL) != 0) {
            return failed(tracee, -errno);
        }
        tracee->is_stopped = false;
        int r = await(tracee, hs_clock_ns(CLOCK_MONOTONIC) + HS_SCHED_BOOST_MAX_NS, &status);
        if (r == -ETIMEDOUT) {
            hs_sched_boost_relax(tracee->tid, &tracee->boost);
            r = await(tracee, deadline_ns, &status);
        }
        while (r == -ETIMEDOUT && !is_asleep(tracee) && hs_clock_ns(CLOCK_MONOTONIC) < last_ns) {
            r = await(tracee, hs_clock_ns(CLOCK_MONOTONIC) + RETRY_NS, &status);
        }
        if (r == -ETIMEDOUT) {
            return give_up(tracee);
        }
        if (r < 0 || !WIFSTOPPED(status)) {
            return gone(tracee);
        }
        tracee->is_stopped = true;
        if (status >> 16 == PTRACE_EVENT_EXEC) {
            /* It is another program now: of what was saved, only the signal mask still applies. */
            set_mask(tracee, tracee->signal_mask);
            hs_sched_boost_end(tracee->tid, &tracee->boost);
            detach(tracee, 0);
            return gone(tracee);
        }
        if (is_event_stop(status)) {
            /* the whole process is being stopped; this thread stops when it is released */
            continue;
        }
        switch (classify_signal(tracee, WSTOPSIG(status))) {
        case ARRIVAL_NOTIFY:
            tracee->is_at_signal = true;
            tracee->is_in_call = false;
            return HS_TRACEE_RETURNED;
        case ARRIVAL_FAULT:
            tracee->is_at_signal = true;
            return HS_TRACEE_CRASHED;
        case ARRIVAL_SENT:
            break;
        }
    }
}

enum hs_tracee_outcome hs_tracee_call(struct hs_tracee *tracee, uint64_t function_va,
                                      const uint64_t arguments[HS_REMOTE_ARGUMENTS_MAX],
                                      uint64_t deadline_ns, uint64_t *ret_result)
{
    struct hs_remote_regs regs = tracee->start;
    uint64_t return_va = 0;
    int r = hs_return_chain_prepare_call(&tracee->return_chain, tracee->free_va, &regs, &return_va);
    hs_remote_enter(&regs, function_va, return_va, arguments);
    /* the context of the notify signal has changed the mask */
    r = r < 0 ? r : set_mask(tracee, tracee->return_chain.call_mask);
    r = r < 0 ? r : set_regs(tracee, &regs);
    if (r < 0) {
        return failed(tracee, r);
    }
    tracee->is_in_call = true;
    enum hs_tracee_outcome outcome = run(tracee, deadline_ns);
    if (outcome == HS_TRACEE_RETURNED) {
        r = hs_return_chain_result(&tracee->return_chain, ret_result);
        outcome = r < 0 ? failed(tracee, r) : outcome;
    }
    return outcome;
}

/* --- releasing -------------------------------------------------------------------------------- */

/* Restores everything but the registers, which are restored last: as long as they point into the
 * return chain, the thread puts itself back if heapscope is killed. */
static int put_back(struct hs_tracee *tracee)
{
    struct iovec iov = { tracee->state, tracee->state_bytes };
    if (tracee->is_in_call) {
        park(tracee);
    }
    int r = ptrace(PTRACE_SETREGSET, tracee->tid, HS_REMOTE_STATE_NOTE, &iov) == 0 ? 0 : -errno;
    int r2 = set_mask(tracee, tracee->signal_mask);
    hs_sched_boost_end(tracee->tid, &tracee->boost);
    return r < 0 ? r : r2;
}

/* Detaches and delivers the signals that were held. From a signal stop, the kernel can deliver one
 * with its original siginfo; the others are sent again. */
static void send_held(struct hs_tracee *tracee)
{
    int first = 0;
    if (tracee->is_at_signal && tracee->held_count > 0 && tracee->held[0].si_signo != SIGSTOP &&
        ptrace(PTRACE_SETSIGINFO, tracee->tid, NULL, &tracee->held[0]) == 0) {
        first = tracee->held[0].si_signo;
    }
    detach(tracee, first);
    for (unsigned i = first ? 1 : 0; i < tracee->held_count; i++) {
        syscall(SYS_tgkill, tracee->pid, tracee->tid, tracee->held[i].si_signo);
    }
}

int hs_tracee_release(struct hs_tracee *tracee)
{
    int r = 0;
    if (!tracee->is_stopped) {
        return 0; /* the end of this tracing thread detaches from a thread that never stopped */
    }
    if (tracee->is_borrowed) {
        r = put_back(tracee);
    }
    bool is_restarted = hs_remote_has_eintr(&tracee->start) && tracee->may_restart;
    if (tracee->is_borrowed || tracee->is_shielded || is_restarted) {
        struct hs_remote_regs regs = tracee->start;
        if (is_restarted) {
            hs_remote_restart(&regs);
        }
        int r2 = set_regs(tracee, &regs);
        r = r < 0 ? r : r2;
    }
    tracee->is_borrowed = false;
    send_held(tracee);
    return r;
}
