/*
 * profile/analyse/rss_trend: slopes of resident memory that are known in advance.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fixture_ledger.h"
#include "fixture_profile.h"
#include "profile/analyse/rss_trend.h"
#include "util/buf.h"

#define READINGS 10U
#define KIB      UINT64_C(1024)

/* A reading every 6 s, 3 s before its snapshot. */
static void add_reading(struct fixture *fx, uint32_t k, uint64_t held, uint64_t top, uint64_t file)
{
    struct hs_profile_dump *dump = fixture_dump(fx, 6 * k + 4);
    dump->live = fixture_exact((double)(held - 10 * KIB), 1);
    fixture_ledger(fx, 6 * k + 1, held + top + file)->arena_count = 1 + k;
    fixture_ledger_line(fx, HS_LEDGER_MALLOC_USED, "", held);
    fixture_ledger_line(fx, HS_LEDGER_MALLOC_TOP, "", top);
    fixture_ledger_line(fx, HS_LEDGER_FILE, "/data", file);
}

static struct hs_rss_trend trend_of(const struct fixture *fx)
{
    struct hs_rss_trend trend;
    assert_int_equal(hs_rss_trend_build(&fx->p, &(uint32_t){ 0 }, 1, &trend), 0);
    return trend;
}

static void assert_says(const struct hs_rss_trend *trend, const char *part)
{
    struct hs_buf text = HS_BUF_INIT;
    hs_rss_trend_write_verdict(trend, &text);
    if (!strstr(hs_buf_text(&text), part)) {
        fail_msg("%s is not in: %s", part, hs_buf_text(&text));
    }
    hs_buf_deinit(&text);
}

static void test_free_memory_grows(void **state)
{
    (void)state;
    static const int noise[READINGS] = { 3, -2, 1, 4, -5, 2, -3, 0, 5, -4 };
    struct fixture fx = fixture_new();
    fixture_process(&fx, 100, "prog");
    for (uint32_t k = 0; k < READINGS; k++) {
        add_reading(&fx, k, (uint64_t)(1000 + noise[k]) * KIB, (100 + 10 * k) * KIB, 500 * KIB);
    }
    struct hs_rss_trend trend = trend_of(&fx);
    assert_int_equal(trend.readings.count, READINGS);
    assert_true(fabs(trend.seconds - 54) < 1e-9);
    const struct hs_trend_line *top = &trend.parts[HS_LEDGER_PART_FREE];
    assert_int_equal(top->verdict, HS_TREND_GROWS);
    assert_true(fabs(top->slope * 6 - 10 * 1024) < 1e-6 && top->margin < 1e-6);
    assert_int_equal(trend.parts[HS_LEDGER_PART_FILES].verdict, HS_TREND_SAME);
    assert_int_equal(trend.parts[HS_LEDGER_PART_HELD].verdict, HS_TREND_NOISE);
    assert_int_equal(trend.rss.verdict, HS_TREND_GROWS);
    assert_true(trend.rss.margin > 0);
    /* The truth lies within the margin. */
    assert_true(fabs(trend.rss.slope * 6 - 10 * 1024) < trend.rss.margin * 6);
    assert_int_equal(trend.live.verdict, HS_TREND_NOISE);
    struct hs_rss_growth growth = hs_rss_trend_growth(&trend);
    assert_int_equal(hs_rss_cause_of(&growth), HS_RSS_ARENAS);
    assert_says(&trend,
                " a second: memory that malloc keeps free +1.67 KiB. Whether the blocks that "
                "the program holds grow does not show");
    assert_says(&trend, "The number of arenas went from 1 to 10.");
    hs_rss_trend_deinit(&trend);
    fixture_deinit(&fx);
}

static void test_blocks_grow(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    fixture_process(&fx, 100, "prog");
    for (uint32_t k = 0; k < READINGS; k++) {
        add_reading(&fx, k, (1000 + 20 * k) * KIB, 100 * KIB, 500 * KIB);
    }
    struct hs_rss_trend trend = trend_of(&fx);
    struct hs_rss_growth growth = hs_rss_trend_growth(&trend);
    assert_int_equal(hs_rss_cause_of(&growth), HS_RSS_HELD);
    assert_int_equal(trend.live.verdict, HS_TREND_GROWS);
    assert_true(fabs(trend.live.slope * 6 - 20 * 1024) < 1e-6);
    assert_says(&trend,
                "Resident memory grew by 3.33 KiB a second: blocks from malloc +3.33 KiB. Most "
                "of that is blocks that the program holds");
    hs_rss_trend_deinit(&trend);
    fixture_deinit(&fx);
}

/* From a minute on, a rate is one a minute. */
static void test_rate_of_a_longer_time(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    fixture_process(&fx, 100, "prog");
    for (uint32_t k = 0; k <= READINGS; k++) {
        add_reading(&fx, k, (1000 + 20 * k) * KIB, 100 * KIB, 500 * KIB);
    }
    struct hs_rss_trend trend = trend_of(&fx);
    assert_true(fabs(trend.seconds - 60) < 1e-9);
    assert_says(&trend,
                "Resident memory grew by 200 KiB a minute: blocks from malloc +200 KiB. Most "
                "of that is blocks that the program holds.");
    hs_rss_trend_deinit(&trend);
    fixture_deinit(&fx);
}

static void test_steady(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    fixture_process(&fx, 100, "prog");
    for (uint32_t k = 0; k < READINGS; k++) {
        add_reading(&fx, k, (k % 2 ? 1100 : 1000) * KIB, 100 * KIB, 500 * KIB);
    }
    struct hs_rss_trend trend = trend_of(&fx);
    assert_says(&trend, "Resident memory has no trend that is above its margin.");
    hs_rss_trend_deinit(&trend);
    fixture_deinit(&fx);
}

/* Snapshots of one second share a ledger: that is one reading. Other processes have their own. */
static void test_readings_count_once(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    struct hs_rss_trend trend;
    fixture_process(&fx, 100, "prog");
    for (uint32_t k = 0; k < 2; k++) {
        add_reading(&fx, k, 1000 * KIB, 0, 0);
        uint32_t ledger = fx.p.dumps[fx.p.dump_count - 1].ledger;
        fixture_dump(&fx, 6 * k + 5)->ledger = ledger;
        fixture_dump(&fx, 6 * k + 6);
    }
    fixture_process(&fx, 101, "other");
    for (uint32_t k = 0; k < 4; k++) {
        add_reading(&fx, k, 1000 * KIB, 0, 0);
    }
    assert_int_equal(hs_rss_readings_count(&fx.p, 0), 2);
    assert_int_equal(hs_rss_trend_build(&fx.p, &(uint32_t){ 0 }, 1, &trend), -ENODATA);
    assert_int_equal(hs_rss_readings_count(&fx.p, 1), 4);
    fixture_deinit(&fx);
}

/* Three processes, read a moment one after the other. The second one begins a little
 * later and ends after half of the time; the third one begins late. */
static void test_several_processes(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    struct hs_rss_trend trend;
    static const uint32_t all[] = { 0, 1, 2 };
    fixture_process(&fx, 100, "grows");
    for (uint32_t k = 0; k < READINGS; k++) {
        add_reading(&fx, k, (1000 + 20 * k) * KIB, 0, 0);
    }
    fixture_process(&fx, 101, "ends");
    for (uint32_t k = 1; k < READINGS / 2; k++) {
        add_reading(&fx, k, 300 * KIB, 0, 0);
        fx.p.ledgers[fx.p.ledger_count - 1].time_ns += 1000;
    }
    fixture_process(&fx, 102, "begins late");
    for (uint32_t k = READINGS - 2; k < READINGS; k++) {
        add_reading(&fx, k, 500 * KIB, 0, 0);
        fx.p.ledgers[fx.p.ledger_count - 1].time_ns += 2000;
    }
    assert_int_equal(hs_rss_trend_build(&fx.p, all, 3, &trend), 0);
    assert_int_equal(trend.readings.count, READINGS);
    for (uint32_t k = 0; k < READINGS; k++) {
        const struct hs_rss_reading *reading = &trend.readings.items[k];
        bool has_second = k > 0 && k < READINGS / 2, has_third = k >= READINGS - 2;
        assert_int_equal(reading->process_count, 1 + has_second + has_third);
        assert_int_equal(reading->rss_bytes,
                         (1000 + 20 * k + 300 * has_second + 500 * has_third) * KIB);
        /* What the processes share counts once. */
        assert_int_equal(reading->parts_bytes[HS_LEDGER_PART_HELD], reading->rss_bytes / 2);
    }
    assert_ptr_equal(hs_rss_trend_measure(&trend), &trend.pss);
    assert_true(fabs(trend.processes[0].pss.slope * 6 - 20 * 1024) < 1e-6);
    assert_int_equal(trend.processes[1].pss.verdict, HS_TREND_SAME);
    assert_int_equal(trend.processes[2].reading_count, 2);
    assert_says(&trend, "The number of processes went from 1 to 2.");
    hs_rss_trend_deinit(&trend);
    fixture_deinit(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_free_memory_grows),     cmocka_unit_test(test_blocks_grow),
        cmocka_unit_test(test_rate_of_a_longer_time), cmocka_unit_test(test_steady),
        cmocka_unit_test(test_readings_count_once),   cmocka_unit_test(test_several_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
