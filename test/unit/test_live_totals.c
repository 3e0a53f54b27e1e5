/*
 * Tests of collect/region/live_totals: the figures of a region that stands still are those of a
 * snapshot, whatever its heaps are, and it is read again as it changes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture_fixture.h"
#include "collect/region/capture.h"
#include "collect/region/heap_selection.h"
#include "collect/region/live_totals.h"

static struct hs_region region;

static int set_up(void **state)
{
    struct fixture *f = capture_fixture_begin(4096);
    *state = f;
    assert_int_equal(hs_region_open(region_writer_dup(&f->w), f->w.file_bytes, &region, NULL), 0);
    return 0;
}

static int tear_down(void **state)
{
    hs_region_close(&region);
    return capture_fixture_tear_down(state);
}

static void assert_equal(const struct hs_estimate *a, const struct hs_estimate *b)
{
    assert_true(a->bytes == b->bytes && a->bytes_var == b->bytes_var);
    assert_true(a->count == b->count && a->count_var == b->count_var);
}

/* Reads the totals, and compares them with a snapshot. */
static void assert_as_snapshot(struct hs_live_totals *totals)
{
    struct hs_snapshot *snap = NULL;
    assert_int_equal(hs_region_refresh(&region), 0);
    assert_int_equal(hs_live_totals_read(&region, totals), 0);
    assert_int_equal(hs_capture(&region, false, 5000, &snap), 0);
    assert_int_equal(totals->stack_count, snap->stack_count);
    for (uint32_t i = 0; i < snap->stack_count; i++) {
        assert_equal(&totals->of_stack[i].live, &snap->stacks[i].live);
        assert_equal(&totals->of_stack[i].alloc, &snap->stacks[i].alloc);
        assert_int_equal(totals->of_stack[i].heap_id, snap->stacks[i].heap_id);
    }
    assert_equal(&totals->live, &snap->live);
    assert_equal(&totals->alloc, &snap->alloc);
    hs_snapshot_free(snap);
}

static void test_it_follows_the_region(void **state)
{
    struct fixture *f = *state;
    struct hs_live_totals totals = { 0 };
    assert_as_snapshot(&totals);
    uint32_t exact = player_birth(&f->p, f->stack, 10000, 0);
    player_birth(&f->p, f->stack + 1, 100, 2);
    assert_as_snapshot(&totals);
    assert_true(totals.live.bytes == 10000 + 2 * 4096 && totals.live.count > 1);
    player_death(&f->p, exact);
    assert_as_snapshot(&totals);
    assert_true(totals.live.bytes == 2 * 4096 && totals.alloc.bytes == 10000 + 2 * 4096);
    uint32_t more = region_writer_stacks(&f->w, 500); /* the map and the arrays must grow */
    player_birth(&f->p, more + 499, 20000, 0);
    assert_as_snapshot(&totals);
    assert_true(totals.of_stack[more + 499].live.bytes == 20000);
    hs_live_totals_deinit(&totals);
}

/* The blocks of a carved heap count by themselves, those of a heap that is left out not at all. */
static void test_heaps(void **state)
{
    struct fixture *f = *state;
    struct hs_live_totals totals = { 0 };
    struct hs_heap_selection selection = { 0 };
    struct hs_stack_v1 *stack = region_writer_at(&f->w, HS_SECTION_STACKS, f->stack);
    stack[1].heap_id = region_writer_heap(&f->w, "pool", HS_HEAP_CARVED);
    stack[2].heap_id = region_writer_heap(&f->w, "gpu", 0);
    for (uint32_t i = 0; i < 3; i++) {
        player_birth(&f->p, f->stack + i, UINT64_C(8192) << i, 0);
    }
    assert_as_snapshot(&totals);
    assert_true(totals.live.bytes == 8192 + (8192 << 2));
    assert_true(totals.of_stack[f->stack + 1].live.bytes == 8192 << 1);
    assert_null(hs_heap_selection_add(&selection, "gpu", 3, HS_INTERVAL_OFF));
    region.heaps = &selection;
    assert_as_snapshot(&totals);
    assert_true(totals.live.bytes == 8192 && totals.of_stack[f->stack + 2].is_left_out);
    region.heaps = NULL;
    hs_live_totals_deinit(&totals);
}

/* The program may write anything into its records and totals. */
static void test_what_makes_no_sense(void **state)
{
    struct fixture *f = *state;
    struct hs_live_totals totals = { 0 };
    uint32_t slot = player_birth(&f->p, f->stack, 8192, 0);
    struct hs_record_v1 *record = region_writer_at(&f->w, HS_SECTION_RECORDS, slot);
    record->stack_id = UINT32_MAX;
    assert_int_equal(hs_live_totals_read(&region, &totals), 0);
    assert_true(totals.live.bytes == 0);
    record->stack_id = f->stack;
    record->word = HS_RECORD_WORD(1, 63, 63, HS_RECORD_ALIVE); /* there is no such interval */
    struct hs_stack_v1 *stack = region_writer_at(&f->w, HS_SECTION_STACKS, f->stack);
    stack->totals[0].sampled_count_var = UINT64_MAX; /* not a number */
    stack->heap_id = 200;
    assert_int_equal(hs_live_totals_read(&region, &totals), 0);
    assert_true(totals.live.bytes == 0 && totals.alloc.count_var == 0);
    hs_live_totals_deinit(&totals);
}

static void test_progress(void **state)
{
    struct fixture *f = *state;
    struct hs_live_progress progress;
    struct hs_thread_block_v1 *block = region_writer_at(&f->w, HS_SECTION_BLOCKS, 0);
    f->w.header->sections[HS_SECTION_BLOCKS].count = 40; /* more than are read at once */
    for (unsigned i = 0; i < 40; i++) {
        block[i].sample_count = 10;
        block[i].free_count = 3;
        block[i].live_bytes = -1;
        block[i].lost_count[HS_LOSS_LIMIT] = 2;
    }
    f->w.control->live_bytes = 100;
    assert_int_equal(hs_region_refresh(&region), 0);
    assert_int_equal(hs_live_progress_read(&region, &progress), 0);
    assert_int_equal(progress.sample_count, 400);
    assert_int_equal(progress.free_count, 120);
    assert_int_equal(progress.lost_count, 80);
    assert_int_equal(progress.lost_count_of[HS_LOSS_LIMIT], 80);
    assert_int_equal(progress.live_bytes, 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_it_follows_the_region, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_heaps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_makes_no_sense, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_progress, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
