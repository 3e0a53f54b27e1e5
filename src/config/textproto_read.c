/* Reads text as messages: see textproto.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/textproto.h"
#include "config/textproto_lex.h"
#include "util/suggest.h"

#define NUMBER_BYTES_MAX 128
#define NAME_BYTES_MAX   128
/* fields of a message that may occur only once; config.proto has far fewer */
#define FIELDS_MAX 64

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

struct parse {
    struct hs_textproto_lexer lexer;
    const struct hs_textproto_reader *reader;
    struct hs_textproto_error *error;
    int result; /* 0 or HS_TEXTPROTO_E_WRONG, which `error` describes */
};

static void set_error(struct parse *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void read_fields(struct parse *p, const ProtobufCMessageDescriptor *message, char end,
                        unsigned depth, struct hs_buf *out);

/* Sets the error, at the current token. */
static void set_error(struct parse *p, const char *format, ...)
{
    va_list args;
    if (p->result != 0) {
        return;
    }
    p->result = HS_TEXTPROTO_E_WRONG;
    p->error->line = p->lexer.token.line;
    p->error->column = p->lexer.token.column;
    va_start(args, format);
    vsnprintf(p->error->text, sizeof(p->error->text), format, args);
    va_end(args);
}

static bool is_mark(const struct parse *p, char mark)
{
    return p->lexer.token.kind == HS_TEXTPROTO_TOKEN_MARK && *p->lexer.token.text == mark;
}

static void expected(struct parse *p, const char *what)
{
    const struct hs_textproto_token *token = &p->lexer.token;
    if (token->kind == HS_TEXTPROTO_TOKEN_BAD) {
        set_error(p, "%s", p->lexer.bad);
    } else if (token->kind == HS_TEXTPROTO_TOKEN_END) {
        set_error(p, "the text ends where %s was expected", what);
    } else {
        set_error(p, "%s was expected, not '%.*s'", what,
                  (int)(token->bytes < 40 ? token->bytes : 40), token->text);
    }
}

static bool take_mark(struct parse *p, char mark)
{
    bool is_there = is_mark(p, mark);
    if (is_there) {
        hs_textproto_lexer_next(&p->lexer);
    }
    return is_there;
}

/* --- the binary form -------------------------------------------------------------------------- */

static void put_varint(struct hs_buf *out, uint64_t value)
{
    do {
        hs_buf_char(out, (char)((value & 0x7F) | (value > 0x7F ? 0x80 : 0)));
        value >>= 7;
    } while (value > 0);
}

static void put_tag(struct hs_buf *out, const ProtobufCFieldDescriptor *field, enum wire wire)
{
    put_varint(out, (uint64_t)field->id << 3 | wire);
}

static void put_fixed(struct hs_buf *out, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        hs_buf_char(out, (char)(value >> (8 * i)));
    }
}

static void put_bytes(struct hs_buf *out, const ProtobufCFieldDescriptor *field,
                      struct hs_buf *bytes)
{
    put_tag(out, field, WIRE_BYTES);
    put_varint(out, bytes->bytes);
    hs_buf_add(out, hs_buf_text(bytes), bytes->bytes);
    out->err = out->err ? out->err : bytes->err;
}

/* --- values ----------------------------------------------------------------------------------- */

/* Copies the token with a NUL at its end. */
static bool copy_token(struct parse *p, char *ret_text, size_t text_bytes)
{
    const struct hs_textproto_token *token = &p->lexer.token;
    if (token->bytes >= text_bytes) {
        set_error(p, "this word is too long");
        return false;
    }
    memcpy(ret_text, token->text, token->bytes);
    ret_text[token->bytes] = 0;
    return true;
}

static void read_string(struct parse *p, const ProtobufCFieldDescriptor *field, struct hs_buf *out)
{
    struct hs_buf bytes = HS_BUF_INIT;
    if (p->lexer.token.kind != HS_TEXTPROTO_TOKEN_STRING) {
        expected(p, "a text in quotes");
    }
    while (p->result == 0 && p->lexer.token.kind == HS_TEXTPROTO_TOKEN_STRING) {
        const char *bad = hs_textproto_unquote(&p->lexer.token, &bytes);
        if (bad) {
            set_error(p, "in this string there is %s", bad);
        } else if (field->type == PROTOBUF_C_TYPE_STRING && bytes.bytes > 0 &&
                   memchr(hs_buf_text(&bytes), 0, bytes.bytes)) {
            set_error(p, "a NUL in a text");
        }
        hs_textproto_lexer_next(&p->lexer);
    }
    if (p->result == 0) {
        put_bytes(out, field, &bytes);
    }
    hs_buf_deinit(&bytes);
}

/* Reads a whole number in [min, max]; negative ones are stored as two's complement. */
static bool read_whole(struct parse *p, const char *name, int64_t min, uint64_t max,
                       uint64_t *ret_value)
{
    char text[NUMBER_BYTES_MAX];
    char *end;
    bool is_negative = take_mark(p, '-');
    if (p->lexer.token.kind != HS_TEXTPROTO_TOKEN_NUMBER) {
        expected(p, "a whole number");
        return false;
    }
    if (!copy_token(p, text, sizeof(text))) {
        return false;
    }
    errno = 0;
    uint64_t value = strtoull(text, &end, 0);
    if (*end) {
        set_error(p, "'%s' is not a whole number", text);
        return false;
    }
    uint64_t limit = is_negative ? (uint64_t)0 - (uint64_t)min : max;
    if (errno == ERANGE || value > limit) {
        set_error(p, "%s%s does not fit in %s", is_negative ? "-" : "", text, name);
        return false;
    }
    *ret_value = is_negative ? (uint64_t)0 - value : value;
    hs_textproto_lexer_next(&p->lexer);
    return true;
}

static bool read_bool(struct parse *p, uint64_t *ret_value)
{
    static const char *const words[] = { "false", "true", "False", "True", "f", "t", "0", "1" };
    char text[16];
    if (p->lexer.token.bytes < sizeof(text) && copy_token(p, text, sizeof(text))) {
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
            if (strcmp(text, words[i]) == 0) {
                *ret_value = i % 2;
                hs_textproto_lexer_next(&p->lexer);
                return true;
            }
        }
    }
    expected(p, "true or false");
    return false;
}

static bool read_enum(struct parse *p, const ProtobufCFieldDescriptor *field, uint64_t *ret_value)
{
    const ProtobufCEnumDescriptor *descriptor = field->descriptor;
    char text[NAME_BYTES_MAX];
    if (p->lexer.token.kind != HS_TEXTPROTO_TOKEN_NAME) {
        return read_whole(p, field->name, INT32_MIN, INT32_MAX, ret_value);
    }
    if (!copy_token(p, text, sizeof(text))) {
        return false;
    }
    const ProtobufCEnumValue *value =
        protobuf_c_enum_descriptor_get_value_by_name(descriptor, text);
    if (!value) {
        const char *names[FIELDS_MAX];
        size_t count = 0;
        for (unsigned i = 0; i < descriptor->n_value_names && count < FIELDS_MAX; i++) {
            names[count++] = descriptor->values_by_name[i].name;
        }
        const char *near = hs_suggest_nearest(text, names, count);
        set_error(p, "%s has no value '%s'%s%s%s", field->name, text,
                  near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
        return false;
    }
    *ret_value = (uint64_t)(int64_t)value->value;
    hs_textproto_lexer_next(&p->lexer);
    return true;
}

static bool read_real(struct parse *p, double *ret_value)
{
    char text[NUMBER_BYTES_MAX];
    char *end;
    bool is_negative = take_mark(p, '-');
    if (p->lexer.token.kind != HS_TEXTPROTO_TOKEN_NUMBER &&
        p->lexer.token.kind != HS_TEXTPROTO_TOKEN_NAME) {
        expected(p, "a number");
        return false;
    }
    if (!copy_token(p, text, sizeof(text))) {
        return false;
    }
    double value = strtod(text, &end);
    end += *end == 'f' || *end == 'F';
    if (end == text || *end) {
        set_error(p, "'%s' is not a number", text);
        return false;
    }
    *ret_value = is_negative ? -value : value;
    hs_textproto_lexer_next(&p->lexer);
    return true;
}

static void read_number(struct parse *p, const ProtobufCFieldDescriptor *field, struct hs_buf *out)
{
    bool is_64 = field->type == PROTOBUF_C_TYPE_INT64 || field->type == PROTOBUF_C_TYPE_SINT64 ||
                 field->type == PROTOBUF_C_TYPE_SFIXED64 || field->type == PROTOBUF_C_TYPE_UINT64 ||
                 field->type == PROTOBUF_C_TYPE_FIXED64;
    bool is_unsigned =
        field->type == PROTOBUF_C_TYPE_UINT32 || field->type == PROTOBUF_C_TYPE_UINT64 ||
        field->type == PROTOBUF_C_TYPE_FIXED32 || field->type == PROTOBUF_C_TYPE_FIXED64;
    int64_t min = is_unsigned ? 0 : is_64 ? INT64_MIN : INT32_MIN;
    uint64_t max = is_unsigned ? (is_64 ? UINT64_MAX : UINT32_MAX)
                               : (is_64 ? (uint64_t)INT64_MAX : (uint64_t)INT32_MAX);
    uint64_t value;
    if (!read_whole(p, field->name, min, max, &value)) {
        return;
    }
    if (field->type == PROTOBUF_C_TYPE_FIXED32 || field->type == PROTOBUF_C_TYPE_SFIXED32) {
        put_tag(out, field, WIRE_32);
        put_fixed(out, value, 4);
    } else if (field->type == PROTOBUF_C_TYPE_FIXED64 || field->type == PROTOBUF_C_TYPE_SFIXED64) {
        put_tag(out, field, WIRE_64);
        put_fixed(out, value, 8);
    } else {
        bool is_zigzag =
            field->type == PROTOBUF_C_TYPE_SINT32 || field->type == PROTOBUF_C_TYPE_SINT64;
        put_tag(out, field, WIRE_VARINT);
        put_varint(out, is_zigzag ? value << 1 ^ (value >> 63 ? UINT64_MAX : 0) : value);
    }
}

static void read_float(struct parse *p, const ProtobufCFieldDescriptor *field, struct hs_buf *out)
{
    double value;
    uint64_t bits = 0;
    if (!read_real(p, &value)) {
        return;
    }
    if (field->type == PROTOBUF_C_TYPE_DOUBLE) {
        memcpy(&bits, &value, sizeof(value));
        put_tag(out, field, WIRE_64);
        put_fixed(out, bits, 8);
    } else {
        float single = (float)value;
        memcpy(&bits, &single, sizeof(single));
        put_tag(out, field, WIRE_32);
        put_fixed(out, bits, 4);
    }
}

static void read_scalar(struct parse *p, const ProtobufCFieldDescriptor *field, struct hs_buf *out)
{
    uint64_t value = 0;
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
        read_string(p, field, out);
        break;
    case PROTOBUF_C_TYPE_BOOL:
    case PROTOBUF_C_TYPE_ENUM:
        if (field->type == PROTOBUF_C_TYPE_BOOL ? read_bool(p, &value)
                                                : read_enum(p, field, &value)) {
            put_tag(out, field, WIRE_VARINT);
            put_varint(out, value);
        }
        break;
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_DOUBLE:
        read_float(p, field, out);
        break;
    default:
        read_number(p, field, out);
        break;
    }
}

/* --- fields ----------------------------------------------------------------------------------- */

/* Takes an opening bracket and returns the closing one, '}' or '>'; 0: the token does not open a
 * message. */
static char take_opening(struct parse *p)
{
    return take_mark(p, '{') ? '}' : take_mark(p, '<') ? '>' : 0;
}

static void read_value(struct parse *p, const ProtobufCFieldDescriptor *field, unsigned depth,
                       struct hs_buf *out)
{
    if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
        read_scalar(p, field, out);
        return;
    }
    if (depth >= HS_TEXTPROTO_DEPTH_MAX) {
        set_error(p, "messages are nested too deep here");
        return;
    }
    char end = take_opening(p);
    if (!end) {
        expected(p, "'{'");
        return;
    }
    struct hs_buf inner = HS_BUF_INIT;
    read_fields(p, field->descriptor, end, depth + 1, &inner);
    if (p->result == 0) {
        put_bytes(out, field, &inner);
    }
    hs_buf_deinit(&inner);
}

static void read_values(struct parse *p, const ProtobufCFieldDescriptor *field, unsigned depth,
                        struct hs_buf *out)
{
    bool is_opening = is_mark(p, '{') || is_mark(p, '<');
    if (!take_mark(p, ':') && !(field->type == PROTOBUF_C_TYPE_MESSAGE && is_opening)) {
        expected(p, field->type == PROTOBUF_C_TYPE_MESSAGE ? "'{'" : "':'");
        return;
    }
    if (!is_mark(p, '[')) {
        read_value(p, field, depth, out);
        return;
    }
    if (field->label != PROTOBUF_C_LABEL_REPEATED) {
        set_error(p, "%s takes one value, not a list", field->name);
        return;
    }
    hs_textproto_lexer_next(&p->lexer);
    if (take_mark(p, ']')) {
        return;
    }
    do {
        read_value(p, field, depth, out);
    } while (p->result == 0 && take_mark(p, ','));
    if (p->result == 0 && !take_mark(p, ']')) {
        expected(p, "',' or ']'");
    }
}

/* Skips the value of an unknown field. Brackets only need to match in number. */
static void skip_value(struct parse *p)
{
    unsigned open = 0;
    bool has_value = false;
    take_mark(p, ':');
    for (;;) {
        const struct hs_textproto_token *token = &p->lexer.token;
        char c = token->kind == HS_TEXTPROTO_TOKEN_MARK ? *token->text : 0;
        bool is_opening = c == '{' || c == '<' || c == '[';
        bool is_closing = c == '}' || c == '>' || c == ']';
        if (token->kind == HS_TEXTPROTO_TOKEN_END || token->kind == HS_TEXTPROTO_TOKEN_BAD ||
            (open == 0 && is_closing && !has_value)) {
            expected(p, "a value");
            return;
        }
        open += is_opening;
        open -= is_closing;
        bool is_string = token->kind == HS_TEXTPROTO_TOKEN_STRING;
        has_value = c != '-';
        hs_textproto_lexer_next(&p->lexer);
        if (open == 0 && has_value &&
            !(is_string && p->lexer.token.kind == HS_TEXTPROTO_TOKEN_STRING)) {
            return;
        }
    }
}

/* Handles a field that the message does not have. */
static void read_unknown(struct parse *p, const ProtobufCMessageDescriptor *message,
                         const char *name, const struct hs_textproto_token *where)
{
    const struct hs_textproto_reader *r = p->reader;
    if (r && r->is_known && r->is_known(r->ctx, message->short_name, name)) {
        skip_value(p);
        if (p->result == 0 && r->on_skipped) {
            r->on_skipped(r->ctx, message->short_name, name, where->line);
        }
        return;
    }
    const char *names[FIELDS_MAX];
    size_t count = 0;
    for (unsigned i = 0; i < message->n_fields && count < FIELDS_MAX; i++) {
        names[count++] = message->fields[i].name;
    }
    const char *near = hs_suggest_nearest(name, names, count);
    p->lexer.token = *where;
    set_error(p, "%s has no field '%s'%s%s%s", message->short_name, name,
              near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static void read_field(struct parse *p, const ProtobufCMessageDescriptor *message, unsigned depth,
                       uint64_t *seen, struct hs_buf *out)
{
    char name[NAME_BYTES_MAX];
    struct hs_textproto_token where = p->lexer.token;
    if (where.kind != HS_TEXTPROTO_TOKEN_NAME) {
        if (is_mark(p, '[')) {
            set_error(p, "%s has no extensions", message->short_name);
        }
        expected(p, "the name of a field");
        return;
    }
    if (!copy_token(p, name, sizeof(name))) {
        return;
    }
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field_by_name(message, name);
    hs_textproto_lexer_next(&p->lexer);
    if (!field) {
        read_unknown(p, message, name, &where);
        return;
    }
    size_t idx = (size_t)(field - message->fields);
    if (field->label != PROTOBUF_C_LABEL_REPEATED && idx < FIELDS_MAX) {
        if (*seen >> idx & 1) {
            p->lexer.token = where;
            set_error(p, "%s is given twice here, and may be given only once", name);
            return;
        }
        *seen |= UINT64_C(1) << idx;
    }
    read_values(p, field, depth, out);
}

/* Reads fields up to and including the token `end`; 0: up to the end of the text. */
static void read_fields(struct parse *p, const ProtobufCMessageDescriptor *message, char end,
                        unsigned depth, struct hs_buf *out)
{
    uint64_t seen = 0;
    while (p->result == 0) {
        if (end ? take_mark(p, end) : p->lexer.token.kind == HS_TEXTPROTO_TOKEN_END) {
            return;
        }
        if (end && p->lexer.token.kind == HS_TEXTPROTO_TOKEN_END) {
            set_error(p, "the text ends where '%c' was expected", end);
            return;
        }
        read_field(p, message, depth, &seen, out);
        if (p->result == 0 && !take_mark(p, ',')) {
            take_mark(p, ';');
        }
    }
}

int hs_textproto_read(const ProtobufCMessageDescriptor *descriptor,
                      const struct hs_textproto_reader *reader, const char *text, size_t bytes,
                      ProtobufCMessage **ret_message, struct hs_textproto_error *ret_error)
{
    struct parse p = { .reader = reader, .error = ret_error };
    struct hs_buf out = HS_BUF_INIT;
    hs_textproto_lexer_init(&p.lexer, text, bytes);
    read_fields(&p, descriptor, 0, 0, &out);
    int r = p.result;
    if (r == 0) {
        r = out.err;
    }
    if (r == 0) {
        *ret_message = protobuf_c_message_unpack(descriptor, NULL, out.bytes,
                                                 (const uint8_t *)hs_buf_text(&out));
        r = *ret_message ? 0 : -ENOMEM;
    }
    hs_buf_deinit(&out);
    return r;
}
