/*
 * The signals that instructions raise: SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP.
 *
 * The kernel queues such a signal, then delivers it before the thread's next instruction. A thread
 * may be stopped in between. Whatever it executes next, it gets the signal there.
 *
 * Threads   only the thread that stopped the tracee may ask what is pending.
 * Fails     never: an answer that the kernel refuses is taken for no signal.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* As a mask of signals, in the kernel's format. */
#define HS_FAULT_SIGNAL_BIT(number) (UINT64_C(1) << ((number)-1))
#define HS_FAULT_SIGNALS                                                                           \
    (HS_FAULT_SIGNAL_BIT(SIGSEGV) | HS_FAULT_SIGNAL_BIT(SIGBUS) | HS_FAULT_SIGNAL_BIT(SIGILL) |    \
     HS_FAULT_SIGNAL_BIT(SIGFPE) | HS_FAULT_SIGNAL_BIT(SIGTRAP))

/* Was it raised by an instruction, and not sent by a process? */
bool hs_fault_signal_is(const siginfo_t *info);

/* Is such a signal pending for thread `tid`, which is in a ptrace stop? */
bool hs_fault_signal_is_pending(pid_t tid);
