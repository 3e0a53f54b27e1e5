/*
 * Working below a seccomp filter.
 *
 * A program that installs one names the system calls it will make, and dies at any other. It does not
 * know that we are there, so from that moment on ours must be among those that every allocator makes:
 * mmap, munmap and mremap, and rt_sigprocmask. We learn of it where filters come from: prctl and
 * syscall are hooked for that, and only for that. Just before the filter is there we look at all we
 * would otherwise have to ask for later: this thread's name, the paths of the modules.
 *
 * What is lost below a filter: names and ids of threads that begin later, and the true path of an
 * executable that was not seen before. In the strict mode of 2005 (no system calls but read, write
 * and exit) nothing more is recorded; frees still are. The same when a program takes system calls that do
 * not come from its C library for those of a foreign system, to be answered by a handler of its own
 * (PR_SET_SYSCALL_USER_DISPATCH): ours would be answered, too.
 *
 * Who attaches to a process that has filters already, reads them, and tells us to work like this (HS_ATTACH_SANDBOX) if
 * they do not allow all of it. A filter inherited through exec is not asked: those of containers and services, which are
 * for any program, let us work as everywhere. One that kills for what only we call (memfd_create) ends the program.
 *
 * Threads   a filter may be one thread's only; we then are careful everywhere.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rt/atomic.h"
#include "rt/base.h"
#include "rt/sys.h"

extern HS_HIDDEN bool hs_sandbox_is_in;

static inline bool hs_sandbox_is_tight(void)
{
    return hs_unlikely(hs_load_relaxed(&hs_sandbox_is_in));
}

/* Advice to the kernel that costs nothing but memory when it is not given. */
static inline void hs_sandbox_advise(void *va, size_t bytes, int advice)
{
    if (!hs_sandbox_is_tight()) {
        hs_sys_madvise(va, bytes, advice);
    }
}

/* Nanoseconds of CLOCK_MONOTONIC, by the C library, which does not ask the kernel. */
uint64_t hs_sandbox_now_ns(void);
