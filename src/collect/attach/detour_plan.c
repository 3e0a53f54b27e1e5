/*
 * Finds the allocator's functions by name, and plans their detours: see detour_plan.h.
 */
#include "collect/attach/detour_plan.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/detour.h"
#include "rt/base.h"

/* Longer functions are not searched. */
#define FUNCTION_BYTES_MAX 65536U
/* The size of the place for slots. */
#define PAGES_BYTES HS_DETOUR_SLOTS_BYTES_MAX
/* The distance from the slots to any address that the program's code names: well below the reach of
 * a jump. */
#define REACH_BYTES (UINT64_C(1) << 30)
/* Space that is left free on both sides of the slots: stacks and heaps grow. */
#define MARGIN_BYTES (UINT64_C(1) << 16)
#define LOWEST_VA    (UINT64_C(1) << 16)

_Static_assert(HS_DETOUR_ROWS_MAX *HS_DETOUR_SLOT_BYTES <= HS_DETOUR_SLOTS_BYTES_MAX &&
                   HS_DETOUR_PATCH_BYTES <= HS_DETOUR_CHANGE_BYTES,
               "room for a detour of each");

/* The C library's names. Functions of one kind can be the same function. */
static const struct function {
    const char *name;
    enum hs_function_kind kind;
} functions[] = {
    { "malloc", HS_FUNCTION_SIZE },
    { "free", HS_FUNCTION_FREE },
    { "calloc", HS_FUNCTION_COUNT_SIZE },
    { "realloc", HS_FUNCTION_RESIZE },
    { "reallocarray", HS_FUNCTION_RESIZE_COUNT },
    { "cfree", HS_FUNCTION_FREE },
    { "free_sized", HS_FUNCTION_FREE },
    { "free_aligned_sized", HS_FUNCTION_FREE },
    { "memalign", HS_FUNCTION_ALIGN_SIZE },
    { "aligned_alloc", HS_FUNCTION_ALIGN_SIZE },
    { "posix_memalign", HS_FUNCTION_OUT },
    { "valloc", HS_FUNCTION_SIZE },
    { "pvalloc", HS_FUNCTION_SIZE },
    { "_Znwm", HS_FUNCTION_SIZE },
    { "_Znam", HS_FUNCTION_SIZE },
    { "_ZnwmRKSt9nothrow_t", HS_FUNCTION_SIZE },
    { "_ZnamRKSt9nothrow_t", HS_FUNCTION_SIZE },
    { "_ZnwmSt11align_val_t", HS_FUNCTION_SIZE },
    { "_ZnamSt11align_val_t", HS_FUNCTION_SIZE },
    { "_ZnwmSt11align_val_tRKSt9nothrow_t", HS_FUNCTION_SIZE },
    { "_ZnamSt11align_val_tRKSt9nothrow_t", HS_FUNCTION_SIZE },
    { "_ZdlPv", HS_FUNCTION_FREE },
    { "_ZdaPv", HS_FUNCTION_FREE },
    { "_ZdlPvm", HS_FUNCTION_FREE },
    { "_ZdaPvm", HS_FUNCTION_FREE },
    { "_ZdlPvRKSt9nothrow_t", HS_FUNCTION_FREE },
    { "_ZdaPvRKSt9nothrow_t", HS_FUNCTION_FREE },
    { "_ZdlPvSt11align_val_t", HS_FUNCTION_FREE },
    { "_ZdaPvSt11align_val_t", HS_FUNCTION_FREE },
    { "_ZdlPvmSt11align_val_t", HS_FUNCTION_FREE },
    { "_ZdaPvmSt11align_val_t", HS_FUNCTION_FREE },
    { "_ZdlPvSt11align_val_tRKSt9nothrow_t", HS_FUNCTION_FREE },
    { "_ZdaPvSt11align_val_tRKSt9nothrow_t", HS_FUNCTION_FREE },
};

_Static_assert(HS_COUNT_OF(functions) <= HS_DETOUR_ROWS_MAX, "a row for each");

uint64_t hs_detour_exported_malloc(const struct hs_remote_memory *memory,
                                   const struct hs_remote_objects *objects)
{
    struct hs_remote_symbol symbol;
    return objects->count > 0 &&
                   hs_remote_objects_symbol(memory, &objects->items[0], "malloc", &symbol)
               ? symbol.va
               : 0;
}

const char *hs_detour_objection(const struct hs_remote_memory *memory,
                                const struct hs_remote_objects *objects)
{
    static const char *const checkers[] = { "__asan_init", "__hwasan_init", "__msan_init",
                                            "__tsan_init", "__lsan_init" };
    struct hs_remote_symbol symbol;
    for (unsigned i = 0; i < HS_COUNT_OF(checkers); i++) {
        if (hs_remote_objects_symbol(memory, &objects->items[0], checkers[i], &symbol)) {
            return "a sanitizer serves its memory: profile it without the sanitizer";
        }
    }
    return NULL;
}

/* --- the place -------------------------------------------------------------------------------- */

uint64_t hs_detour_find_place(const struct hs_remote_maps *maps,
                              const struct hs_remote_object *program, unsigned nth)
{
    uint64_t lowest_va = program->end_va > REACH_BYTES ? program->end_va - REACH_BYTES : 0;
    for (size_t i = maps->count; i-- > 0;) {
        uint64_t end_va = maps->items[i].start_va;
        uint64_t start_va = i > 0 ? maps->items[i - 1].end_va : LOWEST_VA;
        start_va = start_va < lowest_va ? lowest_va : start_va;
        if (end_va > program->start_va || end_va < start_va + 2 * MARGIN_BYTES + PAGES_BYTES) {
            continue; /* above the program, the heap grows */
        }
        uint64_t room = (end_va - start_va - 2 * MARGIN_BYTES) / MARGIN_BYTES;
        if (nth < room + 1) {
            return (end_va - MARGIN_BYTES - (nth + 1) * PAGES_BYTES) & ~(uint64_t)4095;
        }
        nth -= (unsigned)room + 1;
    }
    return 0;
}

/* --- the detours ------------------------------------------------------------------------------ */

struct planning {
    const struct hs_detour_place *place;
    struct hs_detour_plan *plan;
    enum hs_function_kind kinds[HS_DETOUR_ROWS_MAX];
    uint8_t *code;
    char *words;
};

/* A function to redirect. */
struct redirect {
    const char *prefix, *name;
    enum hs_function_kind kind;
    struct hs_remote_symbol symbol;
    uint32_t own_number; /* as in struct hs_detour_row_v1 */
};

static bool fail(const struct planning *p, const struct redirect *redirect, const char *why)
{
    snprintf(p->words, HS_DETOUR_PLAN_WORDS, "its %s%s: %s", redirect->prefix, redirect->name, why);
    return false;
}

/* The row of the function at entry_va. NULL: it has no detour yet. */
static const struct hs_detour_row_v1 *find_entry(const struct planning *p, uint64_t entry_va,
                                                 enum hs_function_kind *ret_kind)
{
    const struct hs_detours_v1 *detours = &p->plan->detours;
    for (uint32_t i = 0; i < detours->count; i++) {
        if (detours->rows[i].entry_va == entry_va) {
            *ret_kind = p->kinds[i];
            return &detours->rows[i];
        }
    }
    return NULL;
}

/* The address of the hook for a function; 0: there is none. */
static uint64_t find_hook(const struct planning *p, const struct redirect *redirect)
{
    const struct hs_detour_place *place = p->place;
    struct hs_remote_symbol symbol;
    uint64_t count, va;
    if (redirect->own_number == 0) {
        return hs_remote_objects_symbol(place->memory, place->client, redirect->name, &symbol)
                   ? symbol.va
                   : 0;
    }
    if (!hs_remote_objects_symbol(place->memory, place->client, HS_OWN_HOOKS_SYMBOL, &symbol) ||
        hs_remote_memory_read(place->memory, symbol.va, &count, sizeof(count)) < 0 ||
        count != HS_ALLOCATOR_SETS * HS_ALLOCATOR_FUNCTION_COUNT ||
        hs_remote_memory_read(place->memory, symbol.va + sizeof(va) * redirect->own_number, &va,
                              sizeof(va)) < 0) {
        return 0;
    }
    return va;
}

/* Makes a row and a slot from the code of one function. NULL, or a message that says why that is
 * not possible. */
static const char *make(struct planning *p, const struct redirect *redirect,
                        struct hs_detour_row_v1 *row)
{
    struct hs_detour_plan *plan = p->plan;
    const struct hs_remote_symbol *symbol = &redirect->symbol;
    struct hs_detour detour;
    if (symbol->type != STT_FUNC || symbol->size_bytes == 0 ||
        symbol->size_bytes > FUNCTION_BYTES_MAX) {
        return "its symbol does not say where it ends";
    }
    uint64_t hook_va = find_hook(p, redirect);
    if (hook_va == 0) {
        return "the client has no hook for it";
    }
    if (hs_remote_memory_read(p->place->memory, symbol->va, p->code, symbol->size_bytes) < 0) {
        return "it cannot be read";
    }
    uint64_t slot_va = p->place->slots_va + plan->slots_bytes;
    int error = hs_detour_make(p->code, symbol->size_bytes, symbol->va, slot_va, hook_va, &detour);
    if (error) {
        return hs_detour_error_words(error);
    }
    memcpy(plan->slots + plan->slots_bytes, detour.slot, sizeof(detour.slot));
    plan->slots_bytes += HS_DETOUR_SLOT_BYTES;
    row->entry_va = symbol->va;
    row->real_va = slot_va + HS_DETOUR_REAL_OFF;
    row->change_bytes = HS_DETOUR_PATCH_BYTES;
    memcpy(row->was, p->code, HS_DETOUR_PATCH_BYTES);
    memcpy(row->now, detour.patch, HS_DETOUR_PATCH_BYTES);
    return NULL;
}

static bool add(struct planning *p, const struct redirect *redirect)
{
    struct hs_detours_v1 *detours = &p->plan->detours;
    struct hs_detour_row_v1 row = { .name = "" };
    enum hs_function_kind kind;
    const char *why = NULL;
    const struct hs_detour_row_v1 *same = find_entry(p, redirect->symbol.va, &kind);
    if (same && kind != redirect->kind) {
        return fail(p, redirect, "another function with a different meaning has the same code");
    }
    if (same && redirect->own_number != 0) {
        return true; /* the other name's hook serves this one */
    }
    if (detours->count == HS_DETOUR_ROWS_MAX) {
        return fail(p, redirect, "there are too many functions to redirect");
    }
    if (same) {
        row = *same;
    } else {
        why = make(p, redirect, &row);
    }
    if (why) {
        bool is_needed =
            hs_allocator_is_freeing(redirect->kind) || strcmp(redirect->name, "malloc") == 0;
        return is_needed ? fail(p, redirect, why) : true;
    }
    snprintf(row.name, sizeof(row.name), "%s%s", redirect->prefix, redirect->name);
    row.own_number = redirect->own_number;
    p->kinds[detours->count] = redirect->kind;
    detours->rows[detours->count++] = row;
    return true;
}

/* Adds the functions that the program exports under the C library's names: all of its malloc's, or
 * only C++'s operators. */
static bool add_exported(struct planning *p, bool is_malloc)
{
    const struct hs_detour_place *place = p->place;
    bool is_ok = true;
    for (size_t i = 0; is_ok && i < HS_COUNT_OF(functions); i++) {
        struct redirect redirect = { .prefix = "",
                                     .name = functions[i].name,
                                     .kind = functions[i].kind };
        if ((is_malloc || redirect.name[0] == '_') &&
            hs_remote_objects_symbol(place->memory, &place->objects->items[0], redirect.name,
                                     &redirect.symbol)) {
            is_ok = add(p, &redirect);
        }
    }
    return is_ok;
}

static bool add_family(struct planning *p, const struct hs_allocator_family *family)
{
    for (uint32_t i = 0; i < HS_ALLOCATOR_FUNCTION_COUNT; i++) {
        const struct hs_allocator_symbol *symbol = &family->functions[i];
        const struct redirect redirect = { .prefix = family->prefix,
                                           .name = hs_allocator_functions[i].name,
                                           .kind = hs_allocator_functions[i].kind,
                                           .symbol = symbol->at,
                                           .own_number =
                                               1 + family->set * HS_ALLOCATOR_FUNCTION_COUNT + i };
        if (hs_allocator_is_freeing(redirect.kind) && (symbol->is_twice || symbol->has_copy)) {
            return fail(p, &redirect,
                        symbol->is_twice
                            ? "there are two functions of this name"
                            : "the compiler made a copy of it, which is called in its place");
        }
        if (symbol->is_there && !symbol->is_twice && !add(p, &redirect)) {
            return false;
        }
    }
    return true;
}

bool hs_detour_make_plan(const struct hs_detour_place *place, struct hs_detour_plan *ret_plan,
                         char ret_words[HS_DETOUR_PLAN_WORDS])
{
    struct planning p = { .place = place, .plan = ret_plan, .words = ret_words };
    memset(ret_plan, 0, sizeof(*ret_plan));
    ret_plan->detours.detours_bytes = sizeof(ret_plan->detours);
    ret_plan->detours.slots_va = place->slots_va;
    p.code = malloc(FUNCTION_BYTES_MAX);
    if (!p.code) {
        snprintf(ret_words, HS_DETOUR_PLAN_WORDS, "heapscope ran out of memory");
        return false;
    }
    bool is_ok = add_exported(&p, place->has_exported_malloc);
    for (size_t i = 0; is_ok && i < place->names->family_count; i++) {
        if (place->names->families[i].is_chosen) {
            is_ok = add_family(&p, &place->names->families[i]);
        }
    }
    free(p.code);
    return is_ok;
}
