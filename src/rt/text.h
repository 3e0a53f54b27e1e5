/*
 * Questions about text that every layer asks, the client too (which leaves libc's string functions
 * alone: a program may have its own).
 */
#pragma once

#include <stdbool.h>

static inline bool hs_text_is_same(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

static inline bool hs_text_starts_with(const char *text, const char *prefix)
{
    while (*prefix && *text == *prefix) {
        text++;
        prefix++;
    }
    return *prefix == '\0';
}

/* What follows the last slash of a path: "" after one at its end. Points into `path`. */
static inline const char *hs_text_base_name(const char *path)
{
    const char *base = path;
    for (; *path; path++) {
        base = *path == '/' ? path + 1 : base;
    }
    return base;
}
