/*
 * Builds a symbol table: strings are interned, names demangled once, lines appended.
 *
 * Sources of names fill the table in turn, the best first, and each adds only what is missing:
 * DWARF says everything about an address, a symbol table only its function. When one source has
 * filled the span of an address, the next one leaves it alone.
 *
 * Holds     pcs[] are ascending, each once; the spans of `table` are parallel to them.
 * Threads   none.
 * Fails     a lack of memory is remembered in `err`; later calls do nothing, and finish() returns
 *           the error.
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
    uint32_t demangled_off; /* its demangled form; 0: not computed yet */
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

/* Initializes a builder for these addresses, which must outlive it. 0 or -ENOMEM. */
int hs_symbol_builder_init(struct hs_symbol_builder *builder, const uint64_t *pcs, size_t pc_count);
/* Frees the builder and what is left of its table. */
void hs_symbol_builder_deinit(struct hs_symbol_builder *builder);

/*
 * The offset of `text` in the table, with control characters replaced. NULL and "" have offset 0.
 */
uint32_t hs_symbol_builder_string(struct hs_symbol_builder *builder, const char *text);

/*
 * Both forms of a name from a file, mangled and demangled. A version ("memcpy@@GLIBC_2.14") is left
 * out of `function`.
 */
struct hs_symbol_name hs_symbol_builder_name(struct hs_symbol_builder *builder, const char *raw);

/*
 * The same for a name that the file itself has in both forms. When `system_name` is mangled, its
 * demangled form counts, otherwise `plain`.
 */
struct hs_symbol_name hs_symbol_builder_name_pair(struct hs_symbol_builder *builder,
                                                  const char *system_name, const char *plain);

/*
 * Appends one line to the span of address `pc_idx`. All lines of a span must be added one after the
 * other.
 */
void hs_symbol_builder_line(struct hs_symbol_builder *builder, size_t pc_idx,
                            struct hs_symbol_name name, uint32_t file_off, uint32_t line);

/*
 * Adds `mark` to the name of the function that the code of an address belongs to, and the names of
 * all functions that share the code. An address without a line stays as it is.
 */
void hs_symbol_builder_folded(struct hs_symbol_builder *builder, size_t pc_idx, const char *mark,
                              uint32_t folded_off);

/* Notes that `source` named an address. The best source that did becomes that of the table. */
void hs_symbol_builder_source(struct hs_symbol_builder *builder, enum hs_symbol_source source);

/* True when the address has a name already. */
static inline bool hs_symbol_builder_has(const struct hs_symbol_builder *builder, size_t pc_idx)
{
    return builder->table.spans[pc_idx].line_count > 0;
}

/*
 * Moves the result into *ret_table, with one span for each of rel_pcs[0 .. rel_pc_count), which may
 * be in any order and repeat. Addresses that are not among pcs have no lines. 0 or -ENOMEM.
 */
int hs_symbol_builder_finish(struct hs_symbol_builder *builder, const uint64_t *rel_pcs,
                             size_t rel_pc_count, struct hs_symbol_table *ret_table);
