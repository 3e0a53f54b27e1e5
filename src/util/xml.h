/*
 * Text inside XML, whatever is in it: names of functions and files come from anywhere.
 *
 * Holds     what is written is valid UTF-8 and has only characters that XML 1.0 allows, none of which is
 *           markup: good between tags, and in attributes with either quote.
 * Threads   pure functions.
 */
#pragma once

#include <stddef.h>

struct hs_buf;

/* Bytes that are no text, and control characters, line breaks among them, become U+FFFD. */
void hs_xml_write(struct hs_buf *buf, const char *text, size_t bytes);
/* The same, but lines stay lines. */
void hs_xml_write_lines(struct hs_buf *buf, const char *text, size_t bytes);
