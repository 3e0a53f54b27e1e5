/*
 * Families of allocator functions: see allocator_names.h.
 */
#include "collect/inspect/allocator_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/inspect/symbol_file.h"
#include "rt/base.h"
#include "rt/check.h"

#define DESCRIBE(its_name, its_kind, its_whose)                                                    \
    { #its_name, HS_FUNCTION_##its_kind, HS_WHOSE_##its_whose },
const struct hs_allocator_function hs_allocator_functions[HS_ALLOCATOR_FUNCTION_COUNT] = {
    HS_ALLOCATOR_FUNCTIONS(DESCRIBE)
};

static const struct {
    const char *prefix;
    unsigned whose;
} known[] = {
    { "", HS_WHOSE_JEMALLOC },    { "je_", HS_WHOSE_JEMALLOC }, { "_rjem_", HS_WHOSE_JEMALLOC },
    { "mi_", HS_WHOSE_MIMALLOC }, { "tc_", HS_WHOSE_TCMALLOC }, { "sn_", HS_WHOSE_SNMALLOC },
};

_Static_assert(HS_COUNT_OF(known) <= HS_ALLOCATOR_FAMILIES_MAX, "room for each");

bool hs_allocator_is_freeing(enum hs_function_kind kind)
{
    return kind >= HS_FUNCTION_RESIZE;
}

/* --- finding ---------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    return strcmp(hs_allocator_functions[*(const uint16_t *)a].name,
                  hs_allocator_functions[*(const uint16_t *)b].name);
}

void hs_allocator_names_init(const char *prefix, struct hs_allocator_names *ret_names)
{
    memset(ret_names, 0, sizeof(*ret_names));
    for (size_t i = 0; i < HS_ALLOCATOR_FUNCTION_COUNT; i++) {
        ret_names->sorted[i] = (uint16_t)i;
    }
    qsort(ret_names->sorted, HS_ALLOCATOR_FUNCTION_COUNT, sizeof(ret_names->sorted[0]), compare);
    if (prefix && strcmp(prefix, HS_ALLOCATOR_NONE) == 0) {
        return;
    }
    for (size_t i = 0; i < HS_COUNT_OF(known); i++) {
        if (!prefix || strcmp(prefix, known[i].prefix) == 0) {
            struct hs_allocator_family *family = &ret_names->families[ret_names->family_count++];
            family->prefix = known[i].prefix;
            family->whose = known[i].whose;
        }
    }
    if (ret_names->family_count == 0) {
        ret_names->families[ret_names->family_count++] =
            (struct hs_allocator_family){ .prefix = prefix, .whose = HS_WHOSE_ALL };
    }
}

/* The number of the function with this name, given without its prefix; HS_ALLOCATOR_FUNCTION_COUNT:
 * there is none. */
static size_t find_number(const struct hs_allocator_names *names, const char *name, size_t bytes)
{
    size_t first = 0, end = HS_ALLOCATOR_FUNCTION_COUNT;
    while (first < end) {
        size_t middle = (first + end) / 2, number = names->sorted[middle];
        const char *than = hs_allocator_functions[number].name;
        int order = strncmp(name, than, bytes);
        if (order == 0 && than[bytes] == '\0') {
            return number;
        }
        if (order > 0) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return HS_ALLOCATOR_FUNCTION_COUNT;
}

/* Is this the end of a name like "free.constprop.0"? */
static bool is_of_copy(const char *tail)
{
    return strncmp(tail, ".constprop", 10) == 0 || strncmp(tail, ".isra", 5) == 0;
}

static void take(struct hs_allocator_symbol *known_symbol, const char *tail,
                 const struct hs_remote_symbol *symbol)
{
    if (*tail != '\0') {
        known_symbol->has_copy |= is_of_copy(tail);
    } else if (!known_symbol->is_there) {
        known_symbol->at = *symbol;
        known_symbol->is_there = true;
    } else if (known_symbol->at.va != symbol->va) {
        known_symbol->is_twice = true;
    }
}

/* Takes a symbol for a family. `name` is given without its prefix. */
static void take_for(struct hs_allocator_names *names, struct hs_allocator_family *family,
                     unsigned whose, const char *name, const struct hs_remote_symbol *symbol)
{
    size_t bytes = strcspn(name, ".");
    size_t number = find_number(names, name, bytes);
    if (number < HS_ALLOCATOR_FUNCTION_COUNT && hs_allocator_functions[number].whose & whose) {
        take(&family->functions[number], name + bytes, symbol);
    }
}

void hs_allocator_names_take(struct hs_allocator_names *names, const char *name,
                             const struct hs_remote_symbol *symbol)
{
    bool is_operator = strncmp(name, "_Z", 2) == 0;
    for (size_t i = 0; i < names->family_count; i++) {
        struct hs_allocator_family *family = &names->families[i];
        size_t prefix_bytes = strlen(family->prefix);
        if (is_operator) {
            take_for(names, family, HS_WHOSE_NOBODY, name, symbol);
        } else if (strncmp(name, family->prefix, prefix_bytes) == 0) {
            take_for(names, family, family->whose, name + prefix_bytes, symbol);
        }
    }
}

struct looking {
    struct hs_allocator_names *names;
    uint64_t bias_va;
};

static void take_from_file(void *ctx, const char *name, uint64_t sva, uint64_t size_bytes,
                           unsigned type)
{
    const struct looking *looking = ctx;
    const struct hs_remote_symbol symbol = { .va = looking->bias_va + sva,
                                             .size_bytes = size_bytes,
                                             .type = type };
    hs_allocator_names_take(looking->names, name, &symbol);
}

void hs_allocator_names_look(pid_t pid, const struct hs_remote_memory *memory,
                             const struct hs_remote_object *program,
                             struct hs_allocator_names *names)
{
    struct looking looking = { names, program->bias_va };
    struct hs_remote_symbol symbol;
    char name[HS_ALLOCATOR_NAME_BYTES];
    for (size_t i = 0; i < names->family_count; i++) {
        for (size_t k = 0; k < HS_ALLOCATOR_FUNCTION_COUNT; k++) {
            snprintf(name, sizeof(name), "%s%s", names->families[i].prefix,
                     hs_allocator_functions[k].name);
            if (hs_remote_objects_symbol(memory, program, name, &symbol)) {
                hs_allocator_names_take(names, name, &symbol);
            }
        }
    }
    if (names->family_count > 0) {
        hs_symbol_file_read_program(pid, memory, program, take_from_file, &looking);
    }
}

/* --- choosing --------------------------------------------------------------------------------- */

static bool has_one_of(const struct hs_allocator_family *family,
                       const enum hs_function_number *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (family->functions[numbers[i]].is_there) {
            return true;
        }
    }
    return false;
}

/* Does the family allocate memory and free it? A linker may have dropped functions that the program
 * does not use. */
static bool is_allocator(const struct hs_allocator_family *family)
{
    static const enum hs_function_number allocating[] = { HS_NUMBER_malloc, HS_NUMBER_mallocx,
                                                          HS_NUMBER_malloc_aligned,
                                                          HS_NUMBER_zalloc_aligned,
                                                          HS_NUMBER_rust_alloc };
    static const enum hs_function_number freeing[] = { HS_NUMBER_free, HS_NUMBER_dallocx,
                                                       HS_NUMBER_sdallocx, HS_NUMBER_rust_dealloc };
    return has_one_of(family, allocating, HS_COUNT_OF(allocating)) &&
           has_one_of(family, freeing, HS_COUNT_OF(freeing));
}

static uint64_t malloc_va_of(const struct hs_allocator_family *family)
{
    const struct hs_allocator_symbol *symbol = &family->functions[HS_NUMBER_malloc];
    return symbol->is_there ? symbol->at.va : 0;
}

bool hs_allocator_names_choose(struct hs_allocator_names *names, uint64_t malloc_va,
                               char *ret_words, size_t cap_bytes)
{
    for (size_t i = 0; i < names->family_count; i++) {
        struct hs_allocator_family *family = &names->families[i];
        if (!is_allocator(family) || (malloc_va != 0 && malloc_va_of(family) != malloc_va)) {
            continue;
        }
        if (names->chosen_count == HS_ALLOCATOR_SETS) {
            snprintf(ret_words, cap_bytes,
                     "it contains more allocators than can be redirected at once, among them that "
                     "of %smalloc: choose one with --allocator %s",
                     family->prefix, family->prefix);
            return false;
        }
        family->is_chosen = true;
        family->set = (uint32_t)names->chosen_count++;
        HS_ASSERT(family->set < HS_ALLOCATOR_SETS);
    }
    return true;
}
