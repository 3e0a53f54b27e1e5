/*
 * Makes a running process, which was not prepared for it, load a library and call a function in it.
 *
 * One thread is borrowed: ptrace stops it at a point where it holds no lock of the allocator or the
 * loader. It is made to call dlopen and the function, and is then put back exactly as it was, in
 * the middle of its system call if it was in one. All other threads keep running. Everything that
 * can be found out before the stop is found out before, so the stop lasts about as long as the
 * calls themselves.
 *
 *     struct hs_inject_request request = {
 *         .pid = pid, .library_path = "libx.so", .library_name = "x", .symbol = "x_start",
 *         .fetch_fd_off = -1, .patience_ns = 2000000000 };
 *     struct hs_inject_result result;
 *     int error = hs_inject_call(&request, &result);
 *     if (error) {
 *         complain("%s (%s)", hs_inject_error_words(error), result.detail);
 *     }
 *
 * Ensures   the program does not notice: no signal is lost or doubled, no call fails with EINTR,
 *           errno, registers, signal mask and dispositions are as before, and no mapping or
 *           descriptor is new except the library (and what the function itself leaves).
 * Threads   any. Each call runs in a thread of its own: when that thread ends, the kernel detaches
 *           it from the target, even after a failure. Meanwhile no other thread of the calling
 *           process may wait for just any child (wait, waitpid(-1)): it would receive the target's
 *           ptrace stops.
 * Fails     enum hs_inject_error. The target continues as before after every error except
 *           HS_INJECT_CRASHED, HS_INJECT_HUNG (the call was abandoned in the middle) and
 *           HS_INJECT_DIED. If heapscope is killed while the thread is borrowed, the thread ends
 *           the call that it is in and puts itself back (return_chain.h). What has been loaded then
 *           stays loaded, and a descriptor that the function opened for itself stays open.
 * See       docs/INJECTION.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/seccomp/seccomp_policy.h"

#define HS_INJECT_ARG_BYTES_MAX 8192U
#define HS_INJECT_DETAIL_BYTES  160U

enum hs_inject_error {
    HS_INJECT_DONE,
    /* This process cannot be injected into. */
    HS_INJECT_NO_PROCESS,
    HS_INJECT_KERNEL_THREAD,
    HS_INJECT_32BIT,
    HS_INJECT_OTHER_MACHINE,
    HS_INJECT_STATIC,          /* no dynamic loader */
    HS_INJECT_OTHER_LIBC,      /* detail: its loader */
    HS_INJECT_SECCOMP,         /* strict mode; detail: which thread */
    HS_INJECT_SECCOMP_UNREAD,  /* it has a filter that heapscope may not read; detail: why */
    HS_INJECT_SECCOMP_KERNEL,  /* it has a filter that the kernel does not show */
    HS_INJECT_SECCOMP_FORBIDS, /* its filter forbids a call; detail: which */
    HS_INJECT_SHADOW_STACK,    /* a shadow stack rejects a return address that no call has pushed */
    HS_INJECT_NO_PROC,         /* no /proc in its root directory; dlopen needs one */
    HS_INJECT_NO_RETURN_CHAIN, /* its libc lacks the code for the return chain */
    /* heapscope lacks the permission. */
    HS_INJECT_OTHER_USER,
    HS_INJECT_NOT_DUMPABLE,
    HS_INJECT_YAMA, /* detail: the value of ptrace_scope */
    HS_INJECT_NO_CAPABILITY,
    HS_INJECT_NO_FILE_RIGHTS, /* for the /proc files of another user's process */
    HS_INJECT_OUR_SANDBOX,    /* heapscope itself runs under a seccomp filter */
    HS_INJECT_NOT_PERMITTED,  /* the reason is not known */
    HS_INJECT_TRACED,         /* detail: by which process */
    /* The process cannot be injected into at present. */
    HS_INJECT_STOPPED,
    HS_INJECT_FROZEN,
    HS_INJECT_DYING,
    HS_INJECT_STARTING,      /* its loader has not finished yet */
    HS_INJECT_NO_SAFE_POINT, /* detail: what its threads were doing */
    HS_INJECT_NO_PAUSE,      /* text_patch.h: its threads did not all stop at once; detail: why */
    /* The injection was tried and failed. */
    HS_INJECT_LIBRARY_FILE, /* heapscope's library file cannot be read */
    HS_INJECT_NO_MEMFD,     /* the target could not create one */
    HS_INJECT_REFUSED,      /* detail: what dlerror says */
    HS_INJECT_NO_SYMBOL,
    HS_INJECT_NO_DESCRIPTOR, /* the descriptor that the call left could not be taken over */
    HS_INJECT_CRASHED,       /* during the call; detail: where */
    HS_INJECT_HUNG,
    HS_INJECT_DIED,
    HS_INJECT_BAD_MEMORY, /* the loader's data in the target is not valid */
    HS_INJECT_OURS,       /* heapscope ran out of memory or threads; detail */
    HS_INJECT_ERROR_N,
};

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

/* Carries out the request. 0 or enum hs_inject_error. *ret_result is written in any case; after an
 * error its `fd` is -1. */
int hs_inject_call(const struct hs_inject_request *request, struct hs_inject_result *ret_result);

/* One sentence, without a full stop, that says what is wrong and what to do about it. */
const char *hs_inject_error_words(int error);
