/*
 * Makes a running process, which knows nothing of us, load a library and call a function in it.
 *
 * One thread is borrowed: stopped by ptrace, at a point where it holds no lock of the allocator or the
 * loader, made to call dlopen and the function, and put back exactly as it was, in the midst of its
 * system call if that is where it was. All other threads run on. What can be found out beforehand, is:
 * the stop lasts about as long as the calls themselves.
 *
 *     struct hs_inject_request request = { .pid = pid, .library_path = "libx.so", .library_name = "x",
 *                                          .symbol = "x_start", .fetch_fd_off = -1,
 *                                          .patience_ns = 2000000000 };
 *     struct hs_inject_result result;
 *     int error = hs_inject_call(&request, &result);
 *     if (error) {
 *         complain("%s (%s)", hs_inject_error_words(error), result.detail);
 *     }
 *
 * Holds     the program is not told: no signal is lost or doubled, no call fails with EINTR, errno, registers,
 *           signal mask and dispositions are as before, and of mappings and descriptors nothing is new
 *           but the library (and what the function itself leaves).
 * Threads   any; each call runs in a thread of its own, which the kernel lets go of the target even when
 *           it fails. Meanwhile no other thread of ours may wait for whatever child comes (wait, waitpid(-1)):
 *           it would get what the kernel has to tell of the target.
 * Fails     enum hs_inject_error. The target goes on as before after all of them but
 *           HS_INJECT_CRASHED, HS_INJECT_HUNG (the call was given up in its midst), HS_INJECT_DIED.
 *           If we are killed while the thread is borrowed, it ends the call that it is in, and puts itself back
 *           (return_chain.h); what has been loaded stays, and of the function's own descriptor nobody knows.
 * See       docs/INJECTION.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/seccomp_policy.h"

#define HS_INJECT_ARG_BYTES_MAX 8192U
#define HS_INJECT_DETAIL_BYTES  160U

enum hs_inject_error {
    HS_INJECT_DONE,
    /* Cannot be, as things are. */
    HS_INJECT_NO_PROCESS,
    HS_INJECT_KERNEL_THREAD,
    HS_INJECT_32BIT,
    HS_INJECT_OTHER_MACHINE,
    HS_INJECT_STATIC,          /* no dynamic loader */
    HS_INJECT_OTHER_LIBC,      /* detail: its loader */
    HS_INJECT_SECCOMP,         /* strict mode; detail: of which thread */
    HS_INJECT_SECCOMP_UNREAD,  /* it has a filter, which we may not read; detail: why */
    HS_INJECT_SECCOMP_KERNEL,  /* it has a filter, which the kernel does not show */
    HS_INJECT_SECCOMP_FORBIDS, /* its filter; detail: what */
    HS_INJECT_SHADOW_STACK, /* a return address that was not pushed by a call is an error there */
    HS_INJECT_NO_PROC,      /* no /proc in its root, which dlopen needs */
    HS_INJECT_NO_RETURN_CHAIN, /* from a call, if we are killed meanwhile */
    /* We may not. */
    HS_INJECT_OTHER_USER,
    HS_INJECT_NOT_DUMPABLE,
    HS_INJECT_YAMA, /* detail: the value of ptrace_scope */
    HS_INJECT_NO_CAPABILITY,
    HS_INJECT_NO_FILE_RIGHTS, /* to what /proc keeps of another user's process */
    HS_INJECT_OUR_SANDBOX,    /* we are under a seccomp filter ourselves */
    HS_INJECT_NOT_PERMITTED,  /* and we do not know why */
    HS_INJECT_TRACED,         /* detail: by whom */
    /* Not now. */
    HS_INJECT_STOPPED,
    HS_INJECT_FROZEN,
    HS_INJECT_DYING,
    HS_INJECT_STARTING,      /* its loader is not done yet */
    HS_INJECT_NO_SAFE_POINT, /* detail: what its threads did */
    HS_INJECT_NO_PAUSE, /* of text_patch.h: its threads would not all stop at once; detail: why */
    /* It was tried. */
    HS_INJECT_LIBRARY_FILE, /* our file cannot be read */
    HS_INJECT_NO_MEMFD,     /* the target could not make one */
    HS_INJECT_REFUSED,      /* detail: what dlerror says */
    HS_INJECT_NO_SYMBOL,
    HS_INJECT_NO_DESCRIPTOR, /* what the call left could not be taken over */
    HS_INJECT_CRASHED,       /* in the call; detail: where */
    HS_INJECT_HUNG,
    HS_INJECT_DIED,
    HS_INJECT_BAD_MEMORY, /* what the loader keeps there makes no sense */
    HS_INJECT_OURS,       /* memory, threads: detail */
    HS_INJECT_ERROR_N,
};

struct hs_inject_request {
    pid_t pid; /* as we see it */
    /* Our file of the library; the target gets its bytes. NULL: it must be loaded already. */
    const char *library_path;
    const char *library_name; /* how the target's maps show it: "/memfd:NAME (deleted)" */
    /* int symbol(void *arg), of whatever object defines it, the last loaded first. */
    const char *symbol;
    void *arg; /* copied into the target before the call, and back after it; NULL with 0 bytes */
    size_t arg_bytes; /* <= HS_INJECT_ARG_BYTES_MAX */
    /* >= 0: where in arg the call leaves an int32_t, the number of a descriptor of the target. We take
     * it over and close it there, within the same stop. A negative number there is no descriptor. -1: nothing. */
    int fetch_fd_off;
    uint64_t patience_ns; /* how long to look for a safe point */
    /* What its seccomp filters must allow besides. If some of `optional` is not, `limited_flag` is set in the uint32_t at
     * limited_flag_off of arg; a flag of 0 is none. Unless it is about threads, only the borrowed one is looked at. */
    struct hs_seccomp_wants wants;
    uint32_t limited_flag;
    size_t limited_flag_off;
    bool is_trial; /* nothing is called: only its filters are looked at */
};

struct hs_inject_result {
    int64_t value;   /* what the function returned (an int) */
    int fd;          /* the caller's to close; -1: none */
    bool was_loaded; /* the library was there before */
    pid_t tid;       /* the borrowed thread */
    /* How long it was borrowed: until its release, from our wish to have it, or, if it was running, from when it
     * had stopped. */
    uint64_t stopped_ns;
    bool has_filters;   /* a thread of it has seccomp filters, */
    bool is_limited;    /* which do not allow all of `optional` */
    uint32_t try_count; /* stops before, of any thread, that were no safe point */
    char detail[HS_INJECT_DETAIL_BYTES];
};

/* 0 or enum hs_inject_error. *ret_result is written in any case; without success, `fd` is -1. */
int hs_inject_call(const struct hs_inject_request *request, struct hs_inject_result *ret_result);

/* One sentence that says what is wrong and what to do, without a full stop. */
const char *hs_inject_error_words(int error);
