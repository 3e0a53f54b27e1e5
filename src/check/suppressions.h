/*
 * Suppressions in LeakSanitizer's syntax: which leaks are known, and not to be told.
 *
 *     # OpenSSL keeps its tables until the end
 *     leak:libcrypto.so
 *     leak:^init_cache$
 *     leak:vendor/zlib*
 *
 * A stack is suppressed when a pattern fits the module, the function or the source file of any of its
 * frames; the frames are asked from the innermost on, of each its module first, and the first pattern of the
 * file that fits gets the stack. (Of operator new only the name is asked: in which library it lies says
 * nothing.) What a pattern fits is what LeakSanitizer's own matcher says, with its
 * turns (see hs_suppression_fits), so that a file means the same here and there.
 *
 * Lines for other sanitizers (race:, vptr:, ...) are counted and have no effect.
 *
 * Holds     no pattern is empty: LeakSanitizer would take it for one that fits everything.
 * Threads   one user.
 * Fails     parsing: -EINVAL with the line and what is wrong with it; -ENOMEM.
 * See       docs/man/heapscope-check.1
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "check/text_error.h"
#include "profile/aggregate.h"

#define HS_SUPPRESSION_NONE UINT32_MAX

struct hs_suppression {
    char *pattern;
    char *path; /* of the file it stands in, and */
    unsigned line;
    double count, bytes; /* what it suppressed so far; 0: nothing */
};

struct hs_suppressions {
    struct hs_suppression *items; /* in the order of the files, each pattern once */
    size_t count, capacity;
    unsigned ignored_count; /* lines for other sanitizers */
};

void hs_suppressions_deinit(struct hs_suppressions *suppressions);

/* Adds those of one file; `path` is for messages. */
int hs_suppressions_parse(struct hs_suppressions *suppressions, const char *path, const char *text,
                          size_t text_bytes, struct hs_text_error *ret_error);

/*
 * `*` is any text, `^` at the start and `$` at the end hold the pattern to the ends of the text; without
 * them it may lie anywhere. As LeakSanitizer does it: the parts between stars are looked for one after the other,
 * each at its first place and never again, so that "ab$" does not fit "abab"; what follows a `$` is not
 * looked at; and no pattern fits an empty text.
 */
bool hs_suppression_fits(const char *pattern, const char *text);

/*
 * By node of a folded tree (by line): the pattern that suppresses the stack that ends there, an index in
 * items or HS_SUPPRESSION_NONE. To be freed by the caller.
 */
int hs_suppressions_of_nodes(const struct hs_suppressions *suppressions, const struct hs_agg *agg,
                             uint32_t **ret_by_node);
