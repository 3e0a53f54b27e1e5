/*
 * peak_overlap.h on processes whose times and peaks are known.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fixture_profile.h"
#include "profile/analyse/peak_overlap.h"
#include "profile/model/margin.h"

#define SECOND UINT64_C(1000000000)

struct life {
    uint32_t pid;
    uint64_t start_s, end_s; /* end 0: its end was not seen */
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
    /* The second and the third overlapped; the first overlapped neither. */
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

#define INTERVAL      4096.0
#define SAMPLES       256
#define PROCESS_COUNT 30
#define RUN_COUNT     2000

static uint64_t seed = 88172645463325252u;

static double uniform(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return ((double)(seed >> 11) + 0.5) / (double)(UINT64_C(1) << 53);
}

static unsigned poisson(double mean)
{
    unsigned count = 0;
    for (double at = -log(uniform()); at < mean; at -= log(uniform())) {
        count++;
    }
    return count;
}

/* One after the other, each with SAMPLES samples on average. */
static void draw_peaks(struct fixture *fx)
{
    for (uint32_t i = 0; i < fx->p.dump_count; i++) {
        unsigned k = poisson(SAMPLES);
        fx->p.dumps[i].peak = fixture_sampled(k * INTERVAL, k, k * INTERVAL * INTERVAL, 0);
    }
}

static void the_largest_of_many_estimates(void **state)
{
    (void)state;
    struct fixture fx = { 0 };
    struct hs_selection selection;
    const struct hs_select_spec spec = { .snapshot = HS_SELECT_LAST };
    const double truth = SAMPLES * INTERVAL;
    unsigned below = 0, above = 0;
    fx = fixture_new();
    for (unsigned i = 0; i < PROCESS_COUNT; i++) {
        const struct life life = { i + 1, 10 * i + 1, 10 * i + 11, 0 };
        add_life(&fx, &life);
        fx.p.dumps[i].interval_bytes = fx.p.dumps[i].orig_interval_bytes = (uint64_t)INTERVAL;
    }
    for (unsigned run = 0; run < RUN_COUNT; run++) {
        struct hs_peak_overlap overlap;
        draw_peaks(&fx);
        assert_int_equal(hs_select_dumps(&fx.p, &spec, &selection), 0);
        assert_int_equal(hs_peak_overlap_of(&selection, &overlap), 0);
        hs_selection_deinit(&selection);
        assert_int_equal(overlap.process_count, PROCESS_COUNT);
        below += truth < overlap.low_bytes;
        above += truth > overlap.high_bytes;
    }
    print_message("truth below the interval in %u, above in %u of %u runs\n", below, above,
                  (unsigned)RUN_COUNT);
    assert_true(below <= RUN_COUNT * 0.03);
    assert_int_equal(above, 0);
    fixture_deinit(&fx);
}

/* Three concurrent processes without any sample: what may have gone unseen in each. */
static void nothing_was_hit(void **state)
{
    (void)state;
    struct fixture fx = { 0 };
    struct hs_selection selection;
    struct hs_peak_overlap overlap;
    const struct hs_select_spec spec = { .snapshot = HS_SELECT_LAST };
    fx = fixture_new();
    for (unsigned i = 0; i < 3; i++) {
        const struct life life = { i + 1, 10, 20, 0 };
        add_life(&fx, &life);
        fx.p.dumps[i].interval_bytes = fx.p.dumps[i].orig_interval_bytes = (uint64_t)INTERVAL;
    }
    assert_int_equal(hs_select_dumps(&fx.p, &spec, &selection), 0);
    assert_int_equal(hs_peak_overlap_of(&selection, &overlap), 0);
    assert_int_equal(overlap.process_count, 3);
    assert_true(overlap.low_bytes == 0);
    assert_true(overlap.high_bytes >= 3 * HS_MARGIN_UNSEEN_SAMPLES * INTERVAL * 0.999);
    hs_selection_deinit(&selection);
    fixture_deinit(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_after_the_other), cmocka_unit_test(some_together),
        cmocka_unit_test(without_an_end),      cmocka_unit_test(images_of_one_pid),
        cmocka_unit_test(with_margins),        cmocka_unit_test(only_one_with_a_heap),
        cmocka_unit_test(nothing_was_hit),     cmocka_unit_test(the_largest_of_many_estimates),
    };
    return cmocka_run_group_tests_name("peak_overlap", tests, NULL, NULL);
}
