/*
 * One sentence for each error: see inject.h.
 */
#include "inject/inject.h"

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
        "its C library is not glibc, which our library is made for; build it for glibc",
    [HS_INJECT_SECCOMP] =
        "it runs in seccomp's strict mode, in which a program may only read, write and exit",
    [HS_INJECT_SECCOMP_UNREAD] =
        "it has a seccomp filter, which must be read before, as it might kill it for what "
        "attaching makes it do; run heapscope as root of the machine (CAP_SYS_ADMIN), outside of "
        "containers and sandboxes, or start it with our library instead of attaching",
    [HS_INJECT_SECCOMP_KERNEL] =
        "it has a seccomp filter, which might kill it for what attaching makes it do, and this "
        "kernel does not let it be read; start it with our library instead of attaching",
    [HS_INJECT_SECCOMP_FORBIDS] =
        "its seccomp filter does not allow what attaching makes it do; start it with our library "
        "instead of attaching",
    [HS_INJECT_SHADOW_STACK] =
        "it runs with a shadow stack, which does not allow calls from outside; "
        "start it with our library instead of attaching",
    [HS_INJECT_NO_PROC] = "there is no /proc in its root folder, which loading a library from a "
                          "descriptor needs; mount one there",
    [HS_INJECT_NO_RETURN_CHAIN] =
        "its C library lacks the code that brings an interrupted thread back "
        "whatever happens to us; start it with our library instead of attaching",
    [HS_INJECT_OTHER_USER] = "it belongs to another user; attach as that user, or as root",
    [HS_INJECT_NOT_DUMPABLE] = "it does not let itself be looked into (it is set-user-id, or not "
                               "dumpable); attach as root",
    [HS_INJECT_YAMA] = "the kernel lets processes be traced by their parents only, or not at all; "
                       "attach as root, or set kernel.yama.ptrace_scope to 0",
    [HS_INJECT_NO_CAPABILITY] = "it has rights that we lack; attach with the capability "
                                "CAP_SYS_PTRACE, in its user namespace",
    [HS_INJECT_NO_FILE_RIGHTS] =
        "what /proc keeps of it is another user's; with CAP_SYS_PTRACE alone that is closed: "
        "attach with the capability CAP_DAC_OVERRIDE, too, or as root",
    [HS_INJECT_OUR_SANDBOX] =
        "the sandbox that we run in does not allow tracing; in a container, add "
        "the capability SYS_PTRACE, or attach from outside",
    [HS_INJECT_NOT_PERMITTED] =
        "the kernel does not permit it; a security module (AppArmor, SELinux) "
        "may be the reason",
    [HS_INJECT_TRACED] =
        "it is being traced already, by a debugger, strace or another profiler; end "
        "that first",
    [HS_INJECT_STOPPED] = "it is stopped; let it go on (kill -CONT) and try again",
    [HS_INJECT_FROZEN] = "its control group is frozen; thaw it and try again",
    [HS_INJECT_DYING] =
        "it is ending; start it with 'heapscope run' to record it from its first allocation on",
    [HS_INJECT_STARTING] = "it has only just started, and its loader is not done; try again",
    [HS_INJECT_NO_SAFE_POINT] =
        "no thread was found at a point where it can be interrupted safely; "
        "try again, or wait longer",
    [HS_INJECT_NO_PAUSE] = "not all of its threads could be stopped at once, outside of its "
                           "allocator's first instructions; try again, or wait longer",
    [HS_INJECT_LIBRARY_FILE] = "our own library cannot be read; is it installed completely?",
    [HS_INJECT_NO_MEMFD] = "it could not make a file in memory for the library; is it short of "
                           "descriptors or memory?",
    [HS_INJECT_REFUSED] = "its loader refused the library",
    [HS_INJECT_NO_SYMBOL] = "no library in it defines the function to be called",
    [HS_INJECT_NO_DESCRIPTOR] = "the descriptor that the call left could not be taken over",
    [HS_INJECT_CRASHED] = "the call crashed; the program goes on, but may have been harmed",
    [HS_INJECT_HUNG] = "the call took too long and was given up; the program goes on, but may wait "
                       "for ever when it loads libraries",
    [HS_INJECT_DIED] = "it ended meanwhile, or has become another program",
    [HS_INJECT_BAD_MEMORY] = "what its loader keeps in memory makes no sense",
    [HS_INJECT_OURS] = "we ran out of memory, threads or descriptors",
};

const char *hs_inject_error_words(int error)
{
    return error >= 0 && error < HS_INJECT_ERROR_N ? words[error] : "an unknown error";
}
