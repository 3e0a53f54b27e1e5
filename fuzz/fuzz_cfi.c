/*
 * Fuzz target: call frame information, DWARF expressions and stack walks on hostile bytes and a
 * hostile stack.
 *
 * Input: a byte of flags, a byte that says how many words of stack follow the registers, two bytes
 * of pc, registers, stack, and the section. The pc lies in a 64 KiB range of code at CODE.
 * Everything is copied to memory of its exact size, so that reads past its end are detected.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rt/check.h"
#include "unwind/cfi.h"
#include "unwind/frame.h"
#include "unwind/replay.h"
#include "unwind/rule_make.h"
#include "unwind/unwind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CODE     UINT64_C(0x10000)
#define FRAME_VA UINT64_C(0x20000)
#define STACK_VA UINT64_C(0x40000)

enum {
    FLAG_DEBUG = 1,
    FLAG_EXACT = 2,
    FLAG_JIT = 4, /* code that belongs to no module */
};

struct input {
    uint8_t flags;
    uint8_t stack_words;
    uint16_t pc_off;
    uint16_t regs[6]; /* bp, bx, r12 to r15: offsets in bytes from STACK_VA - 64 */
};

static struct hs_rule_entry entries[HS_RULE_CACHE_MIN];
static struct hs_unwind_module module;

static bool resolve(void *ctx, uint64_t pc, bool is_exact, struct hs_resolved *ret_resolved)
{
    const struct input *in = ctx;
    (void)is_exact;
    if (pc < module.start_va || pc >= module.end_va) {
        return false;
    }
    *ret_resolved =
        (struct hs_resolved){ in->flags & FLAG_JIT ? NULL : &module, (uint32_t)pc, false };
    return true;
}

static uint64_t reg(const struct input *in, int i)
{
    return STACK_VA - 64 + in->regs[i];
}

/* Both walks must have found the same frames. */
static void compare(const struct hs_walk *a, const struct hs_walk *b)
{
    if (a->end != b->end || a->frame_count != b->frame_count ||
        a->is_replayable != b->is_replayable ||
        memcmp(a->frames, b->frames, a->frame_count * sizeof(a->frames[0])) != 0) {
        abort();
    }
}

/* Walks with the stack table, from several starts. Each result must equal that of a plain walk. */
static void walk_by_table(const struct input *in, const struct hs_unwinder *unwinder,
                          struct hs_regs start, struct hs_stack_window window)
{
    static _Alignas(64) uint8_t memory[HS_REPLAY_BYTES(256, 16384)];
    static struct hs_walk plain, kept[4];
    struct hs_replay replay;
    uint64_t generation = hs_rule_cache_generation(unwinder->cache);
    memset(memory, 0, HS_REPLAY_BYTES(256, 0));
    hs_replay_init(&replay, memory, 256, 16384);
    for (uint32_t user = 0; user < 4; user++) {
        uint32_t found;
        start.sp = window.lo_va + 8 * (uint64_t)((user * in->regs[5]) % 4);
        hs_unwind_walk(unwinder, &start, false, &window, &plain);
        if (hs_replay_find(&replay, &start, &window, generation, &found)) {
            compare(&plain, &kept[found]);
            continue;
        }
        kept[user] = plain;
        hs_replay_store(&replay, &start, &plain, generation, user);
        HS_ASSERT(hs_replay_is_valid(&replay));
        /* The table may have dropped the stack, but must not return another one. */
        if (hs_replay_find(&replay, &start, &window, generation, &found) && found != user) {
            abort();
        }
    }
}

static void walk(const struct input *in, const uint64_t *stack)
{
    static struct hs_walk first, second;
    struct hs_rule_cache cache;
    struct hs_unwinder unwinder = { .cache = &cache,
                                    .resolve = resolve,
                                    .resolve_ctx = (void *)(uintptr_t)in };
    struct hs_regs start = { .pc = CODE + in->pc_off,
                             .sp = STACK_VA,
                             .bp = reg(in, 0),
                             .bx = reg(in, 1),
                             .r12 = reg(in, 2),
                             .r13 = reg(in, 3),
                             .r14 = reg(in, 4),
                             .r15 = reg(in, 5) };
    struct hs_stack_window window = { .lo_va = STACK_VA,
                                      .hi_va = STACK_VA + 8 * (uint64_t)in->stack_words,
                                      .shift = (uint64_t)(uintptr_t)stack - STACK_VA };
    memset(entries, 0, sizeof(entries));
    hs_rule_cache_init(&cache, entries, HS_RULE_CACHE_MIN);
    hs_unwind_walk(&unwinder, &start, in->flags & FLAG_EXACT, &window, &first);
    hs_unwind_walk(&unwinder, &start, in->flags & FLAG_EXACT, &window, &second);
    /* A walk with cached rules must equal one with fresh rules. */
    compare(&first, &second);
    if (first.word_count != second.word_count) {
        abort();
    }
    HS_ASSERT(hs_rule_cache_is_valid(&cache));
    walk_by_table(in, &unwinder, start, window);
    HS_ASSERT(hs_rule_cache_is_valid(&cache));
}

static void read_rows(const struct input *in)
{
    for (uint64_t off = 0; off < 64; off += 7) {
        struct hs_cfi_fde fde;
        struct hs_cfi_row row;
        uint64_t va = CODE + in->pc_off + off;
        if (hs_eh_find(&module, va, &fde) == 0 && hs_cfi_row_at(&fde, va, &row) == 0) {
            hs_rule_from_row(&fde, &row, va, in->flags & FLAG_EXACT);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in;
    if (size < sizeof(in)) {
        return 0;
    }
    memcpy(&in, data, sizeof(in));
    data += sizeof(in);
    size -= sizeof(in);
    size_t stack_bytes = 8 * (size_t)in.stack_words;
    if (size < stack_bytes) {
        return 0;
    }
    uint64_t *stack = malloc(stack_bytes + 1);
    uint8_t *section = malloc(size - stack_bytes + 1);
    if (stack && section) {
        memcpy(stack, data, stack_bytes);
        memcpy(section, data + stack_bytes, size - stack_bytes);
        struct hs_span span = { section, FRAME_VA, size - stack_bytes };
        module = (struct hs_unwind_module){ .start_va = CODE, .end_va = CODE + 0x10000 };
        module.text = span;
        module.text.va = CODE;
        if (in.flags & FLAG_DEBUG) {
            module.debug_frame = span;
        } else {
            module.eh_frame = span;
        }
        read_rows(&in);
        walk(&in, stack);
    }
    free(section);
    free(stack);
    return 0;
}
