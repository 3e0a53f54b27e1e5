/*
 * Writes any text into XML: names of functions and files can contain everything.
 *
 * Ensures   output is valid UTF-8 and has only characters that XML 1.0 allows, none of which is
 *           markup. It can stand between tags, and in attributes with either quote.
 * Threads   pure functions.
 */
#pragma once

#include <stddef.h>

struct hs_buf;

/* Replaces bytes that are not UTF-8, and control characters including line breaks, by U+FFFD. */
void hs_xml_write(struct hs_buf *buf, const char *text, size_t bytes);
/* The same, but keeps line breaks. */
void hs_xml_write_lines(struct hs_buf *buf, const char *text, size_t bytes);
