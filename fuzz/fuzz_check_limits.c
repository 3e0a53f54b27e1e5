/*
 * Fuzz target: any bytes as a file of limits, and as a file of suppressions.
 *
 * An error must have a line number and a message. Reading the same file twice must give the same
 * result. A pattern without special characters must match exactly the texts that contain it;
 * patterns are tried on the input.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check/limits.h"
#include "check/suppressions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(int err, const struct hs_text_error *error)
{
    if (err == -EINVAL &&
        (error->line == 0 || error->text[0] == '\0' || strchr(error->text, '\n'))) {
        abort();
    }
}

static void read_limits(const char *text, size_t bytes)
{
    struct hs_limits limits = { 0 };
    struct hs_text_error error = { 0 };
    int err = hs_limits_parse(&limits, "folder/file", text, bytes, &error);
    check_error(err, &error);
    if (err == 0) {
        size_t stack_count = limits.stack_count;
        size_t suppression_count = limits.suppression_count;
        err = hs_limits_parse(&limits, "folder/file", text, bytes, &error);
        if (err == -EINVAL || limits.stack_count != stack_count ||
            limits.suppression_count != suppression_count) {
            abort();
        }
        hs_limits_are_whole(&limits, &error);
    }
    hs_limits_deinit(&limits);
}

static void try_pattern(const char *pattern, const char *text)
{
    bool fits = hs_suppression_fits(pattern, text);
    /* Anchored to the start, a pattern may match less, but not more. */
    if (pattern[0] == '^' && pattern[1] != '\0' && fits &&
        !hs_suppression_fits(pattern + 1, text)) {
        abort();
    }
    if (!strpbrk(pattern, "*$") && pattern[0] != '^' && fits != (strstr(text, pattern) != NULL)) {
        abort();
    }
}

static void read_suppressions(const char *text, size_t bytes)
{
    struct hs_suppressions suppressions = { 0 };
    struct hs_text_error error = { 0 };
    int err = hs_suppressions_parse(&suppressions, "file", text, bytes, &error);
    check_error(err, &error);
    if (err == 0) {
        size_t count = suppressions.count;
        err = hs_suppressions_parse(&suppressions, "other", text, bytes, &error);
        if (err == -EINVAL || suppressions.count != count) {
            abort();
        }
        for (size_t i = 0; i < count; i++) {
            if (suppressions.items[i].pattern[0] == '\0') {
                abort();
            }
            if (text[0] != '\0') {
                try_pattern(suppressions.items[i].pattern, text);
            }
        }
    }
    hs_suppressions_deinit(&suppressions);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = calloc(1, size + 1);
    if (!text) {
        return 0;
    }
    if (size > 0) {
        memcpy(text, data, size);
    }
    /*
     * Skip '{': libc's regcomp() needs unlimited memory for a{9999}{9999}. Limits come from the
     * user, who can harm only their own command with that.
     */
    if (!strchr(text, '{')) {
        read_limits(text, size);
    }
    read_suppressions(text, size);
    free(text);
    return 0;
}
