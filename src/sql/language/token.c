/*
 * Tokens of SQL text, by the rules of SQLite's own tokenizer.
 */
#include "sql/language/token.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rt/check.h"

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}

static bool is_word_on(char c)
{
    return is_word(c) || is_digit(c) || c == '$';
}

static size_t comment_end(const char *text, size_t bytes, size_t off)
{
    if (off + 1 < bytes && text[off] == '-' && text[off + 1] == '-') {
        const char *line_end = memchr(text + off, '\n', bytes - off);
        return line_end ? (size_t)(line_end - text) + 1 : bytes;
    }
    if (off + 1 < bytes && text[off] == '/' && text[off + 1] == '*') {
        for (size_t i = off + 2; i + 1 < bytes; i++) {
            if (text[i] == '*' && text[i + 1] == '/') {
                return i + 2;
            }
        }
        return bytes;
    }
    return off;
}

static size_t space_end(const char *text, size_t bytes, size_t off)
{
    for (;;) {
        size_t end = off;
        while (end < bytes && is_space(text[end])) {
            end++;
        }
        end = comment_end(text, bytes, end);
        if (end == off) {
            return off;
        }
        off = end;
    }
}

static size_t quoted_end(const char *text, size_t bytes, size_t off, char quote)
{
    for (size_t i = off + 1; i < bytes; i++) {
        if (text[i] != quote) {
            continue;
        }
        if (quote == ']' || i + 1 >= bytes || text[i + 1] != quote) {
            return i + 1;
        }
        i++;
    }
    return bytes;
}

static size_t word_end(const char *text, size_t bytes, size_t off)
{
    while (off < bytes && is_word_on(text[off])) {
        off++;
    }
    return off;
}

static size_t number_end(const char *text, size_t bytes, size_t off)
{
    while (off < bytes && (is_word_on(text[off]) || text[off] == '.' ||
                           ((text[off] == '+' || text[off] == '-') &&
                            (text[off - 1] == 'e' || text[off - 1] == 'E')))) {
        off++;
    }
    return off;
}

struct hs_sql_token hs_sql_token_at(const char *text, size_t bytes, size_t off)
{
    struct hs_sql_token token = { HS_SQL_TOKEN_END, off, 0 };
    if (off >= bytes) {
        return token;
    }
    char c = text[off];
    size_t end = space_end(text, bytes, off);
    if (end > off) {
        token.kind = HS_SQL_TOKEN_SPACE;
    } else if (c == '\'') {
        token.kind = HS_SQL_TOKEN_STRING;
        end = quoted_end(text, bytes, off, c);
    } else if (c == '"' || c == '`' || c == '[') {
        token.kind = HS_SQL_TOKEN_NAME;
        end = quoted_end(text, bytes, off, c == '[' ? ']' : c);
    } else if ((c == 'x' || c == 'X') && off + 1 < bytes && text[off + 1] == '\'') {
        token.kind = HS_SQL_TOKEN_NUMBER;
        end = quoted_end(text, bytes, off + 1, '\'');
    } else if (is_word(c)) {
        token.kind = HS_SQL_TOKEN_WORD;
        end = word_end(text, bytes, off);
    } else if (is_digit(c) || (c == '.' && off + 1 < bytes && is_digit(text[off + 1]))) {
        token.kind = HS_SQL_TOKEN_NUMBER;
        end = number_end(text, bytes, off + 1);
    } else if (c == '$' && off + 1 < bytes && is_word(text[off + 1])) {
        token.kind = HS_SQL_TOKEN_VARIABLE;
        end = word_end(text, bytes, off + 1);
    } else {
        token.kind = HS_SQL_TOKEN_SIGN;
        end = off + 1;
    }
    token.bytes = end - off;
    HS_ASSERT(token.bytes >= 1 && end <= bytes);
    return token;
}

struct hs_sql_token hs_sql_token_solid(const char *text, size_t bytes, size_t off)
{
    struct hs_sql_token token = hs_sql_token_at(text, bytes, off);
    while (token.kind == HS_SQL_TOKEN_SPACE) {
        token = hs_sql_token_at(text, bytes, token.begin_off + token.bytes);
    }
    return token;
}

bool hs_sql_token_is(const char *text, struct hs_sql_token token, const char *word)
{
    return (token.kind == HS_SQL_TOKEN_WORD || token.kind == HS_SQL_TOKEN_SIGN) &&
           token.bytes == strlen(word) &&
           strncasecmp(text + token.begin_off, word, token.bytes) == 0;
}

/* Statements inside the body of a trigger also end with semicolons; the trigger itself ends after
 * END. */
size_t hs_sql_token_statement_end(const char *text, size_t bytes, size_t off, bool *ret_is_complete)
{
    bool is_trigger = false, is_behind_end = false;
    unsigned solid_count = 0;
    bool is_create = false;
    for (;;) {
        struct hs_sql_token token = hs_sql_token_solid(text, bytes, off);
        if (token.kind == HS_SQL_TOKEN_END) {
            *ret_is_complete = solid_count == 0;
            return bytes;
        }
        off = token.begin_off + token.bytes;
        if (hs_sql_token_is(text, token, ";") && (!is_trigger || is_behind_end)) {
            *ret_is_complete = true;
            return off;
        }
        is_create = solid_count == 0 ? hs_sql_token_is(text, token, "CREATE") : is_create;
        is_trigger = is_trigger || (is_create && solid_count > 0 && solid_count < 3 &&
                                    hs_sql_token_is(text, token, "TRIGGER"));
        is_behind_end = hs_sql_token_is(text, token, "END");
        solid_count++;
    }
}

char *hs_sql_token_name(const char *text, struct hs_sql_token token)
{
    char *name = malloc(token.bytes + 1);
    if (!name) {
        return NULL;
    }
    const char *from = text + token.begin_off;
    size_t bytes = token.bytes, out = 0;
    bool is_quoted = token.kind == HS_SQL_TOKEN_NAME || token.kind == HS_SQL_TOKEN_STRING;
    char quote = !is_quoted ? 0 : from[0] == '[' ? ']' : from[0];
    if (is_quoted) {
        size_t cut = bytes >= 2 && from[bytes - 1] == quote ? 2 : 1;
        from++;
        bytes -= cut;
    }
    for (size_t i = 0; i < bytes; i++) {
        name[out++] = from[i];
        if (is_quoted && from[i] == quote && i + 1 < bytes && from[i + 1] == quote) {
            i++;
        }
    }
    name[out] = '\0';
    return name;
}
