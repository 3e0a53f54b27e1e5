/*
 * SQL text as tokens: enough to split statements and to put text for text, and no more.
 *
 * SQLite parses; this only has to know what is inside a string or a comment and what is not, by SQLite's own
 * rules, so that a semicolon or a `name!` in one of those is left alone. Any text is a run of tokens, broken
 * text too: an unterminated string is a token to its end, and SQLite says what is wrong with it.
 *
 * Holds     tokens are at least one byte long, but for END, and lie one behind the other.
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
    HS_SQL_TOKEN_NUMBER,   /* and blobs: x'00' */
    HS_SQL_TOKEN_VARIABLE, /* $x, with its dollar */
    HS_SQL_TOKEN_SIGN,     /* one byte of anything else */
};

struct hs_sql_token {
    enum hs_sql_token_kind kind;
    size_t begin_off, bytes;
};

/* The token at text[off], which is SPACE where there is space. */
struct hs_sql_token hs_sql_token_at(const char *text, size_t text_bytes, size_t off);

/* The same behind all space. */
struct hs_sql_token hs_sql_token_solid(const char *text, size_t text_bytes, size_t off);

/* Is it this word, in any case, or this sign? */
bool hs_sql_token_is(const char *text, struct hs_sql_token token, const char *word);

/* Where a statement that begins at `off` ends: behind its semicolon, or at the end of the text. */
size_t hs_sql_token_statement_end(const char *text, size_t text_bytes, size_t off,
                                  bool *ret_is_complete);

/* The text without what is quoted around it, "a""b" as a"b; to be freed. NULL: no memory. */
char *hs_sql_token_name(const char *text, struct hs_sql_token token);
