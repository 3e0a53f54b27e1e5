/*
 * Working under a seccomp filter.
 *
 * A program that installs a filter names the system calls that it will make, and typically dies
 * when it makes any other. It does not know that the client is there. So from that moment on the
 * client makes only the system calls that every allocator makes: mmap, munmap and mremap, and
 * rt_sigprocmask. The client notices filters where they are installed: prctl and syscall are hooked
 * for that, and only for that. Just before the filter is installed, the client looks up all that it
 * would otherwise have to ask the kernel for later: this thread's name and the paths of the
 * modules.
 *
 * Under a filter these are lost: names and ids of threads that begin later, and the true path of an
 * executable that was not seen before. In seccomp's strict mode (no system calls but read, write,
 * exit and sigreturn) no more allocations are recorded; frees still are. The same holds for a
 * program that uses PR_SET_SYSCALL_USER_DISPATCH, such as an emulator of another system: the kernel
 * then passes system calls from outside one range of addresses to a handler of the program, which
 * would get the client's, too.
 *
 * A collector that attaches to a process with filters reads them, and tells the client to restrict
 * itself in this way (HS_ATTACH_SANDBOX) if they do not allow all its system calls. A filter
 * inherited through exec is not examined: those of containers and services, which are made for any
 * program, do not restrict the client. If such a filter kills the process for a system call that
 * only the client makes (memfd_create), the program ends.
 *
 * Threads   a filter may apply to one thread only; the client is then careful in all threads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rt/atomic.h"
#include "rt/base.h"
#include "rt/sys.h"

/* True from just before the first filter is installed. */
extern HS_HIDDEN bool hs_sandbox_is_in;

/* Is the process under a filter, so that only an allocator's system calls may be made? */
static inline bool hs_sandbox_is_tight(void)
{
    return hs_unlikely(hs_load_relaxed(&hs_sandbox_is_in));
}

/* Gives advice to the kernel, unless under a filter; without it only more memory is used. */
static inline void hs_sandbox_advise(void *va, size_t bytes, int advice)
{
    if (!hs_sandbox_is_tight()) {
        hs_sys_madvise(va, bytes, advice);
    }
}

/* Nanoseconds of CLOCK_MONOTONIC, through the C library, which makes no system call for it. */
uint64_t hs_sandbox_now_ns(void);
