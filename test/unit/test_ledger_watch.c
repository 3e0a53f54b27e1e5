/*
 * collect/ledger/ledger_watch.c: when this process's own ledger is read, with what earlier ones
 * cost made up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/ledger/ledger_watch.h"

#define MS       UINT64_C(1000000)
#define START_NS (1000 * MS)

/* A process that was read at the start, which took `cpu_ns`, with a resident set of `rss_bytes`. */
static struct hs_ledger_watch watched(uint64_t rss_bytes, uint64_t cpu_ns)
{
    struct hs_ledger *ledger = calloc(1, sizeof(*ledger));
    assert_non_null(ledger);
    *ledger =
        (struct hs_ledger){ .time_mono_ns = START_NS, .rss_bytes = rss_bytes, .cpu_ns = cpu_ns };
    return (struct hs_ledger_watch){ .last = ledger,
                                     .begin_ns = START_NS,
                                     .next_ns = START_NS + 500 * MS };
}

/* Is a new ledger read after this time? */
static bool is_read_after(struct hs_ledger_watch *watch, struct hs_ledger_allowance *allowance,
                          uint64_t after_ns)
{
    const struct hs_ledger *before = watch->last;
    hs_ledger_watch_look(watch, allowance, getpid(), NULL, START_NS + after_ns);
    return watch->last != before;
}

static void test_the_first(void **state)
{
    (void)state;
    struct hs_ledger_watch watch = { 0 };
    struct hs_ledger_allowance allowance = { 0 };
    assert_false(is_read_after(&watch, &allowance, 0));
    assert_false(is_read_after(&watch, &allowance, 59 * MS));
    assert_true(is_read_after(&watch, &allowance, 75 * MS));
    assert_true(watch.last->rss_bytes > 0 && allowance.spent_ns >= watch.last->cpu_ns);
    hs_ledger_watch_deinit(&watch);
}

/* A ledger that would take more than twice what is left waits, also where something is left. */
static void test_what_it_will_cost(void **state)
{
    (void)state;
    struct hs_ledger_watch watch = watched(1, 1); /* which is multiplied by what is resident now */
    struct hs_ledger_allowance allowance = { .begin_ns = START_NS };
    watch.last->rss_bytes = UINT64_C(1) << 40;
    watch.last->cpu_ns = (UINT64_C(1) << 40) / 1024; /* 1 ms for each MiB */
    assert_true(is_read_after(&watch, &allowance, 600 * MS));
    hs_ledger_watch_deinit(&watch);

    watch = watched(UINT64_C(1) << 20, 10000 * MS); /* 10 s for each MiB */
    allowance = (struct hs_ledger_allowance){ .begin_ns = START_NS };
    assert_false(is_read_after(&watch, &allowance, 600 * MS));
    assert_false(is_read_after(&watch, &allowance, 20000 * MS));
    assert_true(is_read_after(&watch, &allowance, UINT64_C(100000000) * MS));
    hs_ledger_watch_deinit(&watch);
}

/* What was spent on a process that ended meanwhile was spent, too. */
static void test_a_ledger_that_failed(void **state)
{
    (void)state;
    struct hs_ledger_watch watch = { .begin_ns = START_NS, .next_ns = START_NS };
    struct hs_ledger_allowance allowance = { .begin_ns = START_NS };
    hs_ledger_watch_look(&watch, &allowance, 0x3fffffff, NULL, START_NS + 600 * MS);
    assert_null(watch.last);
    assert_true(allowance.spent_ns > 0);
    hs_ledger_watch_deinit(&watch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first),
        cmocka_unit_test(test_what_it_will_cost),
        cmocka_unit_test(test_a_ledger_that_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
