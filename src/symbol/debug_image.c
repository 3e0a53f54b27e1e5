/*
 * Unpacks debug sections with libdeflate and libzstd. See debug_image.h.
 */
#include "symbol/debug_image.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libdeflate.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <zstd.h>

#include "rt/base.h"

#define SECTIONS_MAX 64U
#define LOOKED_MAX   65536U
/* The size of all sections together. A debug file of Chromium has more; it is left to libdw. */
#define IMAGE_MAX_BYTES (UINT64_C(1) << 30)
/* The best ratio of deflate. A section that claims more is broken. */
#define DEFLATE_RATIO_MAX 1040U
/* The best ratio of zstd: 128 KiB of the same byte take 4 bytes. */
#define ZSTD_RATIO_MAX  32768U
#define NAMES_MAX_BYTES 2048U
#define ALIGN_BYTES     8U

/* Newer than the headers of some systems. */
#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

struct section {
    Elf64_Shdr shdr; /* as it will be in the image */
    const uint8_t *bytes;
    size_t packed_bytes; /* 0: not compressed */
    bool is_zstd;        /* else deflate */
};

struct making {
    const struct hs_elf_file *file;
    struct section sections[SECTIONS_MAX];
    size_t count;
    size_t packed_count;
    /* the file has sections compressed with zstd, which libdw may be unable to read */
    bool has_zstd;
    char names[NAMES_MAX_BYTES];
    size_t name_bytes;
    uint64_t end_off; /* in the image */
};

/*
 * True for the sections from which functions, inlined calls, files and lines are read.
 * .debug_loclists, .debug_macro and others, a third of a debug file, are not.
 */
static bool is_wanted(const char *name)
{
    static const char *const wanted[] = {
        ".debug_info",     ".debug_types",      ".debug_abbrev",      ".debug_line",
        ".debug_line_str", ".debug_str",        ".debug_str_offsets", ".debug_ranges",
        ".debug_rnglists", ".gnu_debugaltlink",
    };
    for (size_t i = 0; i < HS_COUNT_OF(wanted); i++) {
        if (strcmp(name, wanted[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* True for sections with which libdw does more than just read them. */
static bool is_unusual(const char *name)
{
    size_t bytes = strlen(name);
    return strncmp(name, ".zdebug", 7) == 0 || strncmp(name, ".gnu.debuglto_", 14) == 0 ||
           (bytes > 4 && strcmp(name + bytes - 4, ".dwo") == 0);
}

/* True when any section is compressed with zstd, whether it is used here or not. */
static bool has_zstd(const struct hs_elf_file *file)
{
    Elf_Scn *scn = NULL;
    for (unsigned i = 0; i < LOOKED_MAX && (scn = elf_nextscn(file->elf, scn)); i++) {
        GElf_Shdr shdr;
        GElf_Chdr chdr;
        if (gelf_getshdr(scn, &shdr) && (shdr.sh_flags & SHF_COMPRESSED) != 0 &&
            gelf_getchdr(scn, &chdr) && chdr.ch_type == ELFCOMPRESS_ZSTD) {
            return true;
        }
    }
    return false;
}

/* Reads the section's own header; the compressed bytes follow it. */
static int read_packed(Elf_Scn *scn, struct section *section)
{
    GElf_Chdr chdr;
    if (!gelf_getchdr(scn, &chdr) || section->shdr.sh_size <= sizeof(Elf64_Chdr) ||
        (chdr.ch_type != ELFCOMPRESS_ZLIB && chdr.ch_type != ELFCOMPRESS_ZSTD)) {
        return -ENOTSUP;
    }
    section->is_zstd = chdr.ch_type == ELFCOMPRESS_ZSTD;
    uint64_t ratio_max = section->is_zstd ? ZSTD_RATIO_MAX : DEFLATE_RATIO_MAX;
    section->packed_bytes = section->shdr.sh_size - sizeof(Elf64_Chdr);
    section->bytes += sizeof(Elf64_Chdr);
    if (chdr.ch_size == 0 || chdr.ch_size > IMAGE_MAX_BYTES ||
        chdr.ch_size / ratio_max > section->packed_bytes) {
        return -ENOTSUP;
    }
    section->shdr.sh_size = chdr.ch_size;
    section->shdr.sh_flags &= ~(uint64_t)SHF_COMPRESSED;
    return 0;
}

static int add_section(struct making *making, Elf_Scn *scn, const GElf_Shdr *shdr, const char *name)
{
    size_t name_bytes = strlen(name) + 1;
    Elf_Data *data = elf_rawdata(scn, NULL);
    if (making->count == SECTIONS_MAX || name_bytes > NAMES_MAX_BYTES - making->name_bytes ||
        !data || !data->d_buf || data->d_size != shdr->sh_size) {
        return -ENOTSUP;
    }
    struct section *section = &making->sections[making->count++];
    *section = (struct section){ .shdr = *shdr, .bytes = data->d_buf };
    if ((shdr->sh_flags & SHF_COMPRESSED) != 0) {
        int err = read_packed(scn, section);
        if (err != 0) {
            return err;
        }
        making->packed_count++;
    }
    section->shdr.sh_name = (uint32_t)making->name_bytes;
    section->shdr.sh_addralign = ALIGN_BYTES;
    section->shdr.sh_link = 0;
    section->shdr.sh_info = 0;
    memcpy(making->names + making->name_bytes, name, name_bytes);
    making->name_bytes += name_bytes;
    return 0;
}

/*
 * True for sections that the image takes. .debug_addr belongs to split units, for which the folder
 * of the module matters, and an image has none: libdw should read that file itself, if it can.
 * clang writes .debug_addr for every unit.
 */
static bool is_taken(const struct making *making, const char *name)
{
    return is_wanted(name) || (making->has_zstd && strcmp(name, ".debug_addr") == 0);
}

static int look_through(struct making *making)
{
    Elf *elf = making->file->elf;
    const char *ident = elf_getident(elf, NULL);
    size_t strings_idx;
    if (!ident || ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB ||
        elf_getshdrstrndx(elf, &strings_idx) != 0) {
        return -ENOTSUP;
    }
    making->has_zstd = has_zstd(making->file);
    if (!making->has_zstd && hs_elf_file_section(making->file, ".debug_addr")) {
        return -ENOTSUP;
    }
    Elf_Scn *scn = NULL;
    for (unsigned i = 0; i < LOOKED_MAX && (scn = elf_nextscn(elf, scn)); i++) {
        GElf_Shdr shdr;
        const char *name =
            gelf_getshdr(scn, &shdr) ? elf_strptr(elf, strings_idx, shdr.sh_name) : NULL;
        if (!name || is_unusual(name)) {
            return -ENOTSUP;
        }
        if (is_taken(making, name) && shdr.sh_type != SHT_NOBITS && shdr.sh_size > 0) {
            /* libelf interprets sections of other types. */
            int err =
                shdr.sh_type == SHT_PROGBITS ? add_section(making, scn, &shdr, name) : -ENOTSUP;
            if (err != 0) {
                return err;
            }
        }
    }
    return making->packed_count > 0 ? 0 : -ENOENT;
}

/* Computes the positions of sections, names and headers. */
static int lay_out(struct making *making)
{
    uint64_t off = sizeof(Elf64_Ehdr);
    for (size_t i = 0; i < making->count; i++) {
        struct section *section = &making->sections[i];
        section->shdr.sh_offset = off;
        off = hs_align_up(off + section->shdr.sh_size, ALIGN_BYTES);
        if (section->shdr.sh_size > IMAGE_MAX_BYTES || off > IMAGE_MAX_BYTES) {
            return -ENOTSUP;
        }
    }
    making->end_off = off;
    return 0;
}

static bool unpack(const struct section *section, struct libdeflate_decompressor *decompressor,
                   uint8_t *out)
{
    uint64_t bytes = section->shdr.sh_size;
    if (section->is_zstd) {
        return ZSTD_decompress(out, bytes, section->bytes, section->packed_bytes) == bytes;
    }
    return libdeflate_zlib_decompress(decompressor, section->bytes, section->packed_bytes, out,
                                      bytes, NULL) == LIBDEFLATE_SUCCESS;
}

static int unpack_all(const struct making *making, uint8_t *image)
{
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    int err = decompressor ? 0 : -ENOMEM;
    for (size_t i = 0; i < making->count && err == 0; i++) {
        const struct section *section = &making->sections[i];
        uint8_t *out = image + section->shdr.sh_offset;
        if (section->packed_bytes == 0) {
            memcpy(out, section->bytes, section->shdr.sh_size);
        } else if (!unpack(section, decompressor, out)) {
            err = -ENOTSUP;
        }
    }
    libdeflate_free_decompressor(decompressor);
    return err;
}

/* Writes the file's own header with the new sections, whose table ends the image. */
static int write_headers(struct making *making, uint8_t *image)
{
    const Elf64_Ehdr *file_ehdr = elf64_getehdr(making->file->elf);
    if (!file_ehdr) {
        return -ENOTSUP;
    }
    uint64_t shdr_off = hs_align_up(making->end_off + making->name_bytes, ALIGN_BYTES);
    Elf64_Ehdr ehdr = *file_ehdr;
    ehdr.e_phoff = 0;
    ehdr.e_phnum = 0;
    ehdr.e_shoff = shdr_off;
    ehdr.e_shnum = (uint16_t)(making->count + 2);
    ehdr.e_shstrndx = (uint16_t)(making->count + 1);
    ehdr.e_ehsize = sizeof(ehdr);
    ehdr.e_shentsize = sizeof(Elf64_Shdr);
    memcpy(image, &ehdr, sizeof(ehdr));
    memcpy(image + making->end_off, making->names, making->name_bytes);
    uint8_t *shdrs = image + shdr_off + sizeof(Elf64_Shdr); /* the first is empty */
    for (size_t i = 0; i < making->count; i++) {
        memcpy(shdrs + i * sizeof(Elf64_Shdr), &making->sections[i].shdr, sizeof(Elf64_Shdr));
    }
    const Elf64_Shdr names = { .sh_type = SHT_STRTAB,
                               .sh_offset = making->end_off,
                               .sh_size = making->name_bytes,
                               .sh_addralign = 1 };
    memcpy(shdrs + making->count * sizeof(Elf64_Shdr), &names, sizeof(names));
    return 0;
}

static int write_image(struct making *making, struct hs_debug_image *ret_image)
{
    size_t bytes = HS_DEBUG_IMAGE_OFF +
                   hs_align_up(making->end_off + making->name_bytes, ALIGN_BYTES) +
                   (making->count + 2) * sizeof(Elf64_Shdr);
    uint8_t *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
        return -ENOMEM;
    }
    /*
     * Thousands of page faults would cost as much as unpacking. This is only a hint to the kernel.
     */
    (void)madvise(map, bytes, MADV_HUGEPAGE);
    int err = unpack_all(making, map + HS_DEBUG_IMAGE_OFF);
    if (err == 0) {
        err = write_headers(making, map + HS_DEBUG_IMAGE_OFF);
    }
    if (err != 0) {
        munmap(map, bytes);
        return err;
    }
    return hs_debug_image_take(map, bytes, 0, ret_image);
}

int hs_debug_image_make(const struct hs_elf_file *file, struct hs_debug_image *ret_image)
{
    /* Name 0 is "". */
    struct making making = { .file = file, .name_bytes = 1 };
    int err = look_through(&making);
    if (err == 0) {
        err = lay_out(&making);
    }
    return err == 0 ? write_image(&making, ret_image) : err;
}

bool hs_debug_image_is_unreadable(const struct hs_elf_file *file)
{
    struct hs_debug_image image = { 0 };
    bool is_unreadable =
        file->has_packed_dwarf && has_zstd(file) && hs_debug_image_make(file, &image) != 0;
    hs_debug_image_close(&image);
    return is_unreadable;
}

int hs_debug_image_take(void *map, size_t map_bytes, size_t tail_bytes,
                        struct hs_debug_image *ret_image)
{
    Elf *elf = NULL;
    elf_version(EV_CURRENT);
    if (map_bytes > HS_DEBUG_IMAGE_OFF && tail_bytes < map_bytes - HS_DEBUG_IMAGE_OFF) {
        elf = elf_memory((char *)map + HS_DEBUG_IMAGE_OFF,
                         map_bytes - HS_DEBUG_IMAGE_OFF - tail_bytes);
    }
    if (!elf) {
        munmap(map, map_bytes);
        return -ENOEXEC;
    }
    *ret_image = (struct hs_debug_image){ .elf = elf,
                                          .map = map,
                                          .map_bytes = map_bytes,
                                          .tail = (uint8_t *)map + map_bytes - tail_bytes,
                                          .tail_bytes = tail_bytes };
    return 0;
}

void hs_debug_image_close(struct hs_debug_image *image)
{
    if (image->elf) {
        elf_end(image->elf);
        munmap(image->map, image->map_bytes);
    }
    *image = (struct hs_debug_image){ 0 };
}
