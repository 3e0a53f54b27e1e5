/*
 * The limits that a profile is held against: from the command line, and from files that live beside the code.
 *
 *     # memory.limits
 *     max-live   200M
 *     max-leak   0                # everything is given back
 *     stack      ^Cache::=10M
 *     against    main.pftrace     # from this file's folder
 *     max-growth 5%
 *
 * Both have the same names: what is an option there is the first word of a line here. What is said later
 * takes the place of what was said before, of a stack when its expression is the same; so a command line
 * overrides its files. Paths in a file are relative to its folder.
 *
 * A remark begins with a # at the start of a line or after a blank.
 *
 * Threads   one user.
 * Fails     -EINVAL with words (and the line); -ENOMEM. What stood before the wrong line is then set.
 * See       docs/man/heapscope-check.1
 */
#pragma once

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "check/text_error.h"

enum hs_limit_kind {
    HS_LIMIT_LIVE,
    HS_LIMIT_PEAK,
    HS_LIMIT_LEAK,
    HS_LIMIT_LEAK_STACK,
    HS_LIMIT_ALLOCS,
    HS_LIMIT_GROWTH,
    HS_LIMIT_N,
};

/* "max-live", as it is called everywhere. */
extern const char *const hs_limit_names[HS_LIMIT_N];

struct hs_limit {
    bool is_set;
    bool is_share; /* growth only: of what BASE has, instead of bytes */
    double value;  /* bytes, a count, or a share: 0.05 */
};

struct hs_stack_limit {
    char *pattern; /* as typed */
    regex_t regex;
    double bytes;
};

struct hs_limits {
    struct hs_limit by[HS_LIMIT_N];
    struct hs_stack_limit *stacks;
    size_t stack_count, stack_capacity;
    char *against;            /* path of the profile that growth is held against; NULL none */
    char **suppression_paths; /* each once */
    size_t suppression_count, suppression_capacity;
    bool is_strict;
};

void hs_limits_deinit(struct hs_limits *limits);

/* One of them by its name; *ret_error has no line. */
int hs_limits_set(struct hs_limits *limits, const char *name, const char *value,
                  struct hs_text_error *ret_error);

/* A file's; `path` is where it lies. */
int hs_limits_parse(struct hs_limits *limits, const char *path, const char *text, size_t text_bytes,
                    struct hs_text_error *ret_error);

/* What belongs together is there: -EINVAL with words if not. */
int hs_limits_are_whole(const struct hs_limits *limits, struct hs_text_error *ret_error);
