/* Path replay: a stack is recognized if, and only if, nothing that it depends on has changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rt/bits.h"
#include "unwind/replay.h"

#define STACK_VA    UINT64_C(0x7ffe0000)
#define STACK_WORDS 4096U
#define SLOTS       256U
#define ARENA_BYTES (64U << 10)

static uint64_t stack[STACK_WORDS];
static void *memory;
static struct hs_replay replay;
static struct hs_walk walk;

static int setup(void **state)
{
    (void)state;
    memory = aligned_alloc(64, HS_REPLAY_BYTES(SLOTS, ARENA_BYTES));
    memset(memory, 0, HS_REPLAY_BYTES(SLOTS, ARENA_BYTES));
    hs_replay_init(&replay, memory, SLOTS, ARENA_BYTES);
    for (unsigned i = 0; i < STACK_WORDS; i++) {
        stack[i] = hs_mix64(i);
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    HS_ASSERT(hs_replay_is_valid(&replay));
    free(memory);
    return 0;
}

/* Keeps `walk`; the table is whole before and after. */
static void store(const struct hs_regs *regs, uint64_t generation, uint32_t user)
{
    HS_ASSERT(hs_replay_is_valid(&replay));
    hs_replay_store(&replay, regs, &walk, generation, user);
    HS_ASSERT(hs_replay_is_valid(&replay));
}

static struct hs_regs regs_at(unsigned sp_word)
{
    return (struct hs_regs){ .pc = 0x401234, .sp = STACK_VA + 8 * sp_word, .bp = 77 };
}

/* A walk that read every `step`th word above sp, `count` of them. */
static void make_walk(const struct hs_regs *regs, unsigned count, unsigned step)
{
    unsigned first = (unsigned)(regs->sp - STACK_VA) / 8;
    memset(&walk, 0, sizeof(walk));
    walk.is_replayable = true;
    walk.word_count = count;
    for (unsigned i = 0; i < count; i++) {
        walk.word[i] = stack[first + step * i];
        walk.word_va_low[i] = (uint32_t)(regs->sp + 8 * (uint64_t)(step * i));
    }
    walk.top_va = regs->sp + 8 * (uint64_t)(step * (count - 1) + 1);
}

static struct hs_stack_window window_up_to(unsigned word)
{
    return (struct hs_stack_window){ .lo_va = STACK_VA,
                                     .hi_va = STACK_VA + 8 * word,
                                     .shift = (uint64_t)(uintptr_t)stack - STACK_VA };
}

static bool find(const struct hs_regs *regs, uint64_t generation, uint32_t *ret_user)
{
    struct hs_stack_window window = window_up_to(STACK_WORDS);
    bool is_found = hs_replay_find(&replay, regs, &window, generation, ret_user);
    HS_ASSERT(hs_replay_is_valid(&replay));
    return is_found;
}

static void assert_finds(const struct hs_regs *regs, uint32_t user)
{
    uint32_t found = 0;
    assert_true(find(regs, 1, &found));
    assert_int_equal(found, user);
}

static void assert_misses(const struct hs_regs *regs)
{
    uint32_t found;
    assert_false(find(regs, 1, &found));
}

static void test_each_word_counts(void **state)
{
    (void)state;
    for (unsigned count = 1; count <= HS_WALK_WORDS_MAX; count += count < 20 ? 1 : 13) {
        struct hs_regs regs = regs_at(count);
        make_walk(&regs, count, 3);
        store(&regs, 1, count);
        assert_finds(&regs, count);
        for (unsigned i = 0; i < count; i++) {
            stack[count + 3 * i] ^= UINT64_C(1) << (i % 64);
            assert_misses(&regs);
            stack[count + 3 * i] ^= UINT64_C(1) << (i % 64);
            stack[count + 3 * i + 1] ^= 1; /* the walk did not read it, so any value will do */
        }
        assert_finds(&regs, count);
    }
}

static void test_start_counts(void **state)
{
    (void)state;
    struct hs_regs regs = regs_at(10), other = regs;
    make_walk(&regs, 20, 2);
    assert_misses(&regs);
    store(&regs, 1, 5);
    assert_finds(&regs, 5);
    other.pc++;
    assert_misses(&other);
    other = regs;
    other.sp += 8;
    assert_misses(&other);
    other = regs;
    other.bp++; /* no rule used it */
    assert_finds(&other, 5);
    regs.pc = other.pc = 0x405678;
    walk.has_used_bp = true;
    store(&regs, 1, 6);
    assert_finds(&regs, 6);
    assert_misses(&other);
    uint32_t user;
    assert_false(find(&regs, 2, &user)); /* modules have changed */
}

static void test_not_for_replay(void **state)
{
    (void)state;
    struct hs_regs regs = regs_at(10);
    make_walk(&regs, 20, 2);
    walk.is_replayable = false;
    store(&regs, 1, 5);
    assert_misses(&regs);
    make_walk(&regs, 20, 2);
    walk.word_count = 0;
    store(&regs, 1, 5);
    assert_misses(&regs);
}

static bool extend_one_page(struct hs_stack_window *window, uint64_t va)
{
    window->hi_va = (va + 8 + 4095) & ~UINT64_C(4095);
    (*(unsigned *)window->ctx)++;
    return window->hi_va <= STACK_VA + sizeof(stack);
}

/* Words above the window are not read, unless it can be extended. */
static void test_window(void **state)
{
    (void)state;
    unsigned extend_count = 0;
    uint32_t user;
    struct hs_regs regs = regs_at(10);
    make_walk(&regs, 20, 2); /* words 10 to 48 */
    store(&regs, 1, 5);
    struct hs_stack_window window = window_up_to(49);
    assert_true(hs_replay_find(&replay, &regs, &window, 1, &user));
    window = window_up_to(48);
    assert_false(hs_replay_find(&replay, &regs, &window, 1, &user));
    window.hi_va = STACK_VA + 8 * 49 - 1;
    assert_false(hs_replay_find(&replay, &regs, &window, 1, &user));
    window.extend = extend_one_page;
    window.ctx = &extend_count;
    assert_true(hs_replay_find(&replay, &regs, &window, 1, &user));
    assert_int_equal(extend_count, 1);
    window = window_up_to(49);
    window.lo_va = regs.sp + 8;
    assert_false(hs_replay_find(&replay, &regs, &window, 1, &user));
}

/*
 * The same start again and again, with other stacks each time, needs no more room than the longest
 * walks of it.
 */
static void test_in_place(void **state)
{
    (void)state;
    struct hs_regs regs = regs_at(10);
    uint32_t used = 0;
    for (uint32_t i = 0; i <= 1000; i++) {
        stack[10] = i;
        make_walk(&regs, i < HS_REPLAY_WAYS ? 100 : 1 + i % 100, 2);
        store(&regs, 1, i);
        assert_finds(&regs, i);
        if (i == HS_REPLAY_WAYS - 1) {
            used = replay.arena_used;
        }
    }
    assert_int_equal(replay.arena_used, used);
    assert_int_equal(replay.lost_count, 1001 - HS_REPLAY_WAYS); /* each one displaced by the
                                                                 * next, never all at once */
}

/*
 * For one start, as many stacks are kept as there are ways; then the one that was unused for
 * longest is dropped.
 */
static void test_ways(void **state)
{
    (void)state;
    struct hs_regs regs = regs_at(10);
    for (uint32_t i = 0; i < HS_REPLAY_WAYS; i++) {
        stack[48] = i; /* the last word */
        make_walk(&regs, 20, 2);
        store(&regs, 1, i);
    }
    for (uint32_t round = 0; round < 100; round++) {
        stack[48] = (round * 5) % HS_REPLAY_WAYS;
        assert_finds(&regs, (uint32_t)stack[48]);
    }
    /* Use all but 3 of them once more, and store another. */
    for (uint32_t i = 0; i < HS_REPLAY_WAYS; i++) {
        stack[48] = i;
        if (i != 3) {
            assert_finds(&regs, i);
        }
    }
    stack[48] = 99;
    assert_misses(&regs);
    make_walk(&regs, 20, 2);
    store(&regs, 1, 99);
    for (uint32_t i = 0; i < HS_REPLAY_WAYS; i++) {
        stack[48] = i;
        if (i != 3) {
            assert_finds(&regs, i);
        } else {
            assert_misses(&regs);
        }
    }
}

/* However many starts there are, results are right, and memory is limited. */
static void test_full(void **state)
{
    (void)state;
    unsigned found_count = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        struct hs_regs regs = regs_at((unsigned)(hs_mix64(i) % 50));
        uint32_t user;
        regs.pc += i % 7;
        if (find(&regs, 1, &user)) {
            found_count++;
            assert_int_equal(user, regs.sp ^ regs.pc);
        }
        make_walk(&regs, 1 + (unsigned)(hs_mix64(i * 3) % 40), 1 + i % 7);
        store(&regs, 1, (uint32_t)(regs.sp ^ regs.pc));
        assert_finds(&regs, (uint32_t)(regs.sp ^ regs.pc));
        assert_in_range(replay.arena_used, 1, replay.arena_words);
    }
    assert_true(replay.lost_count >= SLOTS); /* the arena was full */
    assert_true(found_count > 100);
}

static void test_small_arena(void **state)
{
    (void)state;
    struct hs_regs regs = regs_at(10);
    hs_replay_init(&replay, memory, SLOTS, 512);
    HS_ASSERT(hs_replay_is_valid(&replay));
    make_walk(&regs, 200, 2);
    store(&regs, 1, 5); /* does not fit at all */
    assert_misses(&regs);
    make_walk(&regs, 8, 2);
    store(&regs, 1, 6);
    assert_finds(&regs, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_word_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_start_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_not_for_replay, setup, teardown),
        cmocka_unit_test_setup_teardown(test_window, setup, teardown),
        cmocka_unit_test_setup_teardown(test_in_place, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ways, setup, teardown),
        cmocka_unit_test_setup_teardown(test_full, setup, teardown),
        cmocka_unit_test_setup_teardown(test_small_arena, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
