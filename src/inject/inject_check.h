/*
 * Before anything is touched: can this process be made to call a function, may we do it, and is it a time for it?
 * And after the kernel has refused: why.
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

/* One thread. */
struct hs_inject_thread {
    enum hs_thread_seccomp seccomp;
    uint32_t filter_count; /* 0 also from a kernel before 5.9 */
    int32_t own_pid;       /* as it sees itself */
    int32_t own_tid;
    uint64_t ignored; /* its process's signals */
    uint64_t caught;
};

/* HS_INJECT_DONE: nothing is known against it. *ret_view_tid: a living thread, by whose number /proc shows what all
 * have in common (of the first one it shows nothing after that has ended). */
int hs_inject_check(pid_t pid, pid_t *ret_view_tid, char *detail);

/* False: it is gone. */
bool hs_inject_check_thread(pid_t tid, struct hs_inject_thread *ret_thread);

/* Why the kernel may have said `error` (an errno) to our wish to trace it. */
int hs_inject_check_refusal(pid_t pid, int error, char *detail);

/* May we read other threads' seccomp filters? */
int hs_inject_check_filters(char *detail);

/* Has it a /proc at its root, where a library can be loaded from? */
int hs_inject_check_proc(pid_t view_tid);
