/*
 * The limits with which a profile is compared: from the command line, and from files that live
 * beside the code.
 *
 *     # memory.limits
 *     max-live   200M
 *     max-leak   0                # everything is given back
 *     stack      ^Cache::=10M
 *     heap       pool,gpu*        # for all limits
 *     against    main.pftrace     # from this file's folder
 *     max-growth 5%
 *     max-unexplained 2%
 *
 * Both use the same names: the name of an option is the first word of a line. A later value
 * replaces an earlier one; for a limit on stacks, when the expressions are equal. Suppressions and
 * heaps of all lines count. The command line therefore overrides its files. Paths in a file are
 * relative to its folder.
 *
 * A comment begins with a # at the start of a line or after a blank.
 *
 * Threads   one user.
 * Fails     -EINVAL with a message (and the line); -ENOMEM. The limits before the wrong line are
 *           then set.
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
    HS_LIMIT_RSS,
    HS_LIMIT_UNEXPLAINED,
    HS_LIMIT_LEAK,
    HS_LIMIT_LEAK_STACK,
    HS_LIMIT_LEAK_GROWTH,
    HS_LIMIT_ALLOCS,
    HS_LIMIT_GROWTH,
    HS_LIMIT_N,
};

/* "max-live": the names in options, files and output. */
extern const char *const hs_limit_names[HS_LIMIT_N];

struct hs_limit {
    bool is_set;
    /* for growth, a share of what BASE has; for unexplained memory, of RSS; instead of bytes */
    bool is_share;
    double value; /* bytes, bytes an hour, a count, or a share: 0.05 */
};

struct hs_stack_limit {
    char *pattern; /* as the user wrote it */
    regex_t regex;
    double bytes;
};

struct hs_limits {
    struct hs_limit by[HS_LIMIT_N];
    struct hs_stack_limit *stacks;
    size_t stack_count, stack_capacity;
    char *against;            /* path of the profile from which growth is measured; NULL none */
    char **suppression_paths; /* each once */
    size_t suppression_count, suppression_capacity;
    char *
        *heaps; /* globs of the heaps that all limits are for, each once; none: the primary ones */
    size_t heap_count, heap_capacity;
    bool is_strict;
};

/* Frees what the limits own. */
void hs_limits_deinit(struct hs_limits *limits);

/* Sets one limit by its name. 0, -ENOMEM, or -EINVAL with *ret_error, which has no line. */
int hs_limits_set(struct hs_limits *limits, const char *name, const char *value,
                  struct hs_text_error *ret_error);

/*
 * Sets the limits of a file. `path` is the file's, for messages and for relative paths. 0, -ENOMEM,
 * or -EINVAL with *ret_error.
 */
int hs_limits_parse(struct hs_limits *limits, const char *path, const char *text, size_t text_bytes,
                    struct hs_text_error *ret_error);

/*
 * Checks that there is a limit, and that limits which need each other are both set. 0, or -EINVAL
 * with *ret_error.
 */
int hs_limits_are_whole(const struct hs_limits *limits, struct hs_text_error *ret_error);
