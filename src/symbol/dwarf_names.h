/*
 * Names, files and lines from DWARF.
 *
 * Functions from the tree of the address's unit, its own line from the unit's line table, the lines
 * of inlined calls from the calls' entries. Where the tree has no name that the linker knows (static
 * functions, C), the symbol that begins at the same address is asked: it may be mangled, and then
 * says the namespace too.
 *
 * Threads   none.
 * Fails     -ENOMEM. What DWARF does not say stays unnamed.
 */
#pragma once

#include "symbol/elf_names.h"
#include "symbol/symbol_builder.h"

/*
 * Fills in the builder's spans from `file`, which has DWARF. `alt`: what dwz moved elsewhere, or a
 * closed one. symbols: what the symbol tables say, parallel to the builder's addresses.
 */
int hs_dwarf_names(struct hs_symbol_builder *builder, const struct hs_elf_file *file,
                   const struct hs_elf_file *alt, const char *cache_folder,
                   const struct hs_elf_name *symbols);
