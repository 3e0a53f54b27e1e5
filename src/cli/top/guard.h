/*
 * The guard of the terminal: the process that the user started waits, and a child of it does the
 * work. If the child is killed, the guard restores the terminal, and if the guard is killed, the
 * child gets SIGTERM and does so.
 *
 *     int status = hs_guard_begin();        in the child: HS_GUARD_CHILD; else: how the child ended
 *
 * Threads   main thread only, the only thread.
 * Fails     without a child (-EAGAIN), the caller does the work itself, unguarded.
 */
#pragma once

#define HS_GUARD_CHILD (-1)

/* Forks. In the child, or if there can be none: HS_GUARD_CHILD. In the guard: the exit status of
 * the child, once it has ended; the guard ends by the same signal as the child. */
int hs_guard_begin(void);

/* Writes what brings the terminal back to where it was at hs_guard_begin(). Async-signal-safe. */
void hs_guard_restore(void);
