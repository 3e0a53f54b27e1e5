/*
 * The system calls that an injection makes a thread make: see seccomp_calls.h. The lists come from
 * the kernel's tracer and from glibc's sources.
 */
#include "inject/seccomp/seccomp_calls.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "rt/base.h"

/* An interrupted wait continues by this call, no matter what interrupted it. */
static const struct hs_seccomp_call stop_calls[] = {
    HS_SECCOMP_CALL(restart_syscall),
};

/* The calls of return_chain.c, and those of remote_call_sequence.c other than the function. */
static const struct hs_seccomp_call borrow_calls[] = {
    HS_SECCOMP_CALL(tgkill),
    HS_SECCOMP_CALL(rt_sigreturn),
    HS_SECCOMP_CALL(getpid),
    HS_SECCOMP_CALL(close),
    HS_SECCOMP_FIRST(rt_sigprocmask, SIG_SETMASK), /* setcontext(3) */
};

/* The call that undoes a thread's scheduling boost if heapscope is killed (sched_boost.h). */
static const struct hs_seccomp_call boost_calls[] = {
    HS_SECCOMP_CALL(sched_setattr),
};

/* The calls of dlopen(3), and of malloc(3) inside it, in any version. */
static const struct hs_seccomp_call load_calls[] = {
    HS_SECCOMP_SECOND(memfd_create, MFD_CLOEXEC),
    HS_SECCOMP_THIRD(openat, O_RDONLY | O_CLOEXEC),
    HS_SECCOMP_CALL(read),
    HS_SECCOMP_CALL(pread64),
    HS_SECCOMP_CALL(fstat),
    HS_SECCOMP_CALL(newfstatat),
    HS_SECCOMP_MMAP(PROT_READ, MAP_PRIVATE | MAP_DENYWRITE),
    HS_SECCOMP_MMAP(PROT_READ, MAP_PRIVATE | MAP_DENYWRITE | MAP_FIXED),
    HS_SECCOMP_MMAP(PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_DENYWRITE | MAP_FIXED),
    HS_SECCOMP_MMAP(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_DENYWRITE | MAP_FIXED),
    HS_SECCOMP_MMAP(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED),
    HS_SECCOMP_MMAP(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS),
    HS_SECCOMP_MMAP(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE),
    HS_SECCOMP_THIRD(mprotect, PROT_READ),
    HS_SECCOMP_THIRD(mprotect, PROT_READ | PROT_WRITE),
    HS_SECCOMP_CALL(munmap),
    HS_SECCOMP_CALL(brk),
    HS_SECCOMP_SECOND(futex, FUTEX_WAIT_PRIVATE),
    HS_SECCOMP_SECOND(futex, FUTEX_WAKE_PRIVATE),
    HS_SECCOMP_MAY_FAIL(madvise),
    HS_SECCOMP_MAY_FAIL(getrandom),
    HS_SECCOMP_MAY_FAIL(sched_getaffinity),
};

/* The calls that hold forks: of the borrowed thread, and of a thread that forks
 * (arch/hold_page.h). */
static const struct hs_seccomp_call hold_calls[] = {
    HS_SECCOMP_MMAP(PROT_READ | PROT_EXEC, MAP_SHARED),
    HS_SECCOMP_MAY_FAIL(clock_gettime),
    HS_SECCOMP_MAY_FAIL(nanosleep),
};

const struct hs_seccomp_calls hs_seccomp_stop_calls = HS_SECCOMP_CALLS(stop_calls);
const struct hs_seccomp_calls hs_seccomp_borrow_calls = HS_SECCOMP_CALLS(borrow_calls);
const struct hs_seccomp_calls hs_seccomp_boost_calls = HS_SECCOMP_CALLS(boost_calls);
const struct hs_seccomp_calls hs_seccomp_load_calls = HS_SECCOMP_CALLS(load_calls);
const struct hs_seccomp_calls hs_seccomp_hold_calls = HS_SECCOMP_CALLS(hold_calls);
