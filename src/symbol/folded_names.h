/*
 * Finds code that several functions share, because the linker (--icf) or the compiler (-fipa-icf)
 * folded functions with equal code into one. A stack does not tell which of them was called.
 *
 * Symbols of one address and size are names of folded functions if both are mangled, and their
 * demangled forms differ. A function of C may have any number of other names (aliases, versions),
 * which look the same as folded ones: so names that are not mangled say nothing. Nor do variants of
 * a constructor or destructor (C1, C2, D0 ...), thunks, versions ("@@GLIBCXX_3.4") and clones
 * (".localalias"), which are the same function.
 *
 * Threads   none.
 * Fails     -ENOMEM
 */
#pragma once

#include <stddef.h>

#include "symbol/elf_file.h"
#include "symbol/elf_names.h"
#include "symbol/symbol_builder.h"

/* Behind the name of a function whose code others share: ART's word for it. */
#define HS_FOLDED_MARK " [DEDUPED]"

/*
 * Marks the names of addresses whose code is shared, and notes all names. `names` has the symbols
 * of the builder's addresses; `section_type` is the kind of table that is read.
 */
int hs_folded_names_mark(struct hs_symbol_builder *builder, const struct hs_elf_file *file,
                         uint32_t section_type, const struct hs_elf_name *names);
