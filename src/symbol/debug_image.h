/*
 * The packed debug sections of a file, unpacked: those that names need, and no others.
 *
 * libdw unpacks every .debug_* section of a file when it opens it, with zlib, into fresh memory. Of
 * glibc's debug file that is 50 ms, for the names of ten addresses. Here the sections that we read are
 * unpacked, three times as fast, into one small ELF image, which libdw then reads in place; and as the image
 * is one run of bytes, debug_cache.h can keep it for the next time.
 *
 * Sections may be packed with zstd, too. libdw reads these from version 0.189 on, and only where it was built for it: of
 * files with them every kind is taken that can be.
 *
 * The sections hold the same bytes as libdw would have made, so nothing that is found with an image is
 * found differently without one. What is not as usual (old ways of packing, split units, another byte order,
 * anything broken) is left to libdw as it is.
 *
 * Holds     the image is a whole ELF file without packed sections; it is at map + HS_DEBUG_IMAGE_OFF.
 * Threads   none.
 * Fails     -ENOENT nothing in the file is packed; -ENOTSUP not one for us; -ENOMEM.
 */
#pragma once

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/elf_file.h"

/* Before the image there is room for what a cache says about it. */
#define HS_DEBUG_IMAGE_OFF 256U

struct hs_debug_image {
    Elf *elf; /* NULL: closed */
    uint8_t *map;
    size_t map_bytes;
    const uint8_t *tail; /* what a cache kept behind the image, in the mapping */
    size_t tail_bytes;
};

int hs_debug_image_make(const struct hs_elf_file *file, struct hs_debug_image *ret_image);

/* Has it sections packed with zstd, and cannot be unpacked? Then debug information is there that nobody can read. */
bool hs_debug_image_is_unreadable(const struct hs_elf_file *file);

/* Takes over a mapping that ends in an image and its tail, also when it fails: -ENOEXEC. */
int hs_debug_image_take(void *map, size_t map_bytes, size_t tail_bytes,
                        struct hs_debug_image *ret_image);

/* Closed ones are fine. */
void hs_debug_image_close(struct hs_debug_image *image);
