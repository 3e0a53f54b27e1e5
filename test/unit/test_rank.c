/* The order of rank.h: each rule decides only what the rules before it leave open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile/analyse/rank.h"
#include "rt/base.h"

/* The ids are not in the order of the array, so that a sort that keeps ties in place fails. */
static void test_order(void **state)
{
    static const struct {
        struct hs_rank ranks[3];
        uint32_t ids[3];
    } cases[] = {
        /* by weight, against size and id */
        { { { 1, 9, 0 }, { 3, 7, 2 }, { 2, 8, 1 } }, { 2, 1, 0 } },
        { { { -1, 0, 0 }, { 0.5, 0, 1 }, { 0.25, 0, 2 } }, { 1, 2, 0 } },
        /* equal weights: by size, against the id */
        { { { 5, 1, 0 }, { 5, 3, 2 }, { 5, 2, 1 } }, { 2, 1, 0 } },
        { { { 5, 1, 0 }, { 6, 0, 2 }, { 5, 2, 1 } }, { 2, 1, 0 } },
        /* both equal: by id */
        { { { 5, 4, 2 }, { 5, 4, 0 }, { 5, 4, 1 } }, { 0, 1, 2 } },
        { { { 5, 4, 9 }, { 7, 4, 8 }, { 5, 4, 3 } }, { 8, 3, 9 } },
    };
    (void)state;
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        struct hs_rank ranks[3] = { cases[i].ranks[0], cases[i].ranks[1], cases[i].ranks[2] };
        uint32_t ids[3];
        print_message("  case %zu\n", i);
        hs_rank_sort(ranks, 3, ids);
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(ids[k], cases[i].ids[k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
