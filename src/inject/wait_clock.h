/*
 * How long a thread has been waiting, for calls that the kernel starts anew with all of their time.
 *
 * epoll_wait, broken off, ends with EINTR, and has kept no note of the time that was left. The scheduler has: when a
 * thread last ran is in /proc/PID/task/TID/sched, and a thread that waits has not run since it began to. That is the
 * clock of the processor it ran on, so we go there to read it too.
 *
 * Read before the thread is stopped; what it then waited for, it still waits for if it has been off a processor just
 * once more since: for us.
 *
 * Threads   no state; the calling thread is moved to another processor for a moment.
 * Fails     not known: the kernel does not tell (built without CONFIG_SCHED_DEBUG), or the thread has run since.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hs_wait_clock {
    bool is_known;
    uint64_t waited_ns; /* when we looked */
    uint64_t looked_ns; /* CLOCK_MONOTONIC */
    uint64_t sleep_count;
};

void hs_wait_clock_read(pid_t pid, pid_t tid, struct hs_wait_clock *ret_clock);

/* To be called when the thread has just been stopped: is it still the same wait? */
void hs_wait_clock_confirm(struct hs_wait_clock *clock, pid_t pid, pid_t tid);

/* What is left now of a wait of `timeout_ms`, at least 0. False: not known. */
bool hs_wait_clock_left(const struct hs_wait_clock *clock, int32_t timeout_ms,
                        int32_t *ret_left_ms);
