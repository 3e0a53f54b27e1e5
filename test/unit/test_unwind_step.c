/*
 * unwind.h: a walk after each single instruction of a running function.
 *
 * The function runs with the CPU's trap flag set. After each instruction a signal handler walks the
 * stack, through the signal frame and from the interrupted registers, and must find the same
 * callers as before. These are the truth, so no other unwinder is needed. The walks pass through
 * every prologue and epilogue, PLT entries, lazy binding, realigned stacks, and longjmp.
 */
#include <alloca.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>
#include <wchar.h>

#include "self_walk.h"

#define STEPS_TO_SHOW 5

static struct {
    uint64_t callers[64]; /* callers of the function that is executed step by step */
    uint32_t caller_count;
    volatile bool is_on;
    uint64_t step_count;
    uint64_t wrong_count;
    uint64_t short_count; /* how often a register was needed that is unknown at the start */
    uint64_t wrong_pc[STEPS_TO_SHOW];
    enum hs_unwind_end wrong_end[STEPS_TO_SHOW];
    uint32_t deepest;
} stepping;

static void regs_of(const ucontext_t *context, struct hs_regs *ret_regs)
{
    const greg_t *g = context->uc_mcontext.gregs;
    *ret_regs = (struct hs_regs){ .pc = (uint64_t)g[REG_RIP],
                                  .sp = (uint64_t)g[REG_RSP],
                                  .bp = (uint64_t)g[REG_RBP],
                                  .bx = (uint64_t)g[REG_RBX],
                                  .r12 = (uint64_t)g[REG_R12],
                                  .r13 = (uint64_t)g[REG_R13],
                                  .r14 = (uint64_t)g[REG_R14],
                                  .r15 = (uint64_t)g[REG_R15] };
}

static bool has_the_callers(const struct hs_walk *walk)
{
    if (walk->end != HS_UNWIND_END || walk->frame_count <= stepping.caller_count) {
        return false;
    }
    uint32_t first = walk->frame_count - stepping.caller_count;
    for (uint32_t i = 0; i < stepping.caller_count; i++) {
        if (pc_of(walk, first + i) != stepping.callers[i]) {
            return false;
        }
    }
    return true;
}

/* Walks through the signal frame and from the signal's registers. */
static void on_trap(int signal_number, siginfo_t *info, void *context)
{
    static struct hs_walk walk, through;
    struct hs_regs regs;
    (void)signal_number;
    (void)info;
    if (!stepping.is_on) {
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100L;
        return;
    }
    regs_of(context, &regs);
    walk_self(&regs, true, &walk);
    hs_regs_capture(&regs);
    walk_self(&regs, false, &through);
    /* r10 is in the signal frame, but not in struct hs_regs. */
    bool is_short = walk.end == HS_UNWIND_BAD_INFO && walk.frame_count == 1;
    bool is_right = has_the_callers(&through) && (is_short || has_the_callers(&walk));
    is_right &= is_short || through.frame_count == walk.frame_count + 2; /* this function and the
                                                                          * trampoline */
    stepping.short_count += is_short;
    if (!is_right) {
        if (stepping.wrong_count < STEPS_TO_SHOW) {
            regs_of(context, &regs);
            stepping.wrong_pc[stepping.wrong_count] = regs.pc;
            stepping.wrong_end[stepping.wrong_count] = through.end;
        }
        stepping.wrong_count++;
    }
    stepping.step_count++;
    stepping.deepest = walk.frame_count > stepping.deepest ? walk.frame_count : stepping.deepest;
}

/* Runs `function` with the trap flag set. */
static NOINLINE void step_through(void (*function)(void))
{
    static struct hs_walk walk;
    struct hs_regs regs;
    hs_regs_capture(&regs);
    walk_self(&regs, false, &walk);
    assert_int_equal(walk.end, HS_UNWIND_END);
    stepping.caller_count = walk.frame_count - 1;
    assert_true(stepping.caller_count <= HS_COUNT_OF(stepping.callers));
    for (uint32_t i = 0; i < stepping.caller_count; i++) {
        stepping.callers[i] = pc_of(&walk, i + 1);
    }
    stepping.step_count = stepping.wrong_count = stepping.deepest = 0;
    stepping.short_count = 0;
    stepping.is_on = true;
    __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
    function();
    stepping.is_on = false;
    sink++; /* the trap after this store ends it */
}

/*
 * `stale_max`: behind the `pop %rbp` of a function that realigned its stack, gcc's information
 * still says that rbp is at *rbp, until the function has returned. A caller that needs rbp is
 * therefore lost there.
 */
static void assert_steps(const char *name, void (*function)(void), uint64_t stale_max)
{
    step_through(function);
    for (uint64_t i = 0; i < stepping.wrong_count && i < STEPS_TO_SHOW; i++) {
        print_message("%s: wrong at pc %#lx, end %d\n", name, (unsigned long)stepping.wrong_pc[i],
                      (int)stepping.wrong_end[i]);
    }
    print_message("%s: %lu instructions, up to %u frames, %lu by the signal frame only\n", name,
                  (unsigned long)stepping.step_count, stepping.deepest,
                  (unsigned long)stepping.short_count);
    assert_in_range(stepping.wrong_count, 0, stale_max);
    assert_true(stepping.step_count > 50);
    assert_true(stepping.short_count * 2 < stepping.step_count);
}

static NOINLINE int compare_plain(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static NOINLINE void do_sort(void)
{
    int values[] = { 5, 3, 9, 1, 7, 2 };
    qsort(values, 6, sizeof(values[0]), compare_plain);
    sink += values[0];
}

/* Calls for the first time: the PLT, the dynamic linker's lookup, then the function. */
static NOINLINE void do_first_calls(void)
{
    char text[200];
    wchar_t wide[20];
    snprintf(text, sizeof(text), "%d %s %.17g %Lf", 42, "text", 1.0 / 3, (long double)2 / 3);
    sink += strverscmp(text, "42 text 1") + (int)mbstowcs(wide, text, 19) + (int)a64l("xyz");
    sink += (int)strtod(text + 8, NULL) + (int)(1000 * cbrt(text[0]));
}

static NOINLINE void fill_aligned(unsigned depth)
{
    _Alignas(64) volatile char aligned[64];
    volatile char *pad = alloca(16 + depth * 40);
    aligned[0] = pad[0] = 1;
    if (depth > 0) {
        fill_aligned(depth - 1);
    }
    sink += aligned[0] + pad[0];
}

static NOINLINE void do_aligned(void)
{
    fill_aligned(3);
}

static NOINLINE void do_nothing(void)
{
    sink++;
}

static NOINLINE void do_frame_in_rbx(void)
{
    call_with_frame_in_rbx(do_nothing);
    call_with_frame_in_rbx(do_aligned);
}

static NOINLINE void do_allocation(void)
{
    void *volatile blocks[20];
    for (size_t i = 0; i < 20; i++) {
        blocks[i] = malloc(100 * i * i);
    }
    for (size_t i = 0; i < 20; i++) {
        free(blocks[i]);
    }
}

static jmp_buf jump;

static NOINLINE void do_jump(void)
{
    if (setjmp(jump) == 0) {
        sink++;
        longjmp(jump, 1);
    }
    sink++;
}

static void test_each_instruction(void **state)
{
    (void)state;
    static char alt_stack[256 * 1024];
    stack_t alt = { .ss_sp = alt_stack, .ss_size = sizeof(alt_stack) }, old_alt;
    struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK }, old;
    add_range(alt_stack, sizeof(alt_stack));
    assert_int_equal(sigaltstack(&alt, &old_alt), 0);
    assert_int_equal(sigaction(SIGTRAP, &action, &old), 0);
    assert_steps("first calls", do_first_calls, 0);
    assert_steps("sort", do_sort, 0);
    assert_steps("realigned stacks", do_aligned, 6);
    assert_steps("frame in rbx", do_frame_in_rbx, 6);
    assert_steps("allocation", do_allocation, 0);
    assert_steps("longjmp", do_jump, 0);
    sigaction(SIGTRAP, &old, NULL);
    sigaltstack(&old_alt, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_instruction, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
