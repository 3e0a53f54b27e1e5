/*
 * unwind.h with replay.h: what a walk says about its dependencies, on which replay relies, is true;
 * and both together, as the profiler uses them.
 */
#include "unwind/replay.h"
#include "unwind_world.h"

#define WORDS 200U

static const enum function kinds[] = { SP16, SP48_BP, SP48_BX, BP16, LOAD, DRAP, NO_CFI };
static uint64_t random_state = 1;

static uint64_t draw(void)
{
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    return hs_mix64(random_state);
}

static uint64_t random_word(uint32_t at)
{
    uint64_t pick = draw();
    return pick % 3 ? ra(kinds[(pick >> 8) % HS_COUNT_OF(kinds)])
                    : va((uint32_t)(at + (pick >> 16) % 16));
}

/*
 * Return addresses and pointers into the stack, at random; some of these stacks make a long walk.
 */
static void make_random_stack(void)
{
    for (uint32_t i = 0; i < WORDS; i++) {
        stack[i] = random_word(i);
    }
    stack[WORDS - 1] = ra(TOP);
}

static void make_random_start(void)
{
    start = (struct hs_regs){ .pc = ra(kinds[draw() % HS_COUNT_OF(kinds)]),
                              .sp = STACK_VA,
                              .bp = va((uint32_t)draw() % 16),
                              .bx = draw() };
}

/* --- stacks that share their outer part ------------------------------------------------------- */

/* A place between two frames, and what the outer frame needs there. */
struct boundary {
    uint32_t word; /* its sp */
    uint64_t pc;
    uint64_t bp;
    bool needs_bp;
};

/* Puts a frame of function f inside `outer`. */
static struct boundary prepend(struct boundary outer, enum function f)
{
    uint32_t words = f == SP16 ? 2 : f == BP16 ? 2 + (uint32_t)draw() % 5 : 6;
    struct boundary inner = outer;
    inner.word = outer.word - words;
    inner.pc = ra(f);
    stack[outer.word - 1] = outer.pc;
    if (f == SP48_BP || f == BP16) {
        stack[outer.word - 2] = outer.needs_bp ? outer.bp : draw();
        inner.needs_bp = f == BP16;
        inner.bp = va(outer.word - 2);
    }
    return inner;
}

/* Makes 6 to 30 frames that end properly. */
static uint32_t make_outer_part(struct boundary *boundaries)
{
    uint32_t count = 6 + (uint32_t)draw() % 24;
    struct boundary at = { .word = WORDS, .pc = ra(TOP) };
    for (uint32_t i = 0; i < count && at.word > 40; i++) {
        boundaries[i] = at;
        at = prepend(at, kinds[draw() % 4]);
        count = at.word > 40 ? count : i + 1;
    }
    return count;
}

/* Makes new frames inside `at`, and the start. */
static void make_inner_part(struct boundary at)
{
    for (uint32_t i = 0; i < at.word; i++) {
        stack[i] = i < at.word - 8 ? draw() : stack[i]; /* may be the saved rbp of the outer part */
    }
    uint32_t count = 1 + (uint32_t)draw() % 6;
    for (uint32_t i = 0; i < count && at.word >= 8; i++) {
        at = prepend(at, kinds[draw() % 4]);
    }
    start = (struct hs_regs){ .pc = at.pc, .sp = va(at.word) };
    start.bp = at.needs_bp ? at.bp : draw();
    if (draw() % 8 == 0) {
        stack[draw() % WORDS] ^= 8 * (draw() % 8); /* changes a word */
    }
}

/* Makes a stack of either kind. */
static void make_stack(void)
{
    struct boundary boundaries[64];
    if (draw() % 2) {
        make_random_stack();
        make_random_start();
    } else {
        make_inner_part(boundaries[make_outer_part(boundaries) - 1]);
    }
}

/* --- tests ------------------------------------------------------------------------------------ */

static struct hs_stack_window window_of_words(void)
{
    struct hs_stack_window window = whole_stack();
    window.hi_va = va(WORDS);
    return window;
}

/* Changes all words except those that `from` depends on. */
static void scramble(const struct hs_walk *from)
{
    bool is_used[WORDS] = { false };
    for (uint32_t i = 0; i < from->word_count; i++) {
        uint32_t at = (from->word_va_low[i] - (uint32_t)STACK_VA) / 8;
        assert_true(at < WORDS);
        assert_int_equal(from->word[i], stack[at]);
        assert_true(va(at) < from->top_va);
        is_used[at] = true;
    }
    for (uint32_t i = 0; i < WORDS; i++) {
        stack[i] = is_used[i] ? stack[i] : draw() % 2 ? draw() : random_word(i);
    }
}

static void assert_same_frames(const struct hs_walk *wanted)
{
    /* Which of the two it is depends on how the last pc was found. */
    if (wanted->end != HS_UNWIND_NO_INFO || walk.end != HS_UNWIND_NO_MODULE) {
        assert_int_equal(walk.end, wanted->end);
    }
    assert_int_equal(walk.frame_count, wanted->frame_count);
    assert_memory_equal(walk.frames, wanted->frames, walk.frame_count * 4);
}

/* A walk depends on the words that it names, and on no others; on bp only if it says so. */
static void test_dependencies(void **state)
{
    (void)state;
    static struct hs_walk first;
    uint32_t replayable_count = 0;
    for (uint32_t round = 0; round < 5000; round++) {
        make_stack();
        walk_in(window_of_words(), false);
        first = walk;
        if (!first.is_replayable) {
            continue;
        }
        replayable_count++;
        scramble(&first);
        start.bp = first.has_used_bp ? start.bp : draw();
        walk_in(window_of_words(), false);
        assert_same_frames(&first);
    }
    assert_true(replayable_count > 500);
}

static struct hs_walk by_user[65536];
static uint32_t find_count, changed_count;

/* Walks through the table, as the profiler does, and plainly. True: the table had the stack. */
static bool walk_both_ways(struct hs_replay *replay, uint32_t new_user)
{
    static struct hs_walk plain;
    uint64_t generation = hs_rule_cache_generation(&cache);
    struct hs_stack_window window = window_of_words();
    uint32_t user;
    walk_in(window, false);
    plain = walk;
    if (!hs_replay_find(replay, &start, &window, generation, &user)) {
        hs_replay_store(replay, &start, &walk, generation, new_user);
        by_user[new_user] = walk;
        return false;
    }
    walk = by_user[user];
    assert_same_frames(&plain);
    assert_true(plain.is_replayable);
    assert_int_equal(walk.skipped_count, plain.skipped_count);
    return true;
}

/* Each stack once unchanged, once with a changed word, and once more unchanged. */
static void test_by_table(void **state)
{
    (void)state;
    const uint32_t arena_bytes = 64 << 10;
    struct boundary boundaries[64];
    struct hs_replay replay;
    uint32_t boundary_count = 0;
    void *memory = aligned_alloc(64, HS_REPLAY_BYTES(256, arena_bytes));
    memset(memory, 0, HS_REPLAY_BYTES(256, arena_bytes));
    hs_replay_init(&replay, memory, 256, arena_bytes);
    for (uint32_t round = 0; round < 65535; round += 3) {
        if (round % 300 == 0) {
            boundary_count = make_outer_part(boundaries);
        }
        make_inner_part(boundaries[boundary_count - 1 - draw() % 3 % boundary_count]);
        walk_both_ways(&replay, round);
        uint64_t *word = &stack[draw() % WORDS], was = *word;
        *word ^= draw() % 2 ? 8 * (1 + draw() % 7) : UINT64_C(1) << draw() % 64;
        changed_count += !walk_both_ways(&replay, round + 1);
        *word = was;
        find_count += walk_both_ways(&replay, round + 2);
        if (round % 5001 == 0) {
            hs_rule_cache_flush(&cache);
        }
    }
    print_message("found %u; changed %u; %u lost\n", find_count, changed_count, replay.lost_count);
    assert_true(find_count > 10000 && changed_count > 1000 && replay.lost_count > 10 * 256);
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_dependencies, setup, teardown),
        cmocka_unit_test_setup_teardown(test_by_table, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
