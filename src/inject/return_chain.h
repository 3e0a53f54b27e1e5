/*
 * How a borrowed thread finds its way back by itself, if we are killed while it is in a call for us.
 *
 * The function that it is made to call returns into a chain of steps, prepared on its own stack:
 *
 *     the function ─► keeper: its result is kept ─► notify signal: a signal to itself
 *                                                     └─► a descriptor is closed ─► errno ─► time slice ─►
 *                                                         the thread as it was
 *
 * The notify signal is a signal that is ignored by default. A traced thread stops for it all the same: that is how we are told
 * that the call is over, and there we take the thread back, with all that the kernel knows of its interrupted system
 * call. When nobody traces it any more nothing happens at the notify signal, and it goes on: the steps behind it are signal frames
 * (arch/return_frame.h), and the last of them restores what was there before.
 *
 * Holds     from hs_return_chain_build on, whatever the tracer does and wherever it dies, the thread is either in a call that
 *           returns into the chain, or in the chain, or as it was.
 * Threads   one.
 * Fails     -errno: its stack cannot be written.
 * See       docs/adr/0015-the-way-back.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/remote.h"
#include "inject/sched_boost.h"
#include "inject/remote_memory.h"

struct hs_return_chain {
    const struct hs_remote_memory *memory;
    /* Code of its libc. */
    uint64_t gadget_va;  /* calls rt_sigreturn */
    uint64_t starter_va; /* calls setcontext(3) with what rbx leads to */
    uint64_t keeper_va;  /* keeps a result on the stack */
    uint64_t syscall_va; /* syscall(3) */
    uint64_t copy_va;    /* wmemcpy(3): copies a few bytes; 0: none, errno stays as it is */
    /* The thread, as it sees itself. */
    int32_t own_pid;
    int32_t own_tid;
    int notify_signal;
    uint64_t chain_va;   /* on its stack */
    uint64_t kept_va;    /* the result of the current call */
    uint64_t call_mask;  /* signals that are blocked in a call, and until the last frame */
    bool is_awaiting_fd; /* from the next call */
    uint64_t awaited_va; /* where that call leaves it; 0: it is its result */
    struct hs_remote_regs start;
};

/* The libc's addresses that go into *way: gadget and starter are searched for in its code, [start_va, end_va), the latter
 * by what it calls; the keeper must be what is expected of it. False: this libc has no way back. */
bool hs_return_chain_find(struct hs_return_chain *way, const struct hs_remote_memory *memory,
                          uint64_t start_va, uint64_t end_va, uint64_t keeper_va,
                          uint64_t setcontext_va);

/* A signal that nobody misses if it is caught, `ignored` and `caught` being /proc's SigIgn and SigCgt. */
int hs_return_chain_choose_signal(uint64_t ignored, uint64_t caught);

/* Writes the chain below *free_va, which it lowers. `mask`: of the thread; `state`: its vector registers, as ptrace gave
 * them, with room for 4 bytes more. */
int hs_return_chain_build(struct hs_return_chain *way, const struct hs_remote_regs *start,
                          bool may_restart, uint64_t mask, uint8_t *state, size_t state_bytes,
                          uint64_t *free_va);

/* *regs become those of a thread at the chain's first link, without a call and a notify signal. */
void hs_return_chain_park(const struct hs_return_chain *way, struct hs_remote_regs *regs);

/* *regs, which are to enter a function, will come to the notify signal when it returns: the address it returns to is written below
 * `free_va`, at *ret_return_va. */
int hs_return_chain_prepare_call(struct hs_return_chain *way, uint64_t free_va,
                                 struct hs_remote_regs *regs, uint64_t *ret_return_va);

/* Is a thread that has got the notify signal's signal where the notify signal rings? */
bool hs_return_chain_is_at_signal(const struct hs_return_chain *way,
                                  const struct hs_remote_regs *regs);

/* What the call returned. */
int hs_return_chain_result(const struct hs_return_chain *way, uint64_t *ret_value);

/* A descriptor to be closed on the way; -1: none. */
int hs_return_chain_set_fd(struct hs_return_chain *way, int fd);
/* The next call leaves a descriptor at `fd_va`, where -1 is now; 0: its result is one. */
int hs_return_chain_await_fd(struct hs_return_chain *way, uint64_t fd_va);
/* The next call closes the descriptor: the thread closes it on its way until it has entered that call, and not from then
 * on. To be followed by the call, and by hs_return_chain_set_fd(way, -1). */
int hs_return_chain_hand_over_fd(const struct hs_return_chain *way);

/* Its scheduling attributes are to be these again. */
int hs_return_chain_set_attributes(const struct hs_return_chain *way,
                                   const struct hs_sched_attr *attr);

/* errno, at `errno_va`, is to be `value` again. */
int hs_return_chain_set_errno(const struct hs_return_chain *way, uint64_t errno_va, int32_t value);
