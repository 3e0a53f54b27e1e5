/*
 * Reads where a module ends: see zeroed_data.h.
 */
#include "collect/ledger/zeroed_data.h"

#include <elf.h>
#include <string.h>

#define PAGE_BYTES  UINT64_C(4096)
#define HEADERS_MAX 64U

uint64_t hs_zeroed_data_end(const struct hs_remote_window *window, const struct hs_mapping *first)
{
    Elf64_Ehdr elf;
    Elf64_Phdr headers[HEADERS_MAX];
    uint64_t start_sva = UINT64_MAX, end_sva = 0;
    if (first->file_off != 0 ||
        !hs_remote_window_peek(window, first->start_va, &elf, sizeof(elf)) ||
        memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_phentsize != sizeof(headers[0]) ||
        elf.e_phnum > HEADERS_MAX ||
        !hs_remote_window_peek(window, first->start_va + elf.e_phoff, headers,
                               elf.e_phnum * sizeof(headers[0]))) {
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
