/*
 * The calls that a borrowed thread makes.
 *
 * Each line here costs time during which the thread is missing from the program. A call there and
 * back takes some ten microseconds; dlopen takes most of the rest.
 *
 *     __errno_location()                      where errno is, to restore it; unless that is known
 *     syscall(SYS_memfd_create, name, CLOEXEC)  a file without a path. heapscope opens and fills it
 *                                             from outside, so it does not matter which part of the
 *                                             file system the process can see
 *     mmap, __register_atfork                 in a process with other threads: they do not fork
 *                                             until the function has returned (remote_hold.h)
 *     dlopen("/proc/self/task/../fd/5", NOW|LOCAL)
 *     syscall(SYS_close, 5)
 *     symbol(arg)
 *     syscall(SYS_close, fd)                  for a descriptor that heapscope has taken over
 *
 * Threads   one, because ptrace demands it.
 * Fails     enum hs_inject_error. The caller releases the tracee in any case.
 */
#pragma once

#include "inject/inject_session.h"

/* With the tracee borrowed: loads the library if necessary, calls the function, takes over its
 * descriptor, and restores errno. 0 or enum hs_inject_error. */
int hs_remote_call_sequence_run(struct hs_inject_session *session);
