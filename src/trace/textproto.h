/*
 * Protobuf's text form, read and written for any message that protobuf-c knows.
 *
 * The reader follows the descriptors and turns the text into the binary form, which protobuf-c then unpacks: so there
 * is nothing in it that knows a message. Understood: comments from '#', both quotes with all escapes, strings in
 * several parts, {} and <>, [a, b], separators ',' and ';', numbers decimal, octal and hexadecimal, enums by name and
 * by number.
 *
 * A field that the message does not have is an error with the nearest name, unless the caller knows it as one that
 * others have: then it is skipped, and told.
 *
 * Holds     what hs_textproto_write() wrote is read as an equal message.
 * Threads   no state.
 * Fails     HS_TEXTPROTO_E_WRONG with place and words; -ENOMEM. Messages nest HS_TEXTPROTO_DEPTH_MAX deep at most.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

#include "util/buf.h"

#define HS_TEXTPROTO_E_WRONG   1
#define HS_TEXTPROTO_DEPTH_MAX 64

struct hs_textproto_error {
    unsigned line, column; /* from 1 */
    char text[320];
};

struct hs_textproto_reader {
    /* Is this a field of the message that is none of ours, and harmless to leave out? NULL: none is. */
    bool (*is_known)(void *ctx, const char *message, const char *field);
    /* One was left out. NULL: nobody wants to know. */
    void (*on_skipped)(void *ctx, const char *message, const char *field, unsigned line);
    void *ctx;
};

/* To be freed with protobuf_c_message_free_unpacked(). `reader` may be NULL. */
int hs_textproto_read(const ProtobufCMessageDescriptor *descriptor,
                      const struct hs_textproto_reader *reader, const char *text, size_t bytes,
                      ProtobufCMessage **ret_message, struct hs_textproto_error *ret_error);

/* Fields in the order of the descriptor, two blanks a level. What the message does not know is left out. */
void hs_textproto_write(const ProtobufCMessage *message, struct hs_buf *buf);

/* Text in double quotes, whatever its bytes. */
void hs_textproto_quote(struct hs_buf *buf, const void *text, size_t bytes);
