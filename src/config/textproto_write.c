/* Writes messages as text: see textproto.h. */
#include <inttypes.h>
#include <string.h>

#include "config/textproto.h"

void hs_textproto_quote(struct hs_buf *buf, const void *text, size_t bytes)
{
    const unsigned char *at = text;
    hs_buf_char(buf, '"');
    for (size_t i = 0; i < bytes; i++) {
        if (at[i] == '"' || at[i] == '\\') {
            hs_buf_char(buf, '\\');
            hs_buf_char(buf, (char)at[i]);
        } else if (at[i] == '\n') {
            hs_buf_str(buf, "\\n");
        } else if (at[i] < 0x20 || at[i] >= 0x7F) {
            hs_buf_printf(buf, "\\%03o", at[i]);
        } else {
            hs_buf_char(buf, (char)at[i]);
        }
    }
    hs_buf_char(buf, '"');
}

static void write_enum(const ProtobufCFieldDescriptor *field, int value, struct hs_buf *buf)
{
    const ProtobufCEnumValue *it = protobuf_c_enum_descriptor_get_value(field->descriptor, value);
    if (it) {
        hs_buf_str(buf, it->name);
    } else {
        hs_buf_printf(buf, "%d", value);
    }
}

static void write_scalar(const ProtobufCFieldDescriptor *field, const void *value,
                         struct hs_buf *buf)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        hs_buf_printf(buf, "%" PRId32, *(const int32_t *)value);
        break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        hs_buf_printf(buf, "%" PRId64, *(const int64_t *)value);
        break;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        hs_buf_printf(buf, "%" PRIu32, *(const uint32_t *)value);
        break;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        hs_buf_printf(buf, "%" PRIu64, *(const uint64_t *)value);
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        hs_buf_printf(buf, "%.9g", (double)*(const float *)value);
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        hs_buf_printf(buf, "%.17g", *(const double *)value);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        hs_buf_str(buf, *(const protobuf_c_boolean *)value ? "true" : "false");
        break;
    case PROTOBUF_C_TYPE_ENUM:
        write_enum(field, *(const int *)value, buf);
        break;
    case PROTOBUF_C_TYPE_STRING: {
        const char *text = *(char *const *)value;
        hs_textproto_quote(buf, text ? text : "", text ? strlen(text) : 0);
        break;
    }
    case PROTOBUF_C_TYPE_BYTES: {
        const ProtobufCBinaryData *data = value;
        hs_textproto_quote(buf, data->data, data->len);
        break;
    }
    case PROTOBUF_C_TYPE_MESSAGE:
        break;
    }
}

static void write_message(const ProtobufCMessage *message, unsigned depth, struct hs_buf *buf);

static void write_field(const ProtobufCFieldDescriptor *field, const void *value, unsigned depth,
                        struct hs_buf *buf)
{
    hs_buf_repeat(buf, ' ', 2 * (size_t)depth);
    hs_buf_str(buf, field->name);
    if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
        hs_buf_str(buf, ": ");
        write_scalar(field, value, buf);
        hs_buf_char(buf, '\n');
        return;
    }
    hs_buf_str(buf, " {\n");
    write_message(*(ProtobufCMessage *const *)value, depth + 1, buf);
    hs_buf_repeat(buf, ' ', 2 * (size_t)depth);
    hs_buf_str(buf, "}\n");
}

static size_t value_bytes(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    case PROTOBUF_C_TYPE_BOOL:
        return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    default:
        return 4;
    }
}

/* For the kinds of fields that have no quantifier, the pointer tells whether the field is set. */
static bool is_present(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    const char *base = (const char *)message;
    if (field->label == PROTOBUF_C_LABEL_REQUIRED) {
        return true;
    }
    if (field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_MESSAGE) {
        const void *pointer = *(void *const *)(const void *)(base + field->offset);
        return pointer && pointer != field->default_value;
    }
    return *(const protobuf_c_boolean *)(const void *)(base + field->quantifier_offset) != 0;
}

static void write_message(const ProtobufCMessage *message, unsigned depth, struct hs_buf *buf)
{
    const ProtobufCMessageDescriptor *descriptor = message->descriptor;
    const char *base = (const char *)message;
    for (unsigned i = 0; i < descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &descriptor->fields[i];
        const void *at = base + field->offset;
        if (field->label == PROTOBUF_C_LABEL_REPEATED) {
            size_t count = *(const size_t *)(const void *)(base + field->quantifier_offset);
            const char *values = *(char *const *)at;
            for (size_t n = 0; n < count; n++) {
                write_field(field, values + n * value_bytes(field->type), depth, buf);
            }
        } else if (is_present(message, field)) {
            write_field(field, at, depth, buf);
        }
    }
}

void hs_textproto_write(const ProtobufCMessage *message, struct hs_buf *buf)
{
    write_message(message, 0, buf);
}
