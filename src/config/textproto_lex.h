/*
 * Tokens of protobuf's text format; see textproto.h.
 *
 * Ensures   `token` is the next token and points into the text. The text needs no NUL at its end.
 * Fails     text that is not a token has the kind HS_TEXTPROTO_TOKEN_BAD, and `bad` says why.
 */
#pragma once

#include <stddef.h>

#include "util/buf.h"

enum hs_textproto_token_kind {
    HS_TEXTPROTO_TOKEN_END,
    HS_TEXTPROTO_TOKEN_NAME,
    HS_TEXTPROTO_TOKEN_NUMBER, /* without its sign */
    HS_TEXTPROTO_TOKEN_STRING, /* with its quotes */
    HS_TEXTPROTO_TOKEN_MARK,   /* one character */
    HS_TEXTPROTO_TOKEN_BAD,
};

struct hs_textproto_token {
    enum hs_textproto_token_kind kind;
    const char *text;
    size_t bytes;
    unsigned line, column;
};

struct hs_textproto_lexer {
    const char *at, *end;
    unsigned line, column; /* position of `at` */
    struct hs_textproto_token token;
    const char *bad;
};

/* Starts at the beginning of `text` and reads the first token. */
void hs_textproto_lexer_init(struct hs_textproto_lexer *lexer, const char *text, size_t bytes);
/* Reads the token after the current one. */
void hs_textproto_lexer_next(struct hs_textproto_lexer *lexer);

/* Appends the value of a STRING token to `out`. Returns NULL, or a text that says what is wrong. */
const char *hs_textproto_unquote(const struct hs_textproto_token *token, struct hs_buf *out);
