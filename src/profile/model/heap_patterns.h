/*
 * Names of heaps as a user gives them: `pool`, `pool,arena`, `*`, `libc.*`.
 *
 * A pattern is a list of globs, separated by commas; several patterns are one longer list.
 *
 * Threads   pure functions.
 * Fails     -ENOMEM
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct hs_heap_patterns {
    const char *const *texts;
    size_t count; /* 0: no heap was named */
};

/* Calls `use` with each glob of the list, until it returns other than 0. Returns that, 0, or
 * -ENOMEM. */
int hs_heap_patterns_each(const struct hs_heap_patterns *patterns,
                          int (*use)(void *ctx, const char *glob), void *ctx);

/* Does one glob match a name? A name that is equal to it always does. */
bool hs_heap_glob_matches(const char *glob, const char *name);
/* 1: one of the globs matches the name; 0: none does; or -ENOMEM. */
int hs_heap_patterns_match(const struct hs_heap_patterns *patterns, const char *name);
