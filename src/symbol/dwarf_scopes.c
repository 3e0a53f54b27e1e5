/*
 * Walks the tree of a unit. See dwarf_scopes.h.
 */
#include "symbol/dwarf_scopes.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt/check.h"
#include "symbol/pc_search.h"
#include "util/array.h"

/* No program has deeper nesting; real ones stay below 100. */
#define DEPTH_MAX 1000U
/* Further ones of a unit are left out. */
#define TWINS_MAX 4096U

struct walk {
    const uint64_t *pcs;
    size_t pc_count;
    struct hs_dwarf_scopes *found;
    /* Per address: start and size of the function range in which it was found. */
    uint64_t *start, *width;
    bool is_deep; /* the walk enters types and other functions, too */
    int err;
};

static uint32_t add_scope(struct walk *walk, const Dwarf_Die *die, uint32_t parent, bool is_inlined)
{
    struct hs_dwarf_scopes *found = walk->found;
    int err = hs_array_reserve(&found->scopes, &found->capacity, found->count + 1,
                               sizeof(*found->scopes));
    if (err < 0) {
        walk->err = err;
        return HS_DWARF_SCOPE_NONE;
    }
    found->scopes[found->count] = (struct hs_dwarf_scope){
        .die = *die,
        .parent = is_inlined ? parent : HS_DWARF_SCOPE_NONE,
        .is_inlined = is_inlined,
    };
    HS_ASSERT(!is_inlined || parent == HS_DWARF_SCOPE_NONE || parent < found->count);
    return (uint32_t)found->count++;
}

/*
 * True when a range may take address i. An inlined function takes addresses that belong to its
 * surroundings so far. A function takes addresses without a scope; of two overlapping functions the
 * narrower range wins, since the other one is left over.
 */
static bool may_take(const struct walk *walk, size_t i, uint32_t parent, bool is_inlined,
                     uint64_t range_bytes)
{
    uint32_t owner = walk->found->scope_of[i];
    if (is_inlined) {
        return owner == parent;
    }
    return owner == HS_DWARF_SCOPE_NONE || range_bytes < walk->width[i];
}

/* Notes a function whose range another one has already, if the range has a wanted address. */
static void note_twin(struct walk *walk, const Dwarf_Die *die, uint64_t low, uint64_t high)
{
    struct hs_dwarf_scopes *found = walk->found;
    size_t i = hs_pc_first(walk->pcs, walk->pc_count, low);
    if (i == walk->pc_count || walk->pcs[i] >= high || found->twin_count == TWINS_MAX ||
        found->scope_of[i] == HS_DWARF_SCOPE_NONE || walk->start[i] != low ||
        walk->width[i] != high - low) {
        return;
    }
    walk->err = hs_array_reserve(&found->twins, &found->twin_capacity, found->twin_count + 1,
                                 sizeof(*found->twins));
    if (walk->err == 0) {
        found->twins[found->twin_count++] = (struct hs_dwarf_twin){
            .die = *die, .sva = low, .size_bytes = high - low, .pc_idx = (uint32_t)i
        };
    }
}

/* Gives the addresses in [low, high) to *scope, which is made for the first of them. */
static void take_range(struct walk *walk, const Dwarf_Die *die, bool is_inlined, uint32_t parent,
                       uint64_t low, uint64_t high, uint32_t *scope)
{
    for (size_t i = hs_pc_first(walk->pcs, walk->pc_count, low);
         i < walk->pc_count && walk->pcs[i] < high; i++) {
        bool is_taken = *scope != HS_DWARF_SCOPE_NONE && walk->found->scope_of[i] == *scope;
        if (is_taken || !may_take(walk, i, parent, is_inlined, high - low)) {
            continue;
        }
        if (*scope == HS_DWARF_SCOPE_NONE) {
            *scope = add_scope(walk, die, parent, is_inlined);
        }
        walk->found->scope_of[i] = *scope;
        if (!is_inlined) {
            walk->width[i] = high - low;
            walk->start[i] = low;
        }
    }
}

/* The scope of a function's addresses; HS_DWARF_SCOPE_NONE when it has none of the wanted ones. */
static uint32_t take_function(struct walk *walk, Dwarf_Die *die, bool is_inlined, uint32_t parent)
{
    uint32_t scope = HS_DWARF_SCOPE_NONE;
    Dwarf_Addr base, low, high;
    ptrdiff_t off = 0;
    while (walk->err == 0 && (off = dwarf_ranges(die, off, &base, &low, &high)) > 0) {
        if (!is_inlined && !walk->is_deep) {
            note_twin(walk, die, low, high);
        }
        take_range(walk, die, is_inlined, parent, low, high, &scope);
    }
    return scope;
}

/*
 * True when a block may contain a wanted address. A block without ranges of its own may contain
 * anything that its function does.
 */
static bool may_have_any(const struct walk *walk, Dwarf_Die *block)
{
    Dwarf_Addr base, low, high;
    ptrdiff_t off = 0;
    bool has_ranges = false;
    while ((off = dwarf_ranges(block, off, &base, &low, &high)) > 0) {
        size_t i = hs_pc_first(walk->pcs, walk->pc_count, low);
        if (i < walk->pc_count && walk->pcs[i] < high) {
            return true;
        }
        has_ranges = true;
    }
    return !has_ranges;
}

static void walk_children(struct walk *walk, Dwarf_Die *die, uint32_t parent, unsigned depth);

static void walk_entry(struct walk *walk, Dwarf_Die *die, uint32_t parent, unsigned depth)
{
    uint32_t scope;
    switch (dwarf_tag(die)) {
    case DW_TAG_subprogram:
        scope = take_function(walk, die, false, HS_DWARF_SCOPE_NONE);
        if (scope != HS_DWARF_SCOPE_NONE || walk->is_deep) {
            walk_children(walk, die, scope, depth);
        }
        break;
    case DW_TAG_inlined_subroutine:
        scope = take_function(walk, die, true, parent);
        if (scope != HS_DWARF_SCOPE_NONE) {
            walk_children(walk, die, scope, depth);
        }
        break;
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt:
        if (walk->is_deep || may_have_any(walk, die)) {
            walk_children(walk, die, parent, depth);
        }
        break;
    case DW_TAG_namespace:
    case DW_TAG_module:
        walk_children(walk, die, HS_DWARF_SCOPE_NONE, depth);
        break;
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_interface_type:
        if (walk->is_deep) {
            walk_children(walk, die, HS_DWARF_SCOPE_NONE, depth);
        }
        break;
    default:
        break;
    }
}

static void walk_children(struct walk *walk, Dwarf_Die *die, uint32_t parent, unsigned depth)
{
    Dwarf_Die child;
    if (depth >= DEPTH_MAX || dwarf_child(die, &child) != 0) {
        return;
    }
    do {
        walk_entry(walk, &child, parent, depth + 1);
    } while (walk->err == 0 && dwarf_siblingof(&child, &child) == 0);
}

static bool has_missing(const struct walk *walk)
{
    for (size_t i = 0; i < walk->pc_count; i++) {
        if (walk->found->scope_of[i] == HS_DWARF_SCOPE_NONE) {
            return true;
        }
    }
    return false;
}

int hs_dwarf_scopes_find(Dwarf_Die *unit, const uint64_t *pcs, size_t pc_count,
                         struct hs_dwarf_scopes *ret_scopes)
{
    struct hs_dwarf_scopes found = { 0 };
    struct walk walk = { .pcs = pcs, .pc_count = pc_count, .found = &found };
    found.scope_of = malloc((pc_count + 1) * sizeof(*found.scope_of));
    walk.width = malloc((pc_count + 1) * sizeof(*walk.width));
    walk.start = malloc((pc_count + 1) * sizeof(*walk.start));
    if (!found.scope_of || !walk.width || !walk.start) {
        walk.err = -ENOMEM;
    } else {
        memset(found.scope_of, 0xff, pc_count * sizeof(*found.scope_of));
        walk_children(&walk, unit, HS_DWARF_SCOPE_NONE, 0);
        if (walk.err == 0 && has_missing(&walk)) {
            walk.is_deep = true;
            walk_children(&walk, unit, HS_DWARF_SCOPE_NONE, 0);
        }
    }
    free(walk.width);
    free(walk.start);
    if (walk.err != 0) {
        hs_dwarf_scopes_deinit(&found);
        return walk.err;
    }
    *ret_scopes = found;
    return 0;
}

void hs_dwarf_scopes_deinit(struct hs_dwarf_scopes *scopes)
{
    free(scopes->scopes);
    free(scopes->scope_of);
    free(scopes->twins);
    *scopes = (struct hs_dwarf_scopes){ 0 };
}
