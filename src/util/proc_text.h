/*
 * Helpers to parse the kernel's text: blanks, decimal numbers, lines of the form "Key:  number
 * [kB]".
 *
 * Only for the parsers of /proc: proc.h, proc_counters.h, proc_smaps.h, proc_system.h.
 *
 * Ensures   reads [at, end) only; numbers saturate.
 * Threads   pure functions.
 * Fails     false; what was skipped until then stays skipped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct hs_proc_text {
    const char *at;
    const char *end;
};

/* Skips blanks and tabs. */
static inline void hs_proc_text_skip_blanks(struct hs_proc_text *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\t')) {
        text->at++;
    }
}

/* Reads a decimal number, saturated. *ret_is_negative: a minus stands before it. */
static inline bool hs_proc_text_take_signed(struct hs_proc_text *text, uint64_t *ret_magnitude,
                                            bool *ret_is_negative)
{
    hs_proc_text_skip_blanks(text);
    bool is_negative = text->at < text->end && *text->at == '-';
    if (is_negative) {
        text->at++;
    }
    if (text->at >= text->end || *text->at < '0' || *text->at > '9') {
        return false;
    }
    uint64_t n = 0;
    for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++) {
        if (__builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(*text->at - '0'), &n)) {
            n = UINT64_MAX;
        }
    }
    *ret_magnitude = n;
    *ret_is_negative = is_negative;
    return true;
}

/* Reads a number; negative numbers (nice values) become 0. */
static inline bool hs_proc_text_take_number(struct hs_proc_text *text, uint64_t *ret_number)
{
    uint64_t n;
    bool is_negative;
    if (!hs_proc_text_take_signed(text, &n, &is_negative)) {
        return false;
    }
    *ret_number = is_negative ? 0 : n;
    return true;
}

/* Reads a number of bytes: multiplied by 1024 if "kB" follows it. */
static inline bool hs_proc_text_take_size(struct hs_proc_text *text, uint64_t *ret_number)
{
    uint64_t n;
    if (!hs_proc_text_take_number(text, &n)) {
        return false;
    }
    hs_proc_text_skip_blanks(text);
    if (text->end - text->at >= 2 && memcmp(text->at, "kB", 2) == 0 &&
        __builtin_mul_overflow(n, 1024, &n)) {
        n = UINT64_MAX;
    }
    *ret_number = n;
    return true;
}

/* Takes the next line, without its newline; false at the end of the text. */
static inline bool hs_proc_text_take_line(struct hs_proc_text *text, struct hs_proc_text *ret_line)
{
    if (text->at >= text->end) {
        return false;
    }
    const char *nl = memchr(text->at, '\n', (size_t)(text->end - text->at));
    ret_line->at = text->at;
    ret_line->end = nl ? nl : text->end;
    text->at = nl ? nl + 1 : text->end;
    return true;
}

/* Skips "KEY:" at the start of the line; false when the line has another key. */
static inline bool hs_proc_text_take_key(struct hs_proc_text *line, const char *key)
{
    size_t n = strlen(key);
    if ((size_t)(line->end - line->at) <= n || memcmp(line->at, key, n) != 0 ||
        line->at[n] != ':') {
        return false;
    }
    line->at += n + 1;
    return true;
}
