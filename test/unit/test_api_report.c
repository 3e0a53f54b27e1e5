/* Reports (api_report.c): what reaches the client, and when; with threads, while heaps and a client
 * appear. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api_fixture.h"

#include <heapscope/heap_profile.h>
#include <heapscope/heapscope.h>

static uint32_t heap;

static int setup(void **state)
{
    heap = heap ? heap : heapscope_heap_register(heapscope_heap_create("reported"));
    return client_vanish(state);
}

static void assert_last(enum client_call call, uint64_t id, uint64_t size_bytes)
{
    struct client_report last = client_reports[client_report_count - 1];
    assert_int_equal(last.call, call);
    assert_int_equal(last.heap, heap);
    assert_int_equal(last.id, id);
    assert_int_equal(last.size_bytes, size_bytes);
}

static void test_without_a_client(void **state)
{
    (void)state;
    assert_false(heapscope_report_alloc(heap, 16, 100));
    assert_false(heapscope_report_sample(heap, 16, 100));
    heapscope_report_free(heap, 16);
    assert_false(AHeapProfile_reportAllocation(heap, 16, 100));
    assert_false(AHeapProfile_reportSample(heap, 16, 100));
    AHeapProfile_reportFree(heap, 16);
    assert_int_equal(client_report_count, 0);
    /* Half a client: the words differ, and there are no functions yet. */
    hs_heap_table.quiet = HS_API_NEVER_QUIET;
    assert_false(heapscope_report_alloc(heap, 16, 100));
    assert_false(heapscope_report_sample(heap, 16, 100));
    heapscope_report_free(heap, 16);
}

static void test_while_no_heap_is_recorded(void **state)
{
    (void)state;
    client_appear(false);
    assert_false(heapscope_report_alloc(heap, 16, 100));
    assert_false(heapscope_report_sample(heap, 16, 100));
    heapscope_report_free(heap, 16);
    assert_int_equal(client_report_count, 0);
    assert_int_equal(client_poll_count, 0);
}

static void test_while_heaps_are_recorded(void **state)
{
    uint64_t large = UINT64_MAX - 7; /* an id is no address */
    (void)state;
    client_appear(true);
    assert_true(heapscope_report_alloc(heap, large, 100));
    assert_last(CLIENT_ALLOC, large, 100);
    assert_true(heapscope_report_sample(heap, 0, UINT64_MAX));
    assert_last(CLIENT_SAMPLE, 0, UINT64_MAX);
    heapscope_report_free(heap, large);
    assert_last(CLIENT_FREE, large, 0);
    assert_true(AHeapProfile_reportAllocation(heap, 1, 2));
    assert_last(CLIENT_ALLOC, 1, 2);
    assert_true(AHeapProfile_reportSample(heap, 3, 4));
    assert_last(CLIENT_SAMPLE, 3, 4);
    AHeapProfile_reportFree(heap, 5);
    assert_last(CLIENT_FREE, 5, 0);
    assert_int_equal(client_report_count, 6);
    assert_int_equal(client_poll_count, 0);
}

static void test_types(void **state)
{
    (void)state;
    assert_false(heapscope_report_alloc_of(heap, 16, 100, "Node"));
    client_appear(false);
    assert_false(heapscope_report_alloc_of(heap, 16, 100, "Node"));
    assert_int_equal(client_report_count, 0);
    client_appear(true);
    assert_true(heapscope_report_alloc_of(heap, 16, 100, "Node"));
    assert_last(CLIENT_ALLOC, 16, 100);
    assert_string_equal(client_type, "Node");
    assert_true(heapscope_report_alloc_of(heap, 17, 100, NULL));
    assert_null(client_type);
    client_session(true);
    hs_heap_table.heaps[heap].client_heap = 0; /* the client has not noticed it */
    assert_true(heapscope_report_alloc_of(heap, 18, 100, "Text"));
    assert_string_equal(client_type, "Text");
    assert_int_equal(client_poll_count, 1);
    assert_false(heapscope_report_alloc_of(0, 18, 100, "Text"));
    assert_false(heapscope_report_alloc_of(UINT32_MAX, 18, 100, "Text"));
}

/* Its table of functions ends earlier. */
static void test_types_with_an_older_client(void **state)
{
    (void)state;
    client_appear(true);
    client_calls.bytes = offsetof(struct hs_api_calls_v1, report_alloc_of);
    client_type = NULL;
    assert_true(heapscope_report_alloc_of(heap, 16, 100, "Node"));
    client_calls.bytes = sizeof(client_calls);
    assert_last(CLIENT_ALLOC, 16, 100);
    assert_null(client_type);
}

static void test_what_is_no_heap(void **state)
{
    (void)state;
    client_appear(true);
    uint32_t created = heap + 1; /* and not registered */
    if (hs_heap_table.heap_count == created) {
        assert_non_null(heapscope_heap_create("not registered"));
    }
    uint32_t wrong[] = { 0, created, created + 1, HS_API_HEAPS - 1, HS_API_HEAPS, UINT32_MAX };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        print_message("  %u\n", wrong[i]);
        assert_false(heapscope_report_alloc(wrong[i], 16, 100));
        assert_false(heapscope_report_sample(wrong[i], 16, 100));
        heapscope_report_free(wrong[i], 16);
    }
    assert_int_equal(client_report_count, 0);
    assert_int_equal(client_poll_count, 0);
}

/* A heap that the client has no name for: it is asked to look again, before the report. */
static void test_a_heap_that_the_client_did_not_notice(void **state)
{
    (void)state;
    client_appear(true);
    hs_heap_table.heaps[heap].client_heap = 0;
    heapscope_report_free(heap, 16); /* nothing to free */
    assert_int_equal(client_poll_count, 0);
    assert_true(heapscope_report_alloc(heap, 16, 100));
    assert_int_equal(client_poll_count, 1);
    assert_last(CLIENT_ALLOC, 16, 100);
    hs_heap_table.heaps[heap].client_heap = 0;
    client_session(true);
    assert_true(heapscope_report_sample(heap, 32, 100));
    assert_int_equal(client_poll_count, 2);
    assert_last(CLIENT_SAMPLE, 32, 100);
    hs_heap_table.heaps[heap].client_heap = 0;
    client_names_heaps = false; /* and it does not want this heap */
    client_session(true);       /* (each change of settings may be a reason to look again) */
    assert_false(heapscope_report_alloc(heap, 16, 100));
    assert_int_equal(client_poll_count, 3);
    assert_false(heapscope_report_alloc(heap, 16, 100)); /* and is not asked each time */
    assert_false(heapscope_report_sample(heap, 16, 100));
    assert_int_equal(client_poll_count, 3);
    client_session(true);
    assert_false(heapscope_report_sample(heap, 16, 100));
    assert_int_equal(client_poll_count, 4);
    assert_int_equal(client_report_count, 2);
}

static void test_a_session_begins(void **state)
{
    (void)state;
    client_appear(false);
    assert_false(heapscope_report_alloc(heap, 16, 100));
    client_session(true); /* only the word in the control page changes */
    assert_true(heapscope_report_alloc(heap, 16, 100));
    assert_last(CLIENT_ALLOC, 16, 100);
}

/* --- threads --- */

static bool is_over;

static void *report_all_the_time(void *arg)
{
    uint64_t id = (uintptr_t)arg;
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        heapscope_report_alloc(heap, id, 10);
        heapscope_report_free(heap, id);
    }
    return NULL;
}

static void *register_some(void *arg)
{
    for (uint32_t i = 0; i < 20; i++) {
        heapscope_heap *made = heapscope_heap_create(arg);
        heapscope_heap_set_primary(made, true);
        uint32_t id = heapscope_heap_register(made);
        assert_int_not_equal(id, 0);
        assert_string_equal(hs_heap_table.heaps[id].name, arg);
    }
    return NULL;
}

static void test_threads(void **state)
{
    static char names[4][8] = { "a", "bb", "ccc", "dddd" };
    pthread_t reporters[2], makers[4];
    (void)state;
    is_over = false;
    uint32_t before = hs_heap_table.heap_count;
    for (uintptr_t i = 0; i < 2; i++) {
        pthread_create(&reporters[i], NULL, report_all_the_time, (void *)(16 * (i + 1)));
    }
    for (uintptr_t i = 0; i < 4; i++) {
        pthread_create(&makers[i], NULL, register_some, names[i]);
    }
    for (uintptr_t i = 0; i < 4; i++) {
        pthread_join(makers[i], NULL);
    }
    assert_int_equal(hs_heap_table.heap_count, before + 80);
    __atomic_store_n(&hs_heap_table.calls, &client_calls, __ATOMIC_RELEASE);
    __atomic_store_n(&hs_heap_table.heaps[heap].client_heap, CLIENT_HEAP_BASE + heap,
                     __ATOMIC_RELAXED);
    __atomic_store_n(&hs_heap_table.quiet, HS_API_NEVER_QUIET, __ATOMIC_RELAXED);
    while (__atomic_load_n(&client_report_count, __ATOMIC_RELAXED) < 100) {
    }
    __atomic_store_n(&hs_heap_table.quiet, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
    for (uintptr_t i = 0; i < 2; i++) {
        pthread_join(reporters[i], NULL);
    }
    bool seen[HS_API_HEAPS] = { false };
    for (uint32_t id = before; id < before + 80; id++) {
        assert_int_equal(hs_heap_table.heaps[id].flags,
                         HS_API_HEAP_REGISTERED | HS_API_HEAP_PRIMARY);
        assert_false(seen[id]);
        seen[id] = true;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_without_a_client, setup),
        cmocka_unit_test_setup(test_while_no_heap_is_recorded, setup),
        cmocka_unit_test_setup(test_while_heaps_are_recorded, setup),
        cmocka_unit_test_setup(test_types, setup),
        cmocka_unit_test_setup(test_types_with_an_older_client, setup),
        cmocka_unit_test_setup(test_what_is_no_heap, setup),
        cmocka_unit_test_setup(test_a_heap_that_the_client_did_not_notice, setup),
        cmocka_unit_test_setup(test_a_session_begins, setup),
        cmocka_unit_test_setup(test_threads, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
