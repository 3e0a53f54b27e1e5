/*
 * Text from a file, made fit for a terminal: columns counted, cut between characters, made harmless.
 *
 * Names come out of traces that anyone may have written. Control characters in them could move the
 * cursor or set the window's title, so each becomes U+FFFD, as does each byte that is not UTF-8.
 *
 * Holds     what is written is valid UTF-8 without control characters.
 * Threads   pure functions.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hs_buf;

/* Decodes one character of text[0 .. bytes), bytes > 0. Returns its length, 1 with U+FFFD for a bad byte. */
size_t hs_utf8_next(const char *text, size_t bytes, uint32_t *ret_char);

/* Columns a terminal needs for `c`: 0 for combining marks, 2 for East Asian wide ones. */
int hs_utf8_char_columns(uint32_t c);

/* Columns of a whole string, counted as it will be written by hs_utf8_write(). */
size_t hs_utf8_columns(const char *text, size_t bytes);

/* Writes text with bad bytes and control characters replaced. */
void hs_utf8_write(struct hs_buf *buf, const char *text, size_t bytes);

/* The same into out[0 .. room), and tabs stay; without memory of its own. Ends early, between characters, where room does. Returns
 * how many bytes it wrote; no NUL. */
size_t hs_utf8_clean(const char *text, size_t bytes, char *out, size_t room);

/* The longest start of text that fits in `columns`, in bytes; never inside a character. */
size_t hs_utf8_fit(const char *text, size_t bytes, size_t columns);
/* The same from the end: the offset where the last `columns` columns begin. */
size_t hs_utf8_fit_end(const char *text, size_t bytes, size_t columns);
