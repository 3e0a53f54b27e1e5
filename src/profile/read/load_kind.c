/*
 * Finds the kind of a file by its bytes alone: file names say little, and a pipe has none.
 *
 * A trace and a pprof profile are both protobuf, and both may begin with field 1. In a trace every
 * field is field 1, a packet. In a pprof profile field 1 is a pair of small numbers, and other
 * fields follow. A trace whose beginning is missing looks like neither; it is left to the trace
 * reader, which searches for packets.
 */
#include <string.h>

#include "profile/read/load_foreign.h"
#include "profile/read/text_lines.h"
#include "rt/cursor.h"

#define PPROF_FIELDS_LOOKED_AT 64
#define PPROF_FIELD_LAST       15U
#define VALUE_TYPE_BYTES_MAX   22U
#define WIRE_VARINT            0U
#define WIRE_BYTES             2U
#define FOLDED_LINES_LOOKED_AT 16

/* 1 to 6, 11: messages and strings; 7 to 10, 12, 14, 15: numbers; 13: either. */
static bool is_pprof_tag(uint64_t tag)
{
    uint64_t field = tag >> 3, wire = tag & 7;
    if (field == 0 || field > PPROF_FIELD_LAST) {
        return false;
    }
    if (field == 13) {
        return wire == WIRE_VARINT || wire == WIRE_BYTES;
    }
    return wire == (field <= 6 || field == 11 ? WIRE_BYTES : WIRE_VARINT);
}

/* True for a message of two numbers, each at most once. */
static bool is_value_type(struct hs_cursor body)
{
    while (hs_cursor_left(&body) > 0 && !body.is_bad) {
        uint64_t tag = hs_cursor_uleb(&body);
        if (tag != (1U << 3 | WIRE_VARINT) && tag != (2U << 3 | WIRE_VARINT)) {
            return false;
        }
        hs_cursor_uleb(&body);
    }
    return !body.is_bad;
}

/* What the fields seen so far say. */
struct pprof_signs {
    bool has_other, has_string, has_value_type;
};

/* Reads one field. False when no pprof profile has such a field. */
static bool is_pprof_field(struct hs_cursor *c, struct pprof_signs *signs)
{
    uint64_t tag = hs_cursor_uleb(c);
    if (c->is_bad || !is_pprof_tag(tag)) {
        return c->is_bad; /* the field is cut off */
    }
    uint64_t value = hs_cursor_uleb(c);
    uint64_t field = tag >> 3;
    if (c->is_bad || (tag & 7) != WIRE_BYTES) {
        signs->has_other |= !c->is_bad;
        return true;
    }
    if (field == 1 && value > VALUE_TYPE_BYTES_MAX) {
        return false;
    }
    if (value <= hs_cursor_left(c)) {
        if (field == 1 && !is_value_type((struct hs_cursor){ .at = c->at, .end = c->at + value })) {
            return false;
        }
        /* The string table begins with "". */
        if (field == 6 && !signs->has_string && value != 0) {
            return false;
        }
        signs->has_value_type |= field == 1 && value > 0;
        signs->has_string |= field == 6;
        signs->has_other |= field != 1;
    }
    hs_cursor_skip(c, value);
    return true;
}

static bool is_pprof(const uint8_t *data, size_t bytes)
{
    struct hs_cursor c = { .at = data, .end = data + bytes };
    struct pprof_signs signs = { 0 };
    for (int i = 0; i < PPROF_FIELDS_LOOKED_AT && hs_cursor_left(&c) > 0; i++) {
        if (!is_pprof_field(&c, &signs)) {
            return false;
        }
    }
    return signs.has_value_type || (signs.has_other && signs.has_string);
}

/* --- texts --- */

static bool is_heap_text(const struct hs_lines *first)
{
    return hs_lines_starts(first, "heap_v2/") || hs_lines_starts(first, "heap profile:") ||
           hs_lines_starts(first, "--- symbol") || hs_lines_starts(first, "--- heap") ||
           hs_lines_starts(first, "--- growth");
}

static bool is_text(const uint8_t *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (data[i] < ' ' && data[i] != '\t' && data[i] != '\n' && data[i] != '\r') {
            return false;
        }
    }
    return bytes > 0;
}

/* True when each line looks like "main;parse;malloc 4096". */
static bool is_folded(const char *text, size_t bytes, bool is_whole)
{
    struct hs_lines lines = { .at = text, .end = text + bytes };
    int stacks = 0;
    for (int i = 0; i < FOLDED_LINES_LOOKED_AT && hs_lines_next(&lines); i++) {
        if (lines.bytes == 0 || lines.line[0] == '#') {
            continue;
        }
        if (lines.is_cut && !is_whole) {
            break;
        }
        const char *end = lines.line + lines.bytes;
        const char *digit = end;
        while (digit > lines.line && ((digit[-1] >= '0' && digit[-1] <= '9') || digit[-1] == '.')) {
            digit--;
        }
        if (digit > lines.line && digit < end && digit[-1] == '-') {
            digit--;
        }
        if (digit == end || digit - lines.line < 2 || !hs_lines_is_blank(digit[-1])) {
            return false;
        }
        stacks++;
    }
    return stacks > 0;
}

/* True for JSON that begins like a trace of Chrome: an object, or a list of events. */
static bool is_chrome_trace(const char *text, size_t bytes)
{
    size_t at = 0;
    while (at < bytes && (hs_lines_is_blank(text[at]) || text[at] == '\n')) {
        at++;
    }
    bool is_object = at < bytes && text[at] == '{', is_array = at < bytes && text[at] == '[';
    return (is_object && memmem(text, bytes, "\"traceEvents\"", strlen("\"traceEvents\""))) ||
           (is_array && memmem(text, bytes, "\"ph\"", strlen("\"ph\"")));
}

enum hs_load_kind hs_load_kind_of(const uint8_t *data, size_t bytes, bool is_whole)
{
    struct hs_lines lines = { .at = (const char *)data, .end = (const char *)data + bytes };
    while (hs_lines_next(&lines) && lines.bytes == 0) {
        /* Skip empty lines in front. */
    }
    if (is_chrome_trace((const char *)data, bytes)) {
        return HS_LOAD_MEMORY_INFRA;
    }
    if (is_heap_text(&lines)) {
        return HS_LOAD_HEAP_TEXT;
    }
    if (is_pprof(data, bytes)) {
        return HS_LOAD_PPROF;
    }
    if (is_text(data, bytes) && is_folded((const char *)data, bytes, is_whole)) {
        return HS_LOAD_FOLDED;
    }
    return HS_LOAD_TRACE;
}
