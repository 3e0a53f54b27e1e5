/*
 * Walks the central directory of a zip file: see zip_members.h.
 */
#include "symbol/zip_members.h"

#include <string.h>

#include "rt/cursor.h"

#define END_SIGNATURE     UINT32_C(0x06054b50)
#define ENTRY_SIGNATURE   UINT32_C(0x02014b50)
#define LOCAL_SIGNATURE   UINT32_C(0x04034b50)
#define END_BYTES         22U
#define COMMENT_MAX_BYTES 65535U
#define FLAG_ENCRYPTED    1U
#define METHOD_STORED     0U

static struct hs_cursor cursor_at(const struct hs_zip *zip, size_t off)
{
    off = off < zip->bytes ? off : zip->bytes;
    return (struct hs_cursor){ .at = zip->data + off, .end = zip->data + zip->bytes };
}

/* Reads the record that ends the directory. False: it is not at this place. */
static bool read_end(struct hs_zip *zip, size_t off)
{
    struct hs_cursor c = cursor_at(zip, off);
    uint64_t signature = hs_cursor_uint(&c, 4);
    hs_cursor_skip(&c, 6); /* numbers of disks, entries on this one */
    uint64_t count = hs_cursor_uint(&c, 2);
    hs_cursor_skip(&c, 4);
    uint64_t directory_off = hs_cursor_uint(&c, 4);
    uint64_t comment_bytes = hs_cursor_uint(&c, 2);
    if (c.is_bad || signature != END_SIGNATURE || comment_bytes != hs_cursor_left(&c) ||
        directory_off > off) {
        return false;
    }
    zip->at = directory_off;
    zip->left_count = (uint32_t)count;
    return true;
}

bool hs_zip_begin(struct hs_zip *zip, const void *data, size_t bytes)
{
    *zip = (struct hs_zip){ .data = data, .bytes = bytes };
    for (size_t back = END_BYTES; back <= bytes && back <= END_BYTES + COMMENT_MAX_BYTES; back++) {
        if (zip->data[bytes - back] == 'P' && read_end(zip, bytes - back)) {
            return true;
        }
    }
    return false;
}

/* Finds the content of a member, which stands behind a header of its own. */
static bool find_content(const struct hs_zip *zip, uint64_t header_off,
                         struct hs_zip_member *member)
{
    struct hs_cursor c = cursor_at(zip, header_off);
    uint64_t signature = hs_cursor_uint(&c, 4);
    hs_cursor_skip(&c, 22);
    uint64_t name_bytes = hs_cursor_uint(&c, 2), extra_bytes = hs_cursor_uint(&c, 2);
    hs_cursor_skip(&c, name_bytes + extra_bytes);
    if (c.is_bad || signature != LOCAL_SIGNATURE || member->bytes > hs_cursor_left(&c)) {
        return false;
    }
    member->off = (size_t)(c.at - zip->data);
    return true;
}

bool hs_zip_next(struct hs_zip *zip, struct hs_zip_member *ret_member)
{
    while (zip->left_count > 0) {
        struct hs_cursor c = cursor_at(zip, zip->at);
        uint64_t signature = hs_cursor_uint(&c, 4);
        hs_cursor_skip(&c, 4); /* versions */
        uint64_t flags = hs_cursor_uint(&c, 2), method = hs_cursor_uint(&c, 2);
        hs_cursor_skip(&c, 8); /* time, checksum */
        uint64_t packed_bytes = hs_cursor_uint(&c, 4), bytes = hs_cursor_uint(&c, 4);
        uint64_t name_bytes = hs_cursor_uint(&c, 2);
        uint64_t more_bytes = hs_cursor_uint(&c, 2);
        more_bytes += hs_cursor_uint(&c, 2);
        hs_cursor_skip(&c, 8); /* disk, attributes */
        uint64_t header_off = hs_cursor_uint(&c, 4);
        struct hs_zip_member member = { .name = (const char *)c.at,
                                        .name_bytes = name_bytes,
                                        .bytes = bytes };
        hs_cursor_skip(&c, name_bytes + more_bytes);
        if (c.is_bad || signature != ENTRY_SIGNATURE) {
            zip->left_count = 0;
            return false;
        }
        zip->at = (size_t)(c.at - zip->data);
        zip->left_count--;
        if (method == METHOD_STORED && (flags & FLAG_ENCRYPTED) == 0 && packed_bytes == bytes &&
            find_content(zip, header_off, &member)) {
            *ret_member = member;
            return true;
        }
    }
    return false;
}
