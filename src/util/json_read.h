/*
 * Reads JSON in one pass, without building a tree of it.
 *
 *     hs_json_enter(&reader, '{');
 *     while (hs_json_next_key(&reader, &key)) {
 *         if (hs_json_text_is(&key, "size")) hs_json_read_number(&reader, &size);
 *         else hs_json_skip(&reader);
 *     }
 *
 * A profile of another tool can have 100 MB of text, of which a tree would take several times that.
 * The caller consumes exactly one value after each key and for each element. A copy of a reader
 * reads from its place again: so a value can be read after others that come behind it.
 *
 * Ensures   never reads outside of the text, which need not end in a NUL. Damaged text ends all
 *           loops and sets is_bad. Memory is that of the longest string with an escape sequence.
 * Threads   one user.
 * Fails     is_bad: this is not JSON; is_cut: it ends too early (is_bad is set then, too).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_buf;

struct hs_json_reader {
    const char *at, *end;
    struct hs_buf *scratch; /* for strings with escape sequences; copies of a reader share it */
    bool is_first;          /* a bracket was opened, and no value has come in it */
    bool is_bad, is_cut;
};

/* A string, which is not terminated. Valid until the next string is read. */
struct hs_json_text {
    const char *text;
    size_t bytes;
};

/* The first character of the next value, or 0 when there is none. */
char hs_json_peek(struct hs_json_reader *reader);
/* Enters an object ('{') or an array ('['). False, and the value is skipped: it is none. */
bool hs_json_enter(struct hs_json_reader *reader, char bracket);
/* Moves to the next value of an object and sets its key; false at the end. */
bool hs_json_next_key(struct hs_json_reader *reader, struct hs_json_text *ret_key);
/* Moves to the next value of an array; false at the end. */
bool hs_json_next_element(struct hs_json_reader *reader);

/* Skips a value of any kind, however deep it is. */
void hs_json_skip(struct hs_json_reader *reader);
/* Reads a string. False, and the value is skipped: it is none. */
bool hs_json_read_text(struct hs_json_reader *reader, struct hs_json_text *ret_text);
/* Reads a number. False, and the value is skipped: it is none. */
bool hs_json_read_number(struct hs_json_reader *reader, double *ret_number);

/* True when the text is the same as `with`. */
bool hs_json_text_is(const struct hs_json_text *text, const char *with);
