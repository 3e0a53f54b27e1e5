/*
 * Reads the symbols of vtables: see vtable_symbols.h.
 */
#include "collect/types/vtable_symbols.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/inspect/symbol_file.h"
#include "rt/check.h"
#include "util/array.h"

#define HEADERS_MAX  64U
#define SYMBOLS_MAX  (1U << 20)
#define NAME_BYTES   4096U
#define VTABLE_BYTES (UINT64_C(1) << 20)

int hs_vtable_symbols_open_file(pid_t pid, const char *path, uint64_t inode)
{
    char name[PATH_MAX];
    struct stat status;
    int n = snprintf(name, sizeof(name), "/proc/%d/root%s", (int)pid, path);
    if (path[0] != '/' || n < 0 || (size_t)n >= sizeof(name)) {
        return -ENOENT;
    }
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return -errno;
    }
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_ino != inode) {
        close(fd);
        return -ENOENT;
    }
    return fd;
}

static void take_symbol(void *ctx, const char *name, uint64_t sva, uint64_t size_bytes,
                        unsigned type)
{
    struct hs_vtable_symbols *symbols = ctx;
    (void)type;
    if (strcmp(name, "PyType_Type") == 0) {
        symbols->python_sva = sva;
    }
    if ((strncmp(name, "_ZTV", 4) != 0 && strncmp(name, "_ZTC", 4) != 0) || size_bytes == 0 ||
        size_bytes > VTABLE_BYTES || sva > UINT64_MAX - size_bytes || symbols->err != 0 ||
        symbols->count >= SYMBOLS_MAX || strnlen(name, NAME_BYTES) >= NAME_BYTES) {
        return;
    }
    symbols->err = hs_array_reserve(&symbols->items, &symbols->capacity, symbols->count + 1,
                                    sizeof(*symbols->items));
    if (symbols->err == 0) {
        symbols->items[symbols->count++] = (struct hs_vtable_symbol){
            .start_sva = sva,
            .size_bytes = size_bytes,
            .name_off = symbols->names.bytes,
        };
        hs_buf_add(&symbols->names, name, strlen(name) + 1);
    }
}

static int compare(const void *a, const void *b)
{
    const struct hs_vtable_symbol *left = a, *right = b;
    return (left->start_sva > right->start_sva) - (left->start_sva < right->start_sva);
}

static void read_parts(int fd, struct hs_vtable_symbols *symbols)
{
    Elf64_Ehdr elf;
    Elf64_Phdr headers[HEADERS_MAX];
    if (pread(fd, &elf, sizeof(elf), 0) != (ssize_t)sizeof(elf) ||
        elf.e_phentsize != sizeof(headers[0]) || elf.e_phnum > HEADERS_MAX ||
        elf.e_phoff > INT64_MAX ||
        pread(fd, headers, elf.e_phnum * sizeof(headers[0]), (off_t)elf.e_phoff) !=
            (ssize_t)(elf.e_phnum * sizeof(headers[0]))) {
        return;
    }
    for (unsigned i = 0; i < elf.e_phnum && symbols->part_count < HS_VTABLE_PARTS_MAX; i++) {
        const Elf64_Phdr *header = &headers[i];
        if (header->p_type == PT_LOAD && header->p_offset <= INT64_MAX &&
            header->p_filesz <= INT64_MAX) {
            symbols->parts[symbols->part_count++] =
                (struct hs_vtable_part){ header->p_offset, header->p_filesz, header->p_vaddr };
        }
    }
}

int hs_vtable_symbols_read(int fd, struct hs_vtable_symbols *ret_symbols)
{
    struct hs_vtable_symbols symbols = { 0 };
    read_parts(fd, &symbols);
    if (!hs_symbol_file_read_objects(fd, SHT_SYMTAB, take_symbol, &symbols)) {
        int debug_fd = hs_symbol_file_open_debug(fd);
        if (debug_fd >= 0) {
            hs_symbol_file_read_objects(debug_fd, SHT_SYMTAB, take_symbol, &symbols);
            close(debug_fd);
        }
        hs_symbol_file_read_objects(fd, SHT_DYNSYM, take_symbol, &symbols);
    }
    int r = symbols.err != 0 ? symbols.err : symbols.names.err;
    if (r < 0) {
        hs_vtable_symbols_deinit(&symbols);
        return r;
    }
    if (symbols.count > 0) {
        qsort(symbols.items, symbols.count, sizeof(*symbols.items), compare);
    }
    *ret_symbols = symbols;
    return 0;
}

void hs_vtable_symbols_deinit(struct hs_vtable_symbols *symbols)
{
    free(symbols->items);
    hs_buf_deinit(&symbols->names);
    *symbols = (struct hs_vtable_symbols){ 0 };
}

const struct hs_vtable_symbol *hs_vtable_symbols_find(const struct hs_vtable_symbols *symbols,
                                                      uint64_t sva)
{
    size_t first = 0, end = symbols->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (symbols->items[middle].start_sva <= sva) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    const struct hs_vtable_symbol *last = first > 0 ? &symbols->items[first - 1] : NULL;
    return last && sva - last->start_sva < last->size_bytes ? last : NULL;
}

bool hs_vtable_symbols_sva(const struct hs_vtable_symbols *symbols, uint64_t file_off,
                           uint64_t *ret_sva)
{
    for (unsigned i = 0; i < symbols->part_count; i++) {
        const struct hs_vtable_part *part = &symbols->parts[i];
        if (file_off - part->file_off < part->size_bytes) {
            *ret_sva = part->sva + (file_off - part->file_off);
            return true;
        }
    }
    return false;
}

bool hs_vtable_symbols_file_off(const struct hs_vtable_symbols *symbols, uint64_t sva,
                                uint64_t *ret_file_off)
{
    for (unsigned i = 0; i < symbols->part_count; i++) {
        const struct hs_vtable_part *part = &symbols->parts[i];
        if (sva - part->sva < part->size_bytes) {
            *ret_file_off = part->file_off + (sva - part->sva);
            return true;
        }
    }
    return false;
}
