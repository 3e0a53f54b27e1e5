/*
 * Words of protobuf's text form: see textproto.h.
 *
 * Holds     `token` is the next word, and lies in the text; the text needs no NUL at its end.
 * Fails     a word that is none is HS_TEXTPROTO_TOKEN_BAD, with the reason in `bad`.
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
    unsigned line, column; /* of `at` */
    struct hs_textproto_token token;
    const char *bad;
};

/* The first word is there then. */
void hs_textproto_lexer_init(struct hs_textproto_lexer *lexer, const char *text, size_t bytes);
void hs_textproto_lexer_next(struct hs_textproto_lexer *lexer);

/* What a STRING stands for is added to `out`. NULL, or what is wrong with it. */
const char *hs_textproto_unquote(const struct hs_textproto_token *token, struct hs_buf *out);
