/*
 * What a thread is doing, as far as its system call tells: is it likely to hold a lock that dlopen or malloc
 * needs, and can the call be broken off and taken up again without a trace?
 *
 * Allocators, the loader and stdio never wait for descriptors, clocks, children or signals, so a thread that does
 * is not within them. (A read may be of anything: it counts when it is from what one can wait for.) A futex may
 * be any lock; mmap, brk, madvise and openat are just what allocators and loaders do.
 *
 * Threads   no state.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The better one to borrow first. */
enum hs_wait_kind {
    HS_WAIT_SURE,  /* waits for something that allocators never wait for */
    HS_WAIT_FUTEX, /* waits for another thread: which lock it holds, its stack tells */
    HS_WAIT_TIMED, /* as SURE, but its time starts anew when it is broken off, as far as we can't help it */
    HS_WAIT_RUNNING, /* in code of its own, or nobody knows */
    HS_WAIT_OTHER,   /* in any other system call */
    HS_WAIT_N,
};

struct hs_wait {
    enum hs_wait_kind kind;
    int64_t number; /* of the system call; -1: none, or not known */
    uint64_t arguments[6];
    uint64_t sp; /* and pc, as long as it does not run; 0: not known */
    uint64_t pc;
};

/* Reads /proc/PID/task/TID/syscall. Where that can't be, the thread is HS_WAIT_RUNNING. */
void hs_wait_look(pid_t pid, pid_t tid, struct hs_wait *ret_wait);

/* One line of that file. `pid` is needed to see what a descriptor is. */
void hs_wait_parse(pid_t pid, const char *text, struct hs_wait *ret_wait);

/* Does this system call wait, and does the kernel end it with EINTR though no handler ran? Then nothing has
 * happened yet, and it may be started anew. */
bool hs_wait_is_restartable(int64_t number);

/* Is its fourth argument a timeout in milliseconds? */
bool hs_wait_has_timeout_ms(int64_t number);
