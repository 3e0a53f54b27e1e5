/*
 * Names from symbol tables: .symtab, .dynsym, that of mini debug info.
 *
 * One pass over the table, asking for each symbol which of the sorted addresses it covers. So the
 * table, which may have hundreds of thousands of entries, is never sorted or copied, and the names
 * of symbols that nobody asked for are never touched.
 *
 * Which symbol names an address: one whose size covers it, else a label without a size when no
 * other symbol lies between and it is near (hand-written assembler). Of several the one that begins last; then a
 * function before other code; then global before weak before local; then the one with fewer leading
 * underscores, the shorter, the first in the alphabet, so that the choice does not depend on the
 * order in the table. An address beyond the end of every symbol keeps no name: the nearest exported
 * function before it would be a wrong answer, not a rough one.
 *
 * Threads   none.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symbol/elf_file.h"

struct hs_elf_name {
    const char *name; /* NULL: none; lives as long as the file is open */
    uint64_t start_sva;
    uint32_t rank;
};

/*
 * Fills in those of names[0 .. pc_count) that have none, for ascending pcs, from all tables of type
 * SHT_SYMTAB or SHT_DYNSYM. Returns how many were found. -ENOMEM.
 */
int hs_elf_names_find(const struct hs_elf_file *file, uint32_t section_type, const uint64_t *pcs,
                      size_t pc_count, struct hs_elf_name *names, size_t *ret_found_count);
