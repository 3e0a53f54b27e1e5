/*
 * The name of a stored snapshot's file: see snapshot_store.h.
 */
#include <stdio.h>
#include <string.h>

#include "session/snapshot_store.h"
#include "util/parse.h"

#define SUFFIX ".pftrace"

/* Bytes that no part of a name may contain as they are. */
static bool is_escaped(unsigned char c)
{
    return c < ' ' || c == 127 || c == '/' || c == ',' || c == '%';
}

static size_t escaped_bytes(const char *text)
{
    size_t bytes = 0;
    for (; *text; text++) {
        bytes += is_escaped((unsigned char)*text) ? 3 : 1;
    }
    return bytes;
}

/* Adds as much of the text as fits into `room` bytes. Returns the bytes that were added. */
static size_t add_escaped(char *out, const char *text, size_t room)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t bytes = 0;
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        size_t more = is_escaped(c) ? 3 : 1;
        if (bytes + more > room) {
            break;
        }
        out[bytes++] = is_escaped(c) ? '%' : *text;
        if (more == 3) {
            out[bytes++] = digits[c >> 4];
            out[bytes++] = digits[c & 15];
        }
    }
    return bytes;
}

bool hs_stored_write_name(const struct hs_stored *stored, char ret_name[NAME_MAX + 1])
{
    char name[NAME_MAX + 1];
    size_t tail_bytes = 1 + escaped_bytes(stored->name) + sizeof(SUFFIX) - 1;
    if (!stored->name[0] || stored->id == 0) {
        return false;
    }
    int head = snprintf(name, sizeof(name), "%llu,%llu,%u,", (unsigned long long)stored->id,
                        (unsigned long long)stored->time_ms, stored->pid);
    if (head < 0 || (size_t)head + tail_bytes > NAME_MAX) {
        return false;
    }
    size_t at = (size_t)head;
    at += add_escaped(name + at, stored->process, NAME_MAX - at - tail_bytes);
    name[at++] = ',';
    at += add_escaped(name + at, stored->name, NAME_MAX - at);
    memcpy(name + at, SUFFIX, sizeof(SUFFIX));
    memcpy(ret_name, name, at + sizeof(SUFFIX));
    return true;
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Reads one part, which ends at `end`. False: not as add_escaped() writes it, or too long. */
static bool take_escaped(const char *text, const char *end, char *ret_text, size_t max_bytes)
{
    size_t bytes = 0;
    for (; text < end; text++) {
        int c = (unsigned char)*text;
        if (c == '%') {
            int high = end - text > 2 ? digit_of(text[1]) : -1;
            int low = high >= 0 ? digit_of(text[2]) : -1;
            c = low >= 0 ? high * 16 + low : 0;
            text += 2;
            if (c == 0 || !is_escaped((unsigned char)c)) {
                return false;
            }
        } else if (is_escaped((unsigned char)c)) {
            return false;
        }
        if (bytes == max_bytes) {
            return false;
        }
        ret_text[bytes++] = (char)c;
    }
    ret_text[bytes] = '\0';
    return true;
}

/* A decimal number without a sign and without leading zeros, which a comma ends. */
static bool take_number(const char **text, uint64_t max, uint64_t *ret_number)
{
    char digits[24];
    const char *comma = strchr(*text, ',');
    size_t bytes = comma ? (size_t)(comma - *text) : 0;
    if (bytes == 0 || bytes >= sizeof(digits) || strspn(*text, "0123456789") != bytes ||
        (bytes > 1 && **text == '0')) {
        return false;
    }
    memcpy(digits, *text, bytes);
    digits[bytes] = '\0';
    *text = comma + 1;
    return hs_parse_number(digits, ret_number) == 0 && *ret_number <= max;
}

bool hs_stored_parse_name(const char *text, struct hs_stored *ret_stored)
{
    struct hs_stored stored = { .id = 0 };
    uint64_t pid;
    size_t bytes = strlen(text);
    if (bytes > NAME_MAX || bytes < sizeof(SUFFIX) ||
        strcmp(text + bytes - sizeof(SUFFIX) + 1, SUFFIX) != 0) {
        return false;
    }
    const char *end = text + bytes - sizeof(SUFFIX) + 1;
    if (!take_number(&text, UINT64_MAX - 1, &stored.id) || stored.id == 0 ||
        !take_number(&text, UINT64_MAX, &stored.time_ms) || !take_number(&text, UINT32_MAX, &pid)) {
        return false;
    }
    const char *comma = memchr(text, ',', (size_t)(end - text));
    stored.pid = (uint32_t)pid;
    if (!comma || !take_escaped(text, comma, stored.process, HS_STORE_PROCESS_MAX) ||
        !take_escaped(comma + 1, end, stored.name, HS_SNAP_NAME_MAX) || !stored.name[0]) {
        return false;
    }
    *ret_stored = stored;
    return true;
}
