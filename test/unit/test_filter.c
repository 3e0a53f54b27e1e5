/*
 * The free filter: exact per 16 bytes, over all of user space, from several threads.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "client/tables/filter.h"

static void test_bits(void **state)
{
    (void)state;
    const uintptr_t addrs[] = {
        0x10, 0x7ff0, 0x3fffff00, 0x40000000, 0x7ffffffffff0, 0x555555559010
    };
    bool was_set;
    for (size_t i = 0; i < HS_COUNT_OF(addrs); i++) {
        assert_false(hs_filter_test(addrs[i]));
        assert_true(hs_filter_add(addrs[i], &was_set));
        assert_false(was_set);
        assert_true(hs_filter_test(addrs[i]));
        assert_true(hs_filter_test(addrs[i] + 15));
        assert_false(hs_filter_test(addrs[i] - 16));
        assert_false(hs_filter_test(addrs[i] + 16));
        assert_true(hs_filter_add(addrs[i], &was_set));
        assert_true(was_set);
        HS_ASSERT(hs_filter_is_valid() && hs_filter_bit_count() == i + 1);
    }
    for (size_t i = 0; i < HS_COUNT_OF(addrs); i++) {
        hs_filter_remove(addrs[i]);
        assert_false(hs_filter_test(addrs[i]));
        HS_ASSERT(hs_filter_is_valid());
    }
    HS_ASSERT(hs_filter_bit_count() == 0);
}

static bool is_in_summary(uintptr_t addr)
{
    uint64_t *chunk = hs_filter_chunks[addr >> HS_FILTER_CHUNK_SHIFT];
    return (*hs_filter_summary(chunk, addr) & hs_filter_summary_bit(addr)) != 0;
}

/* A bit of the summary stays set as long as one of its 64 bits is set. */
static void test_summary(void **state)
{
    (void)state;
    const uintptr_t first = 0x5000000400, last = first + 0x3f0, next = first + 0x400;
    bool was_set;
    assert_true(hs_filter_add(first, &was_set) && hs_filter_add(last, &was_set));
    assert_true(hs_filter_add(next, &was_set));
    hs_filter_remove(first);
    assert_true(is_in_summary(first));
    hs_filter_remove(last);
    assert_false(is_in_summary(last));
    assert_true(is_in_summary(next));
    HS_ASSERT(hs_filter_is_valid() && hs_filter_bit_count() == 1);
    hs_filter_remove(next);
    assert_false(is_in_summary(next));
    HS_ASSERT(hs_filter_is_valid() && hs_filter_bit_count() == 0);
}

static void test_outside(void **state)
{
    (void)state;
    bool was_set;
    assert_false(hs_filter_test(0));
    assert_false(hs_filter_test(UINTPTR_MAX));
    assert_false(hs_filter_add((uintptr_t)1 << 47, &was_set));
    assert_false(hs_filter_add(UINTPTR_MAX, &was_set));
}

/*
 * Three threads set and clear neighbouring bits of one word. The summary bit for all of them
 * changes too, and must never be clear while one of them is set.
 */
static void *flip(void *arg)
{
    uintptr_t addr = 0x123456000 + 16 * (uintptr_t)arg;
    uintptr_t errors = 0;
    for (int i = 0; i < 200000; i++) {
        bool was_set;
        errors += !hs_filter_add(addr, &was_set) || was_set || !hs_filter_test(addr);
        hs_filter_remove(addr);
        errors += hs_filter_test(addr);
    }
    return (void *)errors;
}

static void test_threads(void **state)
{
    (void)state;
    pthread_t threads[3];
    for (uintptr_t i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, flip, (void *)i), 0);
    }
    for (int i = 0; i < 3; i++) {
        void *errors;
        pthread_join(threads[i], &errors);
        assert_null(errors);
    }
    HS_ASSERT(hs_filter_is_valid() && hs_filter_bit_count() == 0);
}

static void test_clear(void **state)
{
    (void)state;
    bool was_set;
    assert_true(hs_filter_add(0x6000000010, &was_set) && hs_filter_add(0x10, &was_set));
    hs_filter_clear();
    assert_false(hs_filter_test(0x6000000010) || hs_filter_test(0x10));
    HS_ASSERT(hs_filter_is_valid() && hs_filter_bit_count() == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits),    cmocka_unit_test(test_summary),
        cmocka_unit_test(test_outside), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
