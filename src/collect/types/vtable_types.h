/*
 * Which C++ class a pointer to a vtable stands for (Itanium C++ ABI, 2.5 and 2.9.5).
 *
 * A vtable is preceded by two words:
 *
 *     vtable[-2]  where the complete object begins, relative to the pointer: 0 for the primary one
 *     vtable[-1]  the class's type_info; 0 where RTTI was switched off
 *     vtable[0]   the first virtual function
 *
 * and a type_info is { its own vtable, mangled name, bases }. Its own vtable is that of one of
 * three classes of the C++ runtime, whose own type_infos have known names and point to one of the
 * three again. So the whole chain is checked in the process's memory, and a module without symbols
 * does as well as one with symbols.
 *
 * Symbols are read where memory does not suffice: a vtable without RTTI is named by _ZTV...; and
 * of a class with virtual bases, the vtable for the time of its construction (_ZTC...) looks like
 * that of a complete object in memory.
 *
 * Ensures   a name is that of a class whose primary vtable is at the address; pointers to the
 *           middle of a vtable and to secondary vtables have none.
 * Trust     the memory is hostile: each step is bounded, and a chain that leads back to itself
 *           ends. A process can only mislead its own user.
 * Threads   one.
 * Fails     -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/types/type_memory.h"
#include "collect/types/type_names.h"

#define HS_VTABLE_META_MAX 16U

enum hs_vtable_meta_kind {
    HS_VTABLE_META_NONE,
    HS_VTABLE_META_CLASS,    /* a class without bases */
    HS_VTABLE_META_SINGLE,   /* one base, public, not virtual */
    HS_VTABLE_META_MULTIPLE, /* all others */
};

/* What a vtable of a type_info was found to be. */
struct hs_vtable_meta {
    uint64_t va;
    enum hs_vtable_meta_kind kind;
};

struct hs_vtable_type {
    uint32_t type_idx; /* 0: it is no vtable of a complete object */
    bool has_rtti;     /* named by its type_info, not by its symbol alone */
};

/* So many addresses that were seen are found without a search. */
#define HS_VTABLE_RECENT 256U

struct hs_vtable_recent {
    uint64_t va;
    struct hs_vtable_type type;
};

struct hs_vtable_types {
    const struct hs_type_memory *memory;
    struct hs_type_names *names;
    struct hs_intern_array seen;
    struct hs_vtable_type *types; /* of each address that was seen */
    struct hs_vtable_recent recent[HS_VTABLE_RECENT];
    struct hs_vtable_meta metas[HS_VTABLE_META_MAX];
    unsigned meta_count;
};

/* `memory` and `names` must outlive the table. */
void hs_vtable_types_init(struct hs_vtable_types *vtables, const struct hs_type_memory *memory,
                          struct hs_type_names *names);
void hs_vtable_types_deinit(struct hs_vtable_types *vtables);

/* The class whose objects begin with the pointer `va`. Looks at an address only once. */
int hs_vtable_types_find(struct hs_vtable_types *vtables, uint64_t va,
                         struct hs_vtable_type *ret_type);
