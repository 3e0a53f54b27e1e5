/* Lifetimes in a snapshot, from regions that an honest client has written, and hostile ones. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture_fixture.h"
#include "collect/region/capture.h"
#include "rt/bits.h"

static int set_up(void **state)
{
    struct fixture *f = capture_fixture_begin(1);
    f->w.control->flags |= HS_CONTROL_LIFETIMES;
    *state = f;
    return 0;
}

/* A block was freed, in an epoch of this parity. */
static void died(struct fixture *f, uint32_t number, unsigned parity, unsigned class_,
                 uint64_t bytes)
{
    uint32_t id = f->stack + number;
    struct hs_lifetimes_v2 *lifetimes = region_writer_at(&f->w, HS_SECTION_LIFETIMES, id);
    lifetimes->totals[parity].by_lifetime[class_].exact_bytes += bytes;
    lifetimes->totals[parity].by_lifetime[class_].exact_count += 1;
    if (hs_region_section(f->w.header, HS_SECTION_LIFETIMES)->count <= id) {
        hs_region_section(f->w.header, HS_SECTION_LIFETIMES)->count = id + 1;
    }
}

static struct hs_snapshot *capture(struct fixture *f, bool is_dead)
{
    struct hs_region region;
    struct hs_snapshot *snap = NULL;
    assert_int_equal(hs_region_open(region_writer_dup(&f->w), f->w.file_bytes, &region, NULL), 0);
    assert_int_equal(hs_capture(&region, is_dead, 5000, &snap), 0);
    hs_region_close(&region);
    return snap;
}

static const struct hs_snap_lifetimes *of_stack(const struct hs_snapshot *snap, uint32_t id)
{
    for (size_t i = 0; i < snap->lifetime_count; i++) {
        if (snap->lifetimes[i].stack_id == id) {
            return &snap->lifetimes[i];
        }
    }
    return NULL;
}

/* allocated = live + freed, by stack. */
static void expect_sums(const struct hs_snapshot *snap)
{
    for (uint32_t i = 0; i < snap->stack_count; i++) {
        const struct hs_snap_stack *stack = &snap->stacks[i];
        const struct hs_snap_lifetimes *lifetimes = of_stack(snap, i);
        double bytes = stack->live.bytes, count = stack->live.count;
        for (unsigned k = 0; lifetimes && k < HS_LIFETIME_CLASSES; k++) {
            bytes += lifetimes->by_lifetime[k].bytes;
            count += lifetimes->by_lifetime[k].count;
        }
        assert_true(stack->alloc.bytes == bytes && stack->alloc.count == count);
    }
}

static void test_sums(void **state)
{
    struct fixture *f = *state;
    uint32_t live = player_birth(&f->p, f->stack, 100, 0);
    uint32_t gone = player_birth(&f->p, f->stack, 50, 0);
    assert_int_not_equal(live, gone);
    player_death(&f->p, gone);
    died(f, 0, 0, 2, 50);
    for (unsigned is_dead = 0; is_dead < 2; is_dead++) {
        struct hs_snapshot *snap = capture(f, is_dead);
        assert_true(snap->has_lifetimes);
        expect_sums(snap);
        const struct hs_snap_lifetimes *lifetimes = of_stack(snap, f->stack);
        assert_true(lifetimes->by_lifetime[2].bytes == 50 && lifetimes->by_lifetime[2].count == 1);
        assert_true(lifetimes->by_lifetime[HS_LIFETIME_UNKNOWN].count == 0);
        assert_null(of_stack(snap, f->stack + 1));
        hs_snapshot_free(snap);
    }
}

/* A free that is under way: the record is gone, and the sum is not there yet. */
static void test_free_under_way(void **state)
{
    struct fixture *f = *state;
    player_death(&f->p, player_birth(&f->p, f->stack + 1, 70, 0));
    struct hs_snapshot *snap = capture(f, false);
    expect_sums(snap);
    const struct hs_snap_lifetimes *lifetimes = of_stack(snap, f->stack + 1);
    assert_true(lifetimes->by_lifetime[HS_LIFETIME_UNKNOWN].bytes == 70);
    hs_snapshot_free(snap);
}

/* An allocation that is under way, and whose block another thread has freed. */
static void test_allocation_under_way(void **state)
{
    struct fixture *f = *state;
    died(f, 2, 1, 0, 30);
    struct hs_snapshot *snap = capture(f, true);
    expect_sums(snap);
    assert_true(snap->stacks[f->stack + 2].alloc.bytes == 30 && snap->alloc.bytes == 30);
    hs_snapshot_free(snap);
}

/* A block was put back in another epoch: one parity is below 0. */
static void test_wrapped(void **state)
{
    struct fixture *f = *state;
    died(f, 0, 0, 1, 40);
    died(f, 0, 1, 1, (uint64_t)-40);
    struct hs_lifetimes_v2 *lifetimes = region_writer_at(&f->w, HS_SECTION_LIFETIMES, f->stack);
    lifetimes->totals[1].by_lifetime[1].exact_count = (uint64_t)-1;
    struct hs_snapshot *snap = capture(f, true);
    expect_sums(snap);
    assert_true(of_stack(snap, f->stack)->by_lifetime[1].count == 0);
    hs_snapshot_free(snap);
}

/* What is freed after the cut is not in the snapshot. */
static int free_after_cut(void *ctx, const struct hs_open_cut *cut)
{
    (void)cut;
    struct fixture *f = ctx;
    died(f, 0, (unsigned)(f->w.control->epoch & 1), 3, 1000);
    return 0;
}

static void test_after_the_cut(void **state)
{
    struct fixture *f = *state;
    struct hs_region region;
    struct hs_snapshot *snap = NULL;
    died(f, 0, (unsigned)(f->w.control->epoch & 1), 0, 20);
    assert_int_equal(hs_region_open(region_writer_dup(&f->w), f->w.file_bytes, &region, NULL), 0);
    assert_int_equal(hs_capture_opened(&region, false, 5000, free_after_cut, f, &snap), 0);
    hs_capture_close(&region);
    assert_true(of_stack(snap, f->stack)->by_lifetime[0].bytes == 20);
    assert_true(of_stack(snap, f->stack)->by_lifetime[3].bytes == 0);
    hs_snapshot_free(snap);
    assert_int_equal(hs_region_refresh(&region), 0);
    assert_int_equal(hs_capture(&region, false, 6000, &snap), 0);
    assert_true(of_stack(snap, f->stack)->by_lifetime[0].bytes == 20);
    assert_true(of_stack(snap, f->stack)->by_lifetime[3].bytes == 1000);
    hs_snapshot_free(snap);
    hs_region_close(&region);
}

/* Neither an older client nor one that was not asked has any. */
static void test_no_section(void **state)
{
    struct fixture *f = *state;
    f->w.control->flags = 0;
    struct hs_snapshot *snap = capture(f, true);
    assert_false(snap->has_lifetimes);
    hs_snapshot_free(snap);
    f->w.control->flags = HS_CONTROL_LIFETIMES;
    f->w.header->header_bytes = offsetof(struct hs_region_header_v2, later_sections);
    snap = capture(f, true);
    assert_false(snap->has_lifetimes);
    hs_snapshot_free(snap);
    f->w.header->header_bytes = sizeof(*f->w.header);
    hs_region_section(f->w.header, HS_SECTION_LIFETIMES)->file_off = UINT64_MAX - 63;
    struct hs_region region;
    const char *why;
    int fd = region_writer_dup(&f->w);
    assert_int_equal(hs_region_open(fd, f->w.file_bytes, &region, &why), -EPROTO);
    assert_non_null(strstr(why, "does not lie inside"));
    close(fd);
}

static void test_hostile_sums(void **state)
{
    struct fixture *f = *state;
    struct hs_lifetimes_v2 *lifetimes = region_writer_at(&f->w, HS_SECTION_LIFETIMES, f->stack);
    memset(lifetimes, 0xff, sizeof(*lifetimes)); /* as doubles, NaN */
    lifetimes->totals[0].count_ms = hs_double_bits(INFINITY);
    hs_region_section(f->w.header, HS_SECTION_LIFETIMES)->count = UINT64_MAX;
    struct hs_snapshot *snap = capture(f, true);
    const struct hs_snap_lifetimes *got = of_stack(snap, f->stack);
    for (unsigned i = 0; got && i < HS_LIFETIME_CLASSES; i++) {
        /* Sums of -1: below 0. What they add to is not there either. */
        assert_true(got->by_lifetime[i].bytes == 0 && got->by_lifetime[i].count == 0);
        assert_true(got->by_lifetime[i].count_var >= 0 && isfinite(got->by_lifetime[i].count_var));
    }
    assert_true(!got || (isfinite(got->count_ms) && got->count_ms >= 0));
    hs_snapshot_free(snap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sums, set_up, capture_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_free_under_way, set_up, capture_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_allocation_under_way, set_up,
                                        capture_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_wrapped, set_up, capture_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_after_the_cut, set_up, capture_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_no_section, set_up, capture_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_hostile_sums, set_up, capture_fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
