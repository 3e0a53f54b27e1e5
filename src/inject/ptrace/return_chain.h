/*
 * How a thread that heapscope has borrowed (made to call a function) returns to its own code by
 * itself, if heapscope is killed during that call.
 *
 * The function that the thread is made to call returns into a chain of steps. The tracer has
 * prepared the chain on the thread's stack:
 *
 *     the function ─► keeper: code that stores the function's result on the stack
 *       ─► the thread sends itself the notify signal ─► it closes a descriptor
 *       ─► it restores errno ─► its scheduling attributes ─► all its registers
 *
 * The notify signal is a signal that the process ignores. A traced thread stops at it all the same,
 * and the stop tells the tracer that the call has returned. There the tracer restores the thread by
 * ptrace, so that the kernel can still restart the interrupted system call. When no process traces
 * the thread any more, the signal has no effect and the thread goes on (if the process handles all
 * signals that come into question, the signal is SIGURG, and its handler runs once): the steps
 * after it are sigreturn frames (arch/return_frame.h), and the last of them restores the state that
 * the thread had when it was borrowed.
 *
 * Ensures   from hs_return_chain_build on, whatever the tracer does and wherever it dies, the
 *           thread executes a call that returns into the chain, or executes the chain, or has its
 *           original state.
 * Threads   one.
 * Fails     -errno: the thread's stack cannot be written.
 * See       docs/adr/0015-the-way-back.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/remote.h"
#include "inject/ptrace/sched_boost.h"
#include "inject/remote/remote_memory.h"

struct hs_return_chain {
    const struct hs_remote_memory *memory;
    /* Addresses of code in the thread's libc. */
    uint64_t gadget_va;  /* calls rt_sigreturn */
    uint64_t starter_va; /* calls setcontext(3) with the pointer at the address in rbx */
    uint64_t keeper_va;  /* stores a function's result on the stack */
    uint64_t syscall_va; /* syscall(3) */
    uint64_t copy_va;    /* wmemcpy(3), copies a few bytes; 0: not found, errno is not restored */
    /* The thread's ids in its own PID namespace. */
    int32_t own_pid;
    int32_t own_tid;
    int notify_signal;
    uint64_t chain_va;   /* address of the chain on the thread's stack */
    uint64_t kept_va;    /* where the result of the current call is stored */
    uint64_t call_mask;  /* signals that are blocked during a call and until the last frame */
    bool is_awaiting_fd; /* the next call returns a descriptor that the chain must close */
    /* address at which that call leaves the descriptor; 0: its result is the descriptor */
    uint64_t awaited_va;
    struct hs_remote_regs start;
};

/* Finds three pieces of libc's code that the chain uses, and stores their addresses in *chain:
 * gadget, starter and keeper. Gadget and starter are searched for in [start_va, end_va); the
 * starter is recognized by its call of setcontext_va. The code at keeper_va must be the expected
 * one. False: this libc has no code for a return chain. */
bool hs_return_chain_find(struct hs_return_chain *chain, const struct hs_remote_memory *memory,
                          uint64_t start_va, uint64_t end_va, uint64_t keeper_va,
                          uint64_t setcontext_va);

/* Chooses the notify signal: one that the process ignores, by default or by its own choice; SIGURG
 * if there is none. `ignored` and `caught` are SigIgn and SigCgt of /proc/PID/status. */
int hs_return_chain_choose_signal(uint64_t ignored, uint64_t caught);

/* Writes the chain to the stack below *free_va, and lowers *free_va. `mask` is the thread's signal
 * mask; `state` holds its vector registers as ptrace gave them, with room for 4 more bytes. 0 or
 * -errno. */
int hs_return_chain_build(struct hs_return_chain *chain, const struct hs_remote_regs *start,
                          bool may_restart, uint64_t mask, uint8_t *state, size_t state_bytes,
                          uint64_t *free_va);

/* Sets *regs so that the thread continues in the chain, at the step after the notify signal. */
void hs_return_chain_park(const struct hs_return_chain *chain, struct hs_remote_regs *regs);

/* Changes *regs, which are set for the call of a function, so that the function returns into the
 * chain, which then sends the notify signal. Writes the return addresses below `free_va`;
 * *ret_return_va is where they begin. 0 or -errno. */
int hs_return_chain_prepare_call(struct hs_return_chain *chain, uint64_t free_va,
                                 struct hs_remote_regs *regs, uint64_t *ret_return_va);

/* For a thread that has stopped at the notify signal: returns whether its registers show that the
 * chain sent the signal. */
bool hs_return_chain_is_at_signal(const struct hs_return_chain *chain,
                                  const struct hs_remote_regs *regs);

/* Reads what the last call returned. 0 or -errno. */
int hs_return_chain_result(const struct hs_return_chain *chain, uint64_t *ret_value);

/* Makes the chain close descriptor `fd` if heapscope is killed; -1: no descriptor. 0 or -errno. */
int hs_return_chain_set_fd(struct hs_return_chain *chain, int fd);
/* The next call leaves a descriptor at address `fd_va`, which holds -1 now; 0: the call's result is
 * the descriptor. The chain closes it if heapscope is killed. 0 or -errno. */
int hs_return_chain_await_fd(struct hs_return_chain *chain, uint64_t fd_va);
/* Call this before a call that closes the descriptor: as soon as the thread has entered that call,
 * the chain no longer closes it. The caller then makes the call, followed by
 * hs_return_chain_set_fd(chain, -1). 0 or -errno. */
int hs_return_chain_hand_over_fd(const struct hs_return_chain *chain);

/* Makes the chain restore these scheduling attributes. 0 or -errno. */
int hs_return_chain_set_attributes(const struct hs_return_chain *chain,
                                   const struct hs_sched_attr *attr);

/* Makes the chain restore errno, at `errno_va`, to `value`. 0 or -errno. */
int hs_return_chain_set_errno(const struct hs_return_chain *chain, uint64_t errno_va,
                              int32_t value);
