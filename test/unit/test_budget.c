/*
 * Decisions about intervals: readings in, intervals out. A model replaces a real process: it
 * allocates at some rate, and its samples cost the time and memory that they would cost at the
 * interval it was given.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collect/budget.h"
#include "rt/base.h"

#define MIB    (UINT64_C(1) << 20)
#define SECOND UINT64_C(1000000000)

struct model {
    struct hs_budget budget;
    struct hs_budget_reading now;
    double alloc_bytes_per_s, size_bytes; /* bytes that it allocates per second */
    double cpu_share;                     /* of a processor */
    double sample_ns;                     /* measured duration */
    bool is_growing;                      /* nothing is freed; otherwise every block is freed at
                                           * once */
    double samples, region_bytes, cpu_ns, frees;
    unsigned change_count;
    struct hs_snap_change changes[HS_BUDGET_CHANGES_MAX + 1];
};

static void begin(struct model *m, const struct hs_budget_limits *limits, uint64_t asked_bytes)
{
    hs_budget_init(&m->budget, limits, asked_bytes, asked_bytes);
    m->now = (struct hs_budget_reading){ .time_ns = 5 * SECOND, .interval_room = 62 };
    m->region_bytes = 256 * 1024;
    m->change_count = 0;
    m->samples = m->frees = 0;
    m->cpu_ns = 1;
}

/* Runs until the next reading is due. */
static void turn(struct model *m, uint64_t took_ns)
{
    double s = (double)took_ns / 1e9;
    double interval = (double)m->budget.interval_bytes;
    double p = m->size_bytes >= interval ? 1 : 1 - exp(-m->size_bytes / interval);
    double samples = m->alloc_bytes_per_s / m->size_bytes * s * p;
    m->samples += samples;
    m->frees += m->is_growing ? 0 : samples;
    m->region_bytes += m->is_growing ? samples * 32 : 0;
    m->cpu_ns += m->cpu_share * (double)took_ns;
    m->now.time_ns += took_ns;
    m->now.region_bytes = (uint64_t)m->region_bytes;
    m->now.cpu_ns = (uint64_t)m->cpu_ns;
    m->now.sample_count = (uint64_t)m->samples;
    m->now.free_count = (uint64_t)m->frees;
    m->now.weight_bytes += (uint64_t)(m->alloc_bytes_per_s * s);
    m->now.timed_count = (uint64_t)(m->samples / 16);
    m->now.timed_ns = (uint64_t)((double)m->now.timed_count * m->sample_ns);
    struct hs_snap_change change = { 0 };
    if (hs_budget_decide(&m->budget, &m->now, &change)) {
        assert_true(m->change_count < HS_BUDGET_CHANGES_MAX);
        assert_int_equal(change.to_bytes, m->budget.interval_bytes);
        m->changes[m->change_count++] = change;
    }
    assert_true(m->budget.next_ns > m->now.time_ns);
    assert_true(m->budget.interval_bytes >= m->budget.asked_bytes);
    assert_true(m->budget.interval_bytes <= HS_INTERVAL_BYTES_MAX);
    /*
     * The interval is a power of two times the requested one, so there are few different intervals.
     */
    uint64_t ratio = m->budget.interval_bytes / m->budget.asked_bytes;
    assert_int_equal(ratio * m->budget.asked_bytes, m->budget.interval_bytes);
    assert_int_equal(ratio & (ratio - 1), 0);
}

static void run_for(struct model *m, double seconds)
{
    uint64_t end_ns = m->now.time_ns + (uint64_t)(seconds * 1e9);
    while (m->now.time_ns < end_ns) {
        uint64_t next_ns = m->budget.next_ns;
        turn(m, next_ns > m->now.time_ns ? next_ns - m->now.time_ns : 1);
    }
}

static void test_without_limits_nothing_changes(void **state)
{
    (void)state;
    struct model m = { .alloc_bytes_per_s = 1e9,
                       .size_bytes = 100,
                       .cpu_share = 1,
                       .sample_ns = 500,
                       .is_growing = true };
    begin(&m, &(struct hs_budget_limits){ 0 }, 4096);
    run_for(&m, 60);
    assert_int_equal(m.change_count, 0);
    assert_int_equal(m.budget.interval_bytes, 4096);
}

/*
 * An endlessly growing heap stays below the limit, at any rate of allocation and from exact samples
 * too.
 */
static void test_memory_is_never_reached(void **state)
{
    (void)state;
    static const double paces[] = { 1e6, 3e7, 1e9 };
    static const uint64_t asked[] = { 1, 3, 4096, 1 << 20 };
    for (size_t p = 0; p < HS_COUNT_OF(paces); p++) {
        for (size_t a = 0; a < HS_COUNT_OF(asked); a++) {
            struct model m = {
                .alloc_bytes_per_s = paces[p], .size_bytes = 64, .cpu_share = 1, .is_growing = true
            };
            begin(&m, &(struct hs_budget_limits){ .memory_bytes = 64 * MIB }, asked[a]);
            run_for(&m, 30);
            assert_true(m.region_bytes < 64 * (double)MIB);
            /* The model's behaviour is known: a profile that fits must not be made coarser. */
            double untouched = paces[p] * 30 / 64 * 32;
            if (asked[a] == 1 && untouched > 40 * (double)MIB) {
                assert_true(m.change_count > 0 && m.region_bytes > 16 * (double)MIB);
            }
            for (unsigned i = 0; i < m.change_count; i++) {
                assert_int_equal(m.changes[i].reason, HS_CHANGE_MEMORY);
                assert_int_equal(m.changes[i].limit, 64 * MIB);
                assert_true(m.changes[i].to_bytes > m.changes[i].from_bytes);
                assert_int_equal(m.changes[i].from_bytes, i ? m.changes[i - 1].to_bytes : asked[a]);
            }
        }
    }
}

/* Half of the memory may be used before the interval is raised. */
static void test_memory_below_half_is_left_alone(void **state)
{
    (void)state;
    struct model m = {
        .alloc_bytes_per_s = 1e6, .size_bytes = 64, .cpu_share = 1, .is_growing = true
    };
    begin(&m, &(struct hs_budget_limits){ .memory_bytes = 64 * MIB }, 1);
    while (m.region_bytes < 31.5 * (double)MIB) {
        turn(&m, SECOND / 100);
    }
    assert_int_equal(m.change_count, 0);
    m.alloc_bytes_per_s = 0;
    run_for(&m, 1000);
    assert_int_equal(m.change_count, 0);
}

/*
 * An interval below the size of the blocks saves nothing, so the first step goes beyond their size.
 */
/*
 * The pause before the next reading gets shorter as the next step comes near, even if nothing grows
 * now: a process that suddenly records 0.2 bytes a nanosecond is seen when it reaches the step.
 */
static void test_memory_is_read_in_time_for_the_next_step(void **state)
{
    static const struct {
        uint64_t region_bytes, pause_ns;
    } cases[] = {
        { 34 * MIB, 78643200 }, /* a step; the next one when half of the other 30 MiB is used */
        { 40 * MIB, 47185920 }, { 45 * MIB, 20971520 },
        { 48 * MIB, 5242880 },  { 48 * MIB + 900 * 1024, 5000000 }, /* at most 200 times a second */
    };
    (void)state;
    struct hs_budget budget;
    struct hs_budget_reading now = { .time_ns = SECOND, .interval_room = 62 };
    struct hs_snap_change change;
    hs_budget_init(&budget, &(struct hs_budget_limits){ .memory_bytes = 64 * MIB }, 4096, 4096);
    hs_budget_decide(&budget, &now, &change);
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        now.region_bytes = cases[i].region_bytes;
        for (int twice = 0; twice < 2; twice++) { /* the second time, nothing has grown */
            now.time_ns += 10 * SECOND;
            assert_int_equal(hs_budget_decide(&budget, &now, &change), i == 0 && twice == 0);
        }
        print_message("  %u MiB\n", (unsigned)(now.region_bytes / MIB));
        assert_int_equal(budget.next_ns - now.time_ns, cases[i].pause_ns);
    }
}

static void test_a_fine_interval_is_left_in_one_step(void **state)
{
    (void)state;
    struct model m = {
        .alloc_bytes_per_s = 1e8, .size_bytes = 300, .cpu_share = 1, .is_growing = true
    };
    begin(&m, &(struct hs_budget_limits){ .memory_bytes = 16 * MIB }, 1);
    while (m.change_count == 0) {
        turn(&m, SECOND / 200);
    }
    assert_int_equal(m.changes[0].from_bytes, 1);
    assert_int_equal(m.changes[0].to_bytes, 2048); /* 300 * 4, rounded to a power of two */
}

static double share_of(struct model *m, double seconds)
{
    double samples = m->samples, cpu_ns = m->cpu_ns;
    run_for(m, seconds);
    return (m->samples - samples) * (m->sample_ns + 35) / (m->cpu_ns - cpu_ns);
}

static void test_overhead_comes_below_its_limit(void **state)
{
    (void)state;
    static const uint64_t limits[] = { 1000, 10000, 50000 };
    for (size_t i = 0; i < HS_COUNT_OF(limits); i++) {
        struct model m = {
            .alloc_bytes_per_s = 2e9, .size_bytes = 200, .cpu_share = 1, .sample_ns = 300
        };
        double limit = (double)limits[i] / 1e6;
        begin(&m, &(struct hs_budget_limits){ .overhead_ppm = limits[i] }, 4096);
        run_for(&m, 2);
        assert_true(m.change_count > 0);
        assert_int_equal(m.changes[0].reason, HS_CHANGE_OVERHEAD);
        double share = share_of(&m, 100);
        assert_true(share <= limit && share > limit / 4);
    }
}

/* For a process that works a hundredth of the time, the share is the same. */
static void test_overhead_is_a_share_of_cpu_time(void **state)
{
    (void)state;
    struct model m = {
        .alloc_bytes_per_s = 2e7, .size_bytes = 200, .cpu_share = 0.01, .sample_ns = 300
    };
    begin(&m, &(struct hs_budget_limits){ .overhead_ppm = 10000 }, 4096);
    run_for(&m, 60);
    double share = share_of(&m, 60);
    assert_true(m.change_count > 0 && share <= 0.01);
    struct model idle = {
        .alloc_bytes_per_s = 2e7, .size_bytes = 200, .cpu_share = 1, .sample_ns = 300
    };
    begin(&idle, &(struct hs_budget_limits){ .overhead_ppm = 10000 }, 4096);
    run_for(&idle, 60);
    assert_int_equal(idle.change_count, 0);
}

/*
 * After a busy start the interval is lowered again; but a program with a changing rate does not
 * make it oscillate.
 */
static void test_overhead_eases(void **state)
{
    (void)state;
    struct model m = {
        .alloc_bytes_per_s = 2e9, .size_bytes = 200, .cpu_share = 1, .sample_ns = 300
    };
    begin(&m, &(struct hs_budget_limits){ .overhead_ppm = 10000 }, 4096);
    run_for(&m, 2);
    uint64_t coarse = m.budget.interval_bytes;
    assert_true(coarse > 4096);
    m.alloc_bytes_per_s = 1e4;
    run_for(&m, 3600);
    assert_int_equal(m.budget.interval_bytes, 4096);
    assert_int_equal(m.changes[m.change_count - 1].reason, HS_CHANGE_EASED);
    for (unsigned day = 0; day < 3; day++) {
        for (unsigned i = 0; i < 720; i++) {
            m.alloc_bytes_per_s = i & 1 ? 2e9 : 1e4;
            run_for(&m, 60);
        }
    }
    assert_true(m.change_count < 60);
    assert_true(m.samples > 0);
}

/* Used memory stays used: an interval that was raised because of memory is not lowered. */
static void test_memory_does_not_ease(void **state)
{
    (void)state;
    struct model m = { .alloc_bytes_per_s = 1e9,
                       .size_bytes = 64,
                       .cpu_share = 1,
                       .sample_ns = 100,
                       .is_growing = true };
    begin(&m, &(struct hs_budget_limits){ .memory_bytes = 8 * MIB, .overhead_ppm = 10000 }, 1);
    run_for(&m, 5);
    uint64_t coarse = m.budget.interval_bytes;
    assert_true(coarse > 1);
    m.alloc_bytes_per_s = 0;
    run_for(&m, 36000);
    assert_int_equal(m.budget.interval_bytes, coarse);
}

/* A region whose table of intervals is full keeps its interval. */
static void test_no_room_no_change(void **state)
{
    (void)state;
    struct model m = {
        .alloc_bytes_per_s = 1e9, .size_bytes = 64, .cpu_share = 1, .is_growing = true
    };
    begin(&m, &(struct hs_budget_limits){ .memory_bytes = 8 * MIB, .overhead_ppm = 10000 }, 1);
    m.now.interval_room = 0;
    run_for(&m, 5);
    assert_int_equal(m.change_count, 0);
    assert_int_equal(m.budget.interval_bytes, 1);
    assert_false(hs_budget_raise(&m.budget, 2, 0));
    assert_true(hs_budget_raise(&m.budget, 2, 1));
    assert_int_equal(m.budget.interval_bytes, 2);
}

/*
 * Whatever the counters of a process say, there are never more intervals than the table can hold,
 * nor more changes.
 */
static void test_mad_readings(void **state)
{
    (void)state;
    srandom(7);
    for (unsigned round = 0; round < 200; round++) {
        uint64_t seen[HS_REGION_INTERVALS + 1] = { 0 };
        unsigned seen_count = 0, change_count = 0;
        struct hs_budget budget;
        const struct hs_budget_limits limits = { .memory_bytes = MIB, .overhead_ppm = 1 };
        uint64_t time_ns = SECOND, asked = 1 + (uint64_t)random() % 5000;
        hs_budget_init(&budget, &limits, asked, asked);
        for (unsigned i = 0; i < 2000; i++) {
            struct hs_budget_reading reading = { .interval_room = 62 - seen_count };
            uint64_t *words = (uint64_t *)&reading;
            for (size_t w = 1; w < offsetof(struct hs_budget_reading, interval_room) / 8; w++) {
                words[w] = (uint64_t)random() << (random() % 34);
            }
            time_ns += (uint64_t)random();
            reading.time_ns = time_ns;
            struct hs_snap_change change;
            if (hs_budget_decide(&budget, &reading, &change)) {
                change_count++;
                unsigned k = 0;
                while (k < seen_count && seen[k] != change.to_bytes) {
                    k++;
                }
                seen[k] = change.to_bytes;
                seen_count += k == seen_count;
                assert_true(seen_count < 60);
                assert_true(change.to_bytes >= asked && change.to_bytes <= HS_INTERVAL_BYTES_MAX);
            }
        }
        assert_true(change_count <= HS_BUDGET_CHANGES_MAX);
    }
}

static void test_cpu_budget(void **state)
{
    (void)state;
    struct hs_cpu_budget cpu;
    hs_cpu_budget_init(&cpu, 0);
    assert_false(hs_cpu_budget_decide(&cpu, UINT64_MAX));
    assert_int_equal(cpu.rarity, 1);
    hs_cpu_budget_init(&cpu, 64 * SECOND);
    assert_int_equal(hs_cpu_budget_stretch_ns(&cpu, 7), 7);
    assert_false(hs_cpu_budget_decide(&cpu, 31 * SECOND));
    assert_true(hs_cpu_budget_decide(&cpu, 32 * SECOND));
    assert_int_equal(cpu.rarity, 4);
    assert_false(hs_cpu_budget_decide(&cpu, 47 * SECOND));
    assert_true(hs_cpu_budget_decide(&cpu, 48 * SECOND));
    assert_int_equal(cpu.rarity, 16);
    assert_int_equal(hs_cpu_budget_stretch_ns(&cpu, 7), 112);
    assert_int_equal(hs_cpu_budget_stretch_ns(&cpu, UINT64_C(1) << 60), UINT64_C(1) << 61);
    assert_int_equal(hs_cpu_budget_stretch_ns(&cpu, 0), 0);
    assert_true(hs_cpu_budget_decide(&cpu, 63 * SECOND));
    assert_int_equal(cpu.rarity, 0);
    assert_int_equal(hs_cpu_budget_stretch_ns(&cpu, 7), 0);
    assert_false(hs_cpu_budget_decide(&cpu, 100 * SECOND));
}

/*
 * One dump per second, each of which costs a tenth of a second, under a budget of ten seconds:
 * dumps continue for days, and the budget holds.
 */
static void test_cpu_budget_lasts(void **state)
{
    (void)state;
    struct hs_cpu_budget cpu;
    uint64_t used_ns = 0, dumps = 0, now = 0;
    hs_cpu_budget_init(&cpu, 10 * SECOND);
    while (cpu.rarity != 0) {
        now += cpu.rarity;
        used_ns += SECOND / 10;
        dumps++;
        hs_cpu_budget_decide(&cpu, used_ns);
    }
    assert_true(used_ns <= 10 * SECOND);
    assert_true(dumps > 90 && now > 1000);
}

/* 10 ns beside what was timed for each sample, and 25 ns for each free; too few tell nothing. */
static void test_the_cost_of_recording(void **state)
{
    (void)state;
    assert_int_equal(hs_budget_cost_ns(0, 0, 1000, 1000), 0);
    assert_int_equal(hs_budget_cost_ns(31, UINT64_C(31) * 90, 1000, 1000), 0);
    assert_int_equal(hs_budget_cost_ns(100, UINT64_C(100) * 90, 1600, 800), 1600 * 100 + 800 * 25);
    assert_int_equal(hs_budget_cost_ns(32, UINT64_MAX, UINT64_MAX, 0),
                     UINT64_C(1000000000000000000)); /* hostile counters */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_limits_nothing_changes),
        cmocka_unit_test(test_the_cost_of_recording),
        cmocka_unit_test(test_memory_is_never_reached),
        cmocka_unit_test(test_memory_below_half_is_left_alone),
        cmocka_unit_test(test_memory_is_read_in_time_for_the_next_step),
        cmocka_unit_test(test_a_fine_interval_is_left_in_one_step),
        cmocka_unit_test(test_overhead_comes_below_its_limit),
        cmocka_unit_test(test_overhead_is_a_share_of_cpu_time),
        cmocka_unit_test(test_overhead_eases),
        cmocka_unit_test(test_memory_does_not_ease),
        cmocka_unit_test(test_no_room_no_change),
        cmocka_unit_test(test_mad_readings),
        cmocka_unit_test(test_cpu_budget),
        cmocka_unit_test(test_cpu_budget_lasts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
