/*
 * Regular expressions that are searched for in names.
 *
 * They use PCRE2, because other tools for profiles accept the same syntax, and because its matcher
 * has limits: libc's can take exponential time and memory for a pattern of twenty bytes, and the
 * names come from files of unknown origin.
 *
 * Threads   one at a time for each pattern.
 * Fails     -EINVAL with a message and the position; -EOVERFLOW when a search takes too many steps.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct hs_pattern;

/* Size of the `error` that hs_pattern_new() sets when it fails. */
#define HS_PATTERN_ERROR_BYTES 256
/* Compiles a pattern. Returns 0; -EINVAL with `error` set; or -ENOMEM. */
int hs_pattern_new(const char *text, size_t bytes, bool is_caseless,
                   struct hs_pattern **ret_pattern, char *error);
/* NULL is allowed. Returns NULL. */
struct hs_pattern *hs_pattern_free(struct hs_pattern *pattern);

/* Returns 1 if the pattern was found: ret_begin and ret_end (which may both be NULL) delimit group
 * 1, or the whole match if there is no group. Returns 0 if it was not found, or -errno. */
int hs_pattern_search(struct hs_pattern *pattern, const char *text, size_t bytes, size_t *ret_begin,
                      size_t *ret_end);
