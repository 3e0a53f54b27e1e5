/* Small ELF files made by hand, with compressed sections that are valid or wrong in one detail. */
#pragma once

#include <assert.h>
#include <elf.h>
#include <libdeflate.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define PACKED_ELF_MAX_BYTES 65536U

struct packed_elf {
    uint8_t *bytes; /* from malloc, as hs_elf_file_open_image() expects them */
    size_t count;
    Elf64_Shdr shdrs[32];
    size_t shdr_count;
    char names[1024];
    size_t name_bytes;
};

static inline void packed_elf_begin(struct packed_elf *elf)
{
    *elf = (struct packed_elf){ .bytes = calloc(1, PACKED_ELF_MAX_BYTES),
                                .count = sizeof(Elf64_Ehdr),
                                .shdr_count = 1,
                                .name_bytes = 1 };
    assert(elf->bytes);
}

/* Appends a section unchanged. Returns its header, which the test may change. */
static inline Elf64_Shdr *packed_elf_add(struct packed_elf *elf, const char *name, const void *data,
                                         size_t bytes)
{
    Elf64_Shdr *shdr = &elf->shdrs[elf->shdr_count++];
    elf->count = (elf->count + 7) & ~(size_t)7;
    *shdr = (Elf64_Shdr){ .sh_name = (uint32_t)elf->name_bytes,
                          .sh_type = SHT_PROGBITS,
                          .sh_offset = elf->count,
                          .sh_size = bytes,
                          .sh_addralign = 1 };
    memcpy(elf->bytes + elf->count, data, bytes);
    elf->count += bytes;
    strcpy(elf->names + elf->name_bytes, name);
    elf->name_bytes += strlen(name) + 1;
    return shdr;
}

static inline Elf64_Chdr *packed_elf_add_packed(struct packed_elf *elf, const char *name,
                                                uint32_t type, uint8_t *packed, size_t bytes,
                                                size_t claimed_bytes)
{
    const Elf64_Chdr chdr = { .ch_type = type, .ch_size = claimed_bytes, .ch_addralign = 1 };
    memcpy(packed, &chdr, sizeof(chdr));
    Elf64_Shdr *shdr = packed_elf_add(elf, name, packed, sizeof(chdr) + bytes);
    shdr->sh_flags = SHF_COMPRESSED;
    shdr->sh_addralign = 8;
    return (Elf64_Chdr *)(void *)(elf->bytes + shdr->sh_offset);
}

/*
 * Appends a compressed section that claims to have `claimed_bytes` bytes. Returns its header, which
 * the test may change.
 */
static inline Elf64_Chdr *packed_elf_pack(struct packed_elf *elf, const char *name,
                                          const void *data, size_t bytes, size_t claimed_bytes)
{
    static _Alignas(8) uint8_t packed[16384];
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(6);
    size_t head = sizeof(Elf64_Chdr);
    size_t got =
        libdeflate_zlib_compress(compressor, data, bytes, packed + head, sizeof(packed) - head);
    libdeflate_free_compressor(compressor);
    assert(got > 0);
    return packed_elf_add_packed(elf, name, ELFCOMPRESS_ZLIB, packed, got, claimed_bytes);
}

/* The same with zstd. */
static inline Elf64_Chdr *packed_elf_pack_zstd(struct packed_elf *elf, const char *name,
                                               const void *data, size_t bytes, size_t claimed_bytes)
{
    static _Alignas(8) uint8_t packed[16384];
    size_t head = sizeof(Elf64_Chdr);
    size_t got = ZSTD_compress(packed + head, sizeof(packed) - head, data, bytes, 3);
    assert(!ZSTD_isError(got));
    return packed_elf_add_packed(elf, name, 2, packed, got, claimed_bytes); /* ELFCOMPRESS_ZSTD */
}

/* Writes the end of the file. */
static inline void packed_elf_end(struct packed_elf *elf)
{
    Elf64_Shdr *names = packed_elf_add(elf, ".shstrtab", "", 0);
    names->sh_type = SHT_STRTAB;
    names->sh_size = elf->name_bytes;
    memcpy(elf->bytes + elf->count, elf->names, elf->name_bytes);
    elf->count = (elf->count + elf->name_bytes + 7) & ~(size_t)7;
    Elf64_Ehdr ehdr = { .e_type = ET_DYN,
                        .e_machine = EM_X86_64,
                        .e_version = EV_CURRENT,
                        .e_shoff = elf->count,
                        .e_ehsize = sizeof(ehdr),
                        .e_shentsize = sizeof(Elf64_Shdr),
                        .e_shnum = (uint16_t)elf->shdr_count,
                        .e_shstrndx = (uint16_t)(elf->shdr_count - 1) };
    memcpy(ehdr.e_ident, ELFMAG, SELFMAG);
    ehdr.e_ident[EI_CLASS] = ELFCLASS64;
    ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
    ehdr.e_ident[EI_VERSION] = EV_CURRENT;
    memcpy(elf->bytes, &ehdr, sizeof(ehdr));
    memcpy(elf->bytes + elf->count, elf->shdrs, elf->shdr_count * sizeof(Elf64_Shdr));
    elf->count += elf->shdr_count * sizeof(Elf64_Shdr);
    assert(elf->count < PACKED_ELF_MAX_BYTES);
}
