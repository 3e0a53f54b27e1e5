/*
 * See tar.h. Headers are those of POSIX (ustar), with GNU's form of sizes from 8 GiB on.
 */
#include "trace/tar.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "rt/base.h"

/* A packet with one field, which no reader knows, and whose content is whatever stands there. */
#define SKIPPED_FIELD     18599U
#define SKIPPED_HEAD      14U
#define SKIPPED_BYTES_MAX ((size_t)64 << 20)
#define WIRE_BYTES        2U
/* Sizes below this are octal digits. */
#define OCTAL_MAX (UINT64_C(1) << 33)

struct header {
    char name[100];
    char mode[8], uid[8], gid[8];
    char size[12], mtime[12];
    char checksum[8];
    char type;
    char link[100];
    char magic[6], version[2];
    char owner[32], group[32];
    char major[8], minor[8];
    char prefix[155];
    char padding[12];
};
static_assert(sizeof(struct header) == HS_TAR_BLOCK_BYTES, "as POSIX says");

static const char *const names[] = { HS_TAR_TRACE, HS_TAR_SYMBOLS, HS_TAR_DEOBFUSCATED };

/* --- reading --- */

/* Reads octal digits, which blanks may surround, or GNU's binary form. False: it is no number. */
static bool read_number(const char *text, size_t bytes, uint64_t *ret_number)
{
    uint64_t number = 0;
    size_t i = 0;
    if ((text[0] & 0x80) != 0) {
        /* Big-endian; only the last eight bytes can be other than 0. */
        for (i = bytes - 8; i < bytes; i++) {
            number = number << 8 | (uint8_t)text[i];
        }
        *ret_number = number;
        return true;
    }
    while (i < bytes && text[i] == ' ') {
        i++;
    }
    for (; i < bytes && text[i] >= '0' && text[i] <= '7'; i++) {
        number = number << 3 | (uint64_t)(text[i] - '0');
    }
    *ret_number = number;
    return i == bytes || text[i] == ' ' || text[i] == '\0';
}

/* The sum of all bytes, with blanks in place of the sum itself. */
static uint64_t sum_of(const struct header *header)
{
    const uint8_t *bytes = (const uint8_t *)header;
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof(*header); i++) {
        bool is_sum = i >= offsetof(struct header, checksum) && i < offsetof(struct header, type);
        sum += is_sum ? ' ' : bytes[i];
    }
    return sum;
}

static bool is_header(const struct header *header)
{
    uint64_t sum;
    return memcmp(header->magic, "ustar", 5) == 0 &&
           read_number(header->checksum, sizeof(header->checksum), &sum) && sum == sum_of(header);
}

bool hs_tar_is(const void *data, size_t bytes)
{
    struct header header;
    if (bytes < sizeof(header)) {
        return false;
    }
    memcpy(&header, data, sizeof(header));
    return is_header(&header);
}

/* A plain file with the name of a bundle's member, in whatever folder. */
static bool is_member(const struct header *header)
{
    char name[sizeof(header->name) + 1];
    memcpy(name, header->name, sizeof(header->name));
    name[sizeof(header->name)] = '\0';
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    for (size_t i = 0; i < HS_COUNT_OF(names); i++) {
        if (strcmp(base, names[i]) == 0) {
            return header->type == '0' || header->type == '\0';
        }
    }
    return false;
}

size_t hs_tar_find(const void *data, size_t bytes, struct hs_tar_part ret_parts[HS_TAR_MEMBERS_MAX])
{
    size_t at = 0, count = 0;
    while (count < HS_TAR_MEMBERS_MAX && hs_tar_is((const uint8_t *)data + at, bytes - at)) {
        struct header header;
        uint64_t content_bytes;
        memcpy(&header, (const uint8_t *)data + at, sizeof(header));
        at += sizeof(header);
        if (!read_number(header.size, sizeof(header.size), &content_bytes)) {
            break;
        }
        bool is_whole = content_bytes <= bytes - at;
        size_t part_bytes = is_whole ? (size_t)content_bytes : bytes - at;
        if (is_member(&header) && part_bytes > 0) {
            ret_parts[count++] = (struct hs_tar_part){ .off = at, .bytes = part_bytes };
        }
        at += part_bytes;
        if (!is_whole || hs_tar_padding(part_bytes) > bytes - at) {
            break;
        }
        at += hs_tar_padding(part_bytes);
    }
    return count;
}

/* Writes a number of seven bits a byte that takes exactly `bytes` bytes. */
static uint8_t *write_varint(uint8_t *at, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        *at++ = (uint8_t)((number & 0x7f) | (i + 1 < bytes ? 0x80 : 0));
        number >>= 7;
    }
    return at;
}

/* Turns a gap, which has at least the bytes of a header, into packets. */
static bool fill(uint8_t *gap, size_t bytes, hs_tar_make_writable_fn *make_writable)
{
    while (bytes > 0) {
        size_t packet_bytes = bytes < SKIPPED_BYTES_MAX ? bytes : SKIPPED_BYTES_MAX;
        if (bytes > packet_bytes && bytes - packet_bytes < SKIPPED_HEAD) {
            packet_bytes -= SKIPPED_HEAD;
        }
        if (make_writable && !make_writable(gap, SKIPPED_HEAD)) {
            return false;
        }
        uint8_t *at = gap;
        *at++ = 1U << 3 | WIRE_BYTES; /* Trace.packet */
        at = write_varint(at, packet_bytes - 6, 5);
        at = write_varint(at, SKIPPED_FIELD << 3 | WIRE_BYTES, 3);
        write_varint(at, packet_bytes - SKIPPED_HEAD, 5);
        gap += packet_bytes;
        bytes -= packet_bytes;
    }
    return true;
}

struct hs_tar_part hs_tar_join(void *data, size_t bytes, hs_tar_make_writable_fn *make_writable)
{
    struct hs_tar_part parts[HS_TAR_MEMBERS_MAX], whole = { 0 };
    size_t count = hs_tar_find(data, bytes, parts);
    for (size_t i = 0; i < count; i++) {
        size_t end = i > 0 ? parts[i - 1].off + parts[i - 1].bytes : 0;
        if (i > 0 && !fill((uint8_t *)data + end, parts[i].off - end, make_writable)) {
            break;
        }
        whole.off = parts[0].off;
        whole.bytes = parts[i].off + parts[i].bytes - whole.off;
    }
    return whole;
}

/* --- writing --- */

static void write_number(char *text, size_t bytes, uint64_t number)
{
    if (number < OCTAL_MAX) {
        for (size_t i = bytes - 1; i-- > 0; number >>= 3) {
            text[i] = (char)('0' + (number & 7));
        }
        return;
    }
    text[0] = (char)0x80;
    for (size_t i = bytes; i-- > bytes - 8; number >>= 8) {
        text[i] = (char)(number & 0xff);
    }
}

void hs_tar_head(const char *name, uint64_t content_bytes, int64_t time_s,
                 uint8_t ret_head[HS_TAR_BLOCK_BYTES])
{
    struct header header = { .type = '0', .magic = "ustar", .version = { '0', '0' } };
    snprintf(header.name, sizeof(header.name), "%s", name);
    write_number(header.mode, sizeof(header.mode), 0644);
    write_number(header.uid, sizeof(header.uid), 0);
    write_number(header.gid, sizeof(header.gid), 0);
    write_number(header.size, sizeof(header.size), content_bytes);
    write_number(header.mtime, sizeof(header.mtime), time_s > 0 ? (uint64_t)time_s : 0);
    /* Six digits, a NUL and a blank. */
    write_number(header.checksum, sizeof(header.checksum) - 1, sum_of(&header));
    header.checksum[7] = ' ';
    memcpy(ret_head, &header, sizeof(header));
}
