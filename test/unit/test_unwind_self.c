/*
 * unwind.h in this process.
 *
 * Walks over the stack of this program, through libc, signal frames, other stacks and hand-written
 * code, compared frame by frame with libunwind.
 *
 * Without libunwind the tests are reported as skipped.
 */
#include <alloca.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "self_walk.h"
#ifdef HAVE_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

static unsigned check_count;

/* The stack from here, by us (with an empty and a full cache) and by libunwind. */
static NOINLINE void check_here(void)
{
    static struct hs_walk walk;
    struct hs_regs regs;
    hs_regs_capture(&regs);
    for (int i = 0; i < 2; i++) {
        walk_self(&regs, false, &walk);
        assert_int_equal(walk.end, HS_UNWIND_END);
    }
    check_count++;
#ifdef HAVE_LIBUNWIND
    unw_context_t context;
    unw_cursor_t cursor;
    unw_word_t pc;
    uint32_t frame = 1; /* in frame 0, this function, both are at different instructions */
    unw_getcontext(&context);
    unw_init_local(&cursor, &context);
    while (unw_step(&cursor) > 0) {
        unw_get_reg(&cursor, UNW_REG_IP, &pc);
        if (pc == 0) {
            break;
        }
        uint32_t skipped = walk.cut_idx && frame >= walk.cut_idx ? walk.skipped_count : 0;
        if (!walk.cut_idx || frame < walk.cut_idx || frame >= walk.cut_idx + skipped) {
            assert_true(frame - skipped < walk.frame_count);
            assert_int_equal(pc_of(&walk, frame - skipped), pc);
        }
        frame++;
    }
    assert_int_equal(frame, walk.frame_count + walk.skipped_count);
#endif
    sink++;
}

static void need_libunwind(void)
{
#ifndef HAVE_LIBUNWIND
    print_message("no libunwind to compare with: skipped\n");
    skip();
#endif
    check_count = 0;
}

static NOINLINE void recurse(unsigned depth)
{
    volatile char pad[200];
    pad[0] = 1;
    if (depth == 0) {
        check_here();
    } else {
        recurse(depth - 1);
    }
    sink += pad[0];
}

static NOINLINE void recurse_alloca(unsigned depth)
{
    volatile char *pad = alloca(16 + depth * 24);
    pad[0] = 1;
    if (depth == 0) {
        check_here();
    } else {
        recurse_alloca(depth - 1);
    }
    sink += pad[0];
}

/* A realigned stack with a variable part: gcc keeps the caller's frame address in a slot. */
static NOINLINE void recurse_aligned(unsigned depth)
{
    _Alignas(128) volatile char aligned[128];
    volatile char *pad = alloca(16 + depth * 40);
    aligned[0] = pad[0] = 1;
    if (depth == 0) {
        check_here();
    } else if (depth % 2) {
        recurse_alloca(depth - 1);
    } else {
        recurse_aligned(depth - 1);
    }
    sink += aligned[0] + pad[0];
}

static int compare(const void *a, const void *b)
{
    check_here();
    return *(const int *)a - *(const int *)b;
}

static void test_shapes(void **state)
{
    (void)state;
    need_libunwind();
    for (unsigned depth = 0; depth < 150; depth += 7) {
        recurse(depth);
        recurse_alloca(depth);
        recurse_aligned(depth);
    }
    int values[] = { 5, 3, 9, 1 }, key = 3;
    qsort(values, 4, sizeof(values[0]), compare);
    assert_non_null(bsearch(&key, values, 4, sizeof(values[0]), compare));
    assert_true(check_count > 60);
}

static void test_very_deep(void **state)
{
    (void)state;
    need_libunwind();
    for (unsigned depth = 230; depth < 260; depth++) {
        recurse(depth);
    }
    recurse(5000);
}

static jmp_buf after_the_end;

static __attribute__((noreturn)) NOINLINE void never_returns(void)
{
    check_here();
    longjmp(after_the_end, 1);
}

/* Its last instruction is the call: the return address belongs to the code behind it. */
static NOINLINE void ends_with_a_call(void)
{
    sink++;
    never_returns();
}

static void test_noreturn(void **state)
{
    (void)state;
    need_libunwind();
    if (setjmp(after_the_end) == 0) {
        ends_with_a_call();
    }
    assert_int_equal(check_count, 1);
}

static void *thread_main(void *arg)
{
    (void)arg;
    add_own_stack();
    recurse(3);
    return NULL;
}

static void test_thread(void **state)
{
    (void)state;
    need_libunwind();
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, thread_main, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(check_count, 1);
}

static void on_signal(int signal_number)
{
    (void)signal_number;
    recurse(2);
}

static void test_signals(void **state)
{
    (void)state;
    need_libunwind();
    static char alt_stack[256 * 1024];
    stack_t alt = { .ss_sp = alt_stack, .ss_size = sizeof(alt_stack) }, old_alt;
    add_range(alt_stack, sizeof(alt_stack));
    assert_int_equal(sigaltstack(&alt, &old_alt), 0);
    for (int is_alt = 0; is_alt < 2; is_alt++) {
        struct sigaction action = { .sa_handler = on_signal, .sa_flags = is_alt ? SA_ONSTACK : 0 };
        struct sigaction old;
        assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
        raise(SIGUSR1);
        sigaction(SIGUSR1, &old, NULL);
    }
    sigaltstack(&old_alt, NULL);
    assert_int_equal(check_count, 2);
}

static NOINLINE void in_the_middle(void)
{
    static unsigned depth;
    if (depth++ < 3) {
        recurse_aligned(2);
        call_with_frame_in_rbx(in_the_middle);
    } else {
        recurse_aligned(3);
    }
    depth--;
    sink++;
}

static void test_frame_in_rbx(void **state)
{
    (void)state;
    need_libunwind();
    call_with_frame_in_rbx(in_the_middle);
    assert_int_equal(check_count, 4);
}

static ucontext_t coroutine, main_context;

static void coroutine_main(void)
{
    recurse(4);
}

static void test_coroutine(void **state)
{
    (void)state;
    need_libunwind();
    const size_t size_bytes = 256 * 1024;
    char *stack =
        mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(stack != MAP_FAILED);
    add_range(stack, size_bytes);
    getcontext(&coroutine);
    coroutine.uc_stack = (stack_t){ .ss_sp = stack, .ss_size = size_bytes };
    coroutine.uc_link = &main_context;
    makecontext(&coroutine, coroutine_main, 0);
    swapcontext(&main_context, &coroutine);
    munmap(stack, size_bytes);
    assert_int_equal(check_count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_shapes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_very_deep, setup, teardown),
        cmocka_unit_test_setup_teardown(test_noreturn, setup, teardown),
        cmocka_unit_test_setup_teardown(test_thread, setup, teardown),
        cmocka_unit_test_setup_teardown(test_signals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_frame_in_rbx, setup, teardown),
        cmocka_unit_test_setup_teardown(test_coroutine, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
