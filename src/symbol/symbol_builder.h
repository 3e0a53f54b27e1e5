/*
 * A symbol table under construction: strings interned, names demangled once, lines appended.
 *
 * Sources of names fill it in turn, best first, and each only adds what is missing: DWARF says
 * everything about an address, a symbol table only its function. So a span may be begun by one
 * source and is left alone by the next.
 *
 * Holds     pcs[] ascending, each once; spans of `table` parallel to it.
 * Threads   none.
 * Fails     out of memory is remembered in `err`; later calls do nothing, and finish tells.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol_table.h"
#include "util/intern.h"

struct hs_symbol_name {
    uint32_t function_off;
    uint32_t system_name_off;
};

struct hs_symbol_string_entry {
    uint32_t off;
    uint32_t demangled_off; /* its readable form; 0: not asked for yet */
};

struct hs_symbol_builder {
    const uint64_t *pcs;
    size_t pc_count;
    struct hs_symbol_table table;
    size_t line_capacity;
    size_t string_capacity_bytes;
    struct hs_intern string_ids;
    struct hs_symbol_string_entry *entries; /* by string id */
    size_t entry_capacity;
    char *demangle_buf;
    int err;
};

/* pcs stays the caller's. */
int hs_symbol_builder_init(struct hs_symbol_builder *builder, const uint64_t *pcs, size_t pc_count);
void hs_symbol_builder_deinit(struct hs_symbol_builder *builder);

/* Offset of `text` in the table, control characters replaced. NULL and "" are 0. */
uint32_t hs_symbol_builder_string(struct hs_symbol_builder *builder, const char *text);

/* The two forms of a name from a file. A version ("memcpy@@GLIBC_2.14") is left out of `function`. */
struct hs_symbol_name hs_symbol_builder_name(struct hs_symbol_builder *builder, const char *raw);

/* A name that the file itself tells in both forms. `system_name` decides when it is mangled. */
struct hs_symbol_name hs_symbol_builder_name_pair(struct hs_symbol_builder *builder,
                                                  const char *system_name, const char *plain);

/* Appends one line to the span of address `pc_idx`. All lines of a span are added in one go. */
void hs_symbol_builder_line(struct hs_symbol_builder *builder, size_t pc_idx,
                            struct hs_symbol_name name, uint32_t file_off, uint32_t line);

/* Says that `source` named something. The best one that did is the table's. */
void hs_symbol_builder_source(struct hs_symbol_builder *builder, enum hs_symbol_source source);

static inline bool hs_symbol_builder_has(const struct hs_symbol_builder *builder, size_t pc_idx)
{
    return builder->table.spans[pc_idx].line_count > 0;
}

/*
 * Moves the result into *ret_table, with one span for each of rel_pcs[0 .. rel_pc_count), which may
 * be in any order and repeat. Those that are not among pcs have no lines.
 */
int hs_symbol_builder_finish(struct hs_symbol_builder *builder, const uint64_t *rel_pcs,
                             size_t rel_pc_count, struct hs_symbol_table *ret_table);
