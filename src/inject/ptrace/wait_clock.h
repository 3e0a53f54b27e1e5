/*
 * How long a thread has been waiting, for calls that the kernel restarts with their whole timeout.
 *
 * epoll_wait, when interrupted, ends with EINTR, and the kernel has not recorded the time that was
 * left. The scheduler has: /proc/PID/task/TID/sched says when a thread last ran, and a thread that
 * waits has not run since its wait began. That time is on the clock of the processor on which the
 * thread ran, so the calling thread moves there to read the same clock.
 *
 * The clock is read before the thread is stopped. The thread is still in the same wait if it has
 * left its processor exactly once since: for the stop.
 *
 * Threads   no state; the calling thread moves to another processor for a moment.
 * Fails     not known: the kernel does not say (built without CONFIG_SCHED_DEBUG), or the thread
 *           has run since.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hs_wait_clock {
    bool is_known;
    uint64_t waited_ns; /* how long it had waited at looked_ns */
    uint64_t looked_ns; /* CLOCK_MONOTONIC */
    uint64_t sleep_count;
};

/* Reads how long thread `tid` of process `pid` has been waiting. is_known says whether that was
 * possible. */
void hs_wait_clock_read(pid_t pid, pid_t tid, struct hs_wait_clock *ret_clock);

/* The caller calls this when the thread has just been stopped: is_known becomes false unless the
 * thread is still in the same wait. */
void hs_wait_clock_confirm(struct hs_wait_clock *clock, pid_t pid, pid_t tid);

/* What is left now of a wait of `timeout_ms`, in milliseconds, at least 0. False: not known. */
bool hs_wait_clock_left(const struct hs_wait_clock *clock, int32_t timeout_ms,
                        int32_t *ret_left_ms);
