/*
 * Prepares text from files for a terminal: counts its columns, cuts it between characters,
 * sanitizes it.
 *
 * Names come from traces that anyone may have written. Control characters in them could move the
 * cursor or set the window's title. Each of them is replaced by U+FFFD, as is each byte that is not
 * UTF-8.
 *
 * Ensures   output is valid UTF-8 without control characters.
 * Threads   pure functions.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hs_buf;

/*
 * Decodes the first character of text[0 .. bytes), bytes > 0. Returns its length; 1 with U+FFFD for
 * a bad byte.
 */
size_t hs_utf8_next(const char *text, size_t bytes, uint32_t *ret_char);

/* How many columns the string takes when hs_utf8_write() has written it. */
size_t hs_utf8_columns(const char *text, size_t bytes);

/* Writes the text with bad bytes and control characters replaced. */
void hs_utf8_write(struct hs_buf *buf, const char *text, size_t bytes);

/*
 * The same into out[0 .. room), but keeps tabs, and allocates nothing. Ends between characters when
 * `room` is used up. Returns how many bytes it wrote; adds no NUL.
 */
size_t hs_utf8_clean(const char *text, size_t bytes, char *out, size_t room);

/* The length in bytes of the longest prefix that fits in `columns`; it ends between characters. */
size_t hs_utf8_fit(const char *text, size_t bytes, size_t columns);
/* The same from the end: the offset at which the last `columns` columns begin. */
size_t hs_utf8_fit_end(const char *text, size_t bytes, size_t columns);
