/*
 * One sentence for each error: see inject_error.h.
 */
#include "inject/check/inject_error.h"

static const char *const words[HS_INJECT_ERROR_N] = {
    [HS_INJECT_DONE] = "it was called",
    [HS_INJECT_NO_PROCESS] = "there is no such process",
    [HS_INJECT_KERNEL_THREAD] = "it is a thread of the kernel, which loads no libraries",
    [HS_INJECT_32BIT] = "it is a 32-bit program; only 64-bit ones can be attached to, so build "
                        "it for 64 bits",
    [HS_INJECT_OTHER_MACHINE] = "it is a program for another processor; build it for this machine",
    [HS_INJECT_STATIC] =
        "it is statically linked, so it cannot load a library; link it dynamically",
    [HS_INJECT_OTHER_LIBC] =
        "its C library is not glibc, which heapscope's library needs; build it for glibc",
    [HS_INJECT_SECCOMP] =
        "it runs in seccomp's strict mode, in which a program may only read, write and exit",
    [HS_INJECT_SECCOMP_UNREAD] =
        "it has a seccomp filter, which heapscope must read first, as the filter might kill it for "
        "a call that attaching makes; run heapscope as root of the machine (CAP_SYS_ADMIN), "
        "outside of containers and sandboxes, or start it with heapscope's library instead of "
        "attaching",
    [HS_INJECT_SECCOMP_KERNEL] =
        "it has a seccomp filter, which might kill it for a call that attaching makes, and this "
        "kernel cannot show the filter; start it with heapscope's library instead of attaching",
    [HS_INJECT_SECCOMP_FORBIDS] = "its seccomp filter does not allow the calls that attaching "
                                  "makes; start it with heapscope's library instead of attaching",
    [HS_INJECT_SHADOW_STACK] = "it runs with a shadow stack, which does not allow calls from "
                               "outside; start it with heapscope's library instead of attaching",
    [HS_INJECT_NO_PROC] = "its root folder has no /proc, which loading a library from a descriptor "
                          "needs; mount one there",
    [HS_INJECT_NO_RETURN_CHAIN] =
        "its C library lacks the code that restores an interrupted thread even if heapscope is "
        "killed; start it with heapscope's library instead of attaching",
    [HS_INJECT_OTHER_USER] = "it belongs to another user; attach as that user, or as root",
    [HS_INJECT_NOT_DUMPABLE] = "it does not allow access to its memory (it is set-user-id, or not "
                               "dumpable); attach as root",
    [HS_INJECT_YAMA] = "the kernel lets processes be traced by their parents only, or not at all; "
                       "attach as root, or set kernel.yama.ptrace_scope to 0",
    [HS_INJECT_NO_CAPABILITY] = "it has capabilities that heapscope lacks; attach with the "
                                "capability CAP_SYS_PTRACE, in its user namespace",
    [HS_INJECT_NO_FILE_RIGHTS] =
        "its files in /proc belong to another user, and CAP_SYS_PTRACE alone does not open them: "
        "attach with the capability CAP_DAC_OVERRIDE, too, or as root",
    [HS_INJECT_OUR_SANDBOX] = "the sandbox in which heapscope runs does not allow tracing; in a "
                              "container, add the capability SYS_PTRACE, or attach from outside",
    [HS_INJECT_NOT_PERMITTED] =
        "the kernel does not permit it; a security module (AppArmor, SELinux) "
        "may be the reason",
    [HS_INJECT_TRACED] =
        "it is being traced already, by a debugger, strace or another profiler; end "
        "that first",
    [HS_INJECT_STOPPED] = "it is stopped; continue it (kill -CONT) and try again",
    [HS_INJECT_FROZEN] = "its control group is frozen; thaw it and try again",
    [HS_INJECT_DYING] =
        "it is ending; start it with 'heapscope run' to record it from its first allocation on",
    [HS_INJECT_STARTING] = "it has only just started, and its loader has not finished; try again",
    [HS_INJECT_NO_SAFE_POINT] =
        "no thread was found at a point where it can be interrupted safely; "
        "try again, or wait longer",
    [HS_INJECT_NO_PAUSE] = "not all of its threads could be stopped at once, outside of its "
                           "allocator's first instructions; try again, or wait longer",
    [HS_INJECT_LIBRARY_FILE] =
        "heapscope's library cannot be read; is heapscope installed completely?",
    [HS_INJECT_NO_MEMFD] =
        "it could not make a memory file for the library; is it short of descriptors or memory?",
    [HS_INJECT_REFUSED] = "its loader refused the library",
    [HS_INJECT_NO_SYMBOL] = "no library in it defines the function to be called",
    [HS_INJECT_NO_DESCRIPTOR] = "the descriptor that the call left could not be taken over",
    [HS_INJECT_CRASHED] = "the call crashed; the program goes on, but may have been harmed",
    [HS_INJECT_HUNG] = "the call took too long and was given up; the program goes on, but may hang "
                       "when it loads libraries",
    [HS_INJECT_DIED] = "it ended meanwhile, or executed another program",
    [HS_INJECT_BAD_MEMORY] = "the data of its loader in memory is not valid",
    [HS_INJECT_OURS] = "heapscope ran out of memory, threads or descriptors",
};

const char *hs_inject_error_words(int error)
{
    return error >= 0 && error < HS_INJECT_ERROR_N ? words[error] : "an unknown error";
}
