/*
 * The live table on a real region: inserts, removals, tombstones, the peak, many threads.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "client/tables/filter.h"
#include "client/tables/live.h"
#include "client/tables/region.h"
#include "client/thread/thread.h"
#include "client_fixture.h"

static struct hs_region_control_v1 *control(void)
{
    return &hs_control_page.control;
}

/* After each test. */
static int check(void **state)
{
    (void)state;
    HS_ASSERT(hs_live_is_valid() && hs_region_is_valid());
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    return fixture_region() == 0 && hs_live_init() ? 0 : -1;
}

static enum hs_loss insert(uintptr_t addr, uint64_t size_bytes)
{
    struct hs_live_block block = { .addr = addr,
                                   .size_bytes = size_bytes,
                                   .weight_bytes = size_bytes,
                                   .stack_id = 7,
                                   .epoch = control()->epoch };
    return hs_live_insert(hs_thread_self(), &block);
}

static bool take(uintptr_t addr)
{
    struct hs_live_block removed;
    return hs_live_remove(hs_thread_self(), addr, &removed) && removed.addr == addr;
}

/* What a collector would see: the weight of all records in a cut. */
static uint64_t bytes_in_cut(uint64_t cut, unsigned tombstone)
{
    uint64_t count = hs_region.header->sections[HS_SECTION_RECORDS].count;
    uint64_t bytes = 0;
    for (uint32_t id = 0; id < count; id++) {
        const struct hs_record_v1 *record = hs_region_record(id);
        uint64_t word = record->word;
        bool is_alive = HS_RECORD_STATE(word) == HS_RECORD_ALIVE;
        bool is_in = is_alive ? HS_RECORD_EPOCH(word) <= cut
                              : (HS_RECORD_STATE(word) & tombstone) && HS_RECORD_EPOCH(word) > cut;
        bytes += is_in ? HS_RECORD_SIZE(record->size_thread) : 0;
    }
    return bytes;
}

static void test_insert_remove(void **state)
{
    (void)state;
    assert_int_equal(insert(0x10000, 100), HS_LOSS_N);
    assert_true(hs_filter_test(0x10000));
    assert_false(hs_filter_test(0x10010));
    HS_ASSERT(hs_live_is_valid());
    assert_true(take(0x10000));
    HS_ASSERT(hs_live_is_valid());
    assert_false(hs_filter_test(0x10000));
    assert_false(take(0x10000));
}

/* A program that aligns blocks itself hands out an address inside the block. */
static void test_covers(void **state)
{
    (void)state;
    assert_int_equal(insert(0x2340010, 0x3000), HS_LOSS_N);
    assert_int_equal(insert(0x2350008, 8), HS_LOSS_N);
    assert_int_equal(insert(0x2360020, 0), HS_LOSS_N);
    assert_true(hs_live_covers(0x2340010));
    assert_true(hs_live_covers(0x2341000));
    assert_true(hs_live_covers(0x2342000));
    assert_true(hs_live_covers(0x2340048));         /* behind a header of the program */
    assert_false(hs_live_covers(0x2340800 + 0x10)); /* too far for a block of 16 bytes */
    assert_false(hs_live_covers(0x2340000));
    assert_false(hs_live_covers(0x2344000)); /* behind its end */
    assert_true(hs_live_covers(0x2350008));
    assert_false(hs_live_covers(0x2350010));
    assert_true(hs_live_covers(0x2360020));
    assert_false(hs_live_covers(0));
    assert_true(take(0x2340010));
    assert_false(hs_live_covers(0x2341000));
    assert_true(take(0x2350008) && take(0x2360020));
}

/* A block that could not be recorded leaves no trace, so that its free does not search for it. */
static void test_table_full(void **state)
{
    (void)state;
    struct hs_section_v1 *records = &hs_region.header->sections[HS_SECTION_RECORDS];
    uint64_t max_count = records->max_count;
    records->max_count = records->count;
    uintptr_t addr = 0x7000000;
    enum hs_loss loss;
    while ((loss = insert(addr, 100)) == HS_LOSS_N) {
        addr += 0x1000;
    }
    assert_int_equal(loss, HS_LOSS_TABLE_FULL);
    HS_ASSERT(hs_live_is_valid());
    assert_false(hs_filter_test(addr));
    assert_false(take(addr));
    records->max_count = max_count;
    assert_int_equal(insert(addr, 100), HS_LOSS_N);
    for (; addr >= 0x7000000; addr -= 0x1000) {
        assert_true(hs_filter_test(addr));
        assert_true(take(addr));
    }
}

/* Two blocks in 16 bytes share a bit of the filter. */
static void test_half_grains(void **state)
{
    (void)state;
    assert_int_equal(insert(0x20000, 8), HS_LOSS_N);
    assert_int_equal(insert(0x20008, 8), HS_LOSS_N);
    HS_ASSERT(hs_live_is_valid());
    assert_true(take(0x20000));
    HS_ASSERT(hs_live_is_valid());
    assert_true(hs_filter_test(0x20008));
    assert_true(take(0x20008));
    assert_false(take(0x20008));
    /* The bit stays, because it may belong to the other block, until one block has all 16 bytes. */
    assert_int_equal(insert(0x20000, 16), HS_LOSS_N);
    assert_true(take(0x20000));
    assert_false(hs_filter_test(0x20008));
}

/* An address that is allocated again without a free: the old block is removed. */
static void test_implicit_free(void **state)
{
    (void)state;
    uint64_t before = hs_thread_self()->block->lost_count[HS_LOSS_DUPLICATE];
    assert_int_equal(insert(0x30000, 5), HS_LOSS_N);
    HS_ASSERT(hs_live_is_valid());
    assert_int_equal(insert(0x30000, 6), HS_LOSS_N);
    HS_ASSERT(hs_live_is_valid());
    assert_int_equal(hs_thread_self()->block->lost_count[HS_LOSS_DUPLICATE], before + 1);
    assert_true(take(0x30000));
    assert_false(take(0x30000));
}

static void test_peak(void **state)
{
    (void)state;
    for (uintptr_t i = 0; i < 100; i++) {
        assert_int_equal(insert(0x100000 + 64 * i, 1000), HS_LOSS_N);
    }
    for (uintptr_t i = 0; i < 90; i++) {
        assert_true(take(0x100000 + 64 * i));
        HS_ASSERT(hs_live_is_valid());
    }
    assert_int_equal(control()->peak_bytes, 100000);
    assert_int_equal(bytes_in_cut(control()->peak_epoch, HS_RECORD_IN_PEAK), 100000);
    /* Later, lower rises leave the peak as it was. */
    for (uintptr_t i = 0; i < 50; i++) {
        assert_int_equal(insert(0x200000 + 64 * i, 1000), HS_LOSS_N);
    }
    assert_int_equal(bytes_in_cut(control()->peak_epoch, HS_RECORD_IN_PEAK), 100000);
    for (uintptr_t i = 0; i < 50; i++) {
        assert_true(take(0x200000 + 64 * i));
    }
    for (uintptr_t i = 90; i < 100; i++) {
        assert_true(take(0x100000 + 64 * i));
    }
    assert_int_equal(bytes_in_cut(control()->peak_epoch, HS_RECORD_IN_PEAK), 100000);
    /* A higher peak replaces it, and the tombstones are reused. */
    uint64_t records = hs_region.header->sections[HS_SECTION_RECORDS].count;
    for (uintptr_t i = 0; i < 101; i++) {
        assert_int_equal(insert(0x100000 + 64 * i, 1000), HS_LOSS_N);
    }
    for (uintptr_t i = 0; i < 101; i++) {
        assert_true(take(0x100000 + 64 * i));
    }
    assert_int_equal(bytes_in_cut(control()->peak_epoch, HS_RECORD_IN_PEAK), 101000);
    for (int round = 0; round < 20; round++) {
        HS_ASSERT(hs_live_is_valid());
        for (uintptr_t i = 0; i < 100; i++) {
            assert_int_equal(insert(0x100000 + 64 * i, 1000), HS_LOSS_N);
        }
        for (uintptr_t i = 0; i < 100; i++) {
            assert_true(take(0x100000 + 64 * i));
        }
    }
    assert_in_range(hs_region.header->sections[HS_SECTION_RECORDS].count, records, records + 256);
}

static void test_snapshot(void **state)
{
    (void)state;
    for (uintptr_t i = 0; i < 10; i++) {
        assert_int_equal(insert(0x300000 + 64 * i, 10), HS_LOSS_N);
    }
    uint64_t cut = control()->epoch;
    control()->snapshot_epoch = cut;
    control()->epoch = cut + 1;
    for (uintptr_t i = 0; i < 10; i++) {
        assert_true(take(0x300000 + 64 * i));
        HS_ASSERT(hs_live_is_valid());
        assert_int_equal(insert(0x400000 + 64 * i, 10), HS_LOSS_N);
        HS_ASSERT(hs_live_is_valid());
    }
    assert_int_equal(bytes_in_cut(cut, HS_RECORD_IN_SNAPSHOT), 100);
    control()->snapshot_epoch = 0;
    for (uintptr_t i = 0; i < 10; i++) {
        assert_true(take(0x400000 + 64 * i));
    }
}

/* One thread allocates, another frees: records must return to the first thread. */
#define HANDED 200000U
static uintptr_t ring[256];
static uint32_t produced, consumed, errors;

static void *consume(void *arg)
{
    (void)arg;
    while (consumed < HANDED) {
        if (__atomic_load_n(&produced, __ATOMIC_ACQUIRE) == consumed) {
            continue;
        }
        errors += !take(ring[consumed % 256]);
        __atomic_store_n(&consumed, consumed + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void test_hand_over(void **state)
{
    (void)state;
    uint64_t records = hs_region.header->sections[HS_SECTION_RECORDS].count;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, consume, NULL), 0);
    for (uint32_t i = 0; i < HANDED; i++) {
        while (i - __atomic_load_n(&consumed, __ATOMIC_ACQUIRE) >= 256) {
        }
        ring[i % 256] = 0x1000000 + 16 * (uintptr_t)i;
        assert_int_equal(insert(ring[i % 256], 16), HS_LOSS_N);
        __atomic_store_n(&produced, i + 1, __ATOMIC_RELEASE);
    }
    pthread_join(thread, NULL);
    assert_int_equal(errors, 0);
    /* Far fewer records than blocks handed over. */
    assert_true(hs_region.header->sections[HS_SECTION_RECORDS].count - records < 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_insert_remove, check),
        cmocka_unit_test_teardown(test_half_grains, check),
        cmocka_unit_test_teardown(test_covers, check),
        cmocka_unit_test_teardown(test_table_full, check),
        cmocka_unit_test_teardown(test_implicit_free, check),
        cmocka_unit_test_teardown(test_peak, check),
        cmocka_unit_test_teardown(test_snapshot, check),
        cmocka_unit_test_teardown(test_hand_over, check),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
