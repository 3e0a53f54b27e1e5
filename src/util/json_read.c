/*
 * See json_read.h. An event is what yajl reports: a bracket, a key or a plain value.
 */
#include "util/json_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "util/array.h"

#define NUMBER_BYTES_MAX 64
/* Values are often read for a few bytes at their begin: the first piece is small. */
#define PIECE_BYTES_MIN 256
#define PIECE_BYTES_MAX 4096

struct hs_json_event {
    char kind;      /* { } [ ] " 0 t f n, k: a key */
    bool is_copied; /* the text is in texts, at the offset `text` */
    uint32_t past;  /* end of the token in the piece */
    uintptr_t text; /* address, or offset */
    size_t bytes;
};

/* --- from yajl to the queue --- */

static int put(struct hs_json_reader *reader, char kind, const unsigned char *text, size_t bytes)
{
    struct hs_json_event event = {
        .kind = kind,
        .past = (uint32_t)yajl_get_bytes_consumed(reader->parser),
        .text = (uintptr_t)text,
        .bytes = bytes,
    };
    uintptr_t piece = (uintptr_t)reader->piece;
    if (text && (event.text < piece || event.text >= piece + reader->piece_bytes)) {
        event.text = reader->texts.bytes; /* it was in two pieces, or has escape sequences */
        event.is_copied = true;
        hs_buf_add(&reader->texts, text, bytes);
        reader->err = reader->err ? reader->err : reader->texts.err;
    }
    if (reader->err == 0) {
        reader->err = hs_array_reserve(&reader->events, &reader->event_capacity,
                                       reader->event_count + 1, sizeof(reader->events[0]));
    }
    if (reader->err != 0) {
        return 0;
    }
    reader->events[reader->event_count++] = event;
    return 1;
}

static int on_null(void *ctx)
{
    return put(ctx, 'n', NULL, 0);
}

static int on_boolean(void *ctx, int value)
{
    return put(ctx, value ? 't' : 'f', NULL, 0);
}

static int on_number(void *ctx, const char *text, size_t bytes)
{
    return put(ctx, '0', (const unsigned char *)text, bytes);
}

static int on_string(void *ctx, const unsigned char *text, size_t bytes)
{
    return put(ctx, '"', text, bytes);
}

static int on_key(void *ctx, const unsigned char *text, size_t bytes)
{
    return put(ctx, 'k', text, bytes);
}

static int on_open(struct hs_json_reader *reader, char kind)
{
    return ++reader->depth <= HS_JSON_DEPTH_MAX && put(reader, kind, NULL, 0);
}

static int on_close(struct hs_json_reader *reader, char kind)
{
    reader->depth--;
    return put(reader, kind, NULL, 0);
}

static int on_open_object(void *ctx)
{
    return on_open(ctx, '{');
}

static int on_close_object(void *ctx)
{
    return on_close(ctx, '}');
}

static int on_open_array(void *ctx)
{
    return on_open(ctx, '[');
}

static int on_close_array(void *ctx)
{
    return on_close(ctx, ']');
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_open_object,
    .yajl_map_key = on_key,
    .yajl_end_map = on_close_object,
    .yajl_start_array = on_open_array,
    .yajl_end_array = on_close_array,
};

void hs_json_begin(struct hs_json_reader *reader, const char *text, const char *end)
{
    *reader = (struct hs_json_reader){ .at = text, .end = end, .past = text };
    reader->parser = yajl_alloc(&callbacks, NULL, reader);
    reader->err = reader->parser ? 0 : -ENOMEM;
    if (reader->parser) {
        yajl_config(reader->parser, yajl_allow_trailing_garbage, 1);
        yajl_config(reader->parser, yajl_dont_validate_strings, 1);
    }
}

void hs_json_end(struct hs_json_reader *reader)
{
    if (reader->parser) {
        yajl_free(reader->parser);
    }
    free(reader->events);
    hs_buf_deinit(&reader->texts);
    *reader = (struct hs_json_reader){ 0 };
}

/* Gives yajl the next piece of the text, or says that the text is over. */
static void parse_piece(struct hs_json_reader *reader)
{
    size_t most = reader->piece_bytes ? reader->piece_bytes * 4 : PIECE_BYTES_MIN;
    size_t left = (size_t)(reader->end - reader->at);
    most = most < PIECE_BYTES_MAX ? most : PIECE_BYTES_MAX;
    reader->piece = reader->at;
    reader->piece_bytes = left < most ? left : most;
    reader->event_count = reader->next_event = 0;
    hs_buf_clear(&reader->texts);
    if (left == 0) {
        reader->is_ended = true;
        (void)yajl_complete_parse(reader->parser); /* a number may end here */
        return;
    }
    reader->at += reader->piece_bytes;
    if (yajl_parse(reader->parser, (const unsigned char *)reader->piece, reader->piece_bytes) !=
        yajl_status_ok) {
        reader->is_ended = true;
    }
}

static void fail(struct hs_json_reader *reader)
{
    reader->is_cut |= !reader->is_bad && reader->is_ended && reader->at >= reader->end &&
                      reader->piece == reader->end && reader->err == 0;
    reader->is_bad = true;
    reader->is_ended = true;
    reader->at = reader->end;
    reader->event_count = reader->next_event = 0;
}

/* The next event, which stays in the queue; NULL: there is none, and the reader has failed. */
static const struct hs_json_event *peek(struct hs_json_reader *reader)
{
    while (reader->next_event == reader->event_count && !reader->is_ended && reader->err == 0) {
        parse_piece(reader);
    }
    if (reader->next_event == reader->event_count) {
        fail(reader);
        return NULL;
    }
    return &reader->events[reader->next_event];
}

static void pull(struct hs_json_reader *reader)
{
    reader->past = reader->piece + reader->events[reader->next_event].past;
    reader->next_event++;
}

static struct hs_json_text text_of(struct hs_json_reader *reader, const struct hs_json_event *event)
{
    return (struct hs_json_text){
        event->is_copied ? hs_buf_text(&reader->texts) + event->text : (const char *)event->text,
        event->bytes,
    };
}

/* --- values --- */

char hs_json_peek(struct hs_json_reader *reader)
{
    const struct hs_json_event *event = peek(reader);
    bool is_value = event && event->kind != 'k' && event->kind != '}' && event->kind != ']';
    return is_value ? event->kind : '\0';
}

const char *hs_json_place(const struct hs_json_reader *reader)
{
    const char *at = reader->past;
    while (at && at < reader->end &&
           (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t' || *at == ':' || *at == ',')) {
        at++;
    }
    return at;
}

bool hs_json_enter(struct hs_json_reader *reader, char bracket)
{
    if (hs_json_peek(reader) != bracket) {
        hs_json_skip(reader);
        return false;
    }
    pull(reader);
    return true;
}

bool hs_json_next_element(struct hs_json_reader *reader)
{
    const struct hs_json_event *event = peek(reader);
    if (event && event->kind == ']') {
        pull(reader);
        return false;
    }
    if (event && (event->kind == '}' || event->kind == 'k')) {
        fail(reader); /* the caller is not in an array */
        return false;
    }
    return event != NULL;
}

bool hs_json_next_key(struct hs_json_reader *reader, struct hs_json_text *ret_key)
{
    const struct hs_json_event *event = peek(reader);
    if (event && event->kind == '}') {
        pull(reader);
        return false;
    }
    if (!event || event->kind != 'k') {
        fail(reader); /* the caller is not in an object */
        return false;
    }
    *ret_key = text_of(reader, event);
    pull(reader);
    return true;
}

bool hs_json_read_text(struct hs_json_reader *reader, struct hs_json_text *ret_text)
{
    if (hs_json_peek(reader) != '"') {
        hs_json_skip(reader);
        return false;
    }
    *ret_text = text_of(reader, &reader->events[reader->next_event]);
    pull(reader);
    return true;
}

bool hs_json_text_is(const struct hs_json_text *text, const char *with)
{
    return text->bytes == strlen(with) && memcmp(text->text, with, text->bytes) == 0;
}

static bool number_of(const struct hs_json_text *text, double *ret_number)
{
    char number[NUMBER_BYTES_MAX];
    uint64_t whole = 0;
    size_t i = 0;
    for (; i < text->bytes && i < 15 && text->text[i] >= '0' && text->text[i] <= '9'; i++) {
        whole = whole * 10 + (uint64_t)(text->text[i] - '0');
    }
    if (i == text->bytes) {
        *ret_number = (double)whole; /* nearly all numbers, without strtod() */
        return true;
    }
    if (text->bytes >= sizeof(number)) {
        return false;
    }
    memcpy(number, text->text, text->bytes);
    number[text->bytes] = '\0';
    *ret_number = strtod(number, NULL);
    return true;
}

bool hs_json_read_number(struct hs_json_reader *reader, double *ret_number)
{
    if (hs_json_peek(reader) != '0') {
        hs_json_skip(reader);
        return false;
    }
    struct hs_json_text text = text_of(reader, &reader->events[reader->next_event]);
    pull(reader);
    return number_of(&text, ret_number);
}

void hs_json_skip(struct hs_json_reader *reader)
{
    uint32_t depth = 0;
    if (hs_json_peek(reader) == '\0') {
        fail(reader);
        return;
    }
    do {
        const struct hs_json_event *event = peek(reader);
        if (!event) {
            return;
        }
        depth += event->kind == '{' || event->kind == '[';
        depth -= event->kind == '}' || event->kind == ']';
        pull(reader);
    } while (depth > 0);
}

const char *hs_json_find(const char *place, const char *end, const char *name, int *err)
{
    struct hs_json_text key;
    struct hs_json_reader json;
    const char *value = NULL;
    if (!place) {
        return NULL;
    }
    hs_json_begin(&json, place, end);
    if (hs_json_enter(&json, '{')) {
        while (!value && hs_json_next_key(&json, &key)) {
            if (hs_json_text_is(&key, name)) {
                value = hs_json_place(&json);
            } else {
                hs_json_skip(&json);
            }
        }
    }
    *err = *err ? *err : json.err;
    hs_json_end(&json);
    return value;
}
