/*
 * peak_overlap.h on processes whose times and peaks are known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fixture_profile.h"
#include "profile/peak_overlap.h"

#define SECOND UINT64_C(1000000000)

struct life {
    uint32_t pid;
    uint64_t start_s, end_s; /* end 0: nobody saw it end */
    double peak_bytes;
};

static void add_life(struct fixture *fx, const struct life *life)
{
    fixture_process(fx, life->pid, "prog");
    struct hs_profile_process *process = &fx->p.processes[fx->p.process_count - 1];
    process->start_ns = life->start_s * SECOND;
    process->end_ns = life->end_s * SECOND;
    fixture_dump(fx, 0);
    struct hs_profile_dump *dump = &fx->p.dumps[fx->p.dump_count - 1];
    dump->interval_bytes = dump->orig_interval_bytes = 1;
    dump->peak = fixture_exact(life->peak_bytes, 1);
}

static struct hs_peak_overlap overlap_of(const struct life *lives, unsigned count,
                                         float short_bytes)
{
    struct fixture fx = { 0 };
    struct hs_selection selection;
    struct hs_peak_overlap overlap;
    fx = fixture_new();
    for (unsigned i = 0; i < count; i++) {
        add_life(&fx, &lives[i]);
        fx.p.dumps[fx.p.dump_count - 1].peak.peak_short_bytes = short_bytes;
    }
    const struct hs_select_spec spec = { .snapshot = HS_SELECT_LAST };
    assert_int_equal(hs_select_dumps(&fx.p, &spec, &selection), 0);
    assert_int_equal(hs_peak_overlap_of(&selection, &overlap), 0);
    hs_selection_deinit(&selection);
    fixture_deinit(&fx);
    return overlap;
}

static void one_after_the_other(void **state)
{
    (void)state;
    const struct life lives[] = { { 1, 10, 20, 500 }, { 2, 20, 30, 700 }, { 3, 31, 40, 600 } };
    struct hs_peak_overlap overlap = overlap_of(lives, 3, 0);
    assert_int_equal(overlap.process_count, 3);
    assert_true(overlap.low_bytes == 700 && overlap.high_bytes == 700);
}

static void some_together(void **state)
{
    (void)state;
    /* The second and the third met, and the first met neither. */
    const struct life lives[] = { { 1, 10, 20, 900 }, { 2, 21, 30, 500 }, { 3, 29, 40, 600 } };
    struct hs_peak_overlap overlap = overlap_of(lives, 3, 0);
    assert_true(overlap.low_bytes == 900 && overlap.high_bytes == 1100);
}

static void without_an_end(void **state)
{
    (void)state;
    const struct life lives[] = { { 1, 10, 0, 500 }, { 2, 1000, 1001, 700 } };
    struct hs_peak_overlap overlap = overlap_of(lives, 2, 0);
    assert_true(overlap.low_bytes == 700 && overlap.high_bytes == 1200);
}

static void images_of_one_pid(void **state)
{
    (void)state;
    /* It executed another program after 5 s, which was noticed 2 s later. */
    const struct life lives[] = { { 1, 10, 17, 500 }, { 1, 15, 30, 700 } };
    struct hs_peak_overlap overlap = overlap_of(lives, 2, 0);
    assert_true(overlap.low_bytes == 700 && overlap.high_bytes == 700);
}

static void with_margins(void **state)
{
    (void)state;
    const struct life lives[] = { { 1, 10, 20, 500 }, { 2, 15, 30, 700 } };
    struct hs_peak_overlap overlap = overlap_of(lives, 2, 64);
    assert_true(overlap.low_bytes == 700 && overlap.high_bytes == 1200 + 128);
}

static void only_one_with_a_heap(void **state)
{
    (void)state;
    const struct life lives[] = { { 1, 10, 20, 0 }, { 2, 15, 30, 700 } };
    struct hs_peak_overlap overlap = overlap_of(lives, 2, 0);
    assert_int_equal(overlap.process_count, 1);
    assert_true(overlap.low_bytes == 700 && overlap.high_bytes == 700);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_after_the_other), cmocka_unit_test(some_together),
        cmocka_unit_test(without_an_end),      cmocka_unit_test(images_of_one_pid),
        cmocka_unit_test(with_margins),        cmocka_unit_test(only_one_with_a_heap),
    };
    return cmocka_run_group_tests_name("peak_overlap", tests, NULL, NULL);
}
