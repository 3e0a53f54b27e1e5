/*
 * Recognizes Go's heap: see go_memory.h.
 */
#include "collect/ledger/go_memory.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collect/ledger/go_tables.h"
#include "rt/base.h"
#include "trace/ledger.h"

#define HEAP_START_VA  UINT64_C(0xc000000000)
#define HEAP_BYTES_MAX (UINT64_C(1) << 39)
#define HEADERS_MAX    64U
#define INFO_ALIGN     16U
/* The information is so near to the start of the writable data, which begins with constants that
 * are relocated. */
#define INFO_SEARCH (UINT64_C(16) << 20)

static const char heap_name[] = "Go heap";
static const char info_magic[] = "\xff Go buildinf:";

static bool has_magic(int fd, uint64_t off, uint64_t bytes)
{
    char piece[4096];
    bytes = bytes < INFO_SEARCH ? bytes : INFO_SEARCH;
    for (uint64_t at = 0; at < bytes; at += sizeof(piece)) {
        ssize_t got = pread(fd, piece, sizeof(piece), (off_t)(off + at));
        for (ssize_t i = 0; i + (ssize_t)sizeof(info_magic) - 1 <= got; i += INFO_ALIGN) {
            if (memcmp(piece + i, info_magic, sizeof(info_magic) - 1) == 0) {
                return true;
            }
        }
    }
    return false;
}

static bool is_go_file(int fd)
{
    Elf64_Ehdr elf;
    Elf64_Phdr headers[HEADERS_MAX];
    if (pread(fd, &elf, sizeof(elf), 0) != (ssize_t)sizeof(elf) ||
        memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
        elf.e_phentsize != sizeof(headers[0]) || elf.e_phnum > HEADERS_MAX ||
        elf.e_phoff > INT64_MAX) {
        return false;
    }
    ssize_t bytes = (ssize_t)(elf.e_phnum * sizeof(headers[0]));
    if (pread(fd, headers, (size_t)bytes, (off_t)elf.e_phoff) != bytes) {
        return false;
    }
    for (unsigned i = 0; i < elf.e_phnum; i++) {
        if (headers[i].p_type == PT_LOAD && (headers[i].p_flags & PF_W) &&
            headers[i].p_offset <= INT64_MAX - INFO_SEARCH &&
            has_magic(fd, headers[i].p_offset, headers[i].p_filesz)) {
            return true;
        }
    }
    return false;
}

static bool is_go(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is_found = fd >= 0 && is_go_file(fd);
    if (fd >= 0) {
        close(fd);
    }
    return is_found;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* The executable's data, with the zeroed data behind it, which the caller knows already. */
static bool find_data(pid_t pid, const struct hs_address_space *space,
                      const struct hs_owned_ranges *owned, struct hs_go_program *program)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
    ssize_t bytes = readlink(link, path, sizeof(path) - 1);
    path[bytes > 0 ? bytes : 0] = '\0';
    for (size_t i = 0; i < space->count; i++) {
        const struct hs_mapping *mapping = &space->items[i];
        if (mapping->inode != 0 && mapping->is_writable && !mapping->is_shared &&
            strcmp(hs_mapping_path(space, mapping), path) == 0) {
            const struct hs_owned_range *zeroed = hs_owned_ranges_find(owned, mapping->end_va);
            program->data_start_va = mapping->start_va;
            program->data_end_va =
                zeroed && zeroed->kind == HS_OWNED_ELSEWHERE ? zeroed->end_va : mapping->end_va;
            return true;
        }
    }
    return false;
}

static int find_tables(const struct hs_go_search *search, struct hs_go_program *program,
                       struct hs_owned_ranges *owned)
{
    struct hs_mapping_rows rows;
    if (!find_data(search->pid, search->space, owned, program)) {
        return 0;
    }
    int r = hs_mapping_rows_init(search->space, &rows);
    if (r == 0) {
        program->rows = &rows;
        r = hs_go_tables_find(program, owned);
        program->rows = NULL;
        hs_mapping_rows_deinit(&rows);
    }
    return r;
}

int hs_go_memory_find(const struct hs_go_search *search, struct hs_owned_ranges *owned)
{
    const struct hs_address_space *space = search->space;
    const struct hs_mapping *mapping = hs_address_space_find(space, HEAP_START_VA);
    const struct hs_mapping *end = space->items + space->count;
    uint64_t va = HEAP_START_VA;
    if (!mapping || mapping->start_va != va || !is_go(search->pid)) {
        return 0;
    }
    while (mapping < end && mapping->start_va == va && hs_mapping_is_plain(space, mapping) &&
           va < HEAP_START_VA + HEAP_BYTES_MAX) {
        va = mapping->end_va;
        mapping++;
    }
    const struct hs_owned_range range = { HEAP_START_VA, va, HS_LEDGER_RUNTIME, heap_name };
    struct hs_go_program program = { .window = search->window,
                                     .pagemap_fd = search->pagemap_fd,
                                     .heap_start_va = HEAP_START_VA,
                                     .heap_end_va = va };
    int r = hs_owned_ranges_add(owned, &range);
    r = r == 0 ? hs_owned_ranges_settle(owned) : r;
    return r == 0 ? find_tables(search, &program, owned) : r;
}
