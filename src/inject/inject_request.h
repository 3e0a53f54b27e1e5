/*
 * What an injection has to do, and what it did: the arguments of hs_inject_call (inject.h).
 *
 * Threads   no state.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/check/inject_error.h"
#include "inject/seccomp/seccomp_policy.h"

#define HS_INJECT_ARG_BYTES_MAX 8192U

struct hs_inject_request {
    pid_t pid; /* in heapscope's PID namespace */
    /* The library's file on heapscope's side; its bytes are copied into the target. NULL: the
     * library must already be loaded. */
    const char *library_path;
    const char *library_name; /* its name in the target's /proc/PID/maps: "/memfd:NAME (deleted)" */
    /* The function to call, `int symbol(void *arg)`, in any loaded object; the last loaded is
     * searched first. */
    const char *symbol;
    /* copied into the target before the call and back after it; NULL when arg_bytes is 0 */
    void *arg;
    size_t arg_bytes; /* <= HS_INJECT_ARG_BYTES_MAX */
    /* >= 0: the offset in arg at which the call leaves an int32_t, the number of a descriptor of
     * the target. heapscope takes the descriptor over and closes it in the target, within the same
     * stop. A negative number there means no descriptor. -1: nothing to fetch. */
    int fetch_fd_off;
    uint64_t patience_ns; /* how long to look for a safe point, in nanoseconds */
    /* What the target's seccomp filters must allow in addition. If they do not allow some call of
     * `optional`, `limited_flag` is set in the uint32_t at offset limited_flag_off of arg; 0 means
     * no flag. Unless `wants.threads` lists calls, only the borrowed thread's filters are
     * checked. */
    struct hs_seccomp_wants wants;
    uint32_t limited_flag;
    size_t limited_flag_off;
    bool is_trial; /* call nothing, only check the filters */
};

struct hs_inject_result {
    int64_t value;   /* what the function returned (an int) */
    int fd;          /* the fetched descriptor, which the caller closes; -1: none */
    bool was_loaded; /* the library had been loaded before */
    pid_t tid;       /* the borrowed thread */
    /* How long the thread was borrowed: from the request to stop it, or, if it was running, from
     * the moment when it had stopped, until its release. */
    uint64_t stopped_ns;
    bool has_filters;   /* some thread has seccomp filters */
    bool is_limited;    /* those filters do not allow all of `optional` */
    uint32_t try_count; /* earlier stops of any thread that were not at a safe point */
    char detail[HS_INJECT_DETAIL_BYTES];
};
