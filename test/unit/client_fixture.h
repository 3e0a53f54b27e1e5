/*
 * Shared by tests of the client's tables: a region of their own process, and threads that run
 * together.
 */
#pragma once

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/tables/region.h"

#define FIXTURE_THREADS_MAX 16U

/* For a group's setup: returns 0, or another value if the region cannot be made. */
static inline int fixture_region(void)
{
    int fd;
    int r = hs_region_create(&fd);
    if (r == 0) {
        close(fd);
    }
    return r;
}

/*
 * Runs `run` on `count` threads at once, each with its number as the argument, until all have
 * ended.
 */
static inline void fixture_threads(uintptr_t count, void *(*run)(void *arg))
{
    pthread_t threads[FIXTURE_THREADS_MAX];
    assert_true(count <= FIXTURE_THREADS_MAX);
    for (uintptr_t i = 0; i < count; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run, (void *)i), 0);
    }
    for (uintptr_t i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
}
