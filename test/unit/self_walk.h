/*
 * Walks the running program from within: its modules, its stacks, and a function of a kind that
 * compilers do not generate.
 *
 * Threads   one at a time.
 */
#pragma once

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arch/capture.h"
#include "self_modules.h"
#include "unwind/unwind.h"

#define NOINLINE    __attribute__((noinline))
#define CACHE_COUNT 4096U
#define RANGES_MAX  4

struct range {
    uint64_t lo_va;
    uint64_t hi_va;
};

static struct self_modules self;
static struct hs_rule_entry entries[CACHE_COUNT];
static struct hs_rule_cache cache;
static struct range ranges[RANGES_MAX]; /* the known stacks */
static unsigned range_count;
static volatile int sink; /* prevents tail calls */

static bool move_window(struct hs_stack_window *window, uint64_t va)
{
    for (unsigned i = 0; i < range_count; i++) {
        if (va >= ranges[i].lo_va && va + 8 <= ranges[i].hi_va) {
            window->lo_va = ranges[i].lo_va;
            window->hi_va = ranges[i].hi_va;
            return true;
        }
    }
    return false;
}

static void add_range(void *lo, size_t size_bytes)
{
    assert_true(range_count < RANGES_MAX);
    ranges[range_count++] =
        (struct range){ (uint64_t)(uintptr_t)lo, (uint64_t)(uintptr_t)lo + size_bytes };
}

static void add_own_stack(void)
{
    pthread_attr_t attr;
    void *lo;
    size_t size_bytes;
    assert_int_equal(pthread_getattr_np(pthread_self(), &attr), 0);
    pthread_attr_getstack(&attr, &lo, &size_bytes);
    pthread_attr_destroy(&attr);
    add_range(lo, size_bytes);
}

static void walk_self(const struct hs_regs *regs, bool is_exact, struct hs_walk *ret_walk)
{
    struct hs_unwinder unwinder = { .cache = &cache,
                                    .resolve = self_modules_resolve,
                                    .resolve_ctx = &self };
    struct hs_stack_window window = { .lo_va = regs->sp, .hi_va = regs->sp, .extend = move_window };
    hs_unwind_walk(&unwinder, regs, is_exact, &window, ret_walk);
}

static inline uint64_t pc_of(const struct hs_walk *walk, uint32_t frame)
{
    return self.pcs[walk->frames[frame]];
}

static int setup(void **state)
{
    (void)state;
    self_modules_init(&self);
    memset(entries, 0, sizeof(entries));
    hs_rule_cache_init(&cache, entries, CACHE_COUNT);
    range_count = 0;
    add_own_stack();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    self_modules_deinit(&self);
    return 0;
}

/*
 * Saves rbx, keeps the frame's address in it, moves the stack elsewhere and calls: like
 * hand-written code in which only a callee-saved register says where the frame is.
 */
void call_with_frame_in_rbx(void (*function)(void));
__asm__(".text\n"
        ".globl call_with_frame_in_rbx\n"
        ".hidden call_with_frame_in_rbx\n"
        ".type call_with_frame_in_rbx, @function\n"
        "call_with_frame_in_rbx:\n"
        ".cfi_startproc\n"
        "pushq %rbx\n"
        ".cfi_adjust_cfa_offset 8\n"
        ".cfi_offset %rbx, -16\n"
        "movq %rsp, %rbx\n"
        ".cfi_def_cfa_register %rbx\n"
        "subq $200, %rsp\n"
        "andq $-64, %rsp\n"
        "callq *%rdi\n"
        "movq %rbx, %rsp\n"
        ".cfi_def_cfa_register %rsp\n"
        "popq %rbx\n"
        ".cfi_adjust_cfa_offset -8\n"
        ".cfi_restore %rbx\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size call_with_frame_in_rbx, . - call_with_frame_in_rbx\n");
