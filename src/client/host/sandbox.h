/*
 * Working below a seccomp filter.
 *
 * A program that installs a filter names the system calls that it will make, and dies at any other.
 * It does not know that the client is there. So from that moment on the client may only make those
 * that every allocator makes: mmap, munmap and mremap, and rt_sigprocmask. The client notices
 * filters where they are installed: prctl and syscall are hooked for that, and only for that. Just
 * before the filter is installed it looks up all that it would otherwise have to ask for later:
 * this thread's name and the paths of the modules.
 *
 * Below a filter these are lost: names and ids of threads that begin later, and the true path of an
 * executable that was not seen before. In the strict mode of 2005 (no system calls but read, write
 * and exit) nothing more is recorded; frees still are. The same holds when a program takes system
 * calls that do not come from its C library for those of a foreign system, to be answered by a
 * handler of its own (PR_SET_SYSCALL_USER_DISPATCH): the client's would be answered, too.
 *
 * A collector that attaches to a process with filters reads them, and tells the client to work like
 * this (HS_ATTACH_SANDBOX) if they do not allow all its system calls. A filter inherited through
 * exec is not examined: those of containers and services, which are made for any program, do not
 * restrict the client. A filter that kills the process for what only the client calls
 * (memfd_create) ends the program.
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

/* Is the process below a filter, so that only an allocator's system calls may be made? */
static inline bool hs_sandbox_is_tight(void)
{
    return hs_unlikely(hs_load_relaxed(&hs_sandbox_is_in));
}

/* Gives advice to the kernel, unless below a filter; without it only more memory is used. */
static inline void hs_sandbox_advise(void *va, size_t bytes, int advice)
{
    if (!hs_sandbox_is_tight()) {
        hs_sys_madvise(va, bytes, advice);
    }
}

/* Nanoseconds of CLOCK_MONOTONIC, through the C library, which makes no system call for it. */
uint64_t hs_sandbox_now_ns(void);
