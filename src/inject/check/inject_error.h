/*
 * What can prevent an injection, or make one fail. Every part of src/inject returns these errors,
 * so this file stands below all others of the folder.
 *
 * An error comes with a detail for its reader: text that names the thread, the file or the call, or
 * "".
 *
 * Threads   constants.
 */
#pragma once

#define HS_INJECT_DETAIL_BYTES 160U

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
    HS_INJECT_NO_PAUSE,      /* its threads did not all stop at once; detail: why */
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

/* One sentence, without a full stop, that says what is wrong and what to do about it. */
const char *hs_inject_error_words(int error);
