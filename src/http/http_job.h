/*
 * The function of a route in a forked process: what it writes to standard output is the answer.
 *
 * A process, not a thread: what it reads may be hostile, and may take long or much memory; the code
 * of the commands has state and prints messages; and ending a process ends everything that it
 * began. It is a child of a process with one thread, so it may do whatever that process may.
 *
 * Ensures   the child has none of the server's descriptors, and dies with the server. Its output
 *           has a limit. Its messages (standard error) become the text of the error.
 * Threads   one.
 * Fails     -errno.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "http/http_route.h"

#define HS_HTTP_OUTPUT_BYTES_MAX (UINT64_C(1) << 30)
/* A job may take this long; a stream is not limited. */
#define HS_HTTP_JOB_NS UINT64_C(300000000000)

struct hs_http_job {
    pid_t pid;                     /* 0: none */
    int end_fd;                    /* readable when the process has ended */
    int out_fd;                    /* what it wrote: a file in memory, or for a stream a pipe */
    struct hs_http_answer *answer; /* shared with the process: read it after its end */
    uint64_t start_ns;             /* CLOCK_MONOTONIC */
    uint64_t until_ns;             /* CLOCK_MONOTONIC; UINT64_MAX: no limit */
};

/* Starts the function. 0 or -errno; then *ret_job has no process. */
int hs_http_job_start(const struct hs_http_route *route, void *ctx,
                      const struct hs_http_request *request, struct hs_http_job *ret_job);

/* Waits for the process, which has ended or is killed now, with all processes of its group. Then
 * the answer is whole and has valid texts: 500 for a process that did not end by itself. */
void hs_http_job_reap(struct hs_http_job *job);

/* Ends the process, and frees all. A job without a process is allowed. */
void hs_http_job_end(struct hs_http_job *job);
