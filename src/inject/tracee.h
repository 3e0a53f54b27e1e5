/*
 * One thread of another process under ptrace: stopped, made to call functions, put back, let go.
 *
 *     hs_tracee_stop       it has registers, and nothing has been changed
 *     hs_tracee_borrow     all that a call may change is kept
 *     hs_tracee_call       as often as wanted
 *     hs_tracee_release    as it was, and running
 *
 * Signals. What arrives while it is stopped, waits in the kernel. During a call all signals are blocked but those of
 * faults, which the kernel would otherwise force, and reset the program's handlers to do so. When one of these
 * is sent by somebody, or SIGSTOP, it is held here, and comes in the end.
 *
 * If we are killed, the thread puts itself back (return_chain.h), and only what was held is lost.
 *
 * System calls. The interrupted one is put back with the kernel's own code for "start anew", so it does, or goes on with
 * the time that is left. Only what the kernel would have ended with EINTR is started anew by us.
 *
 * Threads   the one that stopped it, as ptrace demands. When that thread ends, the kernel lets go of the tracee.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/remote.h"
#include "inject/sched_boost.h"
#include "inject/remote_memory.h"
#include "inject/return_chain.h"

enum hs_tracee_stop {
    HS_TRACEE_STOPPED,
    HS_TRACEE_BUSY,    /* a signal came first, or it vanished: another time, another thread */
    HS_TRACEE_GROUP,   /* the process is stopped (SIGSTOP, SIGTTOU ...) */
    HS_TRACEE_STUCK,   /* it does not stop, and can't be let go of but by the end of our thread */
    HS_TRACEE_REFUSED, /* by the kernel: errno in `error` */
};

enum hs_tracee_outcome {
    HS_TRACEE_RETURNED,
    HS_TRACEE_CRASHED, /* pc and signal in crash_pc, crash_signal */
    HS_TRACEE_HUNG,    /* it was stopped in the midst of the call */
    HS_TRACEE_GONE,    /* killed, or its process executed another program */
    HS_TRACEE_FAILED,  /* ptrace or its memory: errno in `error` */
};

struct hs_tracee {
    const struct hs_remote_memory *memory;
    pid_t pid;
    pid_t tid;
    struct hs_return_chain
        way; /* its code, and the thread as it sees itself, filled in by the caller */

    bool is_seized;
    bool is_stopped; /* so that it can be changed and let go */
    bool is_borrowed;
    bool is_in_call;   /* it stands in the midst of one, or of what it came to */
    bool may_restart;  /* the caller says: EINTR of the call it was in would be our doing */
    bool is_shielded;  /* its wait starts anew if we are killed */
    bool is_at_signal; /* it stands where the kernel would deliver a signal */
    int error;         /* errno */
    int crash_signal;
    uint64_t crash_pc;
    uint64_t asked_ns;           /* when we wished it stopped */
    uint64_t seen_ns;            /* when we saw it stopped */
    uint64_t free_va;            /* calls may use the stack below */
    struct hs_remote_regs start; /* at the stop */
    uint64_t signal_mask;
    bool may_boost; /* the caller says: its filters let it go back from that */
    struct hs_sched_boost boost;
    siginfo_t held[4]; /* signals that were sent during a call, and could not be blocked */
    unsigned held_count;
    size_t state_bytes;
    _Alignas(64) uint8_t state[HS_REMOTE_STATE_BYTES_MAX];
    _Alignas(64) uint8_t sealed[HS_REMOTE_STATE_BYTES_MAX + 64]; /* the same for its way back */
};

/* Afterwards a tracee that is HS_TRACEE_STOPPED or _STUCK is seized, and no other. */
enum hs_tracee_stop hs_tracee_stop(struct hs_tracee *tracee, pid_t tid, uint64_t deadline_ns);

/* The two halves of that, for who stops many: _STOPPED says of the first that it will. */
enum hs_tracee_stop hs_tracee_ask(struct hs_tracee *tracee, pid_t tid);
enum hs_tracee_stop hs_tracee_await(struct hs_tracee *tracee, uint64_t deadline_ns);
/* To be called as soon as `may_restart` is known: if we are killed before more is done, the call that it was in does not end
 * with EINTR. */
void hs_tracee_keep_wait(const struct hs_tracee *tracee);

/* Its wait is not to go on by restart_syscall(2) if we are killed. `start` stays, and counts in the end. */
void hs_tracee_shield(struct hs_tracee *tracee);

/* Is the stopped thread in a restartable sequence (rseq)? The kernel breaks such a sequence off when it is
 * interrupted, but notices only what a thread is at when it goes on: that would be our function. */
bool hs_tracee_is_in_sequence(const struct hs_tracee *tracee);

/* 0 or -errno. Without success it can be released all the same. */
int hs_tracee_borrow(struct hs_tracee *tracee);

/* Reserves room below what is in use of the stack: its address, a multiple of 16. */
uint64_t hs_tracee_reserve(struct hs_tracee *tracee, size_t size_bytes);

/* `deadline_ns`: when it is given up if it sleeps then, as it would for a lock that is not let go. */
enum hs_tracee_outcome hs_tracee_call(struct hs_tracee *tracee, uint64_t function_va,
                                      const uint64_t arguments[HS_REMOTE_ARGUMENTS_MAX],
                                      uint64_t deadline_ns, uint64_t *ret_result);

/* Puts everything back and lets it run. 0; -errno: it is gone. */
int hs_tracee_release(struct hs_tracee *tracee);
