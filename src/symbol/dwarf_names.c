/*
 * Finds functions, files and lines of addresses. See dwarf_names.h.
 *
 * Addresses are handled unit by unit. The expensive parts (the tree, the line table) are made once
 * for a unit, when its first address comes, and never for units without addresses.
 */
#include "symbol/dwarf_names.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/dwarf_lines.h"
#include "symbol/dwarf_open.h"
#include "symbol/dwarf_scopes.h"

/* Chains of inlined calls longer than this are cut. */
#define INLINED_MAX 256U

/* The work for the addresses of one unit. */
struct unit_job {
    struct hs_symbol_builder *builder;
    const struct hs_elf_name *symbols;
    struct hs_folded_names *folded;
    Dwarf_Die *unit;
    const uint32_t *pc_idxs; /* indices in the builder */
    uint64_t *pcs;
    size_t pc_count;
    struct hs_dwarf_scopes scopes;
    struct hs_dwarf_lines lines;
};

static const char *string_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attr;
    return dwarf_formstring(dwarf_attr_integrate(die, name, &attr));
}

static const char *linkage_name(Dwarf_Die *die)
{
    const char *name = string_of(die, DW_AT_linkage_name);
    return name ? name : string_of(die, DW_AT_MIPS_linkage_name);
}

/* True when one of the pieces of a function begins at this address. */
static bool begins_at(Dwarf_Die *die, uint64_t sva)
{
    Dwarf_Addr base, low, high;
    ptrdiff_t off = 0;
    while ((off = dwarf_ranges(die, off, &base, &low, &high)) > 0) {
        if (low == sva) {
            return true;
        }
    }
    return false;
}

static bool is_mangled(const char *name)
{
    return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

/*
 * The mangled name of a function for which DWARF has only the plain one, taken from the symbol that
 * begins with the function. It is written to `out` without the ".cold" of a piece that was moved
 * away. NULL: there is no such symbol.
 */
static const char *symbol_name(struct hs_dwarf_scope *scope, const struct hs_elf_name *symbol,
                               char *out, size_t out_bytes)
{
    if (scope->is_inlined || !symbol->name || !is_mangled(symbol->name) ||
        !begins_at(&scope->die, symbol->start_sva)) {
        return NULL;
    }
    const char *cold = strstr(symbol->name, ".cold");
    size_t bytes = cold ? (size_t)(cold - symbol->name) : strlen(symbol->name);
    if (bytes >= out_bytes) {
        return NULL;
    }
    memcpy(out, symbol->name, bytes);
    out[bytes] = '\0';
    return out;
}

static struct hs_symbol_name scope_name(struct unit_job *job, struct hs_dwarf_scope *scope,
                                        size_t pc_idx)
{
    char buf[4096];
    if (!scope->is_named) {
        const char *name = linkage_name(&scope->die);
        if (!name) {
            name = symbol_name(scope, &job->symbols[pc_idx], buf, sizeof(buf));
        }
        scope->name =
            hs_symbol_builder_name_pair(job->builder, name, string_of(&scope->die, DW_AT_name));
        scope->is_named = true;
    }
    return scope->name;
}

/*
 * True when every function of the chain has a name. This is false when the file to which dwz moved
 * names was not found.
 */
static bool is_chain_named(struct unit_job *job, size_t i)
{
    uint32_t scope_idx = job->scopes.scope_of[i];
    for (unsigned depth = 0; depth < INLINED_MAX && scope_idx != HS_DWARF_SCOPE_NONE; depth++) {
        struct hs_dwarf_scope *scope = &job->scopes.scopes[scope_idx];
        if (scope_name(job, scope, job->pc_idxs[i]).function_off == 0) {
            return false;
        }
        scope_idx = scope->parent;
    }
    return true;
}

static void name_address(struct unit_job *job, size_t i)
{
    uint32_t pc_idx = job->pc_idxs[i];
    uint32_t scope_idx = job->scopes.scope_of[i];
    const char *symbol = job->symbols[pc_idx].name;
    uint32_t file_off, line;
    if (hs_symbol_builder_has(job->builder, pc_idx)) {
        return; /* from a Breakpad symbol file */
    }
    hs_dwarf_lines_of_pc(&job->lines, i, job->builder, &file_off, &line);
    if (scope_idx == HS_DWARF_SCOPE_NONE || !is_chain_named(job, i)) {
        /* Assembler code has lines, but no functions. */
        if (symbol && file_off != 0) {
            hs_symbol_builder_line(job->builder, pc_idx,
                                   hs_symbol_builder_name(job->builder, symbol), file_off, line);
            hs_symbol_builder_source(job->builder, HS_SYMBOL_SOURCE_DWARF);
        }
        return;
    }
    for (unsigned depth = 0; depth < INLINED_MAX; depth++) {
        struct hs_dwarf_scope *scope = &job->scopes.scopes[scope_idx];
        struct hs_symbol_name name = scope_name(job, scope, pc_idx);
        hs_symbol_builder_line(job->builder, pc_idx, name, file_off, line);
        if (scope->parent == HS_DWARF_SCOPE_NONE) {
            break;
        }
        hs_dwarf_lines_of_call(&job->lines, &scope->die, job->builder, &file_off, &line);
        scope_idx = scope->parent;
    }
    hs_symbol_builder_source(job->builder, HS_SYMBOL_SOURCE_DWARF);
}

/* Each label of assembler code is a function for DWARF, also the second one at an address. */
static bool is_assembler(Dwarf_Die *unit)
{
    return dwarf_srclang(unit) == DW_LANG_Mips_Assembler;
}

/* True when a function of the unit has several symbols. */
static bool has_others(const struct unit_job *job)
{
    for (size_t i = 0; i < job->pc_count; i++) {
        if (job->symbols[job->pc_idxs[i]].has_others) {
            return true;
        }
    }
    return false;
}

/* Notes functions of the unit that have the same code as the one of a wanted address. */
static int take_twins(struct unit_job *job)
{
    int err = 0;
    for (size_t i = 0; i < job->scopes.twin_count && err == 0; i++) {
        struct hs_dwarf_twin *twin = &job->scopes.twins[i];
        struct hs_dwarf_scope *scope = &job->scopes.scopes[job->scopes.scope_of[twin->pc_idx]];
        while (scope->parent != HS_DWARF_SCOPE_NONE) {
            scope = &job->scopes.scopes[scope->parent];
        }
        err = hs_folded_names_add(job->folded, &scope->die, twin->sva, twin->size_bytes);
        err = err ? err : hs_folded_names_add(job->folded, &twin->die, twin->sva, twin->size_bytes);
    }
    return err;
}

static int name_unit(struct unit_job *job, const struct hs_line_sections *sections,
                     uint64_t code_sva)
{
    for (size_t i = 0; i < job->pc_count; i++) {
        job->pcs[i] = job->builder->pcs[job->pc_idxs[i]];
    }
    int err = hs_dwarf_scopes_find(job->unit, job->pcs, job->pc_count, &job->scopes);
    if (err == 0) {
        err = hs_dwarf_lines_open(job->unit, sections, code_sva, job->pcs, job->pc_count,
                                  &job->lines);
    }
    for (size_t i = 0; err == 0 && i < job->pc_count; i++) {
        name_address(job, i);
        err = job->builder->err;
    }
    bool is_telling = !is_assembler(job->unit);
    err = err || !is_telling ? err : take_twins(job);
    if (err == 0 && is_telling && has_others(job)) {
        hs_folded_names_take_unit(job->folded, job->unit, job->pcs, job->pc_count);
    }
    hs_dwarf_lines_close(&job->lines);
    hs_dwarf_scopes_deinit(&job->scopes);
    return err;
}

/*
 * Sorts the addresses by unit, and keeps their order within a unit: first_of[u] .. first_of[u + 1]
 * of order[] are those of unit u.
 */
static int group_by_unit(const struct hs_dwarf_units *units, size_t pc_count, uint32_t **ret_order,
                         size_t **ret_first_of)
{
    uint32_t *order = malloc((pc_count + 1) * sizeof(*order));
    size_t *first_of = calloc(units->count + 2, sizeof(*first_of));
    if (!order || !first_of) {
        free(order);
        free(first_of);
        return -ENOMEM;
    }
    for (size_t i = 0; i < pc_count; i++) {
        if (units->unit_of[i] != HS_DWARF_UNIT_NONE) {
            first_of[units->unit_of[i] + 2]++;
        }
    }
    for (size_t u = 2; u < units->count + 2; u++) {
        first_of[u] += first_of[u - 1];
    }
    for (size_t i = 0; i < pc_count; i++) {
        if (units->unit_of[i] != HS_DWARF_UNIT_NONE) {
            order[first_of[units->unit_of[i] + 1]++] = (uint32_t)i;
        }
    }
    *ret_order = order;
    *ret_first_of = first_of;
    return 0;
}

static int name_all(struct hs_symbol_builder *builder, const struct hs_dwarf_file *dwarf,
                    uint64_t code_sva, const struct hs_elf_name *symbols,
                    struct hs_folded_names *folded)
{
    struct hs_dwarf_units units = { 0 };
    int err = hs_dwarf_file_units(dwarf, code_sva, builder->pcs, builder->pc_count, &units);
    if (err != 0) {
        return err;
    }
    struct hs_line_sections sections;
    hs_dwarf_lines_sections(dwarf->dwarf, false, &sections);
    uint32_t *order = NULL;
    size_t *first_of = NULL;
    uint64_t *pcs = malloc((builder->pc_count + 1) * sizeof(*pcs));
    err = pcs ? group_by_unit(&units, builder->pc_count, &order, &first_of) : -ENOMEM;
    for (size_t u = 0; err == 0 && u < units.count; u++) {
        struct unit_job job = {
            .builder = builder,
            .symbols = symbols,
            .folded = folded,
            .unit = &units.dies[u],
            .pc_idxs = order + first_of[u],
            .pcs = pcs,
            .pc_count = first_of[u + 1] - first_of[u],
        };
        err = job.pc_count > 0 ? name_unit(&job, &sections, code_sva) : 0;
    }
    free(order);
    free(first_of);
    free(pcs);
    hs_dwarf_units_deinit(&units);
    return err;
}

int hs_dwarf_names(struct hs_symbol_builder *builder, const struct hs_elf_file *file,
                   const struct hs_elf_file *alt, const char *cache_folder,
                   const struct hs_elf_name *symbols, struct hs_folded_names *folded)
{
    struct hs_dwarf_file own, shared;
    hs_dwarf_open(file, cache_folder, &own);
    if (!own.dwarf) {
        hs_dwarf_close(&own);
        return 0;
    }
    hs_dwarf_open(alt, cache_folder, &shared);
    if (shared.dwarf) {
        dwarf_setalt(own.dwarf, shared.dwarf);
    }
    int err = name_all(builder, &own, hs_elf_file_code_sva(file), symbols, folded);
    hs_dwarf_close(&own);
    hs_dwarf_close(&shared);
    return err;
}
