/*
 * Checks that are made before anything is changed: can this process be made to call a function, is
 * heapscope allowed to do that, and is this a suitable moment? And, after the kernel has refused:
 * what was the reason?
 *
 * Threads   no state.
 * Fails     enum hs_inject_error; `detail` (HS_INJECT_DETAIL_BYTES) then says more, or is "".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum hs_thread_seccomp {
    HS_THREAD_UNFILTERED,
    HS_THREAD_STRICT,
    HS_THREAD_FILTERED,
};

/* What /proc/PID/task/TID/status says of one thread. */
struct hs_inject_thread {
    enum hs_thread_seccomp seccomp;
    uint32_t filter_count; /* 0 also on kernels before 5.9 */
    int32_t own_pid;       /* in the thread's own PID namespace */
    int32_t own_tid;
    uint64_t ignored; /* the signals that its process ignores, a bit each */
    uint64_t caught;  /* the signals that it handles */
};

/* Checks the process. HS_INJECT_DONE: nothing speaks against an injection. *ret_view_tid is then a
 * living thread, under whose number /proc shows what all threads have in common. (Under the first
 * thread's number /proc shows nothing once that thread has ended.) */
int hs_inject_check(pid_t pid, pid_t *ret_view_tid, char *detail);

/* Reads the status of one thread. False: the thread is gone. */
bool hs_inject_check_thread(pid_t tid, struct hs_inject_thread *ret_thread);

/* Why the kernel may have refused to let heapscope trace `pid`, given the errno `error`. */
int hs_inject_check_refusal(pid_t pid, int error, char *detail);

/* May heapscope read the seccomp filters of other threads? */
int hs_inject_check_filters(char *detail);

/* Does the target's root directory have a /proc, from which it can load a library? */
int hs_inject_check_proc(pid_t view_tid);
