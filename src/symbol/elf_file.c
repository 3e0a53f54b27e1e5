/*
 * Opens ELF files through libelf. See elf_file.h.
 */
#include "symbol/elf_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* At most this many sections are searched; real files have fewer than 100. */
#define SECTIONS_MAX 65536U

static const char *section_name(const struct hs_elf_file *file, size_t strings_idx, Elf_Scn *scn,
                                GElf_Shdr *ret_shdr)
{
    if (!gelf_getshdr(scn, ret_shdr)) {
        return NULL;
    }
    return elf_strptr(file->elf, strings_idx, ret_shdr->sh_name);
}

Elf_Scn *hs_elf_file_section(const struct hs_elf_file *file, const char *name)
{
    size_t strings_idx;
    if (elf_getshdrstrndx(file->elf, &strings_idx) != 0) {
        return NULL;
    }
    Elf_Scn *scn = NULL;
    for (unsigned i = 0; i < SECTIONS_MAX && (scn = elf_nextscn(file->elf, scn)); i++) {
        GElf_Shdr shdr;
        const char *text = section_name(file, strings_idx, scn, &shdr);
        if (text && strcmp(text, name) == 0) {
            return scn;
        }
    }
    return NULL;
}

/*
 * A debug file has the headers of all sections; those whose content is in another file have no
 * bytes.
 */
static bool has_bytes(Elf_Scn *scn)
{
    GElf_Shdr shdr;
    return scn && gelf_getshdr(scn, &shdr) && shdr.sh_type != SHT_NOBITS && shdr.sh_size > 0;
}

/* True when any section is compressed. Small sections stay uncompressed beside compressed ones. */
static bool has_packed_sections(const struct hs_elf_file *file)
{
    Elf_Scn *scn = NULL;
    for (unsigned i = 0; i < SECTIONS_MAX && (scn = elf_nextscn(file->elf, scn)); i++) {
        GElf_Shdr shdr;
        if (gelf_getshdr(scn, &shdr) && (shdr.sh_flags & SHF_COMPRESSED) != 0) {
            return true;
        }
    }
    return false;
}

static int look_inside(struct hs_elf_file *file)
{
    GElf_Ehdr ehdr;
    if (elf_kind(file->elf) != ELF_K_ELF || !gelf_getehdr(file->elf, &ehdr) ||
        (ehdr.e_type != ET_EXEC && ehdr.e_type != ET_DYN && ehdr.e_type != ET_REL)) {
        return -ENOEXEC;
    }
    file->is_loadable = ehdr.e_type != ET_REL;
    const void *id = NULL;
    ssize_t id_bytes = dwelf_elf_gnu_build_id(file->elf, &id);
    if (id_bytes > 0) {
        file->build_id = id;
        file->build_id_bytes = (size_t)id_bytes;
    }
    Elf_Scn *info = hs_elf_file_section(file, ".debug_info");
    file->has_packed_dwarf = has_bytes(info) && has_packed_sections(file);
    file->has_dwarf = has_bytes(info) || has_bytes(hs_elf_file_section(file, ".zdebug_info"));
    file->has_symtab = has_bytes(hs_elf_file_section(file, ".symtab"));
    return 0;
}

/* Takes the descriptor over, also when it fails. */
static int open_taken(int fd, const char *path, struct hs_elf_file *ret_file)
{
    struct hs_elf_file file = { .fd = fd };
    int err = 0;
    elf_version(EV_CURRENT);
    struct stat st;
    if (fstat(file.fd, &st) != 0) {
        err = -errno;
    } else if (!S_ISREG(st.st_mode)) {
        err = -ENOEXEC;
    } else if (!(file.path = strdup(path))) {
        err = -ENOMEM;
    } else if (!(file.elf = elf_begin(file.fd, ELF_C_READ_MMAP, NULL))) {
        err = -ENOEXEC;
    } else {
        err = look_inside(&file);
    }
    if (err != 0) {
        hs_elf_file_close(&file);
        return err;
    }
    *ret_file = file;
    return 0;
}

int hs_elf_file_open(const char *path, struct hs_elf_file *ret_file)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? -errno : open_taken(fd, path, ret_file);
}

int hs_elf_file_open_fd(int fd, const char *path, struct hs_elf_file *ret_file)
{
    int own_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    return own_fd < 0 ? -errno : open_taken(own_fd, path, ret_file);
}

/* Opens bytes in memory. `file` owns them, also when this fails. */
static int open_memory(struct hs_elf_file file, void *data, size_t bytes, const char *path,
                       struct hs_elf_file *ret_file)
{
    int err = 0;
    elf_version(EV_CURRENT);
    if (!(file.path = strdup(path))) {
        err = -ENOMEM;
    } else if (!(file.elf = elf_memory(data, bytes))) {
        err = -ENOEXEC;
    } else {
        err = look_inside(&file);
    }
    if (err != 0) {
        hs_elf_file_close(&file);
        return err;
    }
    *ret_file = file;
    return 0;
}

int hs_elf_file_open_image(void *image, size_t image_bytes, const char *path,
                           struct hs_elf_file *ret_file)
{
    return open_memory((struct hs_elf_file){ .fd = -1, .image = image }, image, image_bytes, path,
                       ret_file);
}

int hs_elf_file_open_part(int fd, const char *path, uint64_t off, size_t bytes,
                          struct hs_elf_file *ret_file)
{
    uint64_t delta = off % (uint64_t)sysconf(_SC_PAGESIZE);
    if (bytes == 0) {
        return -ENOEXEC;
    }
    /* Writable: libelf writes into bytes in memory when it corrects their order. */
    void *map = mmap(NULL, bytes + delta, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd,
                     (off_t)(off - delta));
    if (map == MAP_FAILED) {
        return -errno;
    }
    return open_memory((struct hs_elf_file){ .fd = -1, .map = map, .map_bytes = bytes + delta },
                       (uint8_t *)map + delta, bytes, path, ret_file);
}

int hs_elf_file_open_vdso(struct hs_elf_file *ret_file)
{
    const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
    if (!ehdr || ehdr->e_ident[EI_CLASS] != ELFCLASS64) {
        return -ENOENT;
    }
    /* The section headers are at the end of the vDSO. */
    size_t bytes = ehdr->e_shoff + (size_t)ehdr->e_shnum * ehdr->e_shentsize;
    void *image = malloc(bytes);
    if (!image) {
        return -ENOMEM;
    }
    memcpy(image, ehdr, bytes);
    return hs_elf_file_open_image(image, bytes, "[vdso]", ret_file);
}

void hs_elf_file_close(struct hs_elf_file *file)
{
    if (file->elf) {
        elf_end(file->elf);
    }
    if (file->fd >= 0) {
        close(file->fd);
    }
    if (file->map) {
        munmap(file->map, file->map_bytes);
    }
    free(file->image);
    free(file->path);
    *file = (struct hs_elf_file)HS_ELF_FILE_NONE;
}

/* The lowest address of the segments with these flags; 0 when there is none. */
static uint64_t lowest_sva(const struct hs_elf_file *file, uint32_t flags)
{
    size_t count;
    uint64_t lowest = UINT64_MAX;
    if (elf_getphdrnum(file->elf, &count) != 0) {
        return 0;
    }
    for (size_t i = 0; i < count && i < SECTIONS_MAX; i++) {
        GElf_Phdr phdr;
        if (gelf_getphdr(file->elf, (int)i, &phdr) && phdr.p_type == PT_LOAD &&
            (phdr.p_flags & flags) == flags && phdr.p_vaddr < lowest) {
            lowest = phdr.p_vaddr;
        }
    }
    return lowest == UINT64_MAX ? 0 : lowest;
}

uint64_t hs_elf_file_code_sva(const struct hs_elf_file *file)
{
    return lowest_sva(file, PF_X);
}

uint64_t hs_elf_file_base_sva(const struct hs_elf_file *file)
{
    return lowest_sva(file, 0);
}

bool hs_elf_file_debuglink(const struct hs_elf_file *file, const char **ret_name, uint32_t *ret_crc)
{
    GElf_Word crc;
    const char *name = dwelf_elf_gnu_debuglink(file->elf, &crc);
    if (!name || !*name || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        return false;
    }
    *ret_name = name;
    *ret_crc = crc;
    return true;
}

uint32_t hs_elf_file_crc(const struct hs_elf_file *file)
{
    size_t bytes;
    const char *base = elf_rawfile(file->elf, &bytes);
    return base ? (uint32_t)crc32_z(0, (const unsigned char *)base, bytes) : 0;
}
