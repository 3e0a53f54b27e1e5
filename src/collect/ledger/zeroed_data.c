/*
 * Reads where a module ends: see zeroed_data.h.
 */
#include "collect/ledger/zeroed_data.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_BYTES  UINT64_C(4096)
#define HEADERS_MAX 64U

/* Where the headers are read: in a file, or in memory. */
struct source {
    int fd; /* -1: in memory */
    const struct hs_remote_window *window;
    uint64_t start_va;
};

static bool take(const struct source *source, uint64_t off, void *ret_bytes, size_t byte_count)
{
    return source->fd < 0 ? hs_remote_window_peek(source->window, source->start_va + off, ret_bytes,
                                                  byte_count)
                          : off <= INT64_MAX && pread(source->fd, ret_bytes, byte_count,
                                                      (off_t)off) == (ssize_t)byte_count;
}

static uint64_t find_end(const struct source *source, const struct hs_mapping *first)
{
    Elf64_Ehdr elf;
    Elf64_Phdr headers[HEADERS_MAX];
    uint64_t start_sva = UINT64_MAX, end_sva = 0;
    if (first->file_off != 0 || !take(source, 0, &elf, sizeof(elf)) ||
        memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_phentsize != sizeof(headers[0]) ||
        elf.e_phnum > HEADERS_MAX ||
        !take(source, elf.e_phoff, headers, elf.e_phnum * sizeof(headers[0]))) {
        return 0;
    }
    for (unsigned i = 0; i < elf.e_phnum; i++) {
        if (headers[i].p_type == PT_LOAD) {
            uint64_t header_end_sva = headers[i].p_vaddr + headers[i].p_memsz;
            start_sva = headers[i].p_vaddr < start_sva ? headers[i].p_vaddr : start_sva;
            end_sva = header_end_sva > end_sva ? header_end_sva : end_sva;
        }
    }
    if (start_sva >= end_sva) {
        return 0;
    }
    uint64_t end_va = first->start_va + (end_sva - (start_sva & ~(PAGE_BYTES - 1)));
    return (end_va + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

uint64_t hs_zeroed_data_end(const struct hs_remote_window *window, const struct hs_mapping *first)
{
    const struct source source = { -1, window, first->start_va };
    return find_end(&source, first);
}

uint64_t hs_zeroed_data_end_in_file(pid_t pid, const char *path, const struct hs_mapping *first)
{
    char name[PATH_MAX];
    struct stat status;
    uint64_t end_va = 0;
    int n = snprintf(name, sizeof(name), "/proc/%d/root%s", (int)pid, path);
    int fd = n > 0 && (size_t)n < sizeof(name) ? open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_ino == first->inode) {
        const struct source source = { fd, NULL, 0 };
        end_va = find_end(&source, first);
    }
    if (fd >= 0) {
        close(fd);
    }
    return end_va;
}
