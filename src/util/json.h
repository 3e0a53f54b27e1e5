/*
 * JSON, written as a stream.
 *
 * A tree of objects would hold the whole export in memory to print it once. This writes each value
 * as it comes and only keeps what is open, so that a profile of any size goes through a fixed window.
 * Strings that are not UTF-8 are repaired, so that the output is always a JSON text.
 *
 * Holds     commas and nesting are right by construction; at most HS_JSON_DEPTH levels.
 * Threads   one writer.
 * Fails     as its buffer does, -EOVERFLOW when nested deeper. Numbers that JSON has no word for (nan, inf) are written as null.
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
    bool has_key; /* a key was written and waits for its value */
    bool has_element[HS_JSON_DEPTH];
    bool is_inline[HS_JSON_DEPTH]; /* this level stays on one line */
};

void hs_json_init(struct hs_json *json, struct hs_buf *buf, int indent_width);

void hs_json_open(struct hs_json *json, char bracket); /* '{' or '[' */
void hs_json_open_inline(struct hs_json *json, char bracket);
void hs_json_close(struct hs_json *json, char bracket); /* '}' or ']' */

void hs_json_key(struct hs_json *json, const char *key);
void hs_json_string(struct hs_json *json, const char *text);
void hs_json_uint(struct hs_json *json, uint64_t value);
void hs_json_int(struct hs_json *json, int64_t value);
/* Up to 15 significant digits, integers without a point. */
void hs_json_double(struct hs_json *json, double value);
void hs_json_bool(struct hs_json *json, bool value);
void hs_json_null(struct hs_json *json);

/* key and value in one call. */
void hs_json_kv_string(struct hs_json *json, const char *key, const char *text);
void hs_json_kv_uint(struct hs_json *json, const char *key, uint64_t value);
void hs_json_kv_double(struct hs_json *json, const char *key, double value);
void hs_json_kv_bool(struct hs_json *json, const char *key, bool value);
