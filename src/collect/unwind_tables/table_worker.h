/*
 * A process that makes unwind tables, and writes them into a region.
 *
 * Reading files of other users' programs takes time, memory and, when such a file is changed
 * meanwhile, the process. So the collector does it in a forked process. That process writes the
 * tables into the region, behind the part in use, and tells the collector through a pipe, which
 * publishes them. All requests of a worker are of one process; if the collector is root, the worker
 * reads files with the rights of that process.
 *
 * Threads   one user.
 * Fails     -errno of pipe2 and fork. A worker that crashes, or is too slow, gives no further
 *           results.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/region/region_reader.h"
#include "collect/unwind_tables/table_make.h"

struct hs_table_worker {
    pid_t pid; /* 0: none is running */
    int fd;
    uint64_t end_ns; /* CLOCK_MONOTONIC: it is stopped then */
};

/* What became of one request. */
struct hs_table_result {
    uint32_t idx;
    uint32_t reason; /* enum hs_unwind_reason */
    uint32_t source; /* enum hs_unwind_table_source */
    uint32_t reserved;
    uint64_t end_off; /* of the tables in the section; 0: there is none for this request */
};

/* Starts a worker for these requests, of which there is at least one. 0 or -errno. */
int hs_table_worker_start(struct hs_table_worker *worker, const struct hs_region *region,
                          const struct hs_table_request *requests, size_t count);

/* Takes the next result, without waiting. 1: *ret_result is one; 0: there is none yet; -1: there
 * will be no other, and the worker is gone. */
int hs_table_worker_next(struct hs_table_worker *worker, struct hs_table_result *ret_result);

/* Ends a worker. One that is not running is allowed. */
void hs_table_worker_stop(struct hs_table_worker *worker);
