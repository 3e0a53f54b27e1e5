/*
 * The entries of a symbol table, read one after the other. A program has up to millions of them, so
 * those of 64-bit files are read where libelf has them, without a call for each.
 *
 * Threads   none.
 */
#pragma once

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

struct hs_elf_symbols {
    Elf_Data *data;
    const Elf64_Sym *entries; /* of a 64-bit file, otherwise NULL */
    size_t count;             /* the first one means nothing */
    size_t strings_idx;       /* the section of their names, for elf_strptr() */
};

_Static_assert(sizeof(GElf_Sym) == sizeof(Elf64_Sym), "GElf_Sym is Elf64_Sym");

/* The table in a section; no entries if it cannot be read. */
static inline struct hs_elf_symbols hs_elf_symbols_of(Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr)
{
    struct hs_elf_symbols table = { .strings_idx = shdr->sh_link };
    table.data = shdr->sh_entsize > 0 ? elf_getdata(scn, NULL) : NULL;
    if (!table.data || !table.data->d_buf || table.data->d_type != ELF_T_SYM) {
        return table;
    }
    size_t entry_bytes = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
    table.count = entry_bytes > 0 ? table.data->d_size / entry_bytes : 0;
    if (table.count > INT32_MAX) {
        table.count = INT32_MAX; /* gelf_getsym() takes an int */
    }
    if (gelf_getclass(elf) == ELFCLASS64) {
        table.entries = table.data->d_buf;
    }
    return table;
}

/* Entry `idx`, below `count`; `buffer` may hold it. NULL when it cannot be read. */
static inline const GElf_Sym *hs_elf_symbols_at(const struct hs_elf_symbols *table, size_t idx,
                                                GElf_Sym *buffer)
{
    return table->entries ? &table->entries[idx] : gelf_getsym(table->data, (int)idx, buffer);
}
