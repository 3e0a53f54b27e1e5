/*
 * The allocator's functions by name, and their detours. See detour_plan.h.
 */
#include "collect/detour_plan.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/detour.h"
#include "rt/base.h"

/* Longer ones are not looked through. */
#define FUNCTION_BYTES_MAX 65536U
#define PAGE_BYTES         4096U
/* From the page to whatever the program names: well below what a jump reaches. */
#define REACH_BYTES (UINT64_C(1) << 30)
/* Free space on both sides of the page: stacks and heaps grow. */
#define MARGIN_BYTES (UINT64_C(1) << 16)
#define LOWEST_VA    (UINT64_C(1) << 16)

_Static_assert(HS_DETOUR_ROWS_MAX *HS_DETOUR_SLOT_BYTES <= HS_DETOUR_SLOTS_BYTES_MAX &&
                   HS_DETOUR_PATCH_BYTES <= HS_DETOUR_CHANGE_BYTES,
               "room for a detour of each");

/* Functions of one kind can be one function. */
enum kind {
    BY_SIZE,       /* malloc, new */
    BY_SIZE_ALIGN, /* new of what is aligned */
    BY_ALIGN_SIZE, /* memalign, aligned_alloc */
    BY_ITSELF,
    FREES, /* free, delete: by the pointer, and more or less about what it points to */
};

static const struct function {
    const char *name;
    enum kind kind;
    bool is_needed;
} functions[] = {
    { "malloc", BY_SIZE, true },
    { "free", FREES, true },
    { "calloc", BY_ITSELF, false },
    { "realloc", BY_ITSELF, true },
    { "reallocarray", BY_ITSELF, true },
    { "cfree", FREES, true },
    { "free_sized", FREES, true },
    { "free_aligned_sized", FREES, true },
    { "memalign", BY_ALIGN_SIZE, false },
    { "aligned_alloc", BY_ALIGN_SIZE, false },
    { "posix_memalign", BY_ITSELF, false },
    { "valloc", BY_ITSELF, false },
    { "pvalloc", BY_ITSELF, false },
    { "_Znwm", BY_SIZE, false },
    { "_Znam", BY_SIZE, false },
    { "_ZnwmRKSt9nothrow_t", BY_SIZE, false },
    { "_ZnamRKSt9nothrow_t", BY_SIZE, false },
    { "_ZnwmSt11align_val_t", BY_SIZE_ALIGN, false },
    { "_ZnamSt11align_val_t", BY_SIZE_ALIGN, false },
    { "_ZnwmSt11align_val_tRKSt9nothrow_t", BY_SIZE_ALIGN, false },
    { "_ZnamSt11align_val_tRKSt9nothrow_t", BY_SIZE_ALIGN, false },
    { "_ZdlPv", FREES, true },
    { "_ZdaPv", FREES, true },
    { "_ZdlPvm", FREES, true },
    { "_ZdaPvm", FREES, true },
    { "_ZdlPvRKSt9nothrow_t", FREES, true },
    { "_ZdaPvRKSt9nothrow_t", FREES, true },
    { "_ZdlPvSt11align_val_t", FREES, true },
    { "_ZdaPvSt11align_val_t", FREES, true },
    { "_ZdlPvmSt11align_val_t", FREES, true },
    { "_ZdaPvmSt11align_val_t", FREES, true },
    { "_ZdlPvSt11align_val_tRKSt9nothrow_t", FREES, true },
    { "_ZdaPvSt11align_val_tRKSt9nothrow_t", FREES, true },
};

_Static_assert(HS_COUNT_OF(functions) <= HS_DETOUR_ROWS_MAX, "a row for each");

bool hs_detour_is_wanted(const struct hs_remote_memory *memory,
                         const struct hs_remote_objects *objects)
{
    struct hs_remote_symbol symbol;
    return objects->count > 0 &&
           hs_remote_objects_symbol(memory, &objects->items[0], "malloc", &symbol);
}

const char *hs_detour_objection(const struct hs_remote_memory *memory,
                                const struct hs_remote_objects *objects)
{
    static const char *const checkers[] = { "__asan_init", "__hwasan_init", "__msan_init",
                                            "__tsan_init", "__lsan_init" };
    struct hs_remote_symbol symbol;
    for (unsigned i = 0; i < HS_COUNT_OF(checkers); i++) {
        if (hs_remote_objects_symbol(memory, &objects->items[0], checkers[i], &symbol)) {
            return "a sanitizer serves its memory: profile it without";
        }
    }
    return NULL;
}

/* --- the place ------------------------------------------------------------------------------------- */

uint64_t hs_detour_find_place(const struct hs_remote_maps *maps,
                              const struct hs_remote_object *program, unsigned nth)
{
    uint64_t lowest_va = program->end_va > REACH_BYTES ? program->end_va - REACH_BYTES : 0;
    for (size_t i = maps->count; i-- > 0;) {
        uint64_t end_va = maps->items[i].start_va;
        uint64_t start_va = i > 0 ? maps->items[i - 1].end_va : LOWEST_VA;
        start_va = start_va < lowest_va ? lowest_va : start_va;
        if (end_va > program->start_va || end_va < start_va + 2 * MARGIN_BYTES + PAGE_BYTES) {
            continue; /* above it is where the heap grows to */
        }
        uint64_t room = (end_va - start_va - 2 * MARGIN_BYTES) / MARGIN_BYTES;
        if (nth < room + 1) {
            return (end_va - MARGIN_BYTES - (nth + 1) * PAGE_BYTES) & ~(uint64_t)(PAGE_BYTES - 1);
        }
        nth -= (unsigned)room + 1;
    }
    return 0;
}

/* --- the detours ----------------------------------------------------------------------------------- */

struct planning {
    const struct hs_detour_place *place;
    struct hs_detour_request_v1 *request;
    enum kind kinds[HS_DETOUR_ROWS_MAX];
    uint8_t *code;
    char *words;
};

static bool fail(const struct planning *p, const struct function *function, const char *why)
{
    snprintf(p->words, HS_DETOUR_PLAN_WORDS, "its %s: %s", function->name, why);
    return false;
}

/* NULL: it has no detour yet. */
static const struct hs_detour_row_v1 *find_entry(const struct planning *p, uint64_t entry_va,
                                                 enum kind *ret_kind)
{
    const struct hs_detours_v1 *detours = &p->request->detours;
    for (uint32_t i = 0; i < detours->count; i++) {
        if (detours->rows[i].entry_va == entry_va) {
            *ret_kind = p->kinds[i];
            return &detours->rows[i];
        }
    }
    return NULL;
}

/* The code of one function, made into a row and a slot. NULL, or why not. */
static const char *make(struct planning *p, const struct function *function,
                        const struct hs_remote_symbol *symbol, struct hs_detour_row_v1 *row)
{
    struct hs_detour_request_v1 *request = p->request;
    struct hs_remote_symbol hook;
    struct hs_detour detour;
    if (symbol->type != STT_FUNC || symbol->size_bytes == 0 ||
        symbol->size_bytes > FUNCTION_BYTES_MAX) {
        return "its symbol does not say where it ends";
    }
    if (!hs_remote_objects_symbol(p->place->memory, p->place->client, function->name, &hook)) {
        return "the client has no hook for it";
    }
    if (hs_remote_memory_read(p->place->memory, symbol->va, p->code, symbol->size_bytes) < 0) {
        return "it cannot be read";
    }
    uint64_t slot_va = p->place->slots_va + request->slots_bytes;
    int error = hs_detour_make(p->code, symbol->size_bytes, symbol->va, slot_va, hook.va, &detour);
    if (error) {
        return hs_detour_error_words(error);
    }
    memcpy(request->slots + request->slots_bytes, detour.slot, sizeof(detour.slot));
    request->slots_bytes += HS_DETOUR_SLOT_BYTES;
    row->entry_va = symbol->va;
    row->real_va = slot_va + HS_DETOUR_REAL_OFF;
    row->change_bytes = HS_DETOUR_PATCH_BYTES;
    memcpy(row->was, p->code, HS_DETOUR_PATCH_BYTES);
    memcpy(row->now, detour.patch, HS_DETOUR_PATCH_BYTES);
    return NULL;
}

static bool add(struct planning *p, const struct function *function)
{
    struct hs_detours_v1 *detours = &p->request->detours;
    struct hs_detour_row_v1 row = { .name = "" };
    struct hs_remote_symbol symbol;
    enum kind kind;
    const char *why = NULL;
    if (!hs_remote_objects_symbol(p->place->memory, &p->place->objects->items[0], function->name,
                                  &symbol)) {
        return true;
    }
    const struct hs_detour_row_v1 *same = find_entry(p, symbol.va, &kind);
    if (same && kind != function->kind) {
        return fail(p, function, "it is the same as another one that does something else");
    }
    if (same) {
        row = *same;
    } else {
        why = make(p, function, &symbol, &row);
    }
    if (why) {
        return function->is_needed ? fail(p, function, why) : true;
    }
    snprintf(row.name, sizeof(row.name), "%s", function->name);
    p->kinds[detours->count] = function->kind;
    detours->rows[detours->count++] = row;
    return true;
}

bool hs_detour_plan(const struct hs_detour_place *place, struct hs_detour_request_v1 *ret_request,
                    char ret_words[HS_DETOUR_PLAN_WORDS])
{
    struct planning p = { .place = place, .request = ret_request, .words = ret_words };
    bool is_ok = true;
    memset(ret_request, 0, sizeof(*ret_request));
    ret_request->detours.detours_bytes = sizeof(ret_request->detours);
    ret_request->detours.slots_va = place->slots_va;
    p.code = malloc(FUNCTION_BYTES_MAX);
    if (!p.code) {
        snprintf(ret_words, HS_DETOUR_PLAN_WORDS, "we ran out of memory");
        return false;
    }
    for (size_t i = 0; is_ok && i < HS_COUNT_OF(functions); i++) {
        is_ok = add(&p, &functions[i]);
    }
    free(p.code);
    return is_ok;
}
