/*
 * Before anything is touched: can this process be made to call a function, may we do it, and is it a time for it?
 * And after the kernel has refused: why.
 *
 * Threads   no state.
 * Fails     enum hs_inject_error; `detail` (HS_INJECT_DETAIL_BYTES) then says more, or is "".
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* HS_INJECT_DONE: nothing is known against it. *ret_view_tid: a living thread, by whose number /proc shows what all
 * have in common (of the first one it shows nothing after that has ended). */
int hs_inject_check(pid_t pid, pid_t *ret_view_tid, char *detail);

/* Is this one thread under a filter of its own? */
bool hs_inject_check_is_filtered(pid_t tid);

/* Why the kernel may have said `error` (an errno) to our wish to trace it. */
int hs_inject_check_refusal(pid_t pid, int error, char *detail);

/* Has it a /proc at its root, where a library can be loaded from? */
int hs_inject_check_proc(pid_t view_tid);
