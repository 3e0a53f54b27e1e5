/*
 * Comparisons of strings that every layer needs, the client too (which does not use libc's string
 * functions, because a program may have its own).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Are the strings equal? */
static inline bool hs_text_is_same(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* Does `text` begin with `prefix`? */
static inline bool hs_text_starts_with(const char *text, const char *prefix)
{
    while (*prefix && *text == *prefix) {
        text++;
        prefix++;
    }
    return *prefix == '\0';
}

/* Are the bytes equal? */
static inline bool hs_text_has_same_bytes(const uint8_t *a, const uint8_t *b, size_t byte_count)
{
    size_t i = 0;
    while (i < byte_count && a[i] == b[i]) {
        i++;
    }
    return i == byte_count;
}

/* The part of a path behind its last slash; "" when the path ends with one. Points into `path`. */
static inline const char *hs_text_base_name(const char *path)
{
    const char *base = path;
    for (; *path; path++) {
        base = *path == '/' ? path + 1 : base;
    }
    return base;
}

/* Does `name` match a pattern, in which * stands for any characters and ? for one? */
static inline bool hs_text_matches(const char *pattern, const char *name)
{
    const char *star = 0, *retry = 0;
    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            retry = name;
        } else if (*pattern == '?' || *pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            /* The star stands for one character more. */
            pattern = star + 1;
            name = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return *pattern == '\0';
}
