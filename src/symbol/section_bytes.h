/*
 * The bytes of one section of a file, unpacked if they are compressed (SHF_COMPRESSED, with zlib or
 * zstd).
 *
 * Threads   none.
 * Fails     -ENOENT: there is no such section, or it is empty, or has no bytes in this file;
 *           -EFBIG: it is larger than the limit; -EBADMSG: it is broken; -ENOMEM.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symbol/elf_file.h"

struct hs_section_bytes {
    const uint8_t *bytes;
    size_t size_bytes;
    uint64_t sva;  /* its link-time address; 0 if it is not loaded */
    uint8_t *room; /* owned; NULL: `bytes` point into the file */
};

/* Reads the section, of at most `max_bytes` unpacked bytes. The caller frees it. */
int hs_section_bytes_read(const struct hs_elf_file *file, const char *name, size_t max_bytes,
                          struct hs_section_bytes *ret_section);

/* Frees it. A zeroed one is allowed. */
void hs_section_bytes_deinit(struct hs_section_bytes *section);
