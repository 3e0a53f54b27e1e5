/*
 * Reads the inputs of an archive: see archive.h.
 */
#include "archive.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FIRST_LINE  "heapscope fuzz inputs 1"
#define LAST_LINE   "end"
#define HASH_DIGITS 16

static uint64_t fnv1a(const uint8_t *data, size_t len_bytes)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < len_bytes; i++) {
        hash = (hash ^ data[i]) * 0x100000001b3;
    }
    return hash;
}

/* Decodes in place. Returns the number of bytes, or -1 if a backslash is followed by anything
 * else. */
static ssize_t decode(uint8_t *data, size_t len_bytes)
{
    size_t n = 0;
    for (size_t i = 0; i < len_bytes; i++) {
        uint8_t byte = data[i];
        if (byte == '\\') {
            i++;
            if (i == len_bytes || !strchr("n0\\", data[i]) || data[i] == '\0') {
                return -1;
            }
            byte = data[i] == 'n' ? '\n' : data[i] == '0' ? '\0' : '\\';
        }
        data[n++] = byte;
    }
    return (ssize_t)n;
}

/*
 * Returns 0 if the line is a hash and an input that has this hash; the input's *ret_bytes then
 * begin at line + HASH_DIGITS + 1.
 */
static int read_line(char *line, size_t len_bytes, size_t *ret_bytes)
{
    if (len_bytes <= HASH_DIGITS || line[HASH_DIGITS] != ' ') {
        return -EBADMSG;
    }
    uint8_t *input = (uint8_t *)line + HASH_DIGITS + 1;
    ssize_t n = decode(input, len_bytes - HASH_DIGITS - 1);
    if (n < 0) {
        return -EBADMSG;
    }
    char hash[HASH_DIGITS + 1];
    snprintf(hash, sizeof(hash), "%016" PRIx64, fnv1a(input, (size_t)n));
    if (memcmp(hash, line, HASH_DIGITS) != 0) {
        return -EBADMSG;
    }
    *ret_bytes = (size_t)n;
    return 0;
}

static int is_line(const char *line, size_t len_bytes, const char *expected)
{
    return len_bytes == strlen(expected) && memcmp(line, expected, len_bytes) == 0;
}

long hs_archive_replay(char *text, size_t len_bytes,
                       void (*run)(const uint8_t *input, size_t input_bytes))
{
    long count = -1; /* before the first line */
    char *end = text + len_bytes, *newline;
    for (char *line = text; line < end; line = newline + 1) {
        newline = memchr(line, '\n', (size_t)(end - line));
        if (!newline) {
            return -EBADMSG;
        }
        size_t line_bytes = (size_t)(newline - line), input_bytes;
        if (count == -1) {
            if (!is_line(line, line_bytes, FIRST_LINE)) {
                return -EBADMSG;
            }
        } else if (is_line(line, line_bytes, LAST_LINE)) {
            return newline + 1 == end && count > 0 ? count : -EBADMSG;
        } else if (read_line(line, line_bytes, &input_bytes) != 0) {
            return -EBADMSG;
        } else {
            run((const uint8_t *)line + HASH_DIGITS + 1, input_bytes);
        }
        count++;
    }
    return -EBADMSG;
}
