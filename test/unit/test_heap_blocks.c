/*
 * Blocks of heaps other than malloc's, on a real region: keys, peaks of carved heaps with their
 * tombstones, selection by rules, many threads.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/tables/heap_blocks.h"
#include "client/tables/heap_peak.h"
#include "client/tables/heaps.h"
#include "client/tables/life_state.h"
#include "client/tables/record_pool.h"
#include "client/tables/stacks.h"
#include "client/thread/heap_countdown.h"
#include "client/thread/thread.h"
#include "client_fixture.h"

#define FAR (UINT64_C(1) << 63)

static uint8_t carved, other, own;
static uint32_t stacks[HS_REGION_HEAPS]; /* one of each heap */

static struct hs_region_control_v1 *control(void)
{
    return &hs_control_page.control;
}

static uint32_t make_stack(uint8_t heap_id)
{
    uint32_t frame = hs_frame_intern(0x1234, HS_MODULE_ID_MARKER, HS_FRAME_MARKER);
    const struct hs_stack_key key = { .frame_ids = &frame, .frame_count = 1 };
    uint32_t base = hs_stack_intern(&key);
    return heap_id == 0 ? base : hs_stack_derive(base, heap_id, 0, 0);
}

static int set_up(void **state)
{
    (void)state;
    if (fixture_region() != 0 || !hs_live_init() || !hs_stacks_init() || !hs_life_state_init()) {
        return -1;
    }
    hs_heaps_write_all();
    hs_life_state_turn_on(); /* heaps that are added from now on are written to the region */
    carved = hs_heaps_add("carved", HS_HEAP_CARVED, 1);
    other = hs_heaps_add("other", HS_HEAP_CARVED, 1);
    own = hs_heaps_add("own", 0, 0);
    stacks[0] = make_stack(0);
    stacks[carved] = make_stack(carved);
    stacks[other] = make_stack(other);
    stacks[own] = make_stack(own);
    return carved && other && own ? 0 : -1;
}

/* After each test. */
static int check(void **state)
{
    (void)state;
    HS_ASSERT(hs_heap_blocks_is_valid() && hs_live_is_valid() && hs_record_pool_is_valid());
    HS_ASSERT(hs_stacks_is_valid() && hs_region_is_valid());
    return 0;
}

static void insert(uint8_t heap_id, uint64_t id, uint64_t size_bytes)
{
    const struct hs_live_block block = { .addr = id,
                                         .size_bytes = size_bytes,
                                         .weight_bytes = size_bytes,
                                         .stack_id = stacks[heap_id],
                                         .epoch = hs_load_acquire(&control()->epoch) };
    assert_int_equal(hs_heap_blocks_insert(hs_thread_self(), heap_id, &block), HS_LOSS_N);
}

static bool take(uint8_t heap_id, uint64_t id)
{
    return hs_heap_blocks_remove(hs_thread_self(), heap_id, id, NULL);
}

static void test_one_id_in_all_heaps(void **state)
{
    (void)state;
    const uint64_t ids[] = { 0, 1, 8, 0x10000, 0x10008, FAR, UINT64_MAX };
    struct hs_live_block of_malloc = { .addr = 0x10000,
                                       .size_bytes = 5000,
                                       .weight_bytes = 5000,
                                       .stack_id = stacks[0],
                                       .epoch = control()->epoch };
    assert_int_equal(hs_live_insert(hs_thread_self(), &of_malloc), HS_LOSS_N);
    for (unsigned i = 0; i < HS_COUNT_OF(ids); i++) {
        insert(carved, ids[i], 10 + i);
        insert(own, ids[i], 100 + i);
    }
    HS_ASSERT(hs_heap_blocks_is_valid() && hs_live_is_valid());
    for (unsigned i = 0; i < HS_COUNT_OF(ids); i++) {
        struct hs_live_block removed;
        assert_false(take(other, ids[i]));
        assert_true(hs_heap_blocks_may_have(carved, ids[i]));
        assert_true(take(carved, ids[i]));
        assert_false(take(carved, ids[i]));
        assert_true(hs_heap_blocks_remove(hs_thread_self(), own, ids[i], &removed));
        assert_true(removed.addr == ids[i] && removed.size_bytes == 100 + i);
        assert_int_equal(removed.stack_id, stacks[own]);
    }
    assert_true(hs_live_remove(hs_thread_self(), 0x10000, &of_malloc));
    assert_int_equal(of_malloc.size_bytes, 5000);
}

static void test_totals_are_kept_apart(void **state)
{
    (void)state;
    int64_t process = control()->live_bytes;
    const struct hs_heap_v2 *heap = hs_heaps_element(carved);
    assert_int_equal(heap->live_bytes, 0);
    insert(carved, 1, 1000);
    insert(own, 1, 50);
    assert_int_equal(heap->live_bytes, 1000);
    assert_int_equal(hs_heaps_element(own)->live_bytes, 0);
    /* With several threads the process's total is in parts. */
    assert_int_equal(control()->live_bytes + hs_tls.self->block->live_bytes, process + 50);
    assert_true(take(carved, 1) && take(own, 1));
    assert_int_equal(heap->live_bytes, 0);
    assert_int_equal(control()->live_bytes + hs_tls.self->block->live_bytes, process);
}

/* What a reader finds at the peak of a carved heap. */
static uint64_t peak_bytes(uint8_t heap_id)
{
    uint64_t peak = hs_heaps_element(heap_id)->peak_epoch, bytes = 0;
    uint64_t count = hs_region.header->sections[HS_SECTION_RECORDS].count;
    for (uint32_t id = 0; id < count; id++) {
        const struct hs_record_v1 *record = hs_region_record(id);
        unsigned record_state = HS_RECORD_STATE(record->word);
        uint64_t epoch = HS_RECORD_EPOCH(record->word);
        bool is_in = record_state == HS_RECORD_ALIVE
                         ? epoch <= peak
                         : (record_state & HS_RECORD_IN_PEAK) && epoch > peak;
        if (is_in && hs_region_heap_of(record) == heap_id) {
            bytes += HS_RECORD_SIZE(record->size_thread);
        }
    }
    return bytes;
}

static void test_each_carved_heap_has_a_peak(void **state)
{
    (void)state;
    const struct hs_heap_v2 *heap = hs_heaps_element(other);
    for (uint64_t i = 0; i < 1000; i++) {
        insert(other, i, 10);
    }
    for (uint64_t i = 0; i < 900; i++) {
        assert_true(take(other, i));
    }
    assert_int_equal(heap->peak_bytes, 10000);
    assert_int_equal(peak_bytes(other), 10000);
    uint64_t process_peak = control()->peak_epoch;
    /* Lower peaks, and those of another heap, change nothing. */
    for (uint64_t i = 0; i < 500; i++) {
        insert(other, FAR + i, 10);
        insert(carved, i, 100);
        assert_true(take(carved, i));
    }
    assert_int_equal(peak_bytes(other), 10000);
    assert_int_equal(control()->peak_epoch, process_peak);
    HS_ASSERT(hs_record_pool_is_valid() && hs_heap_blocks_is_valid());
    /* A higher one replaces it, and the tombstones are used again. */
    insert(other, 1, 20000);
    assert_true(take(other, 1));
    assert_int_equal(heap->peak_bytes, 26000);
    assert_int_equal(peak_bytes(other), 26000);
    uint64_t record_count = hs_region.header->sections[HS_SECTION_RECORDS].count;
    for (uint64_t i = 0; i < 800; i++) {
        insert(carved, FAR + i, 1);
    }
    assert_int_equal(hs_region.header->sections[HS_SECTION_RECORDS].count, record_count);
    for (uint64_t i = 0; i < 800; i++) {
        assert_true(take(carved, FAR + i));
    }
    for (uint64_t i = 0; i < 500; i++) {
        assert_true(take(other, FAR + i));
    }
    for (uint64_t i = 900; i < 1000; i++) {
        assert_true(take(other, i));
    }
    assert_int_equal(peak_bytes(other), 26000);
}

/* A tombstone of a peak that has been replaced may still be in the open snapshot. */
static void test_a_snapshot_outlasts_a_peak(void **state)
{
    (void)state;
    insert(carved, 1, 5000);
    insert(carved, 2, 7000);
    uint64_t cut = control()->epoch;
    control()->snapshot_epoch = cut;
    control()->epoch++;
    assert_true(take(carved, 1)); /* a peak: 12,000 */
    insert(carved, 3, 90000);
    assert_true(take(carved, 3)); /* a higher one */
    uint64_t bytes = 0;
    for (int round = 0; round < 2; round++) {
        bytes = 0;
        for (uint32_t id = 0; id < hs_region.header->sections[HS_SECTION_RECORDS].count; id++) {
            const struct hs_record_v1 *record = hs_region_record(id);
            unsigned record_state = HS_RECORD_STATE(record->word);
            uint64_t epoch = HS_RECORD_EPOCH(record->word);
            bool is_in = record_state == HS_RECORD_ALIVE
                             ? epoch <= cut
                             : (record_state & HS_RECORD_IN_SNAPSHOT) && epoch > cut;
            if (is_in && hs_region_heap_of(record) == carved) {
                bytes += HS_RECORD_SIZE(record->size_thread);
            }
        }
        assert_int_equal(bytes, 12000);
        for (uint64_t i = 0; i < 2000; i++) { /* new blocks do not take its record */
            insert(own, i, 1);
            assert_true(take(own, i));
        }
    }
    control()->snapshot_epoch = 0;
    assert_true(take(carved, 2));
}

static void test_rules(void **state)
{
    (void)state;
    struct hs_heap_selection_v2 *selection = &control()->heap_selection;
    control()->interval_bytes = 4096;
    assert_int_equal(hs_heaps_wanted_interval(carved), 4096);
    hs_heaps_select("car*=100,o?n=0,*e*");
    assert_int_equal(selection->rule_count, 3);
    selection->other_interval_bytes = 7;
    assert_int_equal(hs_heaps_wanted_interval(carved), 100);
    assert_int_equal(hs_heaps_wanted_interval(own), HS_INTERVAL_OFF);
    assert_int_equal(hs_heaps_wanted_interval(other), 4096);
    assert_false(control()->flags & HS_CONTROL_NO_MALLOC);
    assert_true(hs_heaps_is_outdated() || control()->generation == 0);
    control()->generation++;
    assert_true(hs_heaps_is_outdated());
    hs_heaps_pick_up();
    assert_false(hs_heaps_is_outdated());
    assert_true(hs_heaps_is_any_recorded());
    assert_int_equal(hs_heaps_element(carved)->interval_bytes, 100);
    hs_heaps_select("libc.malloc=0");
    assert_true(control()->flags & HS_CONTROL_NO_MALLOC);
    assert_int_equal(selection->other_interval_bytes, HS_INTERVAL_SAME);
    selection->other_interval_bytes = 7;
    /* While nothing is recorded, no heap is. */
    control()->interval_bytes = HS_INTERVAL_OFF;
    assert_int_equal(hs_heaps_wanted_interval(carved), HS_INTERVAL_OFF);
    /* A hostile count, and patterns without an end. */
    control()->interval_bytes = 4096;
    selection->rule_count = UINT32_MAX;
    memset(selection->rules, 'c', sizeof(selection->rules));
    assert_int_equal(hs_heaps_wanted_interval(carved), 7);
    memset(selection->rules, '*', sizeof(selection->rules));
    hs_heaps_wanted_interval(carved);
    *selection = (struct hs_heap_selection_v2){ .other_interval_bytes = HS_INTERVAL_SAME };
    control()->flags = 0;
    control()->interval_bytes = HS_INTERVAL_OFF;
}

static void test_countdowns(void **state)
{
    (void)state;
    struct hs_thread *thread = hs_thread_self();
    control()->interval_bytes = 1000;
    control()->generation++;
    hs_heaps_pick_up();
    assert_true(hs_heap_countdown_make(thread));
    uint64_t floor = control()->floor_bytes, weight = 0;
    hs_heap_countdown_pick_up(thread, carved, floor);
    struct hs_heap_countdown *countdown = &thread->heap_countdowns[carved];
    assert_int_equal(countdown->interval_bytes, 1000);
    enum { COUNT = 400000, SIZE = 25 };
    for (unsigned i = 0; i < COUNT; i++) {
        if (!hs_heap_countdown_drop(countdown, SIZE)) {
            assert_true(hs_heap_countdown_is_due(countdown, floor, SIZE) ||
                        countdown->reserve_bytes > 0);
            weight += hs_heap_countdown_hits(countdown, floor, SIZE) * 1000;
        }
    }
    double sum = (double)COUNT * SIZE, error = (double)weight - sum;
    assert_true(error * error < 25 * 1000 * sum);
    /* An allocation as large as the interval is never dropped. */
    assert_false(hs_heap_countdown_drop(countdown, 1000));
    control()->interval_bytes = HS_INTERVAL_OFF;
    control()->generation++;
    hs_heaps_pick_up();
    hs_heap_countdown_pick_up(thread, carved, floor);
    assert_true(hs_heap_countdown_drop(countdown, 1000000));
}

static void *churn(void *arg)
{
    uint64_t first = (uintptr_t)arg << 40;
    for (uint64_t round = 0; round < 20; round++) {
        for (uint64_t i = 0; i < 200; i++) {
            insert(carved, first + i, 8);
            insert(own, first + i, 8);
        }
        for (uint64_t i = 0; i < 200; i++) {
            assert_true(take(carved, first + i));
            assert_true(take(own, first + i));
        }
    }
    return NULL;
}

static void test_many_threads(void **state)
{
    (void)state;
    fixture_threads(8, churn);
    assert_int_equal(hs_heaps_element(carved)->live_bytes, 0);
}

static void test_names_have_an_end(void **state)
{
    (void)state;
    char name[100];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    uint8_t id = hs_heaps_add(name, 0, 0);
    assert_int_equal(strlen(hs_heaps_element(id)->name), 63);
    while ((id = hs_heaps_add("one more", HS_HEAP_CARVED, 0)) != 0) {
        assert_string_equal(hs_heaps_element(id)->name, "one more");
    }
    assert_int_equal(hs_region.header->sections[HS_SECTION_HEAPS].count, HS_REGION_HEAPS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_one_id_in_all_heaps, check),
        cmocka_unit_test_teardown(test_totals_are_kept_apart, check),
        cmocka_unit_test_teardown(test_each_carved_heap_has_a_peak, check),
        cmocka_unit_test_teardown(test_a_snapshot_outlasts_a_peak, check),
        cmocka_unit_test_teardown(test_rules, check),
        cmocka_unit_test_teardown(test_countdowns, check),
        cmocka_unit_test_teardown(test_many_threads, check),
        cmocka_unit_test_teardown(test_names_have_an_end, check),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
