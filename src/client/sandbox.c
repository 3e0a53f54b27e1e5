/*
 * The state of a client below a seccomp filter. See sandbox.h.
 */
#include "client/sandbox.h"

#include <time.h>

bool hs_sandbox_is_in;

uint64_t hs_sandbox_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}
