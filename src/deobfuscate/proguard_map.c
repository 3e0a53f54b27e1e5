/*
 * See proguard_map.h. A line is checked as a whole before the sink gets anything of it.
 */
#include "deobfuscate/proguard_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rt/check.h"
#include "util/intern.h"

#define BLOCK_BYTES ((size_t)64 << 10)

struct parser {
    const struct hs_proguard_sink *sink;
    struct hs_proguard_error *error;
    uint64_t line;
    bool has_class;
    struct hs_intern classes; /* new names, each of which may occur once */
};

static int fail(struct parser *parser, const char *what)
{
    *parser->error = (struct hs_proguard_error){ .line = parser->line, .what = what };
    return HS_PROGUARD_E_LINE;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct hs_proguard_text trimmed(const char *at, const char *end)
{
    while (at < end && is_space(*at)) {
        at++;
    }
    while (end > at && is_space(end[-1])) {
        end--;
    }
    return (struct hs_proguard_text){ at, (size_t)(end - at) };
}

static bool has_space(struct hs_proguard_text text)
{
    for (size_t i = 0; i < text.bytes; i++) {
        if (is_space(text.at[i]) || text.at[i] == '\0') {
            return true;
        }
    }
    return text.bytes == 0;
}

/* Splits a line at its last " -> ". */
static bool split_arrow(struct hs_proguard_text line, struct hs_proguard_text *ret_left,
                        struct hs_proguard_text *ret_right)
{
    for (size_t i = line.bytes; i >= 4; i--) {
        if (memcmp(line.at + i - 4, " -> ", 4) == 0) {
            *ret_left = trimmed(line.at, line.at + i - 4);
            *ret_right = trimmed(line.at + i, line.at + line.bytes);
            return true;
        }
    }
    return false;
}

/* Takes a number and the colon behind it from the front of a text. */
static bool take_number(struct hs_proguard_text *text, uint32_t *ret_number)
{
    uint64_t number = 0;
    size_t i = 0;
    for (; i < text->bytes && text->at[i] >= '0' && text->at[i] <= '9'; i++) {
        number = number * 10 + (uint64_t)(text->at[i] - '0');
        if (number > UINT32_MAX) {
            return false;
        }
    }
    if (i == 0 || i == text->bytes || text->at[i] != ':') {
        return false;
    }
    *ret_number = (uint32_t)number;
    *text = (struct hs_proguard_text){ text->at + i + 1, text->bytes - i - 1 };
    return true;
}

/* Takes a colon and a number from the end of a text. */
static bool take_last_number(struct hs_proguard_text *text, uint32_t *ret_number)
{
    size_t i = text->bytes;
    uint64_t number = 0, unit = 1;
    for (; i > 0 && text->at[i - 1] >= '0' && text->at[i - 1] <= '9'; i--) {
        if (text->bytes - i >= 10) {
            return false;
        }
        number += unit * (uint64_t)(text->at[i - 1] - '0');
        unit *= 10;
    }
    if (i == text->bytes || i == 0 || text->at[i - 1] != ':' || number > UINT32_MAX) {
        return false;
    }
    *ret_number = (uint32_t)number;
    text->bytes = i - 1;
    return true;
}

static int take_class(struct parser *parser, struct hs_proguard_text line)
{
    struct hs_proguard_text original, obfuscated;
    uint32_t id;
    bool is_new;
    if (!split_arrow(line, &original, &obfuscated)) {
        return fail(parser, "a class without ' -> '");
    }
    if (obfuscated.bytes == 0 || obfuscated.at[obfuscated.bytes - 1] != ':') {
        return fail(parser, "a class without ':' behind its new name");
    }
    obfuscated.bytes--;
    if (has_space(original) || has_space(obfuscated)) {
        return fail(parser, "a class whose name is empty or has a blank in it");
    }
    int err = hs_intern_put(&parser->classes, hs_intern_hash(obfuscated.at, obfuscated.bytes), &id,
                            &is_new);
    if (err == 0 && !is_new) {
        return fail(parser, "a second class with this new name: is this two maps in one file?");
    }
    parser->has_class = true;
    return err ? err : parser->sink->take_class(parser->sink->ctx, original, obfuscated);
}

/* The lines behind the arguments: ":20", or ":20:23". Without them, lines did not change. */
static bool take_source(struct hs_proguard_text *text, struct hs_proguard_member *member)
{
    uint32_t last, first;
    member->source_first = member->line_first;
    member->source_last = member->line_last;
    if (text->bytes > 0 && text->at[text->bytes - 1] == ')') {
        return true;
    }
    if (!take_last_number(text, &last)) {
        return false;
    }
    bool has_both = text->bytes > 0 && text->at[text->bytes - 1] != ')';
    if (has_both && !take_last_number(text, &first)) {
        return false;
    }
    member->source_first = has_both ? first : last;
    member->source_last = last;
    return text->bytes > 0 && text->at[text->bytes - 1] == ')';
}

static int take_member(struct parser *parser, struct hs_proguard_text line)
{
    struct hs_proguard_member member = { 0 };
    struct hs_proguard_text left;
    if (!parser->has_class) {
        return fail(parser, "a member before the first class");
    }
    if (!split_arrow(line, &left, &member.obfuscated)) {
        return fail(parser, "a member without ' -> '");
    }
    if (has_space(member.obfuscated)) {
        return fail(parser, "a member whose new name is empty or has a blank in it");
    }
    if (take_number(&left, &member.line_first)) {
        member.has_lines = true;
        /* ProGuard writes one number where the last line is the first. */
        member.line_last = member.line_first;
        (void)take_number(&left, &member.line_last);
    }
    const char *open = memchr(left.at, '(', left.bytes);
    member.is_method = open != NULL;
    if (open && !take_source(&left, &member)) {
        return fail(parser, "a method whose arguments or lines are not complete");
    }
    const char *end = open ? open : left.at + left.bytes;
    const char *blank = memchr(left.at, ' ', (size_t)(end - left.at));
    if (!blank) {
        return fail(parser, "a member without a type");
    }
    member.original = trimmed(blank, end);
    if (has_space(member.original)) {
        return fail(parser, "a member whose name is empty or has a blank in it");
    }
    if (member.has_lines && member.line_last < member.line_first) {
        return fail(parser, "a member whose last line is before its first line");
    }
    return parser->sink->take_member(parser->sink->ctx, &member);
}

/* Takes a line, without its newline. */
static int take_line(struct parser *parser, const char *at, size_t bytes)
{
    struct hs_proguard_text line = trimmed(at, at + bytes);
    parser->line++;
    if (line.bytes == 0 || line.at[0] == '#') {
        return 0;
    }
    if (line.bytes > HS_PROGUARD_LINE_MAX) {
        return fail(parser, "a line that is too long");
    }
    return is_space(at[0]) ? take_member(parser, line) : take_class(parser, line);
}

/* Takes the complete lines of a text, and of the last piece of a file the rest too. */
static int take_lines(struct parser *parser, const char *text, size_t bytes, bool is_last,
                      size_t *ret_taken)
{
    size_t at = 0;
    int err = 0;
    while (at < bytes && err == 0) {
        const char *stop = memchr(text + at, '\n', bytes - at);
        if (!stop && !is_last) {
            break;
        }
        size_t line_bytes = stop ? (size_t)(stop - text) - at : bytes - at;
        err = take_line(parser, text + at, line_bytes);
        at += line_bytes + (stop ? 1 : 0);
    }
    *ret_taken = at;
    HS_ASSERT(at <= bytes);
    return err;
}

int hs_proguard_map_parse(const char *text, size_t bytes, const struct hs_proguard_sink *sink,
                          struct hs_proguard_error *ret_error)
{
    struct parser parser = { .sink = sink, .error = ret_error };
    size_t taken;
    *ret_error = (struct hs_proguard_error){ 0 };
    int err = bytes > 0 ? take_lines(&parser, text, bytes, true, &taken) : 0;
    hs_intern_deinit(&parser.classes);
    return err;
}

/* A block of a file: what is left of the last line, and what was read behind it. */
struct block {
    char *data;
    size_t bytes, capacity_bytes;
};

/* Makes room behind what is left of a line. Of a long comment only the first byte is kept. */
static int make_room(struct parser *parser, struct block *block)
{
    if (block->capacity_bytes - block->bytes >= BLOCK_BYTES) {
        return 0;
    }
    size_t blanks = 0;
    while (blanks < block->bytes && is_space(block->data[blanks])) {
        blanks++;
    }
    if (blanks < block->bytes && block->data[blanks] == '#') {
        block->data[0] = '#';
        block->bytes = 1;
        return 0;
    }
    if (block->bytes > HS_PROGUARD_LINE_MAX) {
        parser->line++;
        return fail(parser, "a line that is too long");
    }
    size_t capacity_bytes = block->bytes * 2 + 2 * BLOCK_BYTES;
    char *data = realloc(block->data, capacity_bytes);
    if (!data) {
        return -ENOMEM;
    }
    block->data = data;
    block->capacity_bytes = capacity_bytes;
    return 0;
}

int hs_proguard_map_read(int fd, const struct hs_proguard_sink *sink,
                         struct hs_proguard_error *ret_error)
{
    struct parser parser = { .sink = sink, .error = ret_error };
    struct block block = { 0 };
    bool is_last = false;
    *ret_error = (struct hs_proguard_error){ 0 };
    int err = 0;
    while (err == 0 && !is_last) {
        size_t taken = 0;
        err = make_room(&parser, &block);
        if (err != 0) {
            break;
        }
        ssize_t got = read(fd, block.data + block.bytes, block.capacity_bytes - block.bytes);
        if (got < 0) {
            err = errno == EINTR ? 0 : -errno;
            continue;
        }
        is_last = got == 0;
        block.bytes += (size_t)got;
        err = take_lines(&parser, block.data, block.bytes, is_last, &taken);
        memmove(block.data, block.data + taken, block.bytes - taken);
        block.bytes -= taken;
    }
    hs_intern_deinit(&parser.classes);
    free(block.data);
    return err;
}
