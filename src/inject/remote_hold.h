/*
 * Holds the target's forks while the borrowed thread loads the library and calls its function.
 *
 * A child that another thread forks while dlopen is at work inherits the loader's data half
 * changed, and a dlopen of its own then ends it. So the borrowed thread first maps a page with a
 * handler that waits (arch/hold_page.h), and registers the handler to be called before each fork.
 * The page is in the library's file, behind the library. heapscope ends the wait by a write to that
 * file, which reaches forked children too.
 *
 *     mmap(NULL, 4096, READ|EXEC, SHARED, fd, behind the library)
 *     __register_atfork(handler, NULL, NULL, page)
 *
 * A fork that is in progress holds the lock that the second call takes (glibc 2.28 and later), so
 * that call waits until the fork has ended. glibc 2.36 and later release the lock while a handler
 * of the program runs: then such a fork is not waited for. The handler stays registered, and the
 * page mapped: a thread may be in it. From then on each fork reads one word more.
 *
 * In glibc 2.28 to 2.35, a fork that waits in our handler has the lock, and a function that
 * registers a handler of its own, as the client's does, would wait for that fork. There forks are
 * held only while the library is loaded; registering then waits for those that have been held.
 *
 * Ensures   forks wait no longer than a second, whatever becomes of heapscope.
 * Threads   one, because ptrace demands it.
 * Fails     what prevents holding is no error: without a second thread there is no need, and
 *           without a function, memory or permission by the seccomp filters forks go on. The
 *           calls' own failures: enum hs_inject_error.
 * See       docs/adr/0032-forks-wait-for-dlopen.md
 */
#pragma once

#include "inject/inject_session.h"

/* Holds forks from here until hs_remote_hold_end, if that is possible. The library's file is
 * descriptor `remote_fd` of the target, and `fd` here. 0 or enum hs_inject_error. */
int hs_remote_hold_begin(struct hs_inject_session *session, int remote_fd, int fd);

/* Before the function is called: ends the hold if the function could wait for a fork that is
 * held. */
void hs_remote_hold_loaded(struct hs_inject_session *session);
/* Lets forks go on, if they are held. */
void hs_remote_hold_end(struct hs_inject_session *session);
