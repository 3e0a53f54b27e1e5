/*
 * Regular expressions, searched for in names.
 *
 * PCRE2, because what a user writes is what other tools of profiles take, and because its matcher has limits: libc's can take
 * exponential time and memory for a pattern of twenty bytes, and a name comes from a file that anybody may have written.
 *
 * Threads   one at a time for each pattern.
 * Fails     -EINVAL with what is wrong and where; -EOVERFLOW when a search takes too many steps.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct hs_pattern;

/* error: at least HS_PATTERN_ERROR_BYTES, set when this fails. */
#define HS_PATTERN_ERROR_BYTES 256
int hs_pattern_new(const char *text, size_t bytes, bool is_caseless,
                   struct hs_pattern **ret_pattern, char *error);
struct hs_pattern *hs_pattern_free(struct hs_pattern *pattern);

/* 1: found, and ret_begin .. ret_end (may both be NULL) is group 1, or the whole when there is none; 0: not found. */
int hs_pattern_search(struct hs_pattern *pattern, const char *text, size_t bytes, size_t *ret_begin,
                      size_t *ret_end);
