/*
 * A pool, as the library and its tests see it. Its lock protects the chunks, and is not held while
 * a foreign function runs: the allocator below may report to a heap, whose callback may use the
 * pool.
 */
#pragma once

#include <pthread.h>

#include <heapscope/heapscope.h>

#include "api/pool_chunks.h"

struct heapscope_pool {
    pthread_mutex_t lock;
    struct hs_pool_chunks chunks;
    struct heapscope_pool_options options; /* complete: `heap` is where it reports */
};
