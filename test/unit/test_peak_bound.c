/* peak_bound.h: how far the reported peak may be below the highest total. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collect/region/peak_bound.h"
#include "rt/base.h"

static void test_known_bounds(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        int64_t peak, most, quantum;
        double shown;
        uint64_t alloc[3], frees[3];
        uint64_t bound;
    } cases[] = {
        { "one thread", 5000, 5000, 0, 5000, { 9000 }, { 3 }, 0 },
        { "one thread, whose own part counts", 5000, 5000, 1024, 5000, { 9000 }, { 3 }, 0 },
        { "a higher total, and no cut of it", 5000, 5600, 0, 5000, { 9000 }, { 3 }, 600 },
        { "two threads", 90000, 90000, 1024, 90000, { 99999, 99999 }, { 3, 4 }, 1024 },
        { "three, two of them with little",
          90000,
          90000,
          1024,
          90000,
          { 99999, 10, 20 },
          { 1, 1, 1 },
          1044 },
        { "only the one that frees sees its own",
          90000,
          90000,
          1024,
          90000,
          { 99999, 10, 0 },
          { 1, 0, 0 },
          10 },
        { "nothing was freed", 0, 0, 1024, 70000, { 60000, 10000 }, { 0, 0 }, 0 },
        { "more lives now than before", 90000, 90000, 1024, 99000, { 99999, 99999 }, { 3, 4 }, 0 },
        { "a client that does not tell, small", 5000, 0, 0, 5000, { 9000 }, { 3 }, 0 },
        { "a client that does not tell", 1 << 20, 0, 0, 1 << 20, { 2 << 20 }, { 3 }, 1024 },
        { "its threads", 1 << 20, 0, 0, 1 << 20, { 2 << 20, 1 << 20 }, { 3, 3 }, 1024 + 4096 },
        { "numbers of no sense",
          5,
          INT64_MAX,
          INT64_MIN,
          0,
          { UINT64_MAX, UINT64_MAX },
          { 1, 1 },
          UINT64_C(1) << 62 },
        { "a peak below nothing", -5, -7, -9, 0, { 5 }, { 1 }, 0 },
    };
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        struct hs_region_control_v1 control = { .peak_bytes = cases[i].peak,
                                                .peak_most_bytes = cases[i].most,
                                                .peak_quantum_bytes = cases[i].quantum };
        struct hs_thread_block_v1 blocks[3] = { 0 };
        for (unsigned k = 0; k < 3; k++) {
            blocks[k].alloc_bytes = cases[i].alloc[k];
            blocks[k].free_count = cases[i].frees[k];
        }
        uint64_t bound = hs_peak_bound(&control, blocks, 3, cases[i].shown);
        if (bound != cases[i].bound) {
            fail_msg("%s: %llu", cases[i].what, (unsigned long long)bound);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_known_bounds) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
