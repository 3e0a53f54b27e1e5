/*
 * Which function is each address of a unit in, and through which inlined calls?
 *
 * One walk over the unit's tree for all its addresses, which goes down only where one of them is:
 * the subtrees of other functions and of types are passed over. Functions inside types and inside
 * other functions are looked for in a second walk, when something was not found in the first.
 *
 * Example: g() inlined in f() at line 7. An address in it has the scope {g, is_inlined, parent f},
 * one elsewhere in f the scope {f}.
 *
 * Holds     a scope's parent has a smaller index. A scope that is not inlined has no parent.
 * Threads   none.
 * Fails     -ENOMEM. Broken entries end the walk of their subtree.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol_builder.h"

#define HS_DWARF_SCOPE_NONE UINT32_MAX

struct hs_dwarf_scope {
    Dwarf_Die die;
    uint32_t parent; /* what it was inlined into; HS_DWARF_SCOPE_NONE */
    bool is_inlined;
    bool is_named;              /* `name` was looked for */
    struct hs_symbol_name name; /* filled by who needs it */
};

struct hs_dwarf_scopes {
    struct hs_dwarf_scope *scopes;
    size_t count;
    size_t capacity;
    uint32_t *scope_of; /* per address: innermost scope, or HS_DWARF_SCOPE_NONE */
};

/* Of the unit with entry `unit`, for ascending pcs. */
int hs_dwarf_scopes_find(Dwarf_Die *unit, const uint64_t *pcs, size_t pc_count,
                         struct hs_dwarf_scopes *ret_scopes);
void hs_dwarf_scopes_deinit(struct hs_dwarf_scopes *scopes);
