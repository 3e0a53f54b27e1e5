/* Lifetimes of freed blocks: what the client adds to the region's LIFETIMES, and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/capture.h"
#include "client/hooks/record.h"
#include "client/life/lifecycle.h"
#include "client/tables/lifetimes.h"
#include "client/tables/modules.h"
#include "client/tables/stacks.h"
#include "client/thread/call_stack.h"
#include "client/thread/stackmem.h"
#include "client/thread/thread.h"
#include "client_fixture.h"
#include "rt/bits.h"

static uint32_t alive_word;

static int set_up(void **state)
{
    (void)state;
    hs_stackmem_init();
    if (fixture_region() != 0 || !hs_modules_init() || !hs_stacks_init() || !hs_live_init() ||
        !hs_call_stack_init()) {
        return -1;
    }
    hs_region.start_ms -= 60000; /* no time is near 0, which means that it is not known */
    hs_life_state.alive_word = &alive_word;
    hs_life_state.state = HS_LIFE_ON;
    hs_tls.interval_bytes = 1;
    hs_tls.left_bytes = 1000000;
    return 0;
}

static void begin(void)
{
    alive_word = HS_ALIVE_TIMED;
    hs_thread_self()->must_look = true;
}

/* All blocks of a test come from here: one stack. */
static __attribute__((noinline)) void allocate_at(uintptr_t addr, size_t size_bytes, uint32_t hits,
                                                  uint64_t interval_bytes)
{
    struct hs_regs regs;
    struct hs_sample sample = { .hits = hits,
                                .interval_idx = hs_region_interval_idx(interval_bytes),
                                .interval_bytes = interval_bytes };
    hs_regs_capture(&regs);
    hs_record_alloc((void *)addr, size_bytes, &sample, &regs);
}

static void allocate(uintptr_t addr, size_t size_bytes)
{
    allocate_at(addr, size_bytes, 0, 1);
}

/* Frees a block that is recorded, and returns what it was. */
static struct hs_live_block release(uintptr_t addr)
{
    struct hs_live_block block = { 0 };
    assert_true(hs_record_free((void *)addr, &block));
    return block;
}

static struct hs_lifetimes_v2 *of_stack(uint32_t stack_id)
{
    assert_true(stack_id < hs_region_section(hs_region.header, HS_SECTION_LIFETIMES)->count);
    return hs_region_at(HS_SECTION_LIFETIMES, stack_id);
}

/* A sum of both parities. */
#define BOTH(lifetimes, field) ((lifetimes)->totals[0].field + (lifetimes)->totals[1].field)

static double both_real(const struct hs_lifetimes_v2 *lifetimes)
{
    return hs_double_of_bits(lifetimes->totals[0].count_ms) +
           hs_double_of_bits(lifetimes->totals[1].count_ms);
}

/* The clock moves by so much. */
static void advance(int64_t ms)
{
    hs_region.start_ms -= ms;
}

static void test_nothing_without_the_flag(void **state)
{
    (void)state;
    alive_word = HS_ALIVE_PLAIN;
    for (uintptr_t i = 0; i < 100; i++) {
        allocate(0x10000 + i * 64, 32);
    }
    for (uintptr_t i = 0; i < 100; i++) {
        assert_true(hs_record_free((void *)(0x10000 + i * 64), NULL));
    }
    assert_int_equal(hs_region_section(hs_region.header, HS_SECTION_LIFETIMES)->count, 0);
    assert_false(hs_thread_self()->must_look);
}

static void test_classes(void **state)
{
    (void)state;
    static const unsigned ms[] = { 0, 50, 500, 5000, 50000, 70000, 700000 };
    static const unsigned classes[] = { 0, 1, 2, 3, 4, 5, 6 };
    begin();
    for (unsigned i = 0; i < 7; i++) {
        allocate(0x20000, 100 + i);
        advance(ms[i]);
        struct hs_live_block block = release(0x20000);
        struct hs_lifetimes_v2 *lifetimes = of_stack(block.stack_id);
        assert_in_range(block.lifetime_ms, ms[i], ms[i] + 40);
        assert_int_equal(BOTH(lifetimes, by_lifetime[classes[i]].exact_count), 1);
        assert_int_equal(BOTH(lifetimes, by_lifetime[classes[i]].exact_bytes), 100 + i);
        assert_true(both_real(lifetimes) >= ms[i]);
        *lifetimes = (struct hs_lifetimes_v2){ 0 };
    }
}

static void test_parity_is_that_of_the_death(void **state)
{
    (void)state;
    begin();
    allocate(0x30000, 10);
    uint64_t epoch = hs_add_relaxed(&hs_control_page.control.epoch, 1) + 1;
    struct hs_live_block block = release(0x30000);
    struct hs_lifetimes_v2 *lifetimes = of_stack(block.stack_id);
    assert_int_equal(lifetimes->totals[epoch & 1].by_lifetime[0].exact_count, 1);
    assert_int_equal(lifetimes->totals[!(epoch & 1)].by_lifetime[0].exact_count, 0);
    *lifetimes = (struct hs_lifetimes_v2){ 0 };
}

static void test_temporary(void **state)
{
    (void)state;
    static const uint32_t between[] = { 0, 1, 2, 3, 4, 7, 8, 100, 127, 128, 300 };
    static const unsigned classes[] = {
        0, 1, 2, 2, 3, 3, 4, 7, 7, HS_TEMPORARY_NONE, HS_TEMPORARY_NONE
    };
    begin();
    for (unsigned i = 0; i < 11; i++) {
        allocate(0x40000, 16);
        for (uintptr_t k = 0; k < between[i]; k++) {
            allocate(0x50000 + k * 64, 16);
        }
        assert_int_equal(release(0x40000).temporary_class, classes[i]);
        for (uintptr_t k = 0; k < between[i]; k++) {
            assert_true(hs_record_free((void *)(0x50000 + k * 64), NULL));
        }
    }
}

/* At wider intervals an allocation that is not recorded moves the countdown. */
static void test_temporary_when_sampled(void **state)
{
    (void)state;
    begin();
    hs_tls.interval_bytes = 4096;
    allocate_at(0x60000, 100, 1, 4096);
    assert_int_equal(release(0x60000).temporary_class, 0);
    allocate_at(0x60000, 100, 1, 4096);
    hs_tls.left_bytes -= 24;
    assert_int_equal(release(0x60000).temporary_class, HS_TEMPORARY_NONE);
    allocate_at(0x60000, 100, 1, 4096);
    allocate_at(0x61000, 8192, 0, 4096); /* which leaves the countdown alone */
    assert_int_equal(release(0x60000).temporary_class, HS_TEMPORARY_NONE);
    struct hs_live_block block = release(0x61000);
    assert_int_equal(block.temporary_class, 0);
    struct hs_lifetimes_v2 *lifetimes = of_stack(block.stack_id);
    assert_int_equal(BOTH(lifetimes, by_lifetime[0].exact_bytes), 8192);
    *lifetimes = (struct hs_lifetimes_v2){ 0 };
    hs_tls.interval_bytes = 1;
}

static void test_sampled_sums(void **state)
{
    (void)state;
    begin();
    allocate_at(0x70000, 1000, 2, 4096);
    advance(2000);
    struct hs_live_block block = release(0x70000);
    const struct hs_lifetimes_v2 *lifetimes = of_stack(block.stack_id);
    const struct hs_totals_v1 *allocated = hs_stack_totals(block.stack_id, block.epoch);
    assert_int_equal(BOTH(lifetimes, by_lifetime[3].sampled_bytes), 8192);
    assert_int_equal(BOTH(lifetimes, by_lifetime[3].sampled_count_fx), allocated->sampled_count_fx);
    assert_int_equal(BOTH(lifetimes, by_lifetime[3].sampled_count_var),
                     allocated->sampled_count_var);
    double count = (double)allocated->sampled_count_fx / (1 << HS_COUNT_SHIFT);
    assert_true(both_real(lifetimes) > 0.99 * count * 2000 &&
                both_real(lifetimes) < 1.05 * count * 2000);
}

static __attribute__((noinline)) void allocate_for_realloc(uintptr_t addr)
{
    allocate(addr, 48);
}

/* A realloc that failed: all sums are as before, whatever the epoch, and so is the number. */
static void test_put_back(void **state)
{
    (void)state;
    begin();
    allocate_for_realloc(0x80000);
    advance(300);
    struct hs_live_block removed = release(0x80000);
    struct hs_lifetimes_v2 *lifetimes = of_stack(removed.stack_id);
    assert_int_equal(BOTH(lifetimes, by_lifetime[2].exact_count), 1);
    assert_int_equal(BOTH(lifetimes, temporary[0].exact_bytes), 48);
    hs_add_relaxed(&hs_control_page.control.epoch, 1);
    hs_record_put_back(&removed);
    for (unsigned i = 0; i < HS_LIFETIME_CLASSES; i++) {
        assert_int_equal(BOTH(lifetimes, by_lifetime[i].exact_count), 0);
        assert_int_equal(BOTH(lifetimes, by_lifetime[i].exact_bytes), 0);
    }
    assert_int_equal(BOTH(lifetimes, temporary[0].exact_count), 0);
    assert_true(both_real(lifetimes) == 0);
    removed = release(0x80000);
    assert_int_equal(removed.temporary_class, 0);
    assert_in_range(removed.lifetime_ms, 300, 340); /* from its first birth on */
    hs_record_put_back(&removed);
    allocate(0x90000, 8);
    assert_int_equal(release(0x80000).temporary_class, 1);
    assert_true(hs_record_free((void *)0x90000, NULL));
}

static uint32_t number; /* of the block that another thread frees */

static void *free_elsewhere(void *arg)
{
    (void)arg;
    hs_tls.interval_bytes = 1;
    hs_thread_self()->alloc_number = number;
    allocate(0xb0000, 16); /* it has the next number, but of this thread */
    assert_int_equal(release(0xa0000).temporary_class, HS_TEMPORARY_NONE);
    assert_int_equal(release(0xb0000).temporary_class, 0);
    return NULL;
}

static void test_another_thread_frees(void **state)
{
    (void)state;
    begin();
    allocate(0xa0000, 77);
    number = hs_thread_self()->alloc_number;
    fixture_threads(1, free_elsewhere);
}

/* In a signal handler that interrupts our own code, the block is counted, but not looked at whether
 * it is temporary. */
static void test_inside_our_own_code(void **state)
{
    (void)state;
    struct hs_frame_marker mark;
    begin();
    allocate(0xc0000, 99);
    assert_true(hs_reentry_guard_enter(&mark));
    struct hs_live_block block = release(0xc0000);
    hs_reentry_guard_leave();
    assert_int_equal(block.temporary_class, HS_TEMPORARY_NONE);
    assert_true(block.has_lifetime);
}

/* Blocks whose birth nobody knows. */
static void test_unknown(void **state)
{
    (void)state;
    struct hs_record_place place;
    begin();
    allocate(0xd0000, 5);
    assert_true(hs_locate_find(hs_thread_self(), 0xd0000, &place));
    place.record->birth_ms = 0;
    assert_int_equal(release(0xd0000).lifetime_class, HS_LIFETIME_UNKNOWN);
}

/* An address that is recorded twice without a free: the older block ends. */
static void test_implicit_free(void **state)
{
    (void)state;
    begin();
    volatile size_t count = 2; /* so that both calls have one address */
    for (size_t i = 0; i < count; i++) {
        allocate(0xe0000, 333 + 111 * i);
    }
    struct hs_live_block block = release(0xe0000);
    const struct hs_lifetimes_v2 *lifetimes = of_stack(block.stack_id);
    uint64_t bytes = 0;
    for (unsigned i = 0; i < HS_LIFETIME_CLASSES; i++) {
        bytes += BOTH(lifetimes, by_lifetime[i].exact_bytes);
    }
    assert_int_equal(bytes, 777);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_without_the_flag),
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_parity_is_that_of_the_death),
        cmocka_unit_test(test_temporary),
        cmocka_unit_test(test_temporary_when_sampled),
        cmocka_unit_test(test_sampled_sums),
        cmocka_unit_test(test_put_back),
        cmocka_unit_test(test_another_thread_frees),
        cmocka_unit_test(test_inside_our_own_code),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_implicit_free),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
