/*
 * Protobuf's text format, read and written for every message type that protobuf-c knows.
 *
 * The reader follows the message's descriptor. It turns the text into the binary form, which
 * protobuf-c then unpacks, so that the reader contains nothing about any particular message. It
 * understands comments that begin with '#', both kinds of quotes with all escapes, strings in
 * several parts, {} and <>, lists [a, b], the separators ',' and ';', decimal, octal and
 * hexadecimal numbers, and enums by name and by number.
 *
 * A field that the message does not have is an error, and the error suggests the nearest name. The
 * exception are fields that the caller knows from other versions of the format: the reader skips
 * them and reports them to the caller.
 *
 * Ensures   text that hs_textproto_write() wrote reads back as an equal message.
 * Threads   no state.
 * Fails     HS_TEXTPROTO_E_WRONG with the place and a message; -ENOMEM. Messages nest at most
 *           HS_TEXTPROTO_DEPTH_MAX levels deep.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

#include "util/buf.h"

#define HS_TEXTPROTO_E_WRONG   1
#define HS_TEXTPROTO_DEPTH_MAX 64

struct hs_textproto_error {
    unsigned line, column; /* both count from 1 */
    char text[320];
};

struct hs_textproto_reader {
    /* Is this a field that other versions of the message have, and that can be left out without
     * harm? NULL: there is no such field. */
    bool (*is_known)(void *ctx, const char *message, const char *field);
    /* Called for each field that was left out. NULL: the caller does not need to know. */
    void (*on_skipped)(void *ctx, const char *message, const char *field, unsigned line);
    void *ctx;
};

/* Reads `text` as a message of this type. The caller frees the message with
 * protobuf_c_message_free_unpacked(). `reader` may be NULL. Returns 0; HS_TEXTPROTO_E_WRONG with
 * *ret_error set; or -ENOMEM. */
int hs_textproto_read(const ProtobufCMessageDescriptor *descriptor,
                      const struct hs_textproto_reader *reader, const char *text, size_t bytes,
                      ProtobufCMessage **ret_message, struct hs_textproto_error *ret_error);

/* Appends the message as text. Fields are in the descriptor's order, each level is indented by two
 * spaces. Fields that the descriptor does not have are left out. */
void hs_textproto_write(const ProtobufCMessage *message, struct hs_buf *buf);

/* Appends `text` in double quotes; bytes that are not printable are escaped. */
void hs_textproto_quote(struct hs_buf *buf, const void *text, size_t bytes);
