/*
 * Tests of watch/receive/watch_growth and watch/send/watch_pace: rates, and how long a worker
 * sleeps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "watch/receive/watch_growth.h"
#include "watch/send/watch_pace.h"

#define SECOND UINT64_C(1000000000)

static void note(struct hs_watch_growth *growth, uint64_t second, double bytes)
{
    const struct hs_watch_figure figures[] = { { 7, 1000 }, { 3, bytes / 2 }, { 3, bytes / 2 } };
    assert_int_equal(hs_watch_growth_note(growth, second * SECOND, figures, 3), 0);
}

static void test_growth(void **unused)
{
    struct hs_watch_growth growth = { .older = { 0 } };
    (void)unused;
    assert_true(hs_watch_growth_of(&growth, SECOND, 3, 100) == 0);
    note(&growth, 100, 5000);
    assert_true(hs_watch_growth_of(&growth, 100 * SECOND, 3, 5000) == 0);
    for (uint64_t s = 101; s < 140; s++) {
        double bytes = 5000 + 100 * (double)(s - 100);
        note(&growth, s, bytes);
        assert_true(hs_watch_growth_of(&growth, s * SECOND, 3, bytes) == 100);
        assert_true(hs_watch_growth_of(&growth, s * SECOND, 7, 1000) == 0);
        uint64_t span = s * SECOND - growth.older.time_ns;
        assert_true(span <= 3 * HS_WATCH_WINDOW_NS);
        assert_true(s < 110 || span >= HS_WATCH_WINDOW_NS);
    }
    note(&growth, 160, 9000);
    note(&growth, 170, 8000);
    note(&growth, 175, 7500);
    assert_true(hs_watch_growth_of(&growth, 175 * SECOND, 3, 7500) == -100);
    assert_true(hs_watch_growth_of(&growth, 180 * SECOND, 9, 1000) == 100); /* it is new */
    hs_watch_growth_deinit(&growth);
}

/* Looks of 10 ms each second are below the share; looks of 100 ms use up what is free, and then
 * come every 5 seconds. */
static void test_pace(void **unused)
{
    struct hs_watch_pace pace = { .interval_ns = SECOND, .share = 50, .free_ns = SECOND / 10 };
    uint64_t now = 1000 * SECOND, next = now;
    (void)unused;
    hs_watch_pace_begin(&pace, now);
    for (unsigned i = 0; i < 100; i++) {
        next = hs_watch_pace_spend(&pace, now, now + SECOND / 100, SECOND / 100);
        assert_true(next == now + SECOND);
        now = next;
    }
    uint64_t begin = now;
    for (unsigned i = 0; i < 100; i++) {
        next = hs_watch_pace_spend(&pace, now, now + SECOND / 10, SECOND / 10);
        assert_true(next >= now + SECOND);
        now = next;
    }
    uint64_t fair = 100 * SECOND / 10 * 50;
    assert_true(now - begin <= fair + SECOND && now - begin >= fair - 6 * SECOND);
    /* An hour of sleep is worth no more than what is free. */
    now += 3600 * SECOND;
    next = hs_watch_pace_spend(&pace, now, now + SECOND, SECOND);
    assert_true(next >= now + 45 * SECOND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_pace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
