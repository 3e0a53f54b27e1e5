/* From an allocation to its record: what is written, and its time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/capture.h"
#include "client/hooks/record.h"
#include "client/host/sandbox.h"
#include "client/tables/heap_blocks.h"
#include "client/tables/heaps.h"
#include "client/tables/life_state.h"
#include "client/tables/modules.h"
#include "client/tables/stacks.h"
#include "client/thread/call_stack.h"
#include "client/thread/stackmem.h"
#include "client_fixture.h"

static uint32_t alive_word;

static int set_up(void **state)
{
    (void)state;
    hs_stackmem_init();
    if (fixture_region() != 0 || !hs_modules_init() || !hs_stacks_init() || !hs_live_init() ||
        !hs_call_stack_init()) {
        return -1;
    }
    hs_life_state.alive_word = &alive_word;
    hs_life_state.state = HS_LIFE_ON;
    alive_word = 1;
    return 0;
}

/* After each test. */
static int check(void **state)
{
    (void)state;
    HS_ASSERT(hs_live_is_valid() && hs_stacks_is_valid() && hs_modules_is_valid());
    HS_ASSERT(hs_region_is_valid() && hs_replay_is_valid(&hs_thread_self()->replay));
    return 0;
}

/* Records a block at `addr`; returns what the table says about it. */
static struct hs_live_block record(uintptr_t addr, size_t size_bytes)
{
    struct hs_regs regs;
    struct hs_live_block block = { 0 };
    struct hs_sample sample = { .interval_idx = 1, .interval_bytes = 1 };
    hs_regs_capture(&regs);
    hs_record_alloc((void *)addr, size_bytes, &sample, &regs);
    assert_true(hs_record_free((void *)addr, &block));
    return block;
}

static uint32_t age_ms(void)
{
    return (uint32_t)((hs_sandbox_now_ns() - hs_region.header->start_mono_ns) / 1000000);
}

static void test_what_is_recorded(void **state)
{
    (void)state;
    struct hs_live_block block = record(0x10000, 123);
    assert_true(block.addr == 0x10000 && block.size_bytes == 123 && block.hits == 0);
    const struct hs_stack_v1 *stack = hs_region_stack(block.stack_id);
    assert_true(stack && stack->frame_count > 2 && stack->end == HS_STACK_END);
    assert_int_equal(stack->totals[block.epoch & 1].exact_bytes, 123);
    assert_false(hs_record_free((void *)0x10000, NULL));
    assert_false(hs_record_free((void *)0x20000, NULL));
}

/* A block of another heap that malloc serves: malloc's free finds it. */
static void test_block_of_another_heap(void **state)
{
    (void)state;
    const struct hs_sample sample = { .hits = 1, .interval_idx = 1, .interval_bytes = 4096 };
    struct hs_live_block block = { 0 };
    struct hs_regs regs;
    hs_regs_capture(&regs);
    uint8_t heap_id = hs_heaps_add("python.obj", 0, 0);
    assert_int_not_equal(heap_id, 0);
    hs_heap_blocks_set_addressed(heap_id);
    hs_record_alloc((void *)0x50000, 100, &sample, &regs);
    hs_record_alloc_in(heap_id, (void *)0x60000, 100, &sample, &regs);
    assert_true(hs_live_is_in_heap(0x50000, 0));
    assert_true(hs_live_is_in_heap(0x60000, heap_id));
    assert_false(hs_live_is_in_heap(0x50000, heap_id) || hs_live_is_in_heap(0x60000, 0));
    assert_false(hs_live_is_in_heap(0x70000, 0));
    assert_int_equal(hs_heaps_element(heap_id)->alloc_bytes, 4096);
    HS_ASSERT(hs_live_is_valid() && hs_heap_blocks_is_valid());
    assert_true(hs_record_free((void *)0x60000, &block));
    assert_int_equal(hs_region_stack(block.stack_id)->heap_id, heap_id);
    assert_int_equal(block.size_bytes, 100);
    assert_false(hs_live_is_in_heap(0x60000, heap_id));
    assert_true(hs_record_free((void *)0x50000, NULL));
}

static void test_births(void **state)
{
    (void)state;
    /* The clock ticks every 4 ms or so, and 16 samples may share one reading of it. */
    uint32_t before_ms = age_ms();
    usleep(60000);
    unsigned count = 0;
    while (record(0x10000, 1).birth_ms < before_ms + 40 && count < 100) {
        count++;
    }
    assert_true(count < 16);
    /* In between, the collector may set the age. */
    uint32_t told_ms = age_ms() + 5000;
    hs_control_page.control.collector_ms = told_ms;
    assert_int_equal(record(0x10000, 1).birth_ms, told_ms);
    hs_control_page.control.collector_ms = 1;
    uint32_t birth_ms = record(0x10000, 1).birth_ms;
    assert_true(birth_ms > 1 && birth_ms <= age_ms());
}

static uint64_t sum_of(size_t field_off)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < hs_region.header->sections[HS_SECTION_BLOCKS].count; i++) {
        const char *block = hs_region_at(HS_SECTION_BLOCKS, i);
        sum += *(const uint64_t *)(const void *)(block + field_off);
    }
    return sum;
}

#define SUM_OF(field) sum_of(offsetof(struct hs_thread_block_v1, field))

/* One sample of 16 is timed, and only when the collector asks for it. */
static void test_a_share_is_timed(void **state)
{
    (void)state;
    uint64_t before = SUM_OF(timed_count);
    for (unsigned i = 0; i < 320; i++) {
        record(0x10000, 1);
    }
    assert_int_equal(SUM_OF(timed_count), before);
    hs_control_page.control.flags = HS_CONTROL_TIMED;
    uint64_t before_ns = SUM_OF(timed_ns);
    for (unsigned i = 0; i < 3200; i++) {
        record(0x10000, 1);
    }
    hs_control_page.control.flags = 0;
    uint64_t count = SUM_OF(timed_count) - before;
    uint64_t took_ns = SUM_OF(timed_ns) - before_ns;
    assert_true(count >= 199 && count <= 201);
    assert_true(took_ns > count * 5 && took_ns <= count * HS_TIMED_MAX_NS);
}

/* Where tables must not grow, a sample is lost for that reason, and its block has no record. */
static void test_a_limit_is_counted(void **state)
{
    (void)state;
    const struct hs_sample exact = { .interval_bytes = 1 };
    uint64_t lost = SUM_OF(lost_count[HS_LOSS_LIMIT]), samples = SUM_OF(sample_count);
    uint64_t others =
        SUM_OF(lost_count[HS_LOSS_TABLE_FULL]) + SUM_OF(lost_count[HS_LOSS_NO_MEMORY]);
    unsigned kept = 0;
    hs_control_page.control.region_limit_bytes = UINT64_C(1) << 20;
    for (unsigned i = 0; i < 60000; i++) {
        struct hs_regs regs;
        hs_regs_capture(&regs);
        hs_record_alloc((void *)(uintptr_t)(0x40000000 + i * 16), 16, &exact, &regs);
    }
    lost = SUM_OF(lost_count[HS_LOSS_LIMIT]) - lost;
    samples = SUM_OF(sample_count) - samples;
    assert_true(lost > 20000 && samples > 10000);
    assert_int_equal(lost + samples, 60000);
    assert_int_equal(SUM_OF(lost_count[HS_LOSS_TABLE_FULL]) + SUM_OF(lost_count[HS_LOSS_NO_MEMORY]),
                     others);
    for (unsigned i = 0; i < 60000; i++) {
        struct hs_live_block block;
        kept += hs_record_free((void *)(uintptr_t)(0x40000000 + i * 16), &block);
    }
    assert_int_equal(kept, samples);
    /* Their records are free for other blocks. */
    lost = SUM_OF(lost_count[HS_LOSS_LIMIT]);
    record(0x10000, 5);
    assert_int_equal(SUM_OF(lost_count[HS_LOSS_LIMIT]), lost);
    hs_control_page.control.region_limit_bytes = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_what_is_recorded, check),
        cmocka_unit_test_teardown(test_block_of_another_heap, check),
        cmocka_unit_test_teardown(test_births, check),
        cmocka_unit_test_teardown(test_a_share_is_timed, check),
        cmocka_unit_test_teardown(test_a_limit_is_counted, check),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
