/*
 * Finds code that several functions share, because the linker (--icf) or the compiler (-fipa-icf)
 * folded functions with equal code into one. A stack does not tell which of them was called.
 *
 * Symbols of one address and size are names of folded functions in two cases:
 *
 * - Both are mangled, and their demangled forms differ. Variants of a constructor or destructor
 *   (C1, C2, D0 ...), thunks, versions ("@@GLIBCXX_3.4") and clones (".localalias") are the same
 *   function.
 * - A name that is not mangled may be an alias, of which a function can have any number. But DWARF
 *   has no entry for an alias, and one for each function that the source defines, also if the
 *   compiler or the linker dropped its code. So such a name counts if a unit defines it. Units
 *   without a wanted address are not looked at. Two functions of a unit with the same code are
 *   folded, too, also where the linker left only one of their symbols.
 *
 *     struct hs_folded_names folded;
 *     hs_folded_names_find(&folded, file, SHT_SYMTAB, builder, names);
 *     hs_folded_names_take_unit(&folded, unit, pcs, pc_count);    for each unit
 *     hs_folded_names_mark(&folded, builder, names);
 *     hs_folded_names_deinit(&folded);
 *
 * Threads   none.
 * Fails     -ENOMEM
 */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/elf_file.h"
#include "symbol/elf_names.h"
#include "symbol/symbol_builder.h"
#include "util/intern.h"

/* Behind the name of a function whose code others share: ART's word for it. */
#define HS_FOLDED_MARK " [DEDUPED]"

/* A symbol that begins where a function of an address does. */
struct hs_folded_symbol {
    uint64_t sva, size_bytes;
    const char *name; /* in the file, or a copy */
    char *copy;       /* of a function that has no symbol; NULL: it has one */
    bool is_local, is_mangled;
    bool is_defined;     /* a unit defines a function of this name */
    uint32_t next_equal; /* the next one with this name, UINT32_MAX: none */
};

struct hs_folded_names {
    struct hs_folded_symbol *symbols; /* by address and size */
    size_t symbol_count, symbol_capacity;
    /* Names that are not mangled, without suffixes, and the first symbol of each. */
    struct hs_intern plain_ids;
    uint32_t *first_plain;
    size_t plain_capacity;
};

/*
 * Finds the symbols of addresses that have several. `names` has those of the builder's addresses;
 * `section_type` is the kind of table that is read. The file must stay open.
 */
int hs_folded_names_find(struct hs_folded_names *ret_folded, const struct hs_elf_file *file,
                         uint32_t section_type, const struct hs_symbol_builder *builder,
                         const struct hs_elf_name *names);
void hs_folded_names_deinit(struct hs_folded_names *folded);

/* Notes which of the functions a unit defines. `pcs` are its wanted addresses, ascending. */
void hs_folded_names_take_unit(struct hs_folded_names *folded, Dwarf_Die *unit, const uint64_t *pcs,
                               size_t pc_count);

/* Notes that a function has this code; not if its name is mangled. -ENOMEM. */
int hs_folded_names_add(struct hs_folded_names *folded, Dwarf_Die *function, uint64_t sva,
                        uint64_t size_bytes);

/* Marks the names of addresses whose code is shared, and notes all names. */
int hs_folded_names_mark(struct hs_folded_names *folded, struct hs_symbol_builder *builder,
                         const struct hs_elf_name *names);
