/*
 * The state that builder.c (things with ids), builder_dumps.c (processes and figures) and
 * builder_finish.c share.
 */
#pragma once

#include "profile/model/builder.h"
#include "util/intern.h"

#define HS_BUILDER_COUNT_MAX (UINT64_C(1) << 31)

/* Names of one code address, in lines[]. */
struct symbol_lines {
    uint32_t line_first;
    uint32_t line_count;
};

struct hs_builder {
    struct hs_profile *p;
    int err;
    struct hs_intern strings, modules, frames, nodes, heaps;
    struct hs_intern symbols;        /* (path, build id, rel_pc) -> index in symbol_lines */
    struct hs_intern symbol_modules; /* (path, build id) of modules that have symbols */
    struct hs_intern nameless_ids;   /* (path, build id) -> index in nameless_last */
    uint32_t *nameless_last;         /* the last one in p->nameless */
    size_t nameless_last_capacity, nameless_capacity;
    struct symbol_lines *symbol_lines;
    size_t symbol_capacity;
    size_t string_capacity, module_capacity, frame_capacity, node_capacity, line_capacity;
    size_t heap_capacity, dump_heap_capacity, process_capacity, dump_capacity, sample_capacity;
    size_t thread_capacity, loss_capacity, change_capacity, place_capacity;
    size_t loss_time_capacity;
    size_t asked_heap_capacity, ledger_capacity, ledger_line_capacity, pins_capacity;
    size_t mapped_stack_capacity, part_capacity, birth_capacity, lifetime_capacity, block_capacity;
    struct hs_intern scopes; /* (parent, name) */
    size_t scope_capacity;
    size_t cut_module_capacity;
};

/*
 * Makes room for `count` elements, as hs_array_reserve() does. False after a failure, which the
 * builder keeps.
 */
bool hs_builder_grow(struct hs_builder *builder, void *array_address, size_t *capacity,
                     uint64_t count, size_t elem_bytes);

/* The key of a module in symbol_modules. */
static inline struct hs_intern_key hs_builder_module_key(uint32_t path, const uint8_t *build_id,
                                                         size_t bytes)
{
    return hs_intern_mix(hs_intern_hash(build_id, bytes), path);
}

/*
 * When everything was added: gives each dump its heaps, and its samples the intervals and peak
 * errors of their heaps; counts the primary heaps (dump_heaps.c). 0, -ENOMEM or -EOVERFLOW.
 */
int hs_builder_settle_heaps(struct hs_builder *builder);
/*
 * Sorts heaps, adds up those with the same index, and drops those whose index is out of range.
 * Returns how many are left.
 */
size_t hs_builder_tidy_heaps(const struct hs_profile *p, struct hs_profile_dump_heap *heaps,
                             size_t count);
/* Sorts samples by node and heap; and so births, lifetimes and blocks, one or more. */
void hs_builder_sort_samples(struct hs_profile_sample *samples, size_t count);
void hs_builder_sort_births(struct hs_profile_birth *births, size_t count);
void hs_builder_sort_lifetimes(struct hs_profile_lifetime *lifetimes, size_t count);
void hs_builder_sort_blocks(struct hs_profile_block *blocks, size_t count);

/* Sorts the places, and leaves each (process, module) once. */
void hs_builder_tidy_places(struct hs_builder *builder);

/*
 * Sorts samples, adds up those with the same (node, heap), and drops those with ids out of range.
 * Returns how many are left.
 */
size_t hs_builder_tidy_samples(const struct hs_profile *p, struct hs_profile_sample *samples,
                               size_t count);
