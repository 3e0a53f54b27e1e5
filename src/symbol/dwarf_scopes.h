/*
 * Finds the function of each address of a unit, and the inlined calls around it.
 *
 * The unit's tree is walked once for all addresses, and only where one of them lies: the subtrees
 * of other functions and of types are skipped. When an address was not found, a second walk looks
 * at functions inside types and inside other functions.
 *
 * Example: g() is inlined in f() at line 7. An address in it has the scope {g, is_inlined, parent
 * f}; an address elsewhere in f has the scope {f}.
 *
 * Holds     the parent of a scope has a smaller index. A scope that is not inlined has no parent.
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
    uint32_t parent; /* the scope into which it was inlined; HS_DWARF_SCOPE_NONE */
    bool is_inlined;
    bool is_named;              /* `name` has been looked up */
    struct hs_symbol_name name; /* filled by dwarf_names.c when it is needed */
};

/* A function that has the same code as one that was found before: the linker folded them. */
struct hs_dwarf_twin {
    Dwarf_Die die;
    uint64_t sva, size_bytes;
    uint32_t pc_idx; /* the first wanted address in it */
};

struct hs_dwarf_scopes {
    struct hs_dwarf_twin *twins;
    size_t twin_count;
    size_t twin_capacity;
    struct hs_dwarf_scope *scopes;
    size_t count;
    size_t capacity;
    uint32_t *scope_of; /* per address: innermost scope, or HS_DWARF_SCOPE_NONE */
};

/* Finds the scopes of the ascending pcs in the unit with entry `unit`. 0 or -ENOMEM. */
int hs_dwarf_scopes_find(Dwarf_Die *unit, const uint64_t *pcs, size_t pc_count,
                         struct hs_dwarf_scopes *ret_scopes);
/* Frees the scopes. */
void hs_dwarf_scopes_deinit(struct hs_dwarf_scopes *scopes);
