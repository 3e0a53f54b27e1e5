/*
 * Reads a text line by line, and numbers from the front of a line.
 *
 *     struct hs_lines lines = { .at = text, .end = text + text_bytes };
 *     while (hs_lines_next(&lines)) {
 *
 * A line does not include the blanks around it, nor the carriage return that some systems put at
 * its end.
 *
 * Holds     line[0 .. bytes) is inside the text.
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "rt/check.h"

struct hs_lines {
    const char *at, *end;
    const char *line;
    size_t bytes;
    bool is_cut; /* this is the last line, and no newline follows it */
};

/* True for a blank, a tab and a carriage return. */
static inline bool hs_lines_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Moves to the next line; false when there is none. */
static inline bool hs_lines_next(struct hs_lines *lines)
{
    if (lines->at >= lines->end) {
        return false;
    }
    const char *stop = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
    const char *from = lines->at;
    const char *to = stop ? stop : lines->end;
    lines->is_cut = stop == NULL;
    lines->at = stop ? stop + 1 : lines->end;
    while (from < to && hs_lines_is_blank(*from)) {
        from++;
    }
    while (from < to && hs_lines_is_blank(to[-1])) {
        to--;
    }
    lines->line = from;
    lines->bytes = (size_t)(to - from);
    HS_ASSERT(lines->at <= lines->end && from <= to && to <= lines->end);
    return true;
}

/* True when the line begins with `with`. */
static inline bool hs_lines_starts(const struct hs_lines *lines, const char *with)
{
    size_t bytes = strlen(with);
    return lines->bytes >= bytes && memcmp(lines->line, with, bytes) == 0;
}

/*
 * A position in a line. The functions below move it behind what they read, and leave it unchanged
 * when they return false.
 */
struct hs_line_at {
    const char *at, *end;
};

/* Skips blanks. */
static inline void hs_line_blanks(struct hs_line_at *at)
{
    while (at->at < at->end && hs_lines_is_blank(*at->at)) {
        at->at++;
    }
}

/* Skips blanks and reads `text`. */
static inline bool hs_line_word(struct hs_line_at *at, const char *text)
{
    struct hs_line_at try = *at;
    size_t bytes = strlen(text);
    hs_line_blanks(&try);
    if ((size_t)(try.end - try.at) < bytes || memcmp(try.at, text, bytes) != 0) {
        return false;
    }
    at->at = try.at + bytes;
    return true;
}

/* Skips blanks and reads a number without a sign. False also when it does not fit into 64 bits. */
static inline bool hs_line_number(struct hs_line_at *at, unsigned base, uint64_t *ret_number)
{
    struct hs_line_at try = *at;
    uint64_t number = 0;
    hs_line_blanks(&try);
    const char *first = try.at;
    for (; try.at < try.end; try.at++) {
        char c = *try.at;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 16;
        if (digit >= base) {
            break;
        }
        if (number > (UINT64_MAX - digit) / base) {
            return false;
        }
        number = number * base + digit;
    }
    if (try.at == first) {
        return false;
    }
    at->at = try.at;
    *ret_number = number;
    return true;
}

/* Skips blanks and reads a hexadecimal address, "0x7f31" or "7f31". */
static inline bool hs_line_address(struct hs_line_at *at, uint64_t *ret_va)
{
    struct hs_line_at try = *at;
    if (!hs_line_word(&try, "0x") && !hs_line_word(&try, "0X")) {
        hs_line_blanks(&try);
    }
    if (!hs_line_number(&try, 16, ret_va)) {
        return false;
    }
    at->at = try.at;
    return true;
}
