/*
 * See elf_shift.h.
 */
#include "symbol/elf_shift.h"

#include <errno.h>
#include <gelf.h>
#include <stddef.h>

#include "symbol/elf_file.h"

#define SEGMENTS_MAX 4096U
#define PAGE_BYTES   4096U

int hs_elf_shift(const char *path, uint64_t file_off, uint64_t *ret_shift)
{
    struct hs_elf_file file = HS_ELF_FILE_NONE;
    int err = hs_elf_file_open(path, &file);
    if (err < 0) {
        return err;
    }
    size_t count = 0;
    err = -ENOENT;
    if (elf_getphdrnum(file.elf, &count) != 0) {
        count = 0;
    }
    for (size_t i = 0; i < count && i < SEGMENTS_MAX && err < 0; i++) {
        GElf_Phdr phdr;
        if (gelf_getphdr(file.elf, (int)i, &phdr) && phdr.p_type == PT_LOAD &&
            (phdr.p_flags & PF_X) != 0) {
            /* The segment is mapped from the start of the page in which it begins. */
            uint64_t first_off = phdr.p_offset & ~(uint64_t)(PAGE_BYTES - 1);
            if (file_off >= first_off && file_off - first_off < phdr.p_filesz + PAGE_BYTES) {
                *ret_shift = phdr.p_vaddr - phdr.p_offset;
                err = 0;
            }
        }
    }
    hs_elf_file_close(&file);
    return err;
}
