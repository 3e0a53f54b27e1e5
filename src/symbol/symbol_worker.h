/*
 * Workers: child processes that look up modules and send back what they find.
 *
 * A worker takes the next request from a counter that all share, so that nobody waits for the one
 * who got the largest module. It has limits on memory, no core file, only its pipe open, signals as
 * they are by default, and it ends with the one who made it. So an interrupt from the keyboard
 * ends the workers, and the profile is finished without the missing names.
 *
 * Threads   the caller's. The child is a fork of it and never returns.
 * Fails     -errno of pipe2 and fork.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbol/symbolizer.h"

/* Sanitizers take terabytes of address space before anything begins. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HS_SYMBOL_WORKER_HAS_LIMIT false
#elif defined(__has_feature)
#define HS_SYMBOL_WORKER_HAS_LIMIT                                                                 \
    !(__has_feature(address_sanitizer) || __has_feature(memory_sanitizer) ||                       \
      __has_feature(thread_sanitizer))
#else
#define HS_SYMBOL_WORKER_HAS_LIMIT true
#endif

struct hs_symbol_work {
    const struct hs_symbol_options *options;
    const struct hs_symbol_request *requests;
    const uint32_t *order; /* in which requests are taken, the largest first */
    size_t count;
    uint32_t *next; /* in memory that workers share */
};

/* Starts a worker; *ret_fd is where its messages come from. */
int hs_symbol_worker_start(const struct hs_symbol_work *work, pid_t *ret_pid, int *ret_fd);
