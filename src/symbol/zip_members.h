/*
 * The members of a zip file (.apk, .jar) that lie in it as they are, not compressed: libraries that
 * Android's loader maps straight from the archive.
 *
 *     struct hs_zip zip;
 *     struct hs_zip_member member;
 *     for (bool is_one = hs_zip_begin(&zip, data, bytes); is_one && hs_zip_next(&zip, &member);) {
 *         ... member.name, data + member.off ...
 *     }
 *
 * The central directory at the end of the file is read. Members that are compressed, encrypted or
 * outside of the file are left out. Files of 4 GiB and more (zip64) have no members here.
 *
 * Ensures   any bytes may be passed; what is returned lies within them. The work is in proportion
 *           to the number of members, 65,535 at most.
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_zip {
    const uint8_t *data;
    size_t bytes;
    size_t at;           /* of the next entry of the directory */
    uint32_t left_count; /* of entries */
};

struct hs_zip_member {
    const char *name; /* "lib/x86_64/libfoo.so", without a NUL */
    size_t name_bytes;
    size_t off, bytes; /* of its content */
};

/* Finds the directory. False: this is no zip file. */
bool hs_zip_begin(struct hs_zip *zip, const void *data, size_t bytes);
/* The next member; false: there is none. */
bool hs_zip_next(struct hs_zip *zip, struct hs_zip_member *ret_member);
