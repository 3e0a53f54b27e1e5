/* Regular expressions with PCRE2, with limits on patterns and searches. See pattern.h. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "sql/language/pattern.h"

#include <errno.h>
#include <pcre2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define PATTERN_BYTES_MAX 10000
#define MATCH_STEPS_MAX   200000
#define MATCH_KIB_MAX     4096

struct hs_pattern {
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *context;
};

int hs_pattern_new(const char *text, size_t bytes, bool is_caseless,
                   struct hs_pattern **ret_pattern, char *error)
{
    int code = 0;
    size_t error_off = 0;
    if (bytes > PATTERN_BYTES_MAX) {
        snprintf(error, HS_PATTERN_ERROR_BYTES, "a regular expression of %zu bytes: %d at most",
                 bytes, PATTERN_BYTES_MAX);
        return -EINVAL;
    }
    struct hs_pattern *pattern = calloc(1, sizeof(*pattern));
    if (!pattern) {
        return -ENOMEM;
    }
    uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C |
                       (is_caseless ? PCRE2_CASELESS : 0);
    pattern->code = pcre2_compile((PCRE2_SPTR)text, bytes, options, &code, &error_off, NULL);
    if (!pattern->code) {
        PCRE2_UCHAR words[160] = { 0 };
        pcre2_get_error_message(code, words, sizeof(words));
        snprintf(error, HS_PATTERN_ERROR_BYTES, "bad regular expression: %s at byte %zu", words,
                 error_off);
        hs_pattern_free(pattern);
        return -EINVAL;
    }
    pattern->match = pcre2_match_data_create_from_pattern(pattern->code, NULL);
    pattern->context = pcre2_match_context_create(NULL);
    if (!pattern->match || !pattern->context) {
        hs_pattern_free(pattern);
        return -ENOMEM;
    }
    pcre2_set_match_limit(pattern->context, MATCH_STEPS_MAX);
    pcre2_set_depth_limit(pattern->context, MATCH_STEPS_MAX);
    pcre2_set_heap_limit(pattern->context, MATCH_KIB_MAX);
    *ret_pattern = pattern;
    return 0;
}

struct hs_pattern *hs_pattern_free(struct hs_pattern *pattern)
{
    if (pattern) {
        pcre2_code_free(pattern->code);
        pcre2_match_data_free(pattern->match);
        pcre2_match_context_free(pattern->context);
        free(pattern);
    }
    return NULL;
}

int hs_pattern_search(struct hs_pattern *pattern, const char *text, size_t bytes, size_t *ret_begin,
                      size_t *ret_end)
{
    int found =
        pcre2_match(pattern->code, (PCRE2_SPTR)text, bytes, 0, 0, pattern->match, pattern->context);
    if (found == PCRE2_ERROR_NOMATCH || found == PCRE2_ERROR_PARTIAL) {
        return 0;
    }
    if (found < 0) {
        return found == PCRE2_ERROR_NOMEMORY ? -ENOMEM : -EOVERFLOW;
    }
    const size_t *places = pcre2_get_ovector_pointer(pattern->match);
    bool has_group = found > 1 && places[2] != PCRE2_UNSET && places[3] >= places[2];
    if (ret_begin && ret_end) {
        *ret_begin = places[has_group ? 2 : 0];
        *ret_end = places[has_group ? 3 : 1];
    }
    return 1;
}
