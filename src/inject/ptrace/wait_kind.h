/*
 * What a thread is doing, as far as its system call tells: is it likely to hold a lock that dlopen
 * or malloc needs, and can the call be interrupted and restarted without the program noticing?
 *
 * Allocators, the loader and stdio never wait for descriptors, clocks, children or signals, so a
 * thread in such a wait is not inside them. (A read counts as a wait only when it is from something
 * that can be waited for, such as a pipe.) A futex may be any lock. mmap, brk, madvise and openat
 * are exactly the calls that allocators and loaders make.
 *
 * Threads   no state.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* In the order in which threads are best borrowed. */
enum hs_wait_kind {
    HS_WAIT_SURE,  /* waits for something that allocators never wait for */
    HS_WAIT_FUTEX, /* waits for another thread; its stack tells which lock it may hold */
    /* as SURE, but an interruption restarts its timeout, unless wait_clock.h helps */
    HS_WAIT_TIMED,
    HS_WAIT_RUNNING, /* runs code of its own, or its state is not known */
    HS_WAIT_OTHER,   /* in any other system call */
    HS_WAIT_N,
};

struct hs_wait {
    enum hs_wait_kind kind;
    int64_t number; /* number of the system call; -1: none, or not known */
    uint64_t arguments[6];
    uint64_t sp; /* sp and pc while the thread does not run; 0: not known */
    uint64_t pc;
};

/* Reads /proc/PID/task/TID/syscall. Where that is not possible, the thread counts as
 * HS_WAIT_RUNNING. */
void hs_wait_look(pid_t pid, pid_t tid, struct hs_wait *ret_wait);

/* Parses one line of that file. `pid` is needed to look up what a descriptor is. */
void hs_wait_parse(pid_t pid, const char *text, struct hs_wait *ret_wait);

/* Does this system call wait, and does the kernel end it with EINTR although no handler ran? Then
 * it has not done anything yet, and can be restarted. */
bool hs_wait_is_restartable(int64_t number);

/* Is the fourth argument of this system call a timeout in milliseconds? */
bool hs_wait_has_timeout_ms(int64_t number);
