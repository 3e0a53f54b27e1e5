/*
 * Makes a running process, which was not prepared for it, load a library and call a function in it.
 *
 * One thread is borrowed: ptrace stops it at a point where it holds no lock of the allocator or the
 * loader. It is made to call dlopen and the function, and then gets back exactly the state that it
 * had, in the middle of its system call if it was in one. All other threads keep running.
 * Everything that can be prepared while the thread runs is prepared first, so the thread is kept
 * from its own work for little longer than the calls take.
 *
 *     struct hs_inject_request request = {
 *         .pid = pid, .library_path = "libx.so", .library_name = "x", .symbol = "x_start",
 *         .fetch_fd_off = -1, .patience_ns = 2000000000 };
 *     struct hs_inject_result result;
 *     int error = hs_inject_call(&request, &result);
 *     if (error) {
 *         complain("%s (%s)", hs_inject_error_words(error), result.detail);
 *     }
 *
 * Ensures   the program does not notice: no signal is lost or delivered twice; no call fails with
 *           EINTR; errno, registers, signal mask and dispositions are as before; and no mapping or
 *           descriptor is new except the library, a page that held forks (remote_hold.h), and what
 *           the function itself leaves.
 * Threads   any. Each call runs in a thread of its own: when that thread ends, the kernel detaches
 *           it from the target, even after a failure. Meanwhile no other thread of the calling
 *           process may wait for an unspecified child (wait, waitpid(-1)): it would receive the
 *           target's ptrace stops.
 * Fails     enum hs_inject_error. The target continues as before after every error except
 *           HS_INJECT_CRASHED, HS_INJECT_DIED, and HS_INJECT_HUNG (the call was abandoned before it
 *           had returned). If heapscope is killed while the thread is borrowed, the thread ends the
 *           call that it is in and returns to its own code (return_chain.h). A library that has
 *           been loaded then stays loaded, and a descriptor that the function opened for itself
 *           stays open.
 * See       docs/INJECTION.md
 */
#pragma once

#include "inject/check/inject_error.h"
#include "inject/inject_request.h"

/* Carries out the request. 0 or enum hs_inject_error. *ret_result is written in any case; after an
 * error its `fd` is -1. */
int hs_inject_call(const struct hs_inject_request *request, struct hs_inject_result *ret_result);
