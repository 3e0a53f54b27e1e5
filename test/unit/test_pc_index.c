/* pc_index.c: the same answers as a search by halves, for every form of list. */
#include "symbol/pc_index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "symbol/pc_search.h"

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 11;
}

static void check_all(const uint64_t *pcs, size_t count)
{
    struct hs_pc_index index;
    uint64_t seed = count;
    assert_int_equal(hs_pc_index_init(&index, pcs, count), 0);
    assert_int_equal(hs_pc_index_first(&index, 0), 0);
    assert_int_equal(hs_pc_index_first(&index, UINT64_MAX), hs_pc_first(pcs, count, UINT64_MAX));
    for (size_t i = 0; i < count; i++) {
        for (uint64_t va = pcs[i] - 2; va != pcs[i] + 3; va++) {
            assert_int_equal(hs_pc_index_first(&index, va), hs_pc_first(pcs, count, va));
        }
        uint64_t anywhere = pcs[0] + next(&seed) % (pcs[count - 1] - pcs[0] + 2);
        assert_int_equal(hs_pc_index_first(&index, anywhere), hs_pc_first(pcs, count, anywhere));
    }
    hs_pc_index_deinit(&index);
}

static void forms(void **state)
{
    (void)state;
    const uint64_t few[] = { 5, 6, 7, 1000, UINT64_C(1) << 40, UINT64_MAX - 1, UINT64_MAX };
    check_all(NULL, 0);
    for (size_t count = 1; count <= sizeof(few) / sizeof(few[0]); count++) {
        check_all(few, count);
    }
    enum { COUNT = 5000 };
    static const uint64_t steps[] = { 1, 16, 4096, UINT64_C(1) << 40 };
    uint64_t *pcs = malloc(COUNT * sizeof(*pcs)), seed = 1;
    assert_non_null(pcs);
    for (size_t k = 0; k < sizeof(steps) / sizeof(steps[0]); k++) {
        pcs[0] = next(&seed) % 100;
        for (size_t i = 1; i < COUNT; i++) {
            /* Half of them lie close together. */
            pcs[i] = pcs[i - 1] + 1 + (i % 2000 < 1000 ? 0 : next(&seed) % steps[k]);
        }
        check_all(pcs, COUNT);
    }
    free(pcs);
}

static void sorting(void **state)
{
    (void)state;
    uint64_t sorted[] = { 1, 1, 2, 9, 9, 9 }, mixed[] = { 9, 2, UINT64_MAX, 2, 0 };
    assert_int_equal(hs_pcs_sort(sorted, 6), 3);
    assert_true(sorted[0] == 1 && sorted[1] == 2 && sorted[2] == 9);
    assert_int_equal(hs_pcs_sort(mixed, 5), 4);
    assert_true(mixed[0] == 0 && mixed[1] == 2 && mixed[2] == 9 && mixed[3] == UINT64_MAX);
    assert_int_equal(hs_pcs_sort(mixed, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(forms), cmocka_unit_test(sorting) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
