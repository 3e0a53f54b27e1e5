/*
 * Workers: child processes that look up modules and send back what they find.
 *
 * A worker takes the next request from a counter that all workers share, so that none of them waits
 * for the one with the largest module. A worker has a memory limit, writes no core file, keeps only
 * its pipe open, and ends when the process that started it ends. A crash ends it too. It ignores an
 * interrupt from the keyboard: the process that started the workers decides whether to wait for
 * names.
 *
 * Threads   the caller's. The child is a fork of it and never returns.
 * Fails     -errno of pipe2 and fork.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbol/symbol_request.h"

/* Sanitizers reserve terabytes of address space at program start. */
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
    const uint32_t *order; /* the order in which requests are taken, the largest first */
    size_t count;
    uint32_t *next; /* index in `order`; in memory that all workers share */
};

/* Starts a worker. *ret_fd is the end of the pipe from which its messages are read. */
int hs_symbol_worker_start(const struct hs_symbol_work *work, pid_t *ret_pid, int *ret_fd);

/* The first steps of a forked process that reads files of programs: it ends with the process that
 * started it, and has the signals and limits of a worker. `name` is its name in process lists. */
void hs_symbol_worker_settle(const char *name, const struct hs_symbol_options *options);
