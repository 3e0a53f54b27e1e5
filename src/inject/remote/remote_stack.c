/*
 * Walks over copies: see remote_stack.h.
 */
#include "inject/remote/remote_stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "unwind/eh_find.h"
#include "unwind/eh_pointer.h"
#include "util/array.h"

#define RULES_COUNT     4096U
#define COPY_BYTES      (8U * 1024 * 1024) /* the largest part of a stack that is walked */
#define CHUNK_BYTES     8192U
#define FRAMES_MAX      (1U << 20)
#define CIE_BYTES_MAX   4096U
#define FDE_BYTES_MAX   65536U
#define TABLE_COUNT_MAX (UINT32_C(1) << 26)
/* Pairs of the linker's table that one read fetches. */
#define PAIRS_COUNT 32U
/* The code that is copied around a pc: a call instruction before it, a signal trampoline after
 * it. */
#define TEXT_BEFORE_BYTES 16U
#define TEXT_BYTES        48U

/* A section that consists of one CIE and one FDE, and the module that stands for it in the
 * unwinder. */
struct hs_remote_entry {
    struct hs_remote_entry *next;
    struct hs_unwind_module module;
    uint64_t fde_va;
    uint64_t function_va; /* 0: no FDE covers the pc */
    uint8_t text[TEXT_BYTES];
    uint8_t section[];
};

static uint64_t page_floor(uint64_t va)
{
    return va & ~UINT64_C(4095);
}

/* --- call frame information ------------------------------------------------------------------- */

/* The linker's table of an object (.eh_frame_hdr): pairs of 32-bit offsets from the header, (code,
 * FDE), sorted by code. */
struct table {
    uint64_t hdr_va;
    uint64_t pairs_va;
    uint64_t count;
};

static bool read_table(const struct hs_remote_stack *stack, const struct hs_remote_object *object,
                       struct table *ret_table)
{
    uint8_t head[24];
    struct hs_span span = { head, object->eh_hdr_va, sizeof(head) };
    if (object->eh_hdr_va == 0 ||
        hs_remote_memory_read(stack->memory, object->eh_hdr_va, head, sizeof(head)) < 0) {
        return false;
    }
    struct hs_cursor c = hs_cursor_over(&span);
    uint8_t version = hs_cursor_u8(&c);
    uint8_t frame_enc = hs_cursor_u8(&c);
    uint8_t count_enc = hs_cursor_u8(&c);
    uint8_t table_enc = hs_cursor_u8(&c);
    if (version != 1 || frame_enc == HS_EH_PE_OMIT || count_enc == HS_EH_PE_OMIT ||
        table_enc != (HS_EH_PE_DATAREL | HS_EH_PE_SDATA4)) {
        return false;
    }
    hs_cursor_pointer(&c, frame_enc, 0, object->eh_hdr_va);
    ret_table->hdr_va = object->eh_hdr_va;
    ret_table->count = hs_cursor_pointer(&c, count_enc, 0, 0);
    ret_table->pairs_va = hs_cursor_va(&c);
    return !c.is_bad && ret_table->count > 0 && ret_table->count < TABLE_COUNT_MAX;
}

/* The address of the FDE that may cover va; 0: none. */
static uint64_t search_table(const struct hs_remote_stack *stack, const struct table *table,
                             uint64_t va)
{
    int32_t pairs[PAIRS_COUNT][2];
    uint64_t first = 0, n = table->count;
    int64_t wanted = (int64_t)(va - table->hdr_va);
    /* Invariant: pairs before `first` start at or below va. */
    while (n > PAIRS_COUNT) {
        uint64_t half = n / 2;
        if (hs_remote_memory_read(stack->memory, table->pairs_va + (first + half) * 8, pairs, 8) <
            0) {
            return 0;
        }
        if (pairs[0][0] <= wanted) {
            first += half;
            n -= half;
        } else {
            n = half;
        }
    }
    if (hs_remote_memory_read(stack->memory, table->pairs_va + first * 8, pairs, n * 8) < 0) {
        return 0;
    }
    uint64_t fde_va = 0;
    for (uint64_t i = 0; i < n && pairs[i][0] <= wanted; i++) {
        fde_va = table->hdr_va + (uint64_t)(int64_t)pairs[i][1];
    }
    return fde_va;
}

/* The size in bytes of the entry at va, with its length field; 0: the entry is invalid. */
static uint32_t measure_entry(const struct hs_remote_stack *stack, uint64_t va, uint32_t max_bytes,
                              uint32_t *ret_id)
{
    uint32_t head[2];
    if (hs_remote_memory_read(stack->memory, va, head, sizeof(head)) < 0 || head[0] < 4 ||
        head[0] > max_bytes - 4) {
        return 0;
    }
    *ret_id = head[1];
    return head[0] + 4;
}

static struct hs_remote_entry *copy_entry(const struct hs_remote_stack *stack, uint64_t fde_va)
{
    uint32_t to_cie = 0, cie_id = 0, cie_bytes = 0;
    uint32_t fde_bytes = fde_va ? measure_entry(stack, fde_va, FDE_BYTES_MAX, &to_cie) : 0;
    uint64_t cie_va = fde_va + 4 - to_cie;
    if (fde_bytes) {
        cie_bytes = measure_entry(stack, cie_va, CIE_BYTES_MAX, &cie_id);
    }
    bool is_whole = cie_bytes != 0 && to_cie != 0 && cie_id == 0;
    size_t section_bytes = is_whole ? (size_t)cie_bytes + fde_bytes : 0;
    struct hs_remote_entry *entry = calloc(1, sizeof(*entry) + section_bytes);
    if (!entry) {
        return NULL;
    }
    entry->fde_va = fde_va;
    if (is_whole && hs_remote_memory_read(stack->memory, cie_va, entry->section, cie_bytes) == 0 &&
        hs_remote_memory_read(stack->memory, fde_va, entry->section + cie_bytes, fde_bytes) == 0) {
        /* The distance to the CIE is different in the copy. All other fields are relative to the
         * FDE, whose address stays. */
        uint32_t distance = cie_bytes + 4;
        memcpy(entry->section + cie_bytes + 4, &distance, sizeof(distance));
        entry->module.eh_frame =
            (struct hs_span){ entry->section, fde_va - cie_bytes, section_bytes };
        entry->module.eh_frame_va = fde_va - cie_bytes;
    }
    return entry;
}

static void read_text(const struct hs_remote_stack *stack, struct hs_remote_entry *entry,
                      uint64_t pc)
{
    uint64_t va = pc - TEXT_BEFORE_BYTES;
    ssize_t got = pc < TEXT_BEFORE_BYTES
                      ? 0
                      : hs_remote_memory_read_some(stack->memory, va, entry->text, TEXT_BYTES);
    entry->module.text = (struct hs_span){ entry->text, va, got > 0 ? (uint64_t)got : 0 };
}

/* Builds the module that the unwinder uses at pc. There are few: one for each function on the
 * stacks that were walked. */
static const struct hs_remote_entry *find_entry(struct hs_remote_stack *stack,
                                                const struct hs_remote_object *object, uint64_t pc,
                                                uint64_t lookup_va)
{
    struct table table;
    struct hs_cfi_fde fde;
    uint64_t fde_va =
        read_table(stack, object, &table) ? search_table(stack, &table, lookup_va) : 0;
    struct hs_remote_entry *entry = copy_entry(stack, fde_va);
    if (!entry) {
        return NULL;
    }
    entry->module.start_va = object->start_va;
    entry->module.end_va = object->end_va;
    entry->module.bias = object->bias_va;
    read_text(stack, entry, pc);
    entry->function_va = hs_eh_find(&entry->module, lookup_va, &fde) == 0 ? fde.start_va : 0;
    entry->next = stack->entries;
    stack->entries = entry;
    return entry;
}

static bool resolve(void *ctx, uint64_t pc, bool is_exact, struct hs_resolved *ret_resolved)
{
    struct hs_remote_stack *stack = ctx;
    uint64_t lookup_va = is_exact ? pc : pc - 1;
    struct hs_remote_frame frame = { .pc = lookup_va };
    frame.object = hs_remote_objects_at(stack->objects, lookup_va);
    const struct hs_remote_entry *entry =
        frame.object ? find_entry(stack, frame.object, pc, lookup_va) : NULL;
    if (!frame.object) {
        const struct hs_remote_map *map = hs_remote_maps_find(stack->maps, lookup_va);
        if (!map || !map->is_executable) {
            return false;
        }
    }
    if (stack->frame_count >= FRAMES_MAX ||
        hs_array_reserve(&stack->frames, &stack->frame_capacity, stack->frame_count + 1,
                         sizeof(frame)) < 0) {
        return false;
    }
    frame.function_va = entry ? entry->function_va : 0;
    ret_resolved->module = entry ? &entry->module : NULL;
    ret_resolved->user = (uint32_t)stack->frame_count;
    stack->frames[stack->frame_count++] = frame;
    return true;
}

/* --- the stack -------------------------------------------------------------------------------- */

static bool extend(struct hs_stack_window *window, uint64_t va)
{
    struct hs_remote_stack *stack = window->ctx;
    if (va < window->lo_va || va - window->lo_va > COPY_BYTES - CHUNK_BYTES - 4096) {
        /* This is another stack: a signal handler's or a coroutine's. */
        window->lo_va = window->hi_va = page_floor(va);
        window->shift = (uint64_t)(uintptr_t)stack->copy - window->lo_va;
    }
    uint64_t end = page_floor(va) + CHUNK_BYTES;
    while (window->hi_va < end) {
        ssize_t got = hs_remote_memory_read_some(stack->memory, window->hi_va,
                                                 (void *)(uintptr_t)(window->hi_va + window->shift),
                                                 end - window->hi_va);
        if (got <= 0) {
            break;
        }
        window->hi_va += (uint64_t)got;
    }
    return va >= window->lo_va && va + 8 <= window->hi_va;
}

void hs_remote_stack_walk(struct hs_remote_stack *stack, const struct hs_regs *regs)
{
    struct hs_unwinder unwinder = { .cache = &stack->cache,
                                    .resolve = resolve,
                                    .resolve_ctx = stack };
    struct hs_stack_window window = { .lo_va = regs->sp,
                                      .hi_va = regs->sp,
                                      .shift = (uint64_t)(uintptr_t)stack->copy - regs->sp,
                                      .extend = extend,
                                      .ctx = stack };
    hs_unwind_walk(&unwinder, regs, true, &window, &stack->walk);
}

/* --- life ------------------------------------------------------------------------------------- */

int hs_remote_stack_init(struct hs_remote_stack *stack, const struct hs_remote_memory *memory,
                         const struct hs_remote_objects *objects, const struct hs_remote_maps *maps)
{
    *stack = (struct hs_remote_stack){ .memory = memory, .objects = objects, .maps = maps };
    stack->rules = calloc(1, HS_RULE_CACHE_BYTES(RULES_COUNT));
    void *copy = mmap(NULL, COPY_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    stack->copy = copy == MAP_FAILED ? NULL : copy;
    if (!stack->rules || !stack->copy) {
        hs_remote_stack_deinit(stack);
        return -ENOMEM;
    }
    hs_rule_cache_init(&stack->cache, stack->rules, RULES_COUNT);
    return 0;
}

void hs_remote_stack_forget(struct hs_remote_stack *stack)
{
    while (stack->entries) {
        struct hs_remote_entry *next = stack->entries->next;
        free(stack->entries);
        stack->entries = next;
    }
    stack->frame_count = 0;
    stack->walk.frame_count = 0;
    hs_rule_cache_flush(&stack->cache);
}

void hs_remote_stack_deinit(struct hs_remote_stack *stack)
{
    if (stack->rules) {
        hs_remote_stack_forget(stack);
    }
    if (stack->copy) {
        munmap(stack->copy, COPY_BYTES);
    }
    free(stack->rules);
    free(stack->frames);
    *stack = (struct hs_remote_stack){ 0 };
}
