/*
 * Tests of watch/receive/watch_growth and watch/send/watch_pace: rates, and how long a worker
 * sleeps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "watch/receive/watch_growth.h"
#include "watch/send/watch_pace.h"

#define SECOND UINT64_C(1000000000)

static void note(struct hs_watch_growth *growth, struct hs_watch_state *state, uint64_t second,
                 double bytes)
{
    state->snap->time_mono_ns = second * SECOND;
    state->snap->stacks[0].live.bytes = state->snap->live.bytes = bytes;
    assert_int_equal(hs_watch_growth_note(growth, state), 0);
}

static void test_growth(void **unused)
{
    struct hs_watch_state state;
    struct hs_watch_growth growth = { .older = { 0 } };
    (void)unused;
    assert_int_equal(hs_watch_state_init(&state), 0);
    state.snap->stacks = calloc(2, sizeof(state.snap->stacks[0]));
    state.snap->stack_count = 2;
    note(&growth, &state, 100, 5000);
    assert_true(hs_watch_growth_of(&growth, &state, 0) == 0);
    for (uint64_t s = 101; s < 140; s++) {
        note(&growth, &state, s, 5000 + 100 * (double)(s - 100));
        assert_true(hs_watch_growth_of(&growth, &state, 0) == 100);
        assert_true(hs_watch_growth_of_all(&growth, &state) == 100);
        uint64_t span = s * SECOND - growth.older.time_ns;
        assert_true(span <= 3 * HS_WATCH_WINDOW_NS);
        assert_true(s < 110 || span >= HS_WATCH_WINDOW_NS);
    }
    note(&growth, &state, 160, 9000);
    note(&growth, &state, 170, 8000);
    note(&growth, &state, 175, 7500);
    assert_true(hs_watch_growth_of(&growth, &state, 0) == -100);
    assert_true(hs_watch_growth_of(&growth, &state, 1) == 0);
    assert_true(hs_watch_growth_of(&growth, &state, 9) == 0);
    state.snap->stack_count = 2;
    hs_watch_growth_deinit(&growth);
    hs_watch_state_deinit(&state);
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
