/*
 * An open ELF file: the module itself, a debug file, or an image in memory.
 *
 * A thin layer over libelf that refuses everything but plain files before libelf reads them: a
 * named pipe would block, and reading a device can have side effects.
 *
 * Ensures   build_id and debuglink point into the file and live as long as it is open.
 * Threads   none.
 * Fails     -ENOENT, -EACCES ... of open; -ENOEXEC: not a valid ELF file; -ENOMEM.
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
    void *map;   /* a part of a file; unmapped at close */
    size_t map_bytes;
    const uint8_t *build_id;
    size_t build_id_bytes;
    /* an executable or a shared object; others only contain what dwz moved there */
    bool is_loadable;
    bool has_dwarf;        /* .debug_info, compressed or not */
    bool has_packed_dwarf; /* some of it is compressed in the standard way (SHF_COMPRESSED) */
    bool has_symtab;       /* .symtab */
};

#define HS_ELF_FILE_NONE                                                                           \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* Opens the file at `path`. */
int hs_elf_file_open(const char *path, struct hs_elf_file *ret_file);

/* Opens the file of a descriptor, which stays the caller's. `path` is where it is, or was. */
int hs_elf_file_open_fd(int fd, const char *path, struct hs_elf_file *ret_file);

/*
 * Opens an image in memory. Takes over `image`, which must come from malloc, also when it fails.
 * `path` is for messages.
 */
int hs_elf_file_open_image(void *image, size_t image_bytes, const char *path,
                           struct hs_elf_file *ret_file);

/*
 * Opens an ELF file that is a part of another file, from `off` on. The descriptor stays the
 * caller's. `path` is for messages.
 */
int hs_elf_file_open_part(int fd, const char *path, uint64_t off, size_t bytes,
                          struct hs_elf_file *ret_file);

/* Opens the vDSO of this process, which is the same in all processes. */
int hs_elf_file_open_vdso(struct hs_elf_file *ret_file);

/* Closes a file. A closed one is fine. */
void hs_elf_file_close(struct hs_elf_file *file);

/* The section called `name`; NULL when there is none. */
Elf_Scn *hs_elf_file_section(const struct hs_elf_file *file, const char *name);

/*
 * The lowest link-time address of code; 0 when no segment is executable. DWARF ranges below it are
 * left over from functions that the linker dropped.
 */
uint64_t hs_elf_file_code_sva(const struct hs_elf_file *file);

/* The lowest link-time address that is mapped: 0, unless the program runs at a fixed place. */
uint64_t hs_elf_file_base_sva(const struct hs_elf_file *file);

/*
 * Reads .gnu_debuglink: the name of the debug file, and the checksum of its bytes. False when there
 * is none, or the name is not a plain file name.
 */
bool hs_elf_file_debuglink(const struct hs_elf_file *file, const char **ret_name,
                           uint32_t *ret_crc);

/* The checksum of the whole file, as in a debug link. */
uint32_t hs_elf_file_crc(const struct hs_elf_file *file);
