/*
 * A small world to walk in: functions with one rule each, and a stack that a test fills by hand.
 *
 * The functions are 256 bytes apart. The frame of function f has the id f (plus EXACT when it was
 * interrupted). A test sets `start` and `stack`, and gets `walk`.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cfi_builder.h"
#include "rt/bits.h"
#include "unwind/unwind.h"

#define CODE        UINT64_C(0x401000)
#define JIT         UINT64_C(0x900000)
#define STACK_VA    UINT64_C(0x7ffe00000000)
#define STACK_WORDS (1U << 18)
#define ENC         (HS_EH_PE_PCREL | HS_EH_PE_SDATA4)
#define EXACT       0x10000U
#define JIT_FRAME   999U

enum function {
    SP16,     /* CFA = rsp + 16 */
    SP48_BP,  /* CFA = rsp + 48, rbp at CFA - 16 */
    SP48_BX,  /* CFA = rsp + 48, rbx at CFA - 16 */
    BP16,     /* CFA = rbp + 16, rbp at CFA - 16 */
    DRAP,     /* CFA = *(rbp - 8), rbp at *rbp */
    BX32,     /* CFA = rbx + 32 */
    R10_0,    /* CFA = r10: not known in a frame that made a call */
    LOAD,     /* CFA = *(rsp + 8) + 8, by an expression */
    TOP,      /* the outermost function */
    BROKEN,   /* invalid information */
    NO_RA,    /* the return address is "the same value" */
    NO_CFI,   /* no information */
    RESTORER, /* a signal trampoline without information */
    SIGNAL,   /* one with information: the same layout, in expressions */
    FUNCTION_N,
};

static struct cfi_builder b;
static uint8_t text[FUNCTION_N * 256];
static uint64_t *stack;
static struct hs_unwind_module module;
static struct hs_rule_entry entries[HS_RULE_CACHE_MIN];
static struct hs_rule_cache cache;
static struct hs_walk walk;
static struct hs_regs start;
static uint32_t resolve_count;

static void open_function(uint32_t cie_at, enum function f)
{
    open_fde(&b, cie_at, ENC, CODE + 256 * f, 256);
}

static void put_cfa(unsigned reg, unsigned off)
{
    put_u8(&b, CFA_DEF);
    put_uleb(&b, reg);
    put_uleb(&b, off);
}

static void put_saved(unsigned reg, unsigned words)
{
    put_u8(&b, CFA_OFFSET | reg);
    put_uleb(&b, words);
}

static void put_expr(unsigned op, int reg, const uint8_t *bytes, unsigned count)
{
    put_u8(&b, op);
    if (reg >= 0) {
        put_uleb(&b, (unsigned)reg);
    }
    put_uleb(&b, count);
    put(&b, bytes, count);
}

/* rsp + off: where the kernel saved a register. */
static void put_at_sp(unsigned reg, unsigned off)
{
    const uint8_t expr[] = { 0x77, (uint8_t)(off & 0x7f) | 0x80, (uint8_t)(off >> 7) };
    put_expr(CFA_EXPRESSION, (int)reg, expr, sizeof(expr));
}

static void put_plain_functions(uint32_t cie_at)
{
    open_function(cie_at, SP16);
    put_cfa(7, 16);
    close_entry(&b);
    open_function(cie_at, SP48_BP);
    put_cfa(7, 48);
    put_saved(6, 2);
    close_entry(&b);
    open_function(cie_at, SP48_BX);
    put_cfa(7, 48);
    put_saved(3, 2);
    close_entry(&b);
    open_function(cie_at, BP16);
    put_cfa(6, 16);
    put_saved(6, 2);
    close_entry(&b);
    open_function(cie_at, BX32);
    put_cfa(3, 32);
    close_entry(&b);
    open_function(cie_at, R10_0);
    put_cfa(10, 0);
    close_entry(&b);
    open_function(cie_at, TOP);
    put_u8(&b, CFA_UNDEFINED);
    put_uleb(&b, 16);
    close_entry(&b);
    open_function(cie_at, BROKEN);
    put_u8(&b, 0x3f);
    close_entry(&b);
    open_function(cie_at, NO_RA);
    put_u8(&b, CFA_SAME_VALUE);
    put_uleb(&b, 16);
    close_entry(&b);
}

static void put_expression_functions(uint32_t cie_at)
{
    static const uint8_t drap_cfa[] = { 0x76, 0x78, 0x06 }, at_bp[] = { 0x76, 0 };
    static const uint8_t load[] = { 0x77, 8, 0x06, 0x23, 8 };
    static const uint8_t sp_of_signal[] = { 0x77, 0xa0, 0x01, 0x06 };
    open_function(cie_at, DRAP);
    put_expr(CFA_DEF_EXPRESSION, -1, drap_cfa, sizeof(drap_cfa));
    put_expr(CFA_EXPRESSION, 6, at_bp, sizeof(at_bp));
    close_entry(&b);
    open_function(cie_at, LOAD);
    put_expr(CFA_DEF_EXPRESSION, -1, load, sizeof(load));
    close_entry(&b);
    uint32_t signal_cie_at = open_cie(&b, "zRS", ENC);
    close_entry(&b);
    open_fde(&b, signal_cie_at, ENC, CODE + 256 * SIGNAL, 256);
    put_expr(CFA_DEF_EXPRESSION, -1, sp_of_signal, sizeof(sp_of_signal));
    put_at_sp(10, 56);
    put_at_sp(6, 120);
    put_at_sp(3, 128);
    put_at_sp(7, 160);
    put_at_sp(16, 168);
    close_entry(&b);
}

static bool resolve(void *ctx, uint64_t pc, bool is_exact, struct hs_resolved *ret_resolved)
{
    (void)ctx;
    resolve_count++;
    if (pc >= JIT && pc < JIT + 4096) {
        *ret_resolved = (struct hs_resolved){ .module = NULL, .user = JIT_FRAME };
        return true;
    }
    if (pc < module.start_va || pc >= module.end_va) {
        return false;
    }
    *ret_resolved =
        (struct hs_resolved){ &module, (uint32_t)((pc - CODE) / 256) | (is_exact ? EXACT : 0),
                              false };
    return true;
}

static int setup(void **state)
{
    static const uint8_t sigreturn[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
    (void)state;
    stack = calloc(STACK_WORDS, 8);
    memset(&b, 0, sizeof(b));
    b.va = 0x500000;
    uint32_t cie_at = put_cie(&b);
    put_plain_functions(cie_at);
    put_expression_functions(cie_at);
    put_end(&b);
    memcpy(text + 256 * RESTORER + 16, sigreturn, sizeof(sigreturn));
    module = (struct hs_unwind_module){ .start_va = CODE,
                                        .end_va = CODE + sizeof(text),
                                        .eh_frame = span_of(&b),
                                        .text = { text, CODE, sizeof(text) } };
    memset(entries, 0, sizeof(entries));
    hs_rule_cache_init(&cache, entries, HS_RULE_CACHE_MIN);
    start = (struct hs_regs){ .sp = STACK_VA };
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(stack);
    return 0;
}

static uint64_t ra(enum function f)
{
    return CODE + 256 * f + 16;
}

static uint64_t va(uint32_t word)
{
    return STACK_VA + 8 * (uint64_t)word;
}

static struct hs_stack_window whole_stack(void)
{
    return (struct hs_stack_window){ .lo_va = STACK_VA,
                                     .hi_va = va(STACK_WORDS),
                                     .shift = (uint64_t)(uintptr_t)stack - STACK_VA };
}

static inline void walk_in(struct hs_stack_window window, bool is_exact)
{
    struct hs_unwinder unwinder = { .cache = &cache, .resolve = resolve };
    memset(&walk, 0xee, sizeof(walk));
    hs_unwind_walk(&unwinder, &start, is_exact, &window, &walk);
    assert_true(walk.word_count <= HS_WALK_WORDS_MAX);
}
