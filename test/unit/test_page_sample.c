/* A choice of pages in clusters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "util/page_sample.h"

#define CLUSTERS 4096U

static uint64_t page_of(uint64_t cluster)
{
    return cluster * HS_PAGE_SAMPLE_CLUSTER_PAGES;
}

static void test_one_of_each_group(void **state)
{
    (void)state;
    for (unsigned shift = 0; shift <= 8; shift++) {
        for (uint64_t group = 0; group < CLUSTERS >> shift; group++) {
            unsigned count = 0;
            for (uint64_t c = group << shift; c < (group + 1) << shift; c++) {
                bool is_sampled = hs_page_is_sampled(page_of(c), shift);
                count += is_sampled;
                assert_int_equal(hs_page_is_sampled(page_of(c + 1) - 1, shift), is_sampled);
                assert_true(shift == 0 || !is_sampled || hs_page_is_sampled(page_of(c), shift - 1));
            }
            assert_int_equal(count, 1);
        }
    }
}

static void test_next(void **state)
{
    (void)state;
    for (unsigned shift = 0; shift <= 8; shift++) {
        uint64_t expected = UINT64_MAX;
        for (uint64_t c = CLUSTERS; c-- > 0;) {
            expected = hs_page_is_sampled(page_of(c), shift) ? page_of(c) : expected;
            if (expected != UINT64_MAX) {
                assert_int_equal(hs_page_sample_next(page_of(c), shift), expected);
                assert_int_equal(hs_page_sample_next(page_of(c) + 15, shift), expected);
            }
        }
    }
}

/* No place in a group is chosen much more often than another. */
static void test_is_even(void **state)
{
    unsigned counts[8] = { 0 };
    (void)state;
    for (uint64_t c = 0; c < 8 * UINT64_C(8000); c++) {
        counts[c % 8] += hs_page_is_sampled(page_of(c), 3);
    }
    for (unsigned i = 0; i < 8; i++) {
        assert_in_range(counts[i], 800, 1200);
    }
}

static void test_ranges(void **state)
{
    const unsigned shift = 4;
    (void)state;
    assert_true(hs_pages_are_sampled(4096, 4096 + 17 * 4096, shift));
    for (uint64_t page = 0; page < 16 * UINT64_C(64); page++) {
        uint64_t va = page * 4096;
        bool is_sampled = hs_page_is_sampled(page, shift),
             next = hs_page_is_sampled(page + 1, shift);
        assert_int_equal(hs_pages_are_sampled(va, va + 4096, shift), is_sampled);
        assert_int_equal(hs_pages_are_sampled(va + 100, va + 4097, shift), is_sampled || next);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_of_each_group),
        cmocka_unit_test(test_next),
        cmocka_unit_test(test_is_even),
        cmocka_unit_test(test_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
