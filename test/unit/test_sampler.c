/*
 * The sampler on a real control page: weights have the right sums, and settings reach a running
 * thread.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "client/hooks/sampler.h"
#include "client/tables/life_state.h"
#include "client/thread/countdown.h"
#include "client_fixture.h"

static const uint32_t alive = 1;

static void set_interval(uint64_t interval_bytes)
{
    struct hs_region_control_v1 *control = &hs_control_page.control;
    control->interval_bytes = interval_bytes;
    control->generation++;
    /* As a collector does it: higher than any countdown can be. */
    control->floor_bytes += HS_FLOOR_STEP;
}

static int set_up(void **state)
{
    (void)state;
    if (fixture_region() != 0) {
        return -1;
    }
    hs_life_state.alive_word = &alive;
    hs_life_state.state = HS_LIFE_ON;
    hs_countdown_seed(1);
    return 0;
}

/* Does what a hook does. */
static uint64_t weigh(size_t size_bytes)
{
    struct hs_sample sample;
    if (hs_sampler_drop(size_bytes) || !hs_sampler_hit(size_bytes, &sample)) {
        return 0;
    }
    return sample.hits ? sample.hits * sample.interval_bytes : size_bytes;
}

static void test_every_one(void **state)
{
    (void)state;
    set_interval(1);
    struct hs_sample sample;
    for (size_t size = 0; size < 5000; size++) {
        assert_int_equal(weigh(size), size);
        assert_false(hs_sampler_drop(size));
        assert_true(hs_sampler_hit(size, &sample));
        assert_int_equal(sample.hits, 0);
    }
}

static void test_large_are_exact(void **state)
{
    (void)state;
    set_interval(4096);
    for (int i = 0; i < 10000; i++) {
        weigh((size_t)(i * 37 % 4000));
        assert_int_equal(weigh(4096), 4096);
        assert_int_equal(weigh(1000000), 1000000);
        assert_int_equal(weigh(SIZE_MAX), SIZE_MAX);
    }
}

/* The sum of weights estimates the sum of sizes within its stated error, for each size. */
static void test_unbiased(void **state)
{
    (void)state;
    set_interval(4096);
    const size_t sizes[] = { 1, 8, 16, 100, 1000, 4095 };
    for (size_t s = 0; s < HS_COUNT_OF(sizes); s++) {
        double total = 0, truth = 0;
        while (truth < 4e7) {
            total += (double)weigh(sizes[s]);
            truth += (double)sizes[s];
        }
        /* Four standard errors. */
        assert_true(fabs(total - truth) < 4 * sqrt(4096 * truth));
    }
    /* With an interval of only a few bytes, rounding must have no visible effect. */
    set_interval(16);
    double total = 0, count = 0, truth = 0;
    while (truth < 4e7) {
        uint64_t weight = weigh(8);
        total += (double)weight;
        count += weight ? 1 / -expm1(-8.0 / 16) : 0;
        truth += 8;
    }
    assert_true(fabs(total - truth) < 4 * sqrt(16 * truth) + truth / (24 * 16 * 16));
    assert_true(fabs(count - truth / 8) < 4 * sqrt(truth / 8 * exp(-0.5) / -expm1(-0.5)));
}

static void test_off_and_on(void **state)
{
    (void)state;
    set_interval(HS_INTERVAL_OFF);
    for (int i = 0; i < 100000; i++) {
        assert_int_equal(weigh(10000), 0);
    }
    assert_true(hs_sampler_drop(10000)); /* only the fast half, once the thread has taken up the
                                          * settings */
    set_interval(1);
    assert_int_equal(weigh(3), 3);
}

/* --- settings that change --------------------------------------------------------------------- */

#define ROUNDS      20000
#define ROUND_BYTES 2000

/* One round: a fixed number of bytes in small blocks. */
static double weigh_round(void)
{
    double total = 0;
    for (int bytes = 0; bytes < ROUND_BYTES; bytes += 50) {
        total += (double)weigh(50);
    }
    return total;
}

/*
 * Within four standard errors of an estimate whose samples stand for up to `interval_bytes` bytes
 * each.
 */
static void assert_near(double total, double truth, double interval_bytes)
{
    if (fabs(total - truth) >= 4 * sqrt(interval_bytes * truth)) {
        print_error("%.0f estimated, %.0f allocated: %+.1f %%\n", total, truth,
                    100 * (total - truth) / truth);
        fail();
    }
}

/* Changes the settings before each round; the sum of all rounds must be right. */
static void assert_unbiased_with(void (*change)(int round))
{
    double total = 0;
    set_interval(4096);
    for (int i = 0; i < ROUNDS; i++) {
        change(i);
        total += weigh_round();
    }
    assert_near(total, (double)ROUNDS * ROUND_BYTES, 4096);
}

static void change_generation(int round)
{
    (void)round;
    hs_control_page.control.generation++; /* as in a forked child's region */
}

static void change_interval_only(int round)
{
    /* A collector that stopped before it raised the floor. */
    hs_control_page.control.interval_bytes = round % 2 ? 1024 : 4096;
    hs_control_page.control.generation++;
}

static void change_floor(int round)
{
    (void)round;
    /* What remains to do for such a collector, after all threads have seen the generation. */
    hs_control_page.control.floor_bytes += HS_FLOOR_STEP;
}

static void change_all(int round)
{
    set_interval(round % 2 ? 1024 : 4096);
}

static void switch_off_and_on(int round)
{
    (void)round;
    set_interval(HS_INTERVAL_OFF);
    assert_int_equal(weigh(3000), 0);
    set_interval(4096);
}

static void be_new_thread(int round)
{
    (void)round;
    memset(&hs_tls, 0, sizeof(hs_tls));
}

static void test_settings_that_change(void **state)
{
    (void)state;
    assert_unbiased_with(change_generation);
    assert_unbiased_with(change_interval_only);
    assert_unbiased_with(change_floor);
    assert_unbiased_with(change_all);
    assert_unbiased_with(switch_off_and_on);
    assert_unbiased_with(be_new_thread);
}

/* --- children --------------------------------------------------------------------------------- */

#define CHILDREN 2000

/* Writes what a child finds in its round into memory shared with the parent. */
static void run_child(double *ret_total)
{
    hs_countdown_follow_fork();
    struct hs_region_control_v1 *control = &hs_control_page.control;
    const struct hs_region_control_v1 of_parent = *control;
    if (mmap(control, HS_CONTROL_PAGE_BYTES, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
        _exit(1);
    }
    *control = of_parent;
    *ret_total = 0;
    for (int bytes = 0; bytes < 2 * ROUND_BYTES; bytes += 50) {
        uint64_t weight = weigh(50);
        /* The first sample makes the child begin a region of its own. */
        control->generation += weight && control->generation == of_parent.generation;
        *ret_total += (double)weight;
    }
    _exit(0);
}

/*
 * The children's sum, and the sum of squares about the mean, must be as large as for independent
 * children.
 */
static void assert_children_unbiased(void)
{
    size_t bytes = CHILDREN * sizeof(double);
    double *totals = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(totals, MAP_FAILED);
    double sum = 0, squares = 0, mean = 2 * ROUND_BYTES;
    for (int i = 0; i < CHILDREN; i++) {
        hs_countdown_note_fork();
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            run_child(&totals[i]);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        sum += totals[i];
        squares += (totals[i] - mean) * (totals[i] - mean);
    }
    munmap(totals, bytes);
    assert_near(sum, CHILDREN * mean, 4096);
    /*
     * For a Poisson count with a mean near 1, the standard deviation of the squares is about
     * sqrt(3).
     */
    double expected = CHILDREN * 4096.0 * mean;
    assert_true(fabs(squares - expected) < 4 * expected * sqrt(3.0 / CHILDREN));
}

static void test_children(void **state)
{
    (void)state;
    be_new_thread(0);
    assert_children_unbiased(); /* a thread that has not drawn a gap yet */
    set_interval(4096);
    weigh(50);
    assert_children_unbiased();
}

/* Processes with one seed begin with the same gaps; their threads and children do not. */
static void test_seeds(void **state)
{
    (void)state;
    double first[3];
    for (int i = 0; i < 3; i++) {
        hs_countdown_seed(i < 2 ? 5 : 6);
        be_new_thread(0);
        set_interval(4096);
        first[i] = 0;
        for (int k = 0; k < 1000; k++) {
            first[i] = first[i] * 0.999 + weigh_round();
        }
    }
    assert_true(first[0] > 0 && first[0] == first[1]);
    assert_true(first[0] != first[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_one),
        cmocka_unit_test(test_large_are_exact),
        cmocka_unit_test(test_unbiased),
        cmocka_unit_test(test_off_and_on),
        cmocka_unit_test(test_settings_that_change),
        cmocka_unit_test(test_children),
        cmocka_unit_test(test_seeds),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
