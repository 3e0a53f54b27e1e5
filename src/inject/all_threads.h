/*
 * All threads of another process, stopped for a moment, so that its code may be changed under them.
 *
 * The exception: everything else here stops one thread and lets the others run. All in the list of threads are asked to
 * stop, then awaited, so that those that have a processor leave it to the others; until a look at the list finds no new
 * one, as a thread that is stopped begins no more. Their system calls start anew or go on, as with a borrowed one.
 *
 * Threads   one, as ptrace demands. When it ends, the kernel lets go of all.
 * Fails     enum hs_inject_error, or HS_ALL_THREADS_AGAIN: some did not stop in time, or were in the kernel for longer
 *           (the parent of a vfork is, while the child uses its memory).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/remote_memory.h"
#include "inject/tracee.h"
#include "inject/wait_clock.h"

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
    uint64_t begin_ns; /* when the first one was asked to stop */
};

/* *all knows process and memory. hs_all_threads_release is owed in any case. */
int hs_all_threads_stop(struct hs_all_threads *all, uint64_t deadline_ns);
void hs_all_threads_release(struct hs_all_threads *all);
