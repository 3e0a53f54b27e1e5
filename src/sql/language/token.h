/*
 * Splits SQL text into tokens, as far as it is needed to split statements and to substitute text.
 *
 * SQLite parses the statements. The tokens only have to show what is inside a string or a comment
 * and what is not, by SQLite's own rules, so that a semicolon or a `name!` inside one of these
 * stays unchanged. Any text is a sequence of tokens, even malformed text: an unterminated string is
 * one token up to the end, and SQLite reports the error.
 *
 * Holds     all tokens except END are at least one byte long, and they are adjacent.
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum hs_sql_token_kind {
    HS_SQL_TOKEN_END,
    HS_SQL_TOKEN_SPACE, /* blanks and comments */
    HS_SQL_TOKEN_WORD,
    HS_SQL_TOKEN_NAME,     /* "x", `x` or [x] */
    HS_SQL_TOKEN_STRING,   /* 'x' */
    HS_SQL_TOKEN_NUMBER,   /* numbers, and blobs: x'00' */
    HS_SQL_TOKEN_VARIABLE, /* $x, including the dollar sign */
    HS_SQL_TOKEN_SIGN,     /* one byte of anything else */
};

struct hs_sql_token {
    enum hs_sql_token_kind kind;
    size_t begin_off, bytes;
};

/* The token at text[off]; its kind is SPACE if there are blanks or a comment. */
struct hs_sql_token hs_sql_token_at(const char *text, size_t text_bytes, size_t off);

/* The first token at or after `off` that is not SPACE. */
struct hs_sql_token hs_sql_token_solid(const char *text, size_t text_bytes, size_t off);

/* Is the token this word, in upper or lower case, or this sign? */
bool hs_sql_token_is(const char *text, struct hs_sql_token token, const char *word);

/* The end of the statement that begins at `off`: after its semicolon, or the end of the text. */
size_t hs_sql_token_statement_end(const char *text, size_t text_bytes, size_t off,
                                  bool *ret_is_complete);

/* The name without its quotes, so that "a""b" becomes a"b; the caller frees it. NULL: out of
 * memory. */
char *hs_sql_token_name(const char *text, struct hs_sql_token token);
