/*
 * Suppressions in LeakSanitizer's syntax: leaks that are known and need not be reported.
 *
 *     # OpenSSL keeps its tables until the end
 *     leak:libcrypto.so
 *     leak:^init_cache$
 *     leak:vendor/zlib*
 *
 * A stack is suppressed when a pattern matches the module, the function or the source file of any
 * of its frames. Frames are tried from the innermost on, of each frame the module first, and the
 * first matching pattern of the file gets the stack. (Of operator new only the name is tried: the
 * library that contains it says nothing.) Patterns match as in LeakSanitizer's own matcher,
 * including its peculiarities (see hs_suppression_fits), so that a file means the same in both
 * tools.
 *
 * Lines for other sanitizers (race:, vptr:, ...) are counted and have no effect.
 *
 * Holds     no pattern is empty; for LeakSanitizer an empty one matches everything.
 * Threads   one user.
 * Fails     parsing: -EINVAL with the line and a message; -ENOMEM.
 * See       docs/man/heapscope-check.1
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "check/text_error.h"
#include "profile/analyse/aggregate.h"

#define HS_SUPPRESSION_NONE UINT32_MAX

struct hs_suppression {
    char *pattern;
    char *path; /* the file that contains it */
    unsigned line;
    double count, bytes; /* the blocks and bytes that it has suppressed so far */
};

struct hs_suppressions {
    struct hs_suppression *items; /* in the order of the files, each pattern once */
    size_t count, capacity;
    unsigned ignored_count; /* lines for other sanitizers */
};

/* Frees what the suppressions own. */
void hs_suppressions_deinit(struct hs_suppressions *suppressions);

/*
 * Adds the suppressions of one file; `path` is for messages. 0, -ENOMEM, or -EINVAL with
 * *ret_error.
 */
int hs_suppressions_parse(struct hs_suppressions *suppressions, const char *path, const char *text,
                          size_t text_bytes, struct hs_text_error *ret_error);

/*
 * True when a pattern matches a text. `*` is any text; `^` at the start and `$` at the end bind the
 * pattern to the ends of the text; without them it may match anywhere. As in LeakSanitizer, the
 * parts between stars are searched one after the other, each at its first occurrence and never
 * again, so that "ab$" does not match "abab". What follows a `$` is ignored, and no pattern matches
 * an empty text.
 */
bool hs_suppression_fits(const char *pattern, const char *text);

/*
 * Finds, for each node of a tree that was folded by line, the pattern that suppresses the stack
 * which ends there: an index in items, or HS_SUPPRESSION_NONE. The caller frees the array. 0 or
 * -ENOMEM.
 */
int hs_suppressions_of_nodes(const struct hs_suppressions *suppressions, const struct hs_agg *agg,
                             uint32_t **ret_by_node);
