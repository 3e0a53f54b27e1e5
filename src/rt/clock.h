/*
 * Clocks in nanoseconds.
 *
 * hs_clock_ns() reads through the C library, which asks the kernel's vDSO and makes no system call
 * for the usual clocks. Use hs_sys_clock_ns() (sys.h) only where the C library's errno must not be
 * touched.
 *
 * Threads   any; async-signal-safe.
 * Fails     returns 0 for a clock that the kernel does not have.
 */
#pragma once

#include <stdint.h>
#include <time.h>

#define HS_NS_PER_S UINT64_C(1000000000)

static inline uint64_t hs_clock_ns(clockid_t clock)
{
    struct timespec now = { 0 };
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * HS_NS_PER_S + (uint64_t)now.tv_nsec;
}

static inline struct timespec hs_clock_timespec(uint64_t ns)
{
    return (struct timespec){ .tv_sec = (time_t)(ns / HS_NS_PER_S),
                              .tv_nsec = (long)(ns % HS_NS_PER_S) };
}
