/*
 * One open ELF file: the module itself, a debug file, or an image in memory.
 *
 * A thin layer over libelf that refuses what is no plain file (a named pipe would block, a device
 * may do anything when read) before libelf looks at it.
 *
 * Holds     build_id and debuglink point into the file and live as long as it is open.
 * Threads   none.
 * Fails     -ENOENT, -EACCES ... of open; -ENOEXEC not an ELF file that makes sense; -ENOMEM.
 */
#pragma once

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_elf_file {
    Elf *elf; /* NULL: not open */
    int fd;   /* -1: in memory */
    char *path;
    void *image; /* freed at close; NULL for files */
    const uint8_t *build_id;
    size_t build_id_bytes;
    bool
        is_loadable; /* an executable or a shared object; else only good for what dwz moved there */
    bool has_dwarf;  /* .debug_info, compressed or not */
    bool has_packed_dwarf; /* some of it is compressed, in today's way */
    bool has_symtab;       /* .symtab */
};

#define HS_ELF_FILE_NONE                                                                           \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

int hs_elf_file_open(const char *path, struct hs_elf_file *ret_file);

/* Takes over `image`, which malloc gave, also when it fails. `path` is for messages. */
int hs_elf_file_open_image(void *image, size_t image_bytes, const char *path,
                           struct hs_elf_file *ret_file);

/* The vDSO of this process: the kernel gives all processes the same one. */
int hs_elf_file_open_vdso(struct hs_elf_file *ret_file);

/* Closed ones are fine. */
void hs_elf_file_close(struct hs_elf_file *file);

/* The section called `name`; NULL when there is none. */
Elf_Scn *hs_elf_file_section(const struct hs_elf_file *file, const char *name);

/* The lowest link-time address of code; 0 when no segment is executable. Ranges below it are left
 * over from functions that the linker dropped. */
uint64_t hs_elf_file_code_sva(const struct hs_elf_file *file);

/*
 * What .gnu_debuglink says: the name of the debug file, and the checksum of its bytes. False when
 * there is none, or the name is not a plain file name.
 */
bool hs_elf_file_debuglink(const struct hs_elf_file *file, const char **ret_name,
                           uint32_t *ret_crc);

/* Checksum of the whole file, as a debug link has it. */
uint32_t hs_elf_file_crc(const struct hs_elf_file *file);
