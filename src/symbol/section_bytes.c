/*
 * See section_bytes.h.
 */
#include "symbol/section_bytes.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <zstd.h>

/* Newer than the headers of some systems. */
#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

static bool unpack_zlib(const uint8_t *packed, size_t packed_bytes, uint8_t *out, size_t bytes)
{
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    bool is_ok = decompressor && libdeflate_zlib_decompress(decompressor, packed, packed_bytes, out,
                                                            bytes, NULL) == LIBDEFLATE_SUCCESS;
    libdeflate_free_decompressor(decompressor);
    return is_ok;
}

static int unpack(Elf_Scn *scn, const Elf_Data *data, size_t max_bytes,
                  struct hs_section_bytes *section)
{
    GElf_Chdr chdr;
    if (!gelf_getchdr(scn, &chdr) || data->d_size <= sizeof(Elf64_Chdr) || chdr.ch_size == 0 ||
        (chdr.ch_type != ELFCOMPRESS_ZLIB && chdr.ch_type != ELFCOMPRESS_ZSTD)) {
        return -EBADMSG;
    }
    if (chdr.ch_size > max_bytes) {
        return -EFBIG;
    }
    const uint8_t *packed = (const uint8_t *)data->d_buf + sizeof(Elf64_Chdr);
    size_t packed_bytes = data->d_size - sizeof(Elf64_Chdr);
    uint8_t *room = malloc(chdr.ch_size);
    if (!room) {
        return -ENOMEM;
    }
    bool is_ok = chdr.ch_type == ELFCOMPRESS_ZSTD
                     ? ZSTD_decompress(room, chdr.ch_size, packed, packed_bytes) == chdr.ch_size
                     : unpack_zlib(packed, packed_bytes, room, chdr.ch_size);
    if (!is_ok) {
        free(room);
        return -EBADMSG;
    }
    section->bytes = section->room = room;
    section->size_bytes = chdr.ch_size;
    return 0;
}

int hs_section_bytes_read(const struct hs_elf_file *file, const char *name, size_t max_bytes,
                          struct hs_section_bytes *ret_section)
{
    GElf_Shdr shdr;
    Elf_Scn *scn = hs_elf_file_section(file, name);
    if (!scn || !gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS || shdr.sh_size == 0) {
        return -ENOENT;
    }
    Elf_Data *data = elf_rawdata(scn, NULL);
    if (!data || !data->d_buf || data->d_size != shdr.sh_size) {
        return -EBADMSG;
    }
    struct hs_section_bytes section = { .bytes = data->d_buf,
                                        .size_bytes = data->d_size,
                                        .sva = shdr.sh_addr };
    int err = 0;
    if (shdr.sh_flags & SHF_COMPRESSED) {
        err = unpack(scn, data, max_bytes, &section);
    } else if (section.size_bytes > max_bytes) {
        err = -EFBIG;
    }
    if (err == 0) {
        *ret_section = section;
    }
    return err;
}

void hs_section_bytes_deinit(struct hs_section_bytes *section)
{
    free(section->room);
    *section = (struct hs_section_bytes){ .room = NULL };
}
