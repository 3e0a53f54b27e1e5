/*
 * Reads a library's segments: see library_bytes.h.
 */
#include "inject/library_bytes.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBRARY_BYTES_MAX (256U * 1024 * 1024)

static int read_all(const char *path, struct hs_library_bytes *ret_library)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    int r = fstat(fd, &st) == 0 ? 0 : -errno;
    if (r == 0 && (!S_ISREG(st.st_mode) || st.st_size > LIBRARY_BYTES_MAX)) {
        r = -EINVAL;
    }
    size_t done = 0, want = r == 0 ? (size_t)st.st_size : 0;
    uint8_t *bytes = r == 0 ? malloc(want + 1) : NULL;
    r = r == 0 && !bytes ? -ENOMEM : r;
    while (r == 0 && done < want) {
        ssize_t got = read(fd, bytes + done, want - done);
        if (got > 0) {
            done += (size_t)got;
        } else if (got == 0 || errno != EINTR) {
            r = got == 0 ? -EIO : -errno;
        }
    }
    close(fd);
    if (r < 0) {
        free(bytes);
        return r;
    }
    ret_library->bytes = bytes;
    ret_library->size_bytes = want;
    return 0;
}

/* The file offset at which the last segment's bytes end; 0: the file is not a library. */
static size_t find_end(const struct hs_library_bytes *library, const Elf64_Ehdr *head)
{
    uint64_t end_off = 0, size_bytes = library->size_bytes;
    if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64 ||
        head->e_type != ET_DYN || head->e_phentsize != sizeof(Elf64_Phdr) ||
        head->e_phoff > size_bytes ||
        head->e_phnum > (size_bytes - head->e_phoff) / sizeof(Elf64_Phdr)) {
        return 0;
    }
    for (unsigned i = 0; i < head->e_phnum; i++) {
        Elf64_Phdr part;
        memcpy(&part, library->bytes + head->e_phoff + i * sizeof(part), sizeof(part));
        if (part.p_type != PT_LOAD) {
            continue;
        }
        if (part.p_offset > size_bytes || part.p_filesz > size_bytes - part.p_offset) {
            return 0;
        }
        uint64_t part_end_off = part.p_offset + part.p_filesz;
        end_off = part_end_off > end_off ? part_end_off : end_off;
    }
    return end_off < sizeof(*head) ? 0 : (size_t)end_off;
}

int hs_library_bytes_load(const char *path, struct hs_library_bytes *ret_library)
{
    struct hs_library_bytes library = { 0 };
    Elf64_Ehdr head;
    int r = read_all(path, &library);
    if (r < 0) {
        return r;
    }
    size_t end_off = 0;
    if (library.size_bytes >= sizeof(head)) {
        memcpy(&head, library.bytes, sizeof(head));
        end_off = find_end(&library, &head);
    }
    if (end_off == 0) {
        hs_library_bytes_deinit(&library);
        return -EINVAL;
    }
    head.e_shoff = 0;
    head.e_shnum = 0;
    head.e_shstrndx = SHN_UNDEF;
    memcpy(library.bytes, &head, sizeof(head));
    library.size_bytes = end_off;
    *ret_library = library;
    return 0;
}

void hs_library_bytes_deinit(struct hs_library_bytes *library)
{
    free(library->bytes);
    *library = (struct hs_library_bytes){ 0 };
}
