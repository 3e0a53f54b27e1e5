/*
 * Unpacks the compressed debug sections of a file: those that names need, and no others.
 *
 * libdw unpacks every .debug_* section of a file when it opens it, with zlib, into fresh memory.
 * For glibc's debug file that takes 50 ms, for the names of ten addresses. This file unpacks only
 * the sections that heapscope reads, three times as fast, into one small ELF image, which libdw
 * then reads in place. The image is one run of bytes, so that debug_cache.h can keep it.
 *
 * Sections may also be compressed with zstd. libdw reads these from version 0.189 on, and only if
 * it was built for it. Of a file with such sections, the image therefore takes every kind of
 * section that it can.
 *
 * The sections contain the same bytes that libdw would have produced, so that nothing is found
 * differently with an image. Unusual files (old ways of compression, split units, another byte
 * order, anything broken) are left to libdw.
 *
 * Ensures   the image is a complete ELF file without compressed sections; it begins at map +
 *           HS_DEBUG_IMAGE_OFF.
 * Threads   none.
 * Fails     -ENOENT: nothing in the file is compressed; -ENOTSUP: an unusual file; -ENOMEM.
 */
#pragma once

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/elf_file.h"

/* The bytes before the image, where a cache keeps its own header. */
#define HS_DEBUG_IMAGE_OFF 256U

struct hs_debug_image {
    Elf *elf; /* NULL: closed */
    uint8_t *map;
    size_t map_bytes;
    const uint8_t *tail; /* what a cache stored behind the image; in the mapping */
    size_t tail_bytes;
};

/* Makes the image of an open file. */
int hs_debug_image_make(const struct hs_elf_file *file, struct hs_debug_image *ret_image);

/*
 * True for a file with sections that are compressed with zstd and cannot be unpacked: nothing here
 * can read its debug information.
 */
bool hs_debug_image_is_unreadable(const struct hs_elf_file *file);

/*
 * Makes an image of a mapping that ends in an image and its tail. Takes over the mapping, also when
 * it fails: -ENOEXEC.
 */
int hs_debug_image_take(void *map, size_t map_bytes, size_t tail_bytes,
                        struct hs_debug_image *ret_image);

/* Closes an image. A closed one is fine. */
void hs_debug_image_close(struct hs_debug_image *image);
