/*
 * The lists of the client's system calls: see client_calls.h.
 */
#include "collect/attach/client_calls.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#include "fmt/ctl_layout.h"
#include "rt/base.h"

#define DATA      (PROT_READ | PROT_WRITE)
#define ANONYMOUS (MAP_PRIVATE | MAP_ANONYMOUS)
/* The invalid "how" by which rt/sys.h tests whether a word can be read. */
#define NO_HOW 0xffffffffffffffff

/* The calls of one allocation or one free in any thread, under a filter (client/host/sandbox.h).
 * The clock is read without the kernel where that is possible. */
#define RECORDING                                                                                  \
    HS_SECCOMP_MMAP(DATA, ANONYMOUS | MAP_NORESERVE), HS_SECCOMP_CALL(munmap),                     \
        { .name = "mremap",                                                                        \
          .number = SYS_mremap,                                                                    \
          .known_args = 10,                                                                        \
          .args = { 0, 0, 0, MREMAP_MAYMOVE } },                                                   \
        HS_SECCOMP_FIRST(rt_sigprocmask, SIG_SETMASK), HS_SECCOMP_FIRST(rt_sigprocmask, NO_HOW),   \
        HS_SECCOMP_FIRST(clock_gettime, CLOCK_MONOTONIC)

static const struct hs_seccomp_call threads[] = { RECORDING };

/* The calls of the entry points of fmt/ctl_layout.h, as far as their failure would do harm. madvise
 * empties the tables, process_vm_readv shows which threads are inside, prlimit64 how large a file
 * may be; dl_iterate_phdr(3) takes a lock. */
#define ENTRIES                                                                                    \
    RECORDING, HS_SECCOMP_MMAP(DATA, MAP_SHARED), HS_SECCOMP_MMAP(DATA, MAP_SHARED | MAP_FIXED),   \
        HS_SECCOMP_MMAP(DATA, ANONYMOUS),                                                          \
        HS_SECCOMP_MMAP(DATA, ANONYMOUS | MAP_NORESERVE | MAP_FIXED),                              \
        HS_SECCOMP_THIRD(madvise, MADV_DONTNEED), HS_SECCOMP_THIRD(madvise, MADV_WIPEONFORK),      \
        HS_SECCOMP_THIRD(mprotect, DATA), HS_SECCOMP_THIRD(mprotect, PROT_READ),                   \
        HS_SECCOMP_SECOND(memfd_create, MFD_CLOEXEC | MFD_ALLOW_SEALING),                          \
        HS_SECCOMP_CALL(ftruncate), HS_SECCOMP_SECOND(fcntl, F_ADD_SEALS), HS_SECCOMP_CALL(fstat), \
        HS_SECCOMP_CALL(close), HS_SECCOMP_CALL(prlimit64), HS_SECCOMP_CALL(getpid),               \
        HS_SECCOMP_CALL(getppid), HS_SECCOMP_CALL(tgkill),                                         \
        HS_SECCOMP_FIRST(clock_gettime, CLOCK_REALTIME),                                           \
        HS_SECCOMP_FIRST(clock_gettime, CLOCK_BOOTTIME), HS_SECCOMP_CALL(process_vm_readv),        \
        HS_SECCOMP_CALL(process_vm_writev), HS_SECCOMP_CALL(futex), HS_SECCOMP_MAY_FAIL(brk),      \
        HS_SECCOMP_MAY_FAIL(prctl), HS_SECCOMP_MAY_FAIL(readlinkat),                               \
        HS_SECCOMP_MAY_FAIL(getrandom), HS_SECCOMP_MAY_FAIL(membarrier),                           \
        HS_SECCOMP_MAY_FAIL(sched_yield)

static const struct hs_seccomp_call entries[] = { ENTRIES };

/* The calls of all threads and of forked children that are made where filters allow them: names and
 * ids of threads, advice to the kernel, pointers of libraries that are loaded later, children that
 * announce themselves. */
static const struct hs_seccomp_call optional[] = {
    HS_SECCOMP_CALL(getpid),
    HS_SECCOMP_CALL(gettid),
    HS_SECCOMP_CALL(getppid),
    HS_SECCOMP_CALL(tgkill),
    HS_SECCOMP_CALL(prlimit64),
    HS_SECCOMP_CALL(process_vm_readv),
    HS_SECCOMP_CALL(process_vm_writev),
    HS_SECCOMP_THIRD(mprotect, DATA),
    HS_SECCOMP_THIRD(mprotect, PROT_READ),
    HS_SECCOMP_MMAP(DATA, MAP_SHARED),
    HS_SECCOMP_MMAP(DATA, MAP_SHARED | MAP_FIXED),
    HS_SECCOMP_MMAP(DATA, ANONYMOUS | MAP_NORESERVE | MAP_FIXED),
    HS_SECCOMP_MMAP(DATA, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE),
    HS_SECCOMP_FIRST(clock_gettime, CLOCK_REALTIME),
    HS_SECCOMP_FIRST(clock_gettime, CLOCK_BOOTTIME),
    HS_SECCOMP_CALL(close),
    HS_SECCOMP_CALL(futex),
    HS_SECCOMP_THIRD(madvise, MADV_DONTNEED),
    HS_SECCOMP_MAY_FAIL(madvise),
    HS_SECCOMP_MAY_FAIL(sched_yield),
    HS_SECCOMP_MAY_FAIL(membarrier),
    HS_SECCOMP_MAY_FAIL(sigaltstack),
    HS_SECCOMP_MAY_FAIL(prctl),
    HS_SECCOMP_MAY_FAIL(readlinkat),
    HS_SECCOMP_MAY_FAIL(getcwd),
    HS_SECCOMP_MAY_FAIL(getrandom),
    HS_SECCOMP_MAY_FAIL(memfd_create),
    HS_SECCOMP_MAY_FAIL(ftruncate),
    HS_SECCOMP_MAY_FAIL(fcntl),
    HS_SECCOMP_MAY_FAIL(socket),
    HS_SECCOMP_MAY_FAIL(connect),
    HS_SECCOMP_MAY_FAIL(nanosleep),
    HS_SECCOMP_MAY_FAIL(sendmsg),
};

/* The calls of client/patch/detours.c, and of everything that comes after it. */
static const struct hs_seccomp_call detour[] = {
    ENTRIES,
    HS_SECCOMP_MMAP(DATA, ANONYMOUS | MAP_FIXED_NOREPLACE),
    HS_SECCOMP_THIRD(mprotect, PROT_READ | PROT_EXEC),
};

void hs_client_calls_attach(struct hs_inject_request *request)
{
    request->wants = (struct hs_seccomp_wants){ .function = HS_SECCOMP_CALLS(entries),
                                                .threads = HS_SECCOMP_CALLS(threads),
                                                .optional = HS_SECCOMP_CALLS(optional) };
    request->limited_flag = HS_ATTACH_SANDBOX;
    request->limited_flag_off = offsetof(struct hs_attach_v1, flags);
}

void hs_client_calls_detour(struct hs_inject_request *request)
{
    request->wants = (struct hs_seccomp_wants){ .function = HS_SECCOMP_CALLS(detour),
                                                .threads = HS_SECCOMP_CALLS(threads) };
}

void hs_client_calls_again(struct hs_inject_request *request)
{
    request->wants = (struct hs_seccomp_wants){ .function = HS_SECCOMP_CALLS(entries) };
}
