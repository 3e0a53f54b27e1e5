/*
 * Stops all threads of another process for a moment, so that its code can be changed under them.
 *
 * This is the exception: everything else in this folder stops one thread and lets the others run.
 * First every thread in /proc/PID/task is asked to stop. Only then does heapscope wait for them, so
 * that the threads that have stopped leave their processor to the others. This is repeated until a
 * look at the list finds no new thread: a stopped thread cannot start another one. The system calls
 * that were interrupted are restarted or continued, as with a borrowed thread.
 *
 * Threads   one, because ptrace demands it. When that thread ends, the kernel detaches from all
 *           tracees.
 * Fails     enum hs_inject_error, or HS_ALL_THREADS_AGAIN: some threads did not stop in time, or
 *           are in the kernel for longer (the parent of a vfork is, while the child uses its
 *           memory).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/ptrace/tracee.h"
#include "inject/ptrace/wait_clock.h"
#include "inject/remote/remote_memory.h"

#define HS_ALL_THREADS_AGAIN (-1)

struct hs_stopped_thread {
    struct hs_tracee tracee;
    struct hs_wait_clock clock;
};

struct hs_all_threads {
    pid_t pid;
    const struct hs_remote_memory *memory;
    struct hs_stopped_thread **items;
    size_t count;
    size_t capacity;
    uint64_t begin_ns; /* when the first thread was asked to stop */
};

/* Stops every thread of the process. The caller has set all->pid and all->memory. `deadline_ns` is
 * on CLOCK_MONOTONIC. Returns HS_INJECT_DONE when all threads are stopped, otherwise see Fails. The
 * caller calls hs_all_threads_release in any case. */
int hs_all_threads_stop(struct hs_all_threads *all, uint64_t deadline_ns);
/* Lets all stopped threads continue, with the rest of their timeouts, and frees the list. */
void hs_all_threads_release(struct hs_all_threads *all);
