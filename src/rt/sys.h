/*
 * System calls for code that runs inside a profiled process.
 *
 * They go to the kernel directly: the program's errno is not changed, no cancellation point is
 * entered, and nothing can be interposed. There are only those that the client needs.
 *
 * Fails     each returns the kernel's answer: >= 0, or -errno.
 * Threads   all are async-signal-safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "arch/syscall.h"
#include "rt/base.h"

#if HS_IS_TSAN
#include <errno.h>
#include <sys/mman.h>
#endif

/* mmap(2). */
static inline long hs_sys_mmap(void *addr, size_t len_bytes, int prot, int flags, int fd,
                               uint64_t off)
{
    return hs_arch_syscall(SYS_mmap, (long)addr, (long)len_bytes, prot, flags, fd, (long)off);
}

/* munmap(2). ThreadSanitizer sees only libc's, and otherwise takes the next page at this address
 * for the same page. */
static inline long hs_sys_munmap(void *addr, size_t len_bytes)
{
#if HS_IS_TSAN
    return munmap(addr, len_bytes) == 0 ? 0 : -errno;
#endif
    return hs_arch_syscall(SYS_munmap, (long)addr, (long)len_bytes, 0, 0, 0, 0);
}

/* mremap(2). */
static inline long hs_sys_mremap(void *addr, size_t old_bytes, size_t new_bytes, int flags)
{
    return hs_arch_syscall(SYS_mremap, (long)addr, (long)old_bytes, (long)new_bytes, flags, 0, 0);
}

/* mremap(2) to the address `to`, with MREMAP_FIXED. */
static inline long hs_sys_mremap_to(void *addr, size_t old_bytes, size_t new_bytes, int flags,
                                    void *to)
{
    return hs_arch_syscall(SYS_mremap, (long)addr, (long)old_bytes, (long)new_bytes, flags,
                           (long)to, 0);
}

/* madvise(2). */
static inline long hs_sys_madvise(void *addr, size_t len_bytes, int advice)
{
    return hs_arch_syscall(SYS_madvise, (long)addr, (long)len_bytes, advice, 0, 0, 0);
}

/* mprotect(2). */
static inline long hs_sys_mprotect(void *addr, size_t len_bytes, int prot)
{
    return hs_arch_syscall(SYS_mprotect, (long)addr, (long)len_bytes, prot, 0, 0, 0);
}

/* close(2). */
static inline long hs_sys_close(int fd)
{
    return hs_arch_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
}

/* memfd_create(2). */
static inline long hs_sys_memfd_create(const char *name, unsigned flags)
{
    return hs_arch_syscall(SYS_memfd_create, (long)name, (long)flags, 0, 0, 0, 0);
}

/* ftruncate(2). */
static inline long hs_sys_ftruncate(int fd, uint64_t len_bytes)
{
    return hs_arch_syscall(SYS_ftruncate, fd, (long)len_bytes, 0, 0, 0, 0);
}

/* `stat`: the kernel's struct stat, which on 64-bit machines is libc's. */
static inline long hs_sys_fstat(int fd, void *stat)
{
    return hs_arch_syscall(SYS_fstat, fd, (long)stat, 0, 0, 0, 0);
}

/* fcntl(2). */
static inline long hs_sys_fcntl(int fd, int cmd, long arg)
{
    return hs_arch_syscall(SYS_fcntl, fd, cmd, arg, 0, 0, 0);
}

/* getpid(2). */
static inline uint32_t hs_sys_getpid(void)
{
    return (uint32_t)hs_arch_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

/* getppid(2). */
static inline uint32_t hs_sys_getppid(void)
{
    return (uint32_t)hs_arch_syscall(SYS_getppid, 0, 0, 0, 0, 0, 0);
}

/* gettid(2). */
static inline uint32_t hs_sys_gettid(void)
{
    return (uint32_t)hs_arch_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

/* Is there a thread `tid` in process `pid`? True if a sandbox forbids the system call. */
static inline bool hs_sys_thread_exists(uint32_t pid, uint32_t tid)
{
    return hs_arch_syscall(SYS_tgkill, (long)pid, (long)tid, 0, 0, 0, 0) != -3 /* ESRCH */;
}

/* Lets other threads have the processor. */
static inline void hs_sys_yield(void)
{
    hs_arch_syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

/* Sleeps for `ns` nanoseconds; a signal may end it earlier. */
static inline void hs_sys_sleep_ns(int64_t ns)
{
    int64_t pause[2] = { ns / 1000000000, ns % 1000000000 };
    hs_arch_syscall(SYS_nanosleep, (long)pause, 0, 0, 0, 0, 0);
}

/* Makes all threads of the process pass a full memory barrier: their earlier stores are visible to
 * the caller, and the caller's to them. False: not available. */
static inline bool hs_sys_barrier_of_all(void)
{
    long err = hs_arch_syscall(SYS_membarrier, 8 /* PRIVATE_EXPEDITED */, 0, 0, 0, 0, 0);
    if (err != 0) {
        hs_arch_syscall(SYS_membarrier, 16 /* REGISTER_PRIVATE_EXPEDITED */, 0, 0, 0, 0, 0);
        err = hs_arch_syscall(SYS_membarrier, 8, 0, 0, 0, 0, 0);
    }
    return err == 0;
}

/* Reads a word of this process's memory, which may be unmapped. False: it cannot be read. */
static inline bool hs_sys_read_word(uintptr_t va, uint64_t *ret_word)
{
    const struct {
        const void *va;
        size_t bytes;
    } from = { (const void *)va, 8 }, to = { ret_word, 8 };
    return hs_arch_syscall(SYS_process_vm_readv, hs_sys_getpid(), (long)&to, 1, (long)&from, 1,
                           0) == 8;
}

/* Can the word at `va` be written to? No thread may change it meanwhile. */
static inline bool hs_sys_is_writable(uintptr_t va)
{
    uint64_t word;
    const struct {
        const void *va;
        size_t bytes;
    } from = { &word, 8 }, to = { (const void *)va, 8 };
    return hs_sys_read_word(va, &word) && hs_arch_syscall(SYS_process_vm_writev, hs_sys_getpid(),
                                                          (long)&from, 1, (long)&to, 1, 0) == 8;
}

/* Blocks all signals and returns the old mask: for steps of set-up that a longjmp must not
 * leave. */
static inline uint64_t hs_sys_block_signals(void)
{
    uint64_t all = UINT64_MAX;
    uint64_t old_mask = 0;
    hs_arch_syscall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, (long)&all, (long)&old_mask, 8, 0, 0);
    return old_mask;
}

/* Restores the mask that hs_sys_block_signals returned. */
static inline void hs_sys_restore_signals(uint64_t old_mask)
{
    hs_arch_syscall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, (long)&old_mask, 0, 8, 0, 0);
}

/* Does this thread run on the stack that it set up for signal handlers? True if that cannot be
 * found out. */
static inline bool hs_sys_is_on_signal_stack(void)
{
    struct {
        void *va;
        int flags;
        size_t bytes;
    } old = { 0, 0, 0 };
    return hs_arch_syscall(SYS_sigaltstack, 0, (long)&old, 0, 0, 0, 0) != 0 ||
           (old.flags & 1 /* SS_ONSTACK */) != 0;
}

/* The name of this thread; `name` has room for 16 bytes. */
static inline long hs_sys_thread_name(char *name)
{
    return hs_arch_syscall(SYS_prctl, 16 /* PR_GET_NAME */, (long)name, 0, 0, 0, 0);
}

/* write(2). */
static inline long hs_sys_write(int fd, const void *data, size_t len_bytes)
{
    return hs_arch_syscall(SYS_write, fd, (long)data, (long)len_bytes, 0, 0, 0);
}

/* read(2). */
static inline long hs_sys_read(int fd, void *data, size_t cap_bytes)
{
    return hs_arch_syscall(SYS_read, fd, (long)data, (long)cap_bytes, 0, 0, 0);
}

/* openat(2), relative to the working directory, without a mode. */
static inline long hs_sys_open(const char *path, int flags)
{
    return hs_arch_syscall(SYS_openat, -100 /* AT_FDCWD */, (long)path, flags, 0, 0, 0);
}

/* geteuid(2). */
static inline uint32_t hs_sys_geteuid(void)
{
    return (uint32_t)hs_arch_syscall(SYS_geteuid, 0, 0, 0, 0, 0, 0);
}

/* readlinkat(2), relative to the working directory. */
static inline long hs_sys_readlink(const char *path, char *buf, size_t cap_bytes)
{
    return hs_arch_syscall(SYS_readlinkat, -100 /* AT_FDCWD */, (long)path, (long)buf,
                           (long)cap_bytes, 0, 0);
}

/* getcwd(2): the length includes the NUL. */
static inline long hs_sys_getcwd(char *buf, size_t cap_bytes)
{
    return hs_arch_syscall(SYS_getcwd, (long)buf, (long)cap_bytes, 0, 0, 0, 0);
}

/* getrandom(2), which does not wait (GRND_NONBLOCK). */
static inline long hs_sys_getrandom(void *buf, size_t len_bytes)
{
    return hs_arch_syscall(SYS_getrandom, (long)buf, (long)len_bytes, 1 /* GRND_NONBLOCK */, 0, 0,
                           0);
}

/* prlimit64(2) of this process: the soft and the hard limit. */
static inline long hs_sys_getrlimit(int resource, uint64_t ret_limit[2])
{
    return hs_arch_syscall(SYS_prlimit64, 0, resource, 0, (long)ret_limit, 0, 0);
}

/* Nanoseconds of a clock: CLOCK_* of <time.h>. The vdso is not used, so this is for cold paths. */
static inline uint64_t hs_sys_clock_ns(int clock_id)
{
    int64_t ts[2] = { 0, 0 };
    hs_arch_syscall(SYS_clock_gettime, clock_id, (long)ts, 0, 0, 0, 0);
    return (uint64_t)ts[0] * UINT64_C(1000000000) + (uint64_t)ts[1];
}

/* Can the 8 bytes at `va` (8-aligned) be read? The kernel reads the new mask from there before it
 * rejects the impossible `how`, so nothing changes: EFAULT means no, EINVAL yes. This system call
 * was chosen because every program may make it, also under a seccomp filter. */
static inline bool hs_sys_is_readable(uintptr_t va)
{
    /* With a null pointer there would be no mask to read. */
    return va != 0 &&
           hs_arch_syscall(SYS_rt_sigprocmask, -1, (long)va, 0, 8, 0, 0) != -14 /* EFAULT */;
}
