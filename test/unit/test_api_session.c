/* What a program asks of the client beside reports (api_session.c), with a client and without
 * one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api_fixture.h"

#include <heapscope/heap_profile.h>
#include <heapscope/heapscope.h>

static uint32_t heap;

static int setup(void **state)
{
    heap = heap ? heap : heapscope_heap_register(heapscope_heap_create("asked"));
    return client_vanish(state);
}

static void test_without_a_client(void **state)
{
    struct heapscope_stats stats = { .allocated_bytes = 5 };
    (void)state;
    assert_int_equal(heapscope_poll(), -ENOTCONN);
    assert_int_equal(heapscope_interval(heap), 0);
    assert_int_equal(heapscope_take_snapshot("after load"), -ENOTCONN);
    assert_int_equal(heapscope_get_stats(&stats, &stats), -ENOTCONN);
    assert_int_equal(stats.allocated_bytes, 5);
    assert_false(AHeapProfile_initSession(NULL, NULL));
}

static void test_poll(void **state)
{
    (void)state;
    client_appear(false);
    assert_int_equal(heapscope_poll(), 0);
    assert_int_equal(client_poll_count, 0); /* there is nothing new, and no heap is recorded */
    client_session(true);
    assert_int_equal(heapscope_poll(), 0);
    assert_int_equal(client_poll_count, 1);
    assert_true(AHeapProfile_initSession(NULL, NULL));
    client_session(false);
    assert_false(AHeapProfile_initSession(NULL, NULL));
}

static void test_interval(void **state)
{
    (void)state;
    client_appear(false);
    assert_int_equal(heapscope_interval(heap), 0);
    client_session(true);
    assert_int_equal(heapscope_interval(heap), 4096); /* the newest settings */
    assert_int_equal(heapscope_interval(0), 0);
    assert_int_equal(heapscope_interval(heap + 1), 0);
    assert_int_equal(heapscope_interval(HS_API_HEAPS), 0);
    client_session(false);
    assert_int_equal(heapscope_interval(heap), 0);
    hs_heap_table.heaps[heap].told_interval_bytes = 4096; /* its end has not been told yet */
    assert_int_equal(heapscope_interval(heap), 0);
}

static void test_take_snapshot(void **state)
{
    (void)state;
    client_appear(false); /* the malloc heap may be recorded */
    assert_int_equal(heapscope_take_snapshot("after load"), 0);
    assert_string_equal(client_snapshot, "after load");
    client_answer = -ETIMEDOUT;
    assert_int_equal(heapscope_take_snapshot("late"), -ETIMEDOUT);
    assert_int_equal(heapscope_take_snapshot(""), -EINVAL);
    assert_int_equal(heapscope_take_snapshot(NULL), -EINVAL);
    assert_string_equal(client_snapshot, "late");
}

/* A client of another version may not have all functions. */
static void test_functions_that_the_client_does_not_have(void **state)
{
    static struct hs_api_calls_v1 fewer;
    struct heapscope_stats stats;
    (void)state;
    client_appear(false);
    fewer = client_calls;
    fewer.take_snapshot = NULL;
    fewer.get_stats = NULL;
    hs_heap_table.calls = &fewer;
    assert_int_equal(heapscope_take_snapshot("name"), -ENOTCONN);
    assert_int_equal(heapscope_get_stats(&stats, NULL), -ENOTCONN);
    assert_int_equal(heapscope_poll(), 0);
}

static void test_stats(void **state)
{
    struct heapscope_stats global = { .reserved = { 1 } };
    struct heapscope_stats local = { 0 };
    (void)state;
    client_appear(false);
    assert_int_equal(heapscope_get_stats(&global, &local), 0);
    assert_int_equal(global.allocated_bytes, 30);
    assert_int_equal(global.deallocated_bytes, 20);
    assert_int_equal(global.is_exact, 1);
    assert_int_equal(global.reserved[0], 0);
    assert_int_equal(local.allocated_bytes, 3);
    assert_int_equal(local.deallocated_bytes, 2);
    assert_int_equal(local.is_exact, 0);
    memset(&local, 0, sizeof(local));
    assert_int_equal(heapscope_get_stats(NULL, &local), 0);
    assert_int_equal(local.allocated_bytes, 3);
    assert_int_equal(heapscope_get_stats(&global, NULL), 0);
    assert_int_equal(heapscope_get_stats(NULL, NULL), 0);
    client_answer = -ENOTCONN;
    local.allocated_bytes = 9;
    assert_int_equal(heapscope_get_stats(&global, &local), -ENOTCONN);
    assert_int_equal(local.allocated_bytes, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_without_a_client, setup),
        cmocka_unit_test_setup(test_poll, setup),
        cmocka_unit_test_setup(test_interval, setup),
        cmocka_unit_test_setup(test_take_snapshot, setup),
        cmocka_unit_test_setup(test_functions_that_the_client_does_not_have, setup),
        cmocka_unit_test_setup(test_stats, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
