/*
 * One thread of another process under ptrace: stopped, made to call functions, put back, released.
 *
 *     hs_tracee_stop       its registers are known, and nothing has been changed
 *     hs_tracee_borrow     everything that a call may change has been saved
 *     hs_tracee_call       as often as needed
 *     hs_tracee_release    everything is as it was, and the thread runs
 *
 * Signals. Signals that arrive while the thread is stopped wait in the kernel. During a call all
 * signals are blocked except those that faults raise: the kernel would force these through a block,
 * and reset the program's handlers to do so. When another process sends one of these, or SIGSTOP,
 * it is held here, and delivered at the end.
 *
 * If heapscope is killed, the thread puts itself back (return_chain.h), and only held signals are
 * lost.
 *
 * System calls. The thread gets back its original registers with the kernel's own restart codes in
 * them, so the kernel restarts the interrupted call, or continues it with the time that is left.
 * heapscope itself restarts only calls that the kernel would have ended with EINTR.
 *
 * Threads   only the thread that stopped the tracee, because ptrace demands it. When that thread
 *           ends, the kernel detaches from the tracee.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/remote.h"
#include "inject/ptrace/return_chain.h"
#include "inject/ptrace/sched_boost.h"
#include "inject/remote/remote_memory.h"

enum hs_tracee_stop {
    HS_TRACEE_STOPPED,
    /* a signal came first, or the thread vanished: try another time or another thread */
    HS_TRACEE_BUSY,
    HS_TRACEE_GROUP,   /* the process is stopped (SIGSTOP, SIGTTOU ...) */
    HS_TRACEE_STUCK,   /* it does not stop; only the end of the tracing thread detaches from it */
    HS_TRACEE_REFUSED, /* the kernel refuses; errno is in `error` */
};

enum hs_tracee_outcome {
    HS_TRACEE_RETURNED,
    HS_TRACEE_CRASHED, /* pc and signal are in crash_pc and crash_signal */
    HS_TRACEE_HUNG,    /* it was stopped in the middle of the call */
    HS_TRACEE_GONE,    /* it was killed, or its process executed another program */
    HS_TRACEE_FAILED,  /* ptrace or an access to its memory failed; errno is in `error` */
};

struct hs_tracee {
    const struct hs_remote_memory *memory;
    pid_t pid;
    pid_t tid;
    /* the caller fills in its code addresses and the thread's own ids */
    struct hs_return_chain return_chain;

    bool is_seized;
    bool is_stopped; /* in a ptrace stop: it can be changed and released */
    bool is_borrowed;
    bool is_in_call; /* it is in the middle of a call, or stopped where the call ended up */
    /* set by the caller: an EINTR of the interrupted call would be heapscope's fault */
    bool may_restart;
    bool is_shielded;  /* its wait starts from the beginning if heapscope is killed */
    bool is_at_signal; /* it is stopped where the kernel would deliver a signal */
    int error;         /* errno */
    int crash_signal;
    uint64_t crash_pc;
    uint64_t asked_ns;           /* when the stop was requested, CLOCK_MONOTONIC */
    uint64_t seen_ns;            /* when the stop was seen */
    uint64_t free_va;            /* calls may use the stack below this address */
    struct hs_remote_regs start; /* the registers at the stop */
    uint64_t signal_mask;
    bool may_boost; /* set by the caller: its filters let it undo a scheduling boost */
    struct hs_sched_boost boost;
    siginfo_t held[4]; /* signals that were sent during a call and could not be blocked */
    unsigned held_count;
    size_t state_bytes;
    _Alignas(64) uint8_t state[HS_REMOTE_STATE_BYTES_MAX];
    /* the same, prepared for the return chain */
    _Alignas(64) uint8_t sealed[HS_REMOTE_STATE_BYTES_MAX + 64];
};

/* Seizes and stops thread `tid`. `deadline_ns` is on CLOCK_MONOTONIC. After HS_TRACEE_STOPPED and
 * HS_TRACEE_STUCK the thread is seized, after the other results it is not. */
enum hs_tracee_stop hs_tracee_stop(struct hs_tracee *tracee, pid_t tid, uint64_t deadline_ns);

/* Seizes thread `tid` and requests its stop: the first half of hs_tracee_stop, for callers that
 * stop many threads. HS_TRACEE_STOPPED means that the request was accepted. */
enum hs_tracee_stop hs_tracee_ask(struct hs_tracee *tracee, pid_t tid);
/* Awaits that stop: the second half of hs_tracee_stop. */
enum hs_tracee_stop hs_tracee_await(struct hs_tracee *tracee, uint64_t deadline_ns);
/* The caller calls this as soon as `may_restart` is known. If heapscope is then killed before it
 * does more, the interrupted call does not end with EINTR. */
void hs_tracee_keep_wait(const struct hs_tracee *tracee);

/* If heapscope is killed, the thread's wait starts from the beginning instead of continuing by
 * restart_syscall(2). `start` is not changed, and is what the release restores. */
void hs_tracee_shield(struct hs_tracee *tracee);

/* Is the stopped thread in a restartable sequence (rseq)? The kernel aborts such a sequence when it
 * is interrupted, but it only looks at where a thread continues. A borrowed thread continues in
 * another function, so the kernel would not notice. */
bool hs_tracee_is_in_sequence(const struct hs_tracee *tracee);

/* Saves the thread's state and builds its return chain. 0 or -errno. The thread can be released
 * also after an error. */
int hs_tracee_borrow(struct hs_tracee *tracee);

/* Reserves `size_bytes` below the used part of the stack. Returns the address, a multiple of 16. */
uint64_t hs_tracee_reserve(struct hs_tracee *tracee, size_t size_bytes);

/* Makes the thread call the function at `function_va` and waits for its return; *ret_result is its
 * result. If the thread sleeps at `deadline_ns`, as it would when it waits for a lock that is never
 * released, the call is abandoned: HS_TRACEE_HUNG. */
enum hs_tracee_outcome hs_tracee_call(struct hs_tracee *tracee, uint64_t function_va,
                                      const uint64_t arguments[HS_REMOTE_ARGUMENTS_MAX],
                                      uint64_t deadline_ns, uint64_t *ret_result);

/* Restores everything and lets the thread run. 0, or -errno: the thread is gone. */
int hs_tracee_release(struct hs_tracee *tracee);
