/*
 * The state of a client under a seccomp filter. See sandbox.h.
 */
#include "client/host/sandbox.h"

#include <time.h>

#include "rt/clock.h"

bool hs_sandbox_is_in;

uint64_t hs_sandbox_now_ns(void)
{
    return hs_clock_ns(CLOCK_MONOTONIC);
}
