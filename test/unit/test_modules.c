/*
 * The module table when a thread is in the midst of adding one: it has lost its processor there, or was stopped.
 */
#include "client_fixture.h"

#include <pthread.h>
#include <time.h>

/* As it is inside: whether somebody adds is nobody else's business. NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "client/modules.c"

#define AWAY_NS 60000000 /* longer than a thousand looks, shorter than the patience */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static int set_up(void **state)
{
    (void)state;
    return fixture_region() == 0 && hs_modules_init() ? 0 : -1;
}

static void *come_back(void *arg)
{
    const struct timespec away = { .tv_nsec = AWAY_NS };
    nanosleep(&away, NULL);
    hs_store_release(&is_adding, false);
    return arg;
}

static void test_a_thread_waits_for_the_adder(void **state)
{
    (void)state;
    const struct hs_unwind_module *module = NULL;
    pthread_t adder;
    uint32_t id = 0;
    uint64_t begin_ns = now_ns();
    is_adding = true;
    assert_int_equal(pthread_create(&adder, NULL, come_back, NULL), 0);
    assert_true(
        hs_modules_find((uint64_t)(uintptr_t)test_a_thread_waits_for_the_adder, &module, &id));
    assert_true(now_ns() - begin_ns >= AWAY_NS);
    assert_non_null(module);
    assert_true(id > HS_MODULE_ID_ANON);
    pthread_join(adder, NULL);
}

static void test_what_is_known_waits_for_nobody(void **state)
{
    (void)state;
    const struct hs_unwind_module *module = NULL;
    uint32_t id = 0;
    uint64_t va = (uint64_t)(uintptr_t)test_what_is_known_waits_for_nobody;
    assert_true(hs_modules_find(va, &module, &id));
    is_adding = true;
    uint64_t begin_ns = now_ns();
    assert_true(hs_modules_find(va, &module, &id));
    assert_true(now_ns() - begin_ns < ADD_WAIT_NS);
    is_adding = false;
}

static void test_but_not_for_ever(void **state)
{
    (void)state;
    const struct hs_unwind_module *module = NULL;
    uint32_t id = 0;
    is_adding = true;
    assert_false(hs_modules_find((uint64_t)(uintptr_t)nanosleep, &module, &id));
    is_adding = false;
    assert_true(hs_modules_find((uint64_t)(uintptr_t)nanosleep, &module, &id));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_thread_waits_for_the_adder, set_up),
        cmocka_unit_test_setup(test_what_is_known_waits_for_nobody, set_up),
        cmocka_unit_test_setup(test_but_not_for_ever, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
