/*
 * Walks over stacks made by hand: each kind of rule, each way to end, and the dependencies on which
 * replay relies.
 */
#include "unwind/reader.h"
#include "unwind_world.h"

/* Walks once with an empty cache and once with a full one; the results must be equal. */
static void assert_walk_in(struct hs_stack_window window, enum hs_unwind_end wanted_end,
                           const uint32_t *wanted, uint32_t count)
{
    static struct hs_walk cold;
    hs_rule_cache_flush(&cache);
    walk_in(window, false);
    cold = walk;
    assert_int_equal(walk.end, wanted_end);
    assert_int_equal(walk.frame_count, count);
    assert_memory_equal(walk.frames, wanted, count * sizeof(wanted[0]));
    walk_in(window, false);
    assert_int_equal(walk.end, cold.end);
    assert_int_equal(walk.frame_count, cold.frame_count);
    assert_memory_equal(walk.frames, cold.frames, count * sizeof(cold.frames[0]));
    assert_int_equal(walk.is_replayable, cold.is_replayable);
    assert_int_equal(walk.has_used_bp, cold.has_used_bp);
    assert_int_equal(walk.word_count, cold.word_count);
    assert_memory_equal(walk.word, cold.word, walk.word_count * sizeof(walk.word[0]));
    assert_memory_equal(walk.word_va_low, cold.word_va_low, walk.word_count * 4);
    assert_int_equal(walk.top_va, cold.top_va);
}

#define ASSERT_WALK(wanted_end, ...)                                                               \
    do {                                                                                           \
        static const uint32_t wanted[] = { __VA_ARGS__ };                                          \
        assert_walk_in(whole_stack(), wanted_end, wanted, HS_COUNT_OF(wanted));                    \
    } while (0)

static void test_plain(void **state)
{
    (void)state;
    start.pc = ra(SP16);
    stack[1] = ra(SP48_BP);
    stack[2 + 5] = ra(SP48_BX);
    stack[8 + 5] = ra(TOP);
    ASSERT_WALK(HS_UNWIND_END, SP16, SP48_BP, SP48_BX, TOP);
    assert_true(walk.is_replayable);
    assert_false(walk.has_used_bp);
    assert_int_equal(walk.word_count, 3); /* return addresses, and no data */
    assert_int_equal(walk.top_va, va(14));
    assert_int_equal(walk.cut_idx, 0);
    assert_int_equal(walk.skipped_count, 0);
}

static void test_frame_pointers(void **state)
{
    (void)state;
    start.pc = ra(BP16);
    start.bp = va(3);
    stack[3] = va(8);
    stack[4] = ra(SP16);
    stack[6] = ra(BP16);
    stack[8] = va(20);
    stack[9] = ra(TOP);
    ASSERT_WALK(HS_UNWIND_END, BP16, SP16, BP16, TOP);
    assert_true(walk.has_used_bp);
    assert_int_equal(walk.word_count,
                     4); /* three return addresses, and the only rbp that mattered */
}

/* A saved rbp that a rule further out needs. */
static void test_restored_bp(void **state)
{
    (void)state;
    start.pc = ra(SP48_BP);
    start.bp = 12345;
    stack[4] = va(10);
    stack[5] = ra(SP16);
    stack[7] = ra(BP16);
    stack[11] = ra(TOP);
    ASSERT_WALK(HS_UNWIND_END, SP48_BP, SP16, BP16, TOP);
    assert_false(walk.has_used_bp);
    assert_int_equal(walk.word_count, 4);
}

static void test_drap(void **state)
{
    (void)state;
    start.pc = ra(DRAP);
    start.bp = va(10);
    stack[9] = va(16);  /* the CFA */
    stack[10] = va(30); /* rbp */
    stack[15] = ra(BP16);
    stack[31] = ra(TOP);
    ASSERT_WALK(HS_UNWIND_END, DRAP, BP16, TOP);
    assert_true(walk.has_used_bp);
    assert_true(walk.is_replayable);
    stack[9] = va(0) - 8;
    ASSERT_WALK(HS_UNWIND_NO_ADVANCE, DRAP);
    start.bp = 8;
    ASSERT_WALK(HS_UNWIND_UNREADABLE, DRAP);
}

static void test_expression(void **state)
{
    (void)state;
    start.pc = ra(LOAD);
    stack[1] = va(6);
    stack[6] = ra(TOP);
    ASSERT_WALK(HS_UNWIND_END, LOAD, TOP);
    assert_true(walk.is_replayable);
    stack[1] = 1; /* an address outside the stack */
    ASSERT_WALK(HS_UNWIND_UNREADABLE, LOAD);
    assert_false(walk.is_replayable);
}

/* rbx is not tracked until a frame needs it; then the walk restarts and finds it. */
static void test_other_register(void **state)
{
    (void)state;
    start.pc = ra(BX32);
    start.bx = va(4);
    stack[7] = ra(SP48_BX);
    stack[8 + 4] = va(20); /* rbx of the next */
    stack[8 + 5] = ra(SP16);
    stack[15] = ra(BX32);
    stack[23] = ra(BX32); /* its rbx is the same */
    ASSERT_WALK(HS_UNWIND_NO_ADVANCE, BX32, SP48_BX, SP16, BX32, BX32);
    stack[23] = ra(TOP);
    ASSERT_WALK(HS_UNWIND_END, BX32, SP48_BX, SP16, BX32, TOP);
    assert_false(walk.is_replayable);
    stack[15] = ra(R10_0);
    ASSERT_WALK(HS_UNWIND_BAD_INFO, BX32, SP48_BX, SP16, R10_0);
}

/* A ucontext at stack word `at`: the interrupted registers. */
static void put_ucontext(uint32_t at, uint64_t pc, uint64_t sp, uint64_t bp, uint64_t r10)
{
    stack[at + 56 / 8] = r10;
    stack[at + 120 / 8] = bp;
    stack[at + 160 / 8] = sp;
    stack[at + 168 / 8] = pc;
}

static void test_signal_frames(void **state)
{
    (void)state;
    static const enum function trampolines[] = { RESTORER, SIGNAL };
    for (int i = 0; i < 2; i++) {
        const uint32_t trampoline = trampolines[i];
        start.pc = ra(SP16);
        stack[1] = ra(trampolines[i]);
        put_ucontext(2, CODE + 256 * BP16, va(1000), va(1010), 0);
        stack[1010] = 0;
        stack[1011] = ra(TOP);
        uint32_t wanted[] = { SP16, trampoline, BP16 | EXACT, TOP };
        assert_walk_in(whole_stack(), HS_UNWIND_END, wanted, 4);
        assert_false(walk.is_replayable);
        /* The first instruction of a function: pc - 1 belongs to another one. */
        put_ucontext(2, CODE + 256 * SP48_BX, va(1000), 0, 0);
        stack[1005] = ra(TOP);
        wanted[2] = SP48_BX | EXACT;
        assert_walk_in(whole_stack(), HS_UNWIND_END, wanted, 4);
        /* A register that only an interrupted frame still has. */
        put_ucontext(2, ra(R10_0), va(1000), 0, va(1009));
        stack[1008] = ra(TOP);
        wanted[2] = R10_0 | EXACT;
        assert_walk_in(whole_stack(), HS_UNWIND_END, wanted, 4);
    }
}

/* Signal frames may point anywhere, also back: they must not make a walk loop without end. */
static void test_signal_loop(void **state)
{
    (void)state;
    start.pc = ra(SP16);
    stack[1] = ra(SIGNAL);
    put_ucontext(2, ra(SP16), va(0), 0, 0);
    hs_rule_cache_flush(&cache);
    walk_in(whole_stack(), false);
    assert_int_equal(walk.end, HS_UNWIND_NO_ADVANCE);
    assert_in_range(walk.frame_count, HS_SIGNALS_WALK_MAX, 3 * HS_SIGNALS_WALK_MAX);
}

static void test_exact_start(void **state)
{
    (void)state;
    start.pc = CODE + 256 * SP16;
    stack[1] = ra(TOP);
    walk_in(whole_stack(), true);
    assert_int_equal(walk.end, HS_UNWIND_END);
    assert_int_equal(walk.frame_count, 2);
    assert_int_equal(walk.frames[0], SP16 | EXACT);
    assert_int_equal(walk.frames[1], TOP);
    assert_false(walk.is_replayable);
}

static void test_no_information(void **state)
{
    (void)state;
    /* Code compiled at run time, with frame pointers. */
    start.pc = JIT + 16;
    start.bp = va(2);
    stack[2] = va(6);
    stack[3] = JIT + 100;
    stack[6] = va(9);
    stack[7] = ra(NO_CFI);
    stack[9] = va(11);
    stack[10] = ra(BP16);
    stack[12] = ra(TOP);
    ASSERT_WALK(HS_UNWIND_END, JIT_FRAME, JIT_FRAME, NO_CFI, BP16, TOP);
    /* rbp is not a frame pointer: data, not aligned, below the stack, or pointing to no code. */
    static const uint64_t data[] = {
        0, 42, STACK_VA - 8, STACK_VA + 3, UINT64_MAX - 7, STACK_VA + 8 * STACK_WORDS - 8
    };
    for (size_t i = 0; i < HS_COUNT_OF(data); i++) {
        start.bp = data[i];
        ASSERT_WALK(HS_UNWIND_NO_INFO, JIT_FRAME);
    }
    start.bp = va(40);
    stack[41] = 0x1234;
    ASSERT_WALK(HS_UNWIND_NO_INFO, JIT_FRAME);
}

#define NAMED_FRAME 1000U

/* Names frames by the word below their frame pointer: 1 and 2 are names, and what 2 says may be
 * something else another time. */
static bool name_by_word(struct hs_stack_reader *reader, uint64_t sp, uint64_t bp,
                         bool *ret_is_lasting, uint32_t *ret_user)
{
    uint64_t word;
    if (bp - 8 < sp || !hs_stack_read(reader, bp - 8, &word) || (word != 1 && word != 2)) {
        return false;
    }
    *ret_is_lasting = word == 1;
    *ret_user = NAMED_FRAME + (uint32_t)word;
    return true;
}

static void walk_with_names(bool is_exact)
{
    struct hs_unwinder unwinder = { .cache = &cache,
                                    .resolve = resolve,
                                    .name_frame = name_by_word };
    struct hs_stack_window window = whole_stack();
    hs_unwind_walk(&unwinder, &start, is_exact, &window, &walk);
}

/* A frame without unwind information whose words name its function. */
static void test_named_frames(void **state)
{
    (void)state;
    start.pc = JIT + 16;
    start.bp = va(2);
    stack[1] = 1;
    stack[2] = va(6);
    stack[3] = JIT + 100;
    stack[5] = 7;
    stack[6] = va(9);
    stack[7] = ra(BP16);
    stack[9] = va(12);
    stack[10] = ra(TOP);
    walk_with_names(false);
    assert_int_equal(walk.frame_count, 4);
    assert_int_equal(walk.frames[0], NAMED_FRAME + 1);
    assert_int_equal(walk.frames[1], JIT_FRAME);
    assert_int_equal(walk.frames[2], BP16);
    assert_int_equal(walk.frames[3], TOP);
    assert_true(walk.is_replayable);
    /* Only the frame without a name was a guess. */
    assert_int_equal(walk.guessed_frame, JIT_FRAME + 1);
    stack[5] = 1;
    walk_with_names(false);
    assert_int_equal(walk.guessed_frame, 0);
    assert_int_equal(walk.frames[1], NAMED_FRAME + 1);
    /* What is not only in the words cannot be replayed. */
    stack[5] = 2;
    walk_with_names(false);
    assert_int_equal(walk.frames[1], NAMED_FRAME + 2);
    assert_false(walk.is_replayable);
    /* Interrupted code may not have made its frame yet. */
    walk_with_names(true);
    assert_int_equal(walk.frames[0], JIT_FRAME);
}

/* A JIT's frame that has a value in the place of its return address. */
static void test_value_for_return(void **state)
{
    (void)state;
    start.pc = JIT + 5;
    start.bp = va(10);
    stack[10] = va(20);
    stack[11] = UINT64_C(0x29900000000); /* a small integer, as V8 keeps it */
    stack[20] = va(30);
    stack[21] = ra(BP16);
    stack[30] = 0;
    stack[31] = ra(TOP);
    ASSERT_WALK(HS_UNWIND_END, JIT_FRAME, BP16, TOP);
    assert_false(walk.is_replayable);

    stack[21] = 0x1234; /* two in a row are not frames */
    ASSERT_WALK(HS_UNWIND_NO_INFO, JIT_FRAME);
    assert_true(walk.is_replayable);
    stack[21] = ra(BP16);
    stack[10] = va(9); /* the saved frame pointer must point further out */
    ASSERT_WALK(HS_UNWIND_NO_INFO, JIT_FRAME);
    start.pc = ra(SP16); /* for code with unwind information this is no guess */
    stack[1] = UINT64_C(0x29900000000);
    start.bp = va(20);
    ASSERT_WALK(HS_UNWIND_NO_MODULE, SP16);
}

static void test_ends(void **state)
{
    (void)state;
    start.pc = ra(SP16);
    stack[1] = 0; /* as makecontext() leaves it */
    ASSERT_WALK(HS_UNWIND_END, SP16);
    stack[1] = 0x1234;
    ASSERT_WALK(HS_UNWIND_NO_MODULE, SP16);
    assert_true(walk.is_replayable);
    stack[1] = ra(BROKEN);
    ASSERT_WALK(HS_UNWIND_BAD_INFO, SP16, BROKEN);
    stack[1] = ra(NO_RA);
    ASSERT_WALK(HS_UNWIND_BAD_INFO, SP16, NO_RA);
    stack[1] = ra(BP16);
    start.bp = va(0) - 16; /* its frame would be below */
    ASSERT_WALK(HS_UNWIND_NO_ADVANCE, SP16, BP16);
    start.bp = 8;
    ASSERT_WALK(HS_UNWIND_NO_ADVANCE, SP16, BP16);
    start.bp = UINT64_MAX - 7;
    ASSERT_WALK(HS_UNWIND_NO_ADVANCE, SP16, BP16);
    start.bp = va(STACK_WORDS);
    ASSERT_WALK(HS_UNWIND_UNREADABLE, SP16, BP16);
    start.pc = 0;
    walk_in(whole_stack(), false);
    assert_int_equal(walk.end, HS_UNWIND_END);
    assert_int_equal(walk.frame_count, 0);
}

static uint32_t extend_count;

static bool extend_by_a_word(struct hs_stack_window *window, uint64_t wanted_va)
{
    extend_count++;
    if (wanted_va + 8 > va(STACK_WORDS)) {
        return false;
    }
    window->hi_va = wanted_va + 8;
    return true;
}

static bool extend_falsely(struct hs_stack_window *window, uint64_t wanted_va)
{
    (void)window;
    (void)wanted_va;
    return true; /* but the window is unchanged */
}

static void test_window(void **state)
{
    (void)state;
    static const uint32_t all[] = { SP16, SP48_BP, SP48_BX, TOP };
    start.pc = ra(SP16);
    stack[1] = ra(SP48_BP);
    stack[7] = ra(SP48_BX);
    stack[13] = ra(TOP);
    for (uint32_t words = 0; words < 14; words++) {
        struct hs_stack_window window = whole_stack();
        window.hi_va = va(words);
        uint32_t count = words < 2 ? 1 : words < 8 ? 2 : 3;
        assert_walk_in(window, HS_UNWIND_UNREADABLE, all, count);
        assert_false(walk.is_replayable);
        window.extend = extend_falsely;
        assert_walk_in(window, HS_UNWIND_UNREADABLE, all, count);
        window.extend = extend_by_a_word;
        extend_count = 0;
        assert_walk_in(window, HS_UNWIND_END, all, 4);
        assert_true(extend_count > 0);
    }
}

/* ids 0 1 2 ... along a stack of `depth` frames; the first 191 and the last 64 are kept. */
static bool resolve_counting(void *ctx, uint64_t pc, bool is_exact,
                             struct hs_resolved *ret_resolved)
{
    (void)is_exact;
    uint64_t id = pc - 0x10000000;
    if (id > *(uint32_t *)ctx) {
        return false;
    }
    *ret_resolved = (struct hs_resolved){ NULL, (uint32_t)id, false };
    return true;
}

static void check_depth(uint32_t depth)
{
    struct hs_unwinder unwinder = { .cache = &cache,
                                    .resolve = resolve_counting,
                                    .resolve_ctx = &depth };
    struct hs_stack_window window = whole_stack();
    /* A chain of frame pointers, two words per frame, without unwind information. */
    for (uint32_t i = 0; i < depth; i++) {
        stack[2 * i] = va(2 * i + 2);
        stack[2 * i + 1] = 0x10000000 + i + 1;
    }
    stack[2 * depth - 1] = 0;
    start = (struct hs_regs){ .pc = 0x10000000, .sp = STACK_VA, .bp = STACK_VA };
    hs_rule_cache_flush(&cache);
    hs_unwind_walk(&unwinder, &start, false, &window, &walk);
    assert_int_equal(walk.end, depth >= HS_FRAMES_WALK_MAX ? HS_UNWIND_TOO_DEEP : HS_UNWIND_END);
    depth = depth > HS_FRAMES_WALK_MAX ? HS_FRAMES_WALK_MAX : depth;
    if (depth < HS_FRAMES_MAX) {
        assert_int_equal(walk.frame_count, depth);
        assert_int_equal(walk.cut_idx, 0);
        assert_int_equal(walk.skipped_count, 0);
    } else {
        assert_int_equal(walk.frame_count, HS_FRAMES_MAX - 1);
        assert_int_equal(walk.cut_idx, HS_FRAMES_INNER);
        assert_int_equal(walk.skipped_count, depth - (HS_FRAMES_MAX - 1));
    }
    for (uint32_t i = 0; i < walk.frame_count; i++) {
        uint32_t skipped = walk.cut_idx && i >= walk.cut_idx ? walk.skipped_count : 0;
        assert_int_equal(walk.frames[i], i + skipped);
    }
}

static void test_deep(void **state)
{
    (void)state;
    static const uint32_t depths[] = { 1,   2,   190, 191, 192, 254,  255,   256,   257,
                                       300, 318, 319, 320, 383, 5000, 65535, 65536, 65537 };
    for (size_t i = 0; i < HS_COUNT_OF(depths); i++) {
        check_depth(depths[i]);
    }
}

/* The same with plain rules, which take the fast loop: SP16 all the way. */
static void test_deep_hot(void **state)
{
    (void)state;
    for (uint32_t depth = 250; depth < 900; depth += 3) {
        setup(NULL);
        start.pc = ra(SP16);
        for (uint32_t i = 0; i < depth; i++) {
            stack[2 * i + 1] = ra(i + 66 < depth ? SP16 : SP48_BX);
        }
        uint32_t word = 2 * (depth - 65);
        for (uint32_t i = 0; i < 65; i++) {
            stack[word + 6 * i + 5] = ra(i < 64 ? SP48_BX : TOP);
        }
        walk_in(whole_stack(), false);
        walk_in(whole_stack(), false);
        assert_int_equal(walk.end, HS_UNWIND_END);
        assert_int_equal(walk.frame_count + walk.skipped_count, depth + 1);
        if (depth >= 255) {
            assert_int_equal(walk.frame_count, 255);
            for (uint32_t i = 0; i < 255; i++) {
                uint32_t wanted = i == 254                                ? TOP
                                  : i < HS_FRAMES_INNER && i < depth - 65 ? SP16
                                                                          : SP48_BX;
                assert_int_equal(walk.frames[i], wanted);
            }
        }
        free(stack);
        stack = NULL;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_plain, setup, teardown),
        cmocka_unit_test_setup_teardown(test_frame_pointers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_restored_bp, setup, teardown),
        cmocka_unit_test_setup_teardown(test_drap, setup, teardown),
        cmocka_unit_test_setup_teardown(test_expression, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_register, setup, teardown),
        cmocka_unit_test_setup_teardown(test_signal_frames, setup, teardown),
        cmocka_unit_test_setup_teardown(test_signal_loop, setup, teardown),
        cmocka_unit_test_setup_teardown(test_exact_start, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_information, setup, teardown),
        cmocka_unit_test_setup_teardown(test_named_frames, setup, teardown),
        cmocka_unit_test_setup_teardown(test_value_for_return, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(test_window, setup, teardown),
        cmocka_unit_test_setup_teardown(test_deep, setup, teardown),
        cmocka_unit_test(test_deep_hot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
