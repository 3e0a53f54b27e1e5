/* How long a child has been waiting, according to the scheduler. */
#include "inject/ptrace/wait_clock.h"

#include "waiting_child.h"

static void wait_for_ever(void)
{
    for (;;) {
        pause();
    }
}

/* Has the same time passed in both clocks, except for time that the hypervisor took? */
static bool do_agree(const struct hs_wait_clock *first, const struct hs_wait_clock *second)
{
    int64_t by_sched = (int64_t)(second->waited_ns - first->waited_ns);
    int64_t by_clock = (int64_t)(second->looked_ns - first->looked_ns);
    return by_sched > by_clock - 100000000 && by_sched < by_clock + 20000000;
}

static void test_waiting(void **state)
{
    struct hs_wait wait;
    struct hs_wait_clock first, second;
    const struct timespec pause = { .tv_nsec = 300000000 };
    (void)state;
    pid_t pid = waiting_child_start(wait_for_ever, &wait);
    hs_wait_clock_read(pid, pid, &first);
    if (!first.is_known) {
        waiting_child_end(pid);
        print_message("the kernel does not tell when a thread last ran: skipped\n");
        skip();
    }
    bool is_right = false;
    for (int i = 0; !is_right && i < 10; i++) { /* it may take much at times */
        hs_wait_clock_read(pid, pid, &first);
        nanosleep(&pause, NULL);
        hs_wait_clock_read(pid, pid, &second);
        assert_true(second.is_known);
        assert_int_equal(second.sleep_count, first.sleep_count);
        is_right = do_agree(&first, &second);
    }
    assert_true(is_right);
    /* It has not been stopped by us in between, so nothing is confirmed. */
    hs_wait_clock_confirm(&second, pid, pid);
    assert_false(second.is_known);
    waiting_child_end(pid);
}

static void test_left(void **state)
{
    struct hs_wait_clock clock = { .is_known = true, .waited_ns = 400000000 };
    struct timespec now;
    int32_t left_ms = -1;
    (void)state;
    clock_gettime(CLOCK_MONOTONIC, &now);
    clock.looked_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    assert_true(hs_wait_clock_left(&clock, 60000, &left_ms));
    assert_true(left_ms <= 59600 && left_ms > 50000);
    assert_true(hs_wait_clock_left(&clock, 100, &left_ms));
    assert_int_equal(left_ms, 0);
    assert_false(hs_wait_clock_left(&clock, -1, &left_ms));
    clock.is_known = false;
    assert_false(hs_wait_clock_left(&clock, 1000, &left_ms));
}

static void test_nobody(void **state)
{
    struct hs_wait_clock clock = { .is_known = true };
    (void)state;
    hs_wait_clock_read(0x7ffffff0, 0x7ffffff0, &clock);
    assert_false(clock.is_known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_left),
        cmocka_unit_test(test_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
