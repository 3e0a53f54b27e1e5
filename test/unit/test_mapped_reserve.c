/*
 * Ranges that become the reserve of another heap, on a real region.
 */
#include <stdbool.h>

#include "client/tables/heap_blocks.h"
#include "client/tables/mapped_reserve.h"
#include "mapped_fixture.h"
#include "rt/check.h"

#define MIB   (UINT64_C(1) << 20)
#define PIECE (UINT64_C(1) << HS_RESERVE_PIECE_SHIFT)
#define BASE  (64 * PIECE)

static uint32_t stack_id;

static int set_up(void **state)
{
    (void)state;
    return fixture_mapped(&stack_id, 1);
}

static int clean(void **state)
{
    (void)state;
    uint64_t mask;
    fixture_unmap_all();
    assert_true(hs_mapped_enter(&mask));
    hs_mapped_reserve_forget(0, UINT64_MAX);
    hs_mapped_leave(mask);
    return 0;
}

static int check(void **state)
{
    (void)state;
    HS_ASSERT(hs_mapped_is_valid() && hs_heap_blocks_is_valid());
    return 0;
}

static void map(uint64_t start_va, uint64_t bytes)
{
    uint64_t mask;
    const struct hs_mapped_origin from = { .thread = hs_thread_self(), .stack_id = stack_id };
    assert_true(hs_mapped_enter(&mask));
    hs_mapped_add(&from, start_va, start_va + bytes, HS_RANGE_MEMORY);
    hs_mapped_leave(mask);
}

/* A block of another heap; says whether it was necessary to look at the ranges. */
static bool block_at(uint64_t va, uint64_t bytes)
{
    bool may_be = hs_mapped_reserve_may_be_at(va);
    if (may_be) {
        hs_mapped_reserve_note(hs_thread_self(), va, bytes);
    }
    return may_be;
}

static bool is_block(uint64_t start_va, uint64_t bytes)
{
    return hs_heap_blocks_has(hs_mapped_heap(), start_va, bytes);
}

static void test_a_range_with_blocks_is_a_reserve(void **state)
{
    (void)state;
    map(BASE, 8 * MIB);
    map(BASE + 16 * MIB, MIB);
    assert_true(is_block(BASE, 8 * MIB));
    assert_true(block_at(BASE + 100, 50));
    assert_false(is_block(BASE, 8 * MIB));
    assert_true(is_block(BASE + 16 * MIB, MIB));
    assert_false(block_at(BASE + 4096, 50)); /* the same piece, which is known by now */
}

static void test_a_block_that_does_not_fit_changes_nothing(void **state)
{
    (void)state;
    map(BASE, MIB);
    assert_true(block_at(BASE + MIB - 8, 16));
    assert_true(block_at(BASE + 100, UINT64_MAX - 8));
    assert_true(block_at(BASE + 100, UINT64_MAX - BASE - 50));
    assert_true(is_block(BASE, MIB));
    assert_true(block_at(BASE + MIB - 16, 16)); /* the piece was not noted as clean */
    assert_false(is_block(BASE, MIB));
}

static void test_what_is_mapped_later_is_looked_at(void **state)
{
    (void)state;
    map(BASE + 32 * PIECE, MIB); /* so that there are ranges at all */
    assert_true(block_at(BASE + 64, 16));
    assert_false(block_at(BASE + 64, 16));
    map(BASE, MIB);
    assert_true(block_at(BASE + 64, 16));
    assert_false(is_block(BASE, MIB));
}

/* More pieces than the table has elements: none may keep an old answer. */
static void test_a_mapping_larger_than_the_table(void **state)
{
    (void)state;
    uint64_t pieces = UINT64_C(1) << HS_RESERVE_PIECES_SHIFT;
    map(BASE + 4 * pieces * PIECE, MIB);
    for (uint64_t i = 0; i < pieces; i += 97) {
        assert_true(block_at(BASE + i * PIECE, 16));
        assert_false(block_at(BASE + i * PIECE, 16));
    }
    map(BASE, 2 * pieces * PIECE);
    for (uint64_t i = 0; i < pieces; i += 97) {
        assert_true(hs_mapped_reserve_may_be_at(BASE + i * PIECE));
        assert_true(hs_mapped_reserve_may_be_at(BASE + (i + pieces) * PIECE));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_range_with_blocks_is_a_reserve, clean, check),
        cmocka_unit_test_setup_teardown(test_a_block_that_does_not_fit_changes_nothing, clean,
                                        check),
        cmocka_unit_test_setup_teardown(test_what_is_mapped_later_is_looked_at, clean, check),
        cmocka_unit_test_setup_teardown(test_a_mapping_larger_than_the_table, clean, check),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
