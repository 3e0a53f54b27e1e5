/*
 * Reads JSON in one pass, without building a tree of it. The library yajl parses the text.
 *
 *     hs_json_begin(&reader, text, end);
 *     hs_json_enter(&reader, '{');
 *     while (hs_json_next_key(&reader, &key)) {
 *         if (hs_json_text_is(&key, "size")) hs_json_read_number(&reader, &size);
 *         else hs_json_skip(&reader);
 *     }
 *     hs_json_end(&reader);
 *
 * A profile of another tool can have 100 MB of text, of which a tree would take several times that.
 * The caller consumes exactly one value after each key and for each element. yajl calls back and
 * cannot be paused; so it gets the text in pieces, and what it reports of a piece waits in a queue.
 * hs_json_place() is the place of a value, at which another reader can begin: so a value can be
 * read after others that come behind it.
 *
 * Ensures   never reads outside of the text, which need not end in a NUL. Damaged text ends all
 *           loops and sets is_bad. Values nest HS_JSON_DEPTH_MAX deep at most. Memory is that of
 *           the longest string, and of a queue of some 100 KiB. Strings need not be valid UTF-8.
 * Threads   one user.
 * Fails     is_bad: this is not JSON, is nested too deep, or memory is short (then err is -ENOMEM);
 *           is_cut: it ends too early (is_bad is set then, too).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"

#define HS_JSON_DEPTH_MAX 1000

struct yajl_handle_t;
struct hs_json_event;

struct hs_json_reader {
    const char *at, *end; /* text that yajl has not got yet */
    const char *past;     /* end of the last token that was pulled */
    struct yajl_handle_t *parser;
    struct hs_json_event *events; /* queue */
    size_t event_count, event_capacity, next_event;
    struct hs_buf texts; /* of strings that do not stand in the text as they are */
    const char *piece;   /* what yajl has now */
    size_t piece_bytes;
    uint32_t depth; /* of brackets, at the end of the queue */
    bool is_ended;  /* yajl got all, or refused */
    bool is_bad, is_cut;
    int err;
};

/* A string, which is not terminated. Valid until the next value or key is read. */
struct hs_json_text {
    const char *text;
    size_t bytes;
};

/* Begins to read a value at `text`. What stands behind that value is not looked at. */
void hs_json_begin(struct hs_json_reader *reader, const char *text, const char *end);
/* Frees the memory. A zeroed reader is fine. */
void hs_json_end(struct hs_json_reader *reader);

/* The first character of the next value ('0' for numbers), or 0 when there is none. */
char hs_json_peek(struct hs_json_reader *reader);
/* The place of the next value in the text. */
const char *hs_json_place(const struct hs_json_reader *reader);
/* Enters an object ('{') or an array ('['). False, and the value is skipped: it is none. */
bool hs_json_enter(struct hs_json_reader *reader, char bracket);
/* Moves to the next value of an object and sets its key; false at the end. */
bool hs_json_next_key(struct hs_json_reader *reader, struct hs_json_text *ret_key);
/* Moves to the next value of an array; false at the end. */
bool hs_json_next_element(struct hs_json_reader *reader);

/* Skips a value of any kind. */
void hs_json_skip(struct hs_json_reader *reader);
/* Reads a string. False, and the value is skipped: it is none. */
bool hs_json_read_text(struct hs_json_reader *reader, struct hs_json_text *ret_text);
/* Reads a number. False, and the value is skipped: it is none. */
bool hs_json_read_number(struct hs_json_reader *reader, double *ret_number);

/*
 * The place of the value of a key in the object at `place`; NULL: there is none, or `place` is
 * NULL. *err becomes -ENOMEM when memory is short.
 */
const char *hs_json_find(const char *place, const char *end, const char *name, int *err);

/* True when the text is the same as `with`. */
bool hs_json_text_is(const struct hs_json_text *text, const char *with);
