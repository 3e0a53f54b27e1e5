/* Tokens of protobuf's text format: see textproto_lex.h. */
#include "config/textproto_lex.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static void step(struct hs_textproto_lexer *lexer)
{
    if (*lexer->at == '\n') {
        lexer->line++;
        lexer->column = 1;
    } else {
        lexer->column++;
    }
    lexer->at++;
}

static void skip_blanks(struct hs_textproto_lexer *lexer)
{
    bool is_comment = false;
    while (lexer->at < lexer->end) {
        char c = *lexer->at;
        is_comment = (is_comment || c == '#') && c != '\n';
        if (!is_comment && c != ' ' && c != '\t' && c != '\r' && c != '\n' && c != '\f' &&
            c != '\v') {
            return;
        }
        step(lexer);
    }
}

static void take_string(struct hs_textproto_lexer *lexer)
{
    char quote = *lexer->at;
    step(lexer);
    while (lexer->at < lexer->end && *lexer->at != quote && *lexer->at != '\n') {
        if (*lexer->at == '\\' && lexer->end - lexer->at > 1) {
            step(lexer);
        }
        step(lexer);
    }
    if (lexer->at == lexer->end || *lexer->at != quote) {
        lexer->token.kind = HS_TEXTPROTO_TOKEN_BAD;
        lexer->bad = "this string does not end on its line";
        return;
    }
    step(lexer);
}

/* Takes any number: 12, 0x1f, 017, 1.5e-3, .5, 1f. The reader decides which of them a field
 * accepts. */
static void take_number(struct hs_textproto_lexer *lexer)
{
    char last = 0;
    bool is_hexadecimal = lexer->end - lexer->at > 1 && lexer->at[0] == '0' &&
                          (lexer->at[1] == 'x' || lexer->at[1] == 'X');
    while (lexer->at < lexer->end) {
        char c = *lexer->at;
        bool is_exponent_sign =
            !is_hexadecimal && (c == '-' || c == '+') && (last == 'e' || last == 'E');
        if (!is_digit(c) && !is_letter(c) && c != '.' && !is_exponent_sign) {
            return;
        }
        last = c;
        step(lexer);
    }
}

void hs_textproto_lexer_next(struct hs_textproto_lexer *lexer)
{
    skip_blanks(lexer);
    struct hs_textproto_token *token = &lexer->token;
    *token = (struct hs_textproto_token){ .kind = HS_TEXTPROTO_TOKEN_END,
                                          .text = lexer->at,
                                          .line = lexer->line,
                                          .column = lexer->column };
    if (lexer->at == lexer->end) {
        return;
    }
    char c = *lexer->at;
    if (is_letter(c)) {
        token->kind = HS_TEXTPROTO_TOKEN_NAME;
        while (lexer->at < lexer->end && (is_letter(*lexer->at) || is_digit(*lexer->at))) {
            step(lexer);
        }
    } else if (is_digit(c) || (c == '.' && lexer->end - lexer->at > 1 && is_digit(lexer->at[1]))) {
        token->kind = HS_TEXTPROTO_TOKEN_NUMBER;
        take_number(lexer);
    } else if (c == '"' || c == '\'') {
        token->kind = HS_TEXTPROTO_TOKEN_STRING;
        take_string(lexer);
    } else if (c != '\0' && strchr("{}<>[]:;,-./", c)) {
        token->kind = HS_TEXTPROTO_TOKEN_MARK;
        step(lexer);
    } else {
        token->kind = HS_TEXTPROTO_TOKEN_BAD;
        lexer->bad = "this character has no meaning here";
        step(lexer);
    }
    token->bytes = (size_t)(lexer->at - token->text);
}

void hs_textproto_lexer_init(struct hs_textproto_lexer *lexer, const char *text, size_t bytes)
{
    *lexer = (struct hs_textproto_lexer){ .at = text, .end = text + bytes, .line = 1, .column = 1 };
    hs_textproto_lexer_next(lexer);
}

/* --- escapes ---------------------------------------------------------------------------------- */

static int digit_value(char c)
{
    if (is_digit(c)) {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

/* Reads at most `count_max` digits, and returns how many there were. */
static size_t take_digits(const char *at, const char *end, int base, size_t count_max,
                          uint32_t *ret_value)
{
    size_t count = 0;
    *ret_value = 0;
    while (count < count_max && at + count < end && digit_value(at[count]) < base) {
        *ret_value = *ret_value * (uint32_t)base + (uint32_t)digit_value(at[count]);
        count++;
    }
    return count;
}

static void add_utf8(struct hs_buf *out, uint32_t code)
{
    if (code < 0x80) {
        hs_buf_char(out, (char)code);
        return;
    }
    unsigned more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint8_t heads[] = { 0, 0xC0, 0xE0, 0xF0 };
    hs_buf_char(out, (char)(heads[more] | code >> (6 * more)));
    while (more-- > 0) {
        hs_buf_char(out, (char)(0x80 | (code >> (6 * more) & 0x3F)));
    }
}

/* Decodes the escape behind a backslash, and advances *at past it. Returns NULL or what is
 * wrong. */
static const char *take_escape(const char **at, const char *end, struct hs_buf *out)
{
    static const char letters[] = "abfnrtv\\'\"?", values[] = "\a\b\f\n\r\t\v\\'\"?";
    uint32_t value;
    char c = *(*at)++;
    const char *letter = memchr(letters, c, sizeof(letters) - 1);
    if (letter) {
        hs_buf_char(out, values[letter - letters]);
        return NULL;
    }
    if (c >= '0' && c <= '7') {
        *at += take_digits(*at - 1, end, 8, 3, &value) - 1;
        hs_buf_char(out, (char)value);
        return value > 255 ? "an octal escape above \\377" : NULL;
    }
    size_t wanted = c == 'u' ? 4 : c == 'U' ? 8 : 2;
    if (c != 'x' && c != 'X' && wanted == 2) {
        return "an unknown escape";
    }
    size_t count = take_digits(*at, end, 16, wanted, &value);
    *at += count;
    if (count == 0 || (wanted > 2 && count < wanted)) {
        return "an escape without digits";
    }
    if (wanted == 2) {
        hs_buf_char(out, (char)value);
        return NULL;
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) {
        return "an escape for no character";
    }
    add_utf8(out, value);
    return NULL;
}

const char *hs_textproto_unquote(const struct hs_textproto_token *token, struct hs_buf *out)
{
    const char *at = token->text + 1, *end = token->text + token->bytes - 1;
    const char *wrong = NULL;
    while (at < end && !wrong) {
        if (*at != '\\') {
            hs_buf_char(out, *at++);
        } else if (++at < end) {
            wrong = take_escape(&at, end, out);
        }
    }
    return wrong;
}
