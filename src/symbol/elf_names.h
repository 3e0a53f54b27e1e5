/*
 * Reads names from symbol tables: .symtab, .dynsym, and the table of mini debug info.
 *
 * One pass over the table finds for each symbol the wanted addresses that it covers; these are
 * sorted. The table, which may have hundreds of thousands of entries, is therefore never sorted or
 * copied, and the names of other symbols are never read.
 *
 * An address gets the name of a symbol whose size covers it. If there is none, it gets the name of
 * a nearby label without a size, if no other symbol lies between (hand-written assembler). Of
 * several symbols, these rules decide in turn: the one that begins last; a function before other
 * code; global before weak before local; fewer leading underscores; the shorter name; the first in
 * the alphabet. The choice therefore does not depend on the order of the table. An address beyond
 * the end of every symbol stays unnamed: the nearest exported function before it would be a wrong
 * answer, not an approximate one.
 *
 * Threads   none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/elf_file.h"

struct hs_elf_name {
    const char *name; /* NULL: none; lives as long as the file is open */
    uint64_t start_sva;
    uint32_t rank;
    bool has_others; /* another symbol with a size begins at start_sva and covers the address */
};

/*
 * Fills in those of names[0 .. pc_count) that are still empty, for ascending pcs, from all tables
 * of type SHT_SYMTAB or SHT_DYNSYM. *ret_found_count is the number of names found. 0 or -ENOMEM.
 */
int hs_elf_names_find(const struct hs_elf_file *file, uint32_t section_type, const uint64_t *pcs,
                      size_t pc_count, struct hs_elf_name *names, size_t *ret_found_count);
