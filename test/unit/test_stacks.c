/*
 * Interning of frames and stacks, and their totals, on a real region.
 */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "client/tables/region.h"
#include "client/tables/stacks.h"
#include "client_fixture.h"
#include "rt/bits.h"

static int set_up(void **state)
{
    (void)state;
    return fixture_region() == 0 && hs_stacks_init() ? 0 : -1;
}

/* After each test. */
static int check(void **state)
{
    (void)state;
    HS_ASSERT(hs_stacks_is_valid() && hs_region_is_valid());
    return 0;
}

static void test_frames(void **state)
{
    (void)state;
    uint32_t a = hs_frame_intern(0x1000, 1, 0);
    assert_int_equal(hs_frame_intern(0x1000, 1, 0), a);
    assert_int_not_equal(hs_frame_intern(0x1001, 1, 0), a);
    /* The same address in another module, after the first was unloaded, is another frame. */
    assert_int_not_equal(hs_frame_intern(0x1000, 2, 0), a);
    assert_int_not_equal(hs_frame_intern(0x1000, 1, HS_FRAME_EXACT), a);
    for (uint64_t pc = 0; pc < 100000; pc++) {
        hs_frame_intern(0x100000 + pc, 1, 0);
    }
    uint64_t count = hs_region.header->sections[HS_SECTION_FRAMES].count;
    for (uint64_t pc = 0; pc < 100000; pc++) {
        uint32_t id = hs_frame_intern(0x100000 + pc, 1, 0);
        assert_int_equal(hs_region_frame(id)->pc, 0x100000 + pc);
    }
    assert_int_equal(hs_region.header->sections[HS_SECTION_FRAMES].count, count);
}

static void test_stacks(void **state)
{
    (void)state;
    uint32_t ids[200];
    for (uint32_t i = 0; i < 200; i++) {
        ids[i] = i * 7;
    }
    struct hs_stack_key key = { .frame_ids = ids, .frame_count = 200 };
    uint32_t whole = hs_stack_intern(&key);
    HS_ASSERT(hs_stacks_is_valid());
    assert_int_equal(hs_stack_intern(&key), whole);
    key.frame_count = 199;
    assert_int_not_equal(hs_stack_intern(&key), whole);
    key.frame_count = 200;
    key.heap_id = 1;
    assert_int_not_equal(hs_stack_intern(&key), whole);
    key.heap_id = 0;
    key.type_id = 1;
    assert_int_not_equal(hs_stack_intern(&key), whole);
    key.type_id = 0;
    key.end = HS_STACK_END_NO_INFO;
    assert_int_not_equal(hs_stack_intern(&key), whole);
    key.end = HS_STACK_END;
    ids[100]++;
    assert_int_not_equal(hs_stack_intern(&key), whole);
    ids[100]--;
    assert_int_equal(hs_stack_intern(&key), whole);
    const struct hs_stack_v1 *stack = hs_region_stack(whole);
    assert_int_equal(stack->frame_count, 200);
    const uint32_t *stored = hs_region_at(HS_SECTION_FRAME_IDS, stack->frame_ids_idx);
    assert_memory_equal(stored, ids, sizeof(ids));
}

static void test_many_stacks(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        uint64_t before = hs_region.header->sections[HS_SECTION_STACKS].count;
        for (uint32_t i = 0; i < 50000; i++) {
            uint32_t ids[3] = { i, i / 3, 5 };
            struct hs_stack_key key = { .frame_ids = ids, .frame_count = 3 };
            assert_int_not_equal(hs_stack_intern(&key), HS_ID_NONE);
            if (i % 10000 == 0) {
                HS_ASSERT(hs_stacks_is_valid());
            }
        }
        assert_int_equal(hs_region.header->sections[HS_SECTION_STACKS].count - before,
                         round == 0 ? 50000 : 0);
    }
}

#define THREADS 4
#define SHARED  20000U

static uint32_t ids_found[THREADS][SHARED];

/* All threads intern the same new stacks, each starting at another one. */
static void *intern_all(void *arg)
{
    uint32_t mine = (uint32_t)(uintptr_t)arg;
    for (uint32_t n = 0; n < SHARED; n++) {
        uint32_t i = (n + mine * 100) % SHARED;
        uint32_t frames[3];
        for (uint32_t k = 0; k < 3; k++) {
            frames[k] = hs_frame_intern(0x7000000 + i / (k + 1), 3 + k, 0);
        }
        struct hs_stack_key key = { .frame_ids = frames, .frame_count = 3, .heap_id = 9 };
        ids_found[mine][i] = hs_stack_intern(&key);
        struct hs_totals_v1 *totals = hs_stack_totals(ids_found[mine][i], i);
        hs_stack_add(totals, 10, 0, 1);
        hs_stack_add(totals, 10, 1, 100);
    }
    return NULL;
}

/* A stack may exist twice when two threads added it at once, but each copy is complete. */
static void test_threads(void **state)
{
    (void)state;
    fixture_threads(THREADS, intern_all);
    uint64_t same = 0, exact_count = 0, sampled_bytes = 0;
    for (uint32_t i = 0; i < SHARED; i++) {
        for (uint32_t t = 0; t < THREADS; t++) {
            uint32_t id = ids_found[t][i];
            assert_int_not_equal(id, HS_ID_NONE);
            const struct hs_stack_v1 *stack = hs_region_stack(id);
            const uint32_t *frames = hs_region_at(HS_SECTION_FRAME_IDS, stack->frame_ids_idx);
            assert_int_equal(stack->heap_id, 9);
            assert_int_equal(stack->frame_count, 3);
            for (uint32_t k = 0; k < 3; k++) {
                assert_int_equal(hs_region_frame(frames[k])->pc, 0x7000000 + i / (k + 1));
            }
            bool is_first = true;
            for (uint32_t other = 0; other < t; other++) {
                is_first &= ids_found[other][i] != id;
            }
            same += !is_first;
            exact_count += is_first ? stack->totals[i & 1].exact_count : 0;
            sampled_bytes += is_first ? stack->totals[i & 1].sampled_bytes : 0;
        }
    }
    assert_true(same > SHARED * 2);
    assert_int_equal(exact_count, SHARED * THREADS);
    assert_int_equal(sampled_bytes, SHARED * THREADS * 100);
}

static void test_totals(void **state)
{
    (void)state;
    uint32_t frame = 3;
    struct hs_stack_key key = { .frame_ids = &frame, .frame_count = 1 };
    uint32_t id = hs_stack_intern(&key);
    hs_stack_add(hs_stack_totals(id, 2), 5000, 0, 4096);
    hs_stack_add(hs_stack_totals(id, 3), 7, 0, 1);
    hs_stack_add(hs_stack_totals(id, 3), 1024, 2, 4096);
    const struct hs_totals_v1 *totals = hs_region_stack(id)->totals;
    assert_int_equal(totals[0].exact_bytes, 5000);
    assert_int_equal(totals[0].exact_count, 1);
    assert_int_equal(totals[1].exact_bytes, 7);
    assert_int_equal(totals[1].sampled_bytes, 2 * 4096);
    /* 1 / (1 - e^-0.25) = 4.52081; (1-p)/p^2 = c (c-1) = 15.9169 */
    assert_in_range(totals[1].sampled_count_fx, 4629, 4630);
    assert_true(fabs(hs_double_of_bits(totals[1].sampled_count_var) - 15.9169) < 1e-4);
}

/*
 * With 10 bits behind the binary point, 1024 samples of the first kind, or 4 of the second, would
 * overflow.
 */
static void test_variances_at_large_intervals(void **state)
{
    (void)state;
    const uint64_t intervals[] = { UINT64_C(64) << 20, UINT64_C(1) << 30, UINT64_C(1) << 40 };
    for (size_t i = 0; i < sizeof(intervals) / sizeof(intervals[0]); i++) {
        struct hs_totals_v1 totals = { 0 };
        double each = (double)intervals[i] / 16;
        for (unsigned n = 1; n <= 5000; n++) {
            hs_stack_add_sampled(&totals, 16, 1, intervals[i]);
            double var = hs_double_of_bits(totals.sampled_count_var);
            assert_true(fabs(var / (n * each * each) - 1) < 1e-6);
            double count = (double)totals.sampled_count_fx / (1 << HS_COUNT_SHIFT);
            assert_true(fabs(count / (n * each) - 1) < 1e-6);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_frames, check),
        cmocka_unit_test_teardown(test_stacks, check),
        cmocka_unit_test_teardown(test_many_stacks, check),
        cmocka_unit_test_teardown(test_threads, check),
        cmocka_unit_test_teardown(test_totals, check),
        cmocka_unit_test_teardown(test_variances_at_large_intervals, check),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
