/*
 * Writes JSON as a stream.
 *
 * A tree of objects would hold a whole export in memory only to print it once. This writer writes
 * each value when it comes and remembers only which brackets are open, so that a profile of any
 * size passes through a buffer of fixed size. Strings that are not UTF-8 are repaired, so that the
 * output is always valid JSON text.
 *
 * Holds     commas and nesting are always right; at most HS_JSON_DEPTH levels.
 * Threads   one writer.
 * Fails     as its buffer does; -EOVERFLOW when nested deeper. Numbers that JSON cannot express
 *           (nan, inf) are written as null.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_JSON_DEPTH 1024

struct hs_buf;

struct hs_json {
    struct hs_buf *buf;
    int indent_width; /* 0: everything on one line */
    int depth;
    bool has_key; /* a key was written and its value comes next */
    bool has_element[HS_JSON_DEPTH];
    bool is_inline[HS_JSON_DEPTH]; /* this level stays on one line */
};

/* Starts a document that is written into `buf`; each level is indented by `indent_width` blanks. */
void hs_json_init(struct hs_json *json, struct hs_buf *buf, int indent_width);

/* Opens an object ('{') or an array ('['), with one value per line. */
void hs_json_open(struct hs_json *json, char bracket); /* '{' or '[' */
/* The same, all on one line. */
void hs_json_open_inline(struct hs_json *json, char bracket);
/* Closes what was opened last. */
void hs_json_close(struct hs_json *json, char bracket); /* '}' or ']' */

/* Writes a key; its value is the next call. */
void hs_json_key(struct hs_json *json, const char *key);
/* Writes a string. */
void hs_json_string(struct hs_json *json, const char *text);
/* Writes a number without a sign. */
void hs_json_uint(struct hs_json *json, uint64_t value);
/* Writes a number that may be negative. */
void hs_json_int(struct hs_json *json, int64_t value);
/* Writes a number with up to 15 significant digits, integers without a decimal point. */
void hs_json_double(struct hs_json *json, double value);
/* Writes null. */
void hs_json_null(struct hs_json *json);

/* Writes a key and its string in one call. */
void hs_json_kv_string(struct hs_json *json, const char *key, const char *text);
/* The same for a number. */
void hs_json_kv_uint(struct hs_json *json, const char *key, uint64_t value);
/* The same for a number with a fraction. */
void hs_json_kv_double(struct hs_json *json, const char *key, double value);
/* The same for a boolean. */
void hs_json_kv_bool(struct hs_json *json, const char *key, bool value);
