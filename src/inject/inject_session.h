/*
 * The state of one injection. Its parts share it: the survey of seccomp filters (seccomp_survey.c),
 * the search for a thread (inject.c), the stop (brief_stop.c), and the calls that the thread makes
 * (remote_call_sequence.c).
 *
 * Threads   one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/inject_request.h"
#include "inject/library_bytes.h"
#include "inject/ptrace/candidates.h"
#include "inject/ptrace/safe_point.h"
#include "inject/ptrace/tracee.h"
#include "inject/ptrace/wait_clock.h"
#include "inject/remote/remote_maps.h"
#include "inject/remote/remote_memory.h"
#include "inject/remote/remote_objects.h"
#include "inject/remote/remote_stack.h"
#include "inject/seccomp/seccomp_policy.h"

struct hs_filtered_thread;

/* How the target's forks are held: see remote_hold.h. */
struct hs_remote_hold {
    uint64_t mmap_va, register_va; /* mmap and __register_atfork; 0: libc does not have it */
    bool is_locked;                /* a fork that is held has the lock of __register_atfork */
    bool is_on;
    int fd;          /* the library's file */
    off_t until_off; /* where the time stands in it */
};

struct hs_inject_session {
    const struct hs_inject_request *request;
    struct hs_inject_result *result;
    uint64_t deadline_ns;
    pid_t view_tid; /* a living thread, see inject_check.h */
    int pidfd;      /* -1: the kernel does not provide one */

    uint32_t reads_left; /* budget of reads, see remote_memory.h */
    struct hs_remote_memory memory;
    struct hs_remote_maps maps;
    struct hs_remote_objects objects;
    struct hs_safe_point point;
    struct hs_remote_stack stack;
    struct hs_candidates candidates;
    uint64_t prepared_ns; /* when the loader's list was read, CLOCK_MONOTONIC; 0: not yet */

    struct hs_library_bytes library;
    uint64_t function_va; /* the function to call; 0: its library is not loaded */
    uint64_t dlopen_va;
    int32_t dlopen_flags; /* additional flags that libc's internal entry point needs */
    uint64_t dlerror_va;
    uint64_t syscall_va;        /* syscall(3) */
    uint64_t errno_function_va; /* __errno_location */
    int64_t errno_off;          /* distance of errno from the thread pointer; 0: not known */
    uint64_t errno_va;          /* errno of the borrowed thread */
    struct hs_remote_hold hold;

    struct hs_seccomp_stack
        *filters;      /* filters of the thread that was stopped last; NULL: no thread has any */
    int filters_error; /* -errno of reading them */
    struct hs_seccomp_policies policies;
    struct hs_filtered_thread *filtered; /* threads whose filters have been read */
    size_t filtered_count, filtered_capacity;
    bool has_free_thread; /* some thread has no filters */
    /* enum hs_inject_error of a thread that was refused because of its filters */
    int refusal;
    uint32_t refused_count; /* how many of the threads that were tried were refused */

    struct hs_wait_clock clock;
    struct hs_tracee tracee;
};

/* Writes the detail of a failure, like printf, into session->result->detail. Control characters
 * become '?'. */
void hs_inject_session_say(struct hs_inject_session *session, const char *format, ...)
    HS_PRINTF(2, 3);
