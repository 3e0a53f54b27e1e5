/*
 * The symbols of one module that the search for types needs: of vtables, and CPython's PyType_Type.
 *
 * They are read from .symtab and .dynsym of the module's file; of a stripped module, also from its
 * debug file (inspect/symbol_file.h).
 *
 * Trust     the file is foreign: it is read, not mapped, and its tables are bounded.
 * Threads   none.
 * Fails     -ENOMEM. A file that cannot be read, or is another one than the process has mapped, has
 *           no symbols.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/buf.h"

#define HS_VTABLE_PARTS_MAX 16U

struct hs_vtable_symbol {
    uint64_t start_sva;
    uint64_t size_bytes;
    size_t name_off;
};

/* A part of the file that is loaded. */
struct hs_vtable_part {
    uint64_t file_off, size_bytes; /* in the file */
    uint64_t sva;
};

struct hs_vtable_symbols {
    struct hs_vtable_symbol *items; /* in the order of their addresses */
    size_t count, capacity;
    struct hs_buf names; /* each with its NUL */
    struct hs_vtable_part parts[HS_VTABLE_PARTS_MAX];
    unsigned part_count;
    uint64_t python_sva; /* of PyType_Type; 0: the module does not have it */
    int err;             /* the first one while they were read */
};

/* Opens the file at `path` as `pid` sees it, if it is the one with the number `inode`. Returns the
 * descriptor, or -errno. */
int hs_vtable_symbols_open_file(pid_t pid, const char *path, uint64_t inode);

/* Reads the symbols of the open file. */
int hs_vtable_symbols_read(int fd, struct hs_vtable_symbols *ret_symbols);
void hs_vtable_symbols_deinit(struct hs_vtable_symbols *symbols);

/* The vtable's symbol that contains `sva`. NULL: there is none. */
const struct hs_vtable_symbol *hs_vtable_symbols_find(const struct hs_vtable_symbols *symbols,
                                                      uint64_t sva);

/* Converts between offsets in the file and link-time addresses. False: it is not loaded. */
bool hs_vtable_symbols_sva(const struct hs_vtable_symbols *symbols, uint64_t file_off,
                           uint64_t *ret_sva);
bool hs_vtable_symbols_file_off(const struct hs_vtable_symbols *symbols, uint64_t sva,
                                uint64_t *ret_file_off);
