/*
 * Reads names, files and lines from DWARF.
 *
 * Functions come from the entry tree of the address's unit, its own line from the unit's line
 * table, the lines of inlined calls from the entries of the calls. When the tree has no linker name
 * (static functions, C), the symbol that begins at the same address is used: it may be mangled, and
 * then contains the namespace too.
 *
 * Threads   none.
 * Fails     -ENOMEM. Addresses that DWARF does not describe stay unnamed.
 */
#pragma once

#include "symbol/elf_names.h"
#include "symbol/folded_names.h"
#include "symbol/symbol_builder.h"

/*
 * Fills in the builder's spans from `file`, which has DWARF. `alt`: the file with what dwz moved
 * elsewhere, or a closed one. `cache_folder`: for debug_cache.h; may be NULL. `symbols`: the names
 * from the symbol tables, parallel to the builder's addresses. `folded`: notes what the units
 * with an address define. 0 or -ENOMEM.
 */
int hs_dwarf_names(struct hs_symbol_builder *builder, const struct hs_elf_file *file,
                   const struct hs_elf_file *alt, const char *cache_folder,
                   const struct hs_elf_name *symbols, struct hs_folded_names *folded);
