/*
 * When something was lost: counters in, spans out. The counters of a real region at the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture_fixture.h"
#include "collect/loss_watch.h"

/* Looks every 100, which takes 10 each time, at a recording that began at 1000. */
struct looks {
    struct hs_loss_watch watch;
    uint64_t counts[HS_LOSS_N];
    uint64_t now;
};

static void look(struct looks *l)
{
    l->now += 100;
    hs_loss_watch_note(&l->watch, l->counts, 1000, l->now, l->now + 10);
}

static void assert_span(const struct hs_loss_watch *watch, uint32_t i, uint32_t loss, uint64_t from,
                        uint64_t to, uint64_t count)
{
    assert_true(i < watch->count);
    assert_int_equal(watch->times[i].loss, loss);
    assert_int_equal(watch->times[i].from_mono_ns, from);
    assert_int_equal(watch->times[i].to_mono_ns, to);
    assert_int_equal(watch->times[i].count, count);
}

static void test_spans(void **state)
{
    struct looks l = { .now = 1000 };
    (void)state;
    l.counts[HS_LOSS_REENTRANT] = 2; /* before the first look: since the start */
    look(&l);
    assert_span(&l.watch, 0, HS_LOSS_REENTRANT, 1000, 1110, 2);
    look(&l); /* nothing */
    l.counts[HS_LOSS_TABLE_FULL] = 5;
    look(&l);
    l.counts[HS_LOSS_TABLE_FULL] = 9;
    l.counts[HS_LOSS_REENTRANT] = 3;
    look(&l); /* the one goes on, the other begins again */
    look(&l);
    l.counts[HS_LOSS_TABLE_FULL] = 10;
    look(&l);
    assert_int_equal(l.watch.count, 4);
    assert_span(&l.watch, 1, HS_LOSS_TABLE_FULL, 1200, 1410, 9);
    assert_span(&l.watch, 2, HS_LOSS_REENTRANT, 1300, 1410, 1);
    assert_span(&l.watch, 3, HS_LOSS_TABLE_FULL, 1500, 1610, 1);
    hs_loss_watch_deinit(&l.watch);
}

/* A hostile process may let its counters fall: that is no loss, and none is counted twice. */
static void test_falling_counters(void **state)
{
    struct looks l = { .now = 1000 };
    (void)state;
    l.counts[HS_LOSS_LIMIT] = 7;
    look(&l);
    l.counts[HS_LOSS_LIMIT] = 3;
    look(&l);
    l.counts[HS_LOSS_LIMIT] = 8;
    look(&l);
    assert_int_equal(l.watch.count, 2);
    assert_span(&l.watch, 1, HS_LOSS_LIMIT, 1200, 1310, 1);
    hs_loss_watch_deinit(&l.watch);
}

/* Too many spans: those with the shortest pause become one, and no count is lost. */
static void test_many_spans(void **state)
{
    struct looks l = { .now = 1000 };
    (void)state;
    for (uint32_t i = 0; i < 10 * HS_SNAP_LOSS_TIMES_MAX; i++) {
        enum hs_loss loss = i % 3 ? HS_LOSS_LIMIT : HS_LOSS_DUPLICATE;
        l.counts[loss]++;
        look(&l);
        look(&l); /* a pause, of different length now and then */
        if (i % 50 == 0) {
            l.now += 10000;
            look(&l);
        }
    }
    uint64_t sums[HS_LOSS_N] = { 0 };
    assert_int_equal(l.watch.count, HS_SNAP_LOSS_TIMES_MAX);
    for (uint32_t i = 0; i < l.watch.count; i++) {
        const struct hs_snap_loss_time *it = &l.watch.times[i];
        sums[it->loss] += it->count;
        assert_true(it->count > 0 && it->from_mono_ns < it->to_mono_ns);
        assert_true(i == 0 || it->from_mono_ns >= it[-1].from_mono_ns);
        /* no span reaches over a long pause, as there are few of these */
        assert_true(it->to_mono_ns - it->from_mono_ns < 51 * 200 + 10);
    }
    assert_memory_equal(sums, l.counts, sizeof(sums));
    hs_loss_watch_deinit(&l.watch);
}

/* --- a region --------------------------------------------------------------------------------- */

static int set_up(void **state)
{
    *state = capture_fixture_begin(4096);
    return 0;
}

/* Each thread's counter, and what a snapshot finds in addition. */
static void test_a_region(void **state)
{
    struct fixture *f = *state;
    struct hs_region region;
    struct hs_loss_watch watch = { 0 };
    struct hs_snapshot snap = { .time_mono_ns = UINT64_MAX };
    f->w.header->sections[HS_SECTION_BLOCKS].count = 40; /* more than one read fetches */
    assert_int_equal(hs_region_open(region_writer_dup(&f->w), f->w.file_bytes, &region, NULL), 0);
    struct hs_thread_block_v1 *block = region_writer_at(&f->w, HS_SECTION_BLOCKS, 39);
    block->lost_count[HS_LOSS_TABLE_FULL] = 4;
    hs_loss_watch_look(&watch, &region, 1, 1);
    assert_int_equal(watch.count, 1);
    assert_int_equal(watch.times[0].from_mono_ns, 1);
    assert_int_equal(watch.times[0].count, 4);
    block->lost_count[HS_LOSS_TABLE_FULL] = 6;
    hs_loss_watch_look(&watch, &region, 1, watch.next_ns - 1); /* too soon */
    assert_int_equal(watch.times[0].count, 4);
    uint64_t end_ns = watch.end_ns + 500;
    snap.lost_count[HS_LOSS_TABLE_FULL] = 6;
    hs_loss_watch_describe(&watch, 1, end_ns, &snap);
    assert_int_equal(snap.loss_time_count, 1); /* it went on */
    assert_int_equal(snap.loss_times[0].count, 6);
    assert_int_equal(snap.loss_times[0].to_mono_ns, end_ns);
    free(snap.loss_times);
    /* A kind that the snapshot does not count, because its heap was left out, has no times. */
    snap = (struct hs_snapshot){ .time_mono_ns = end_ns + 1 };
    hs_loss_watch_describe(&watch, 1, end_ns + 1, &snap);
    assert_int_equal(snap.loss_time_count, 0);
    free(snap.loss_times);
    hs_loss_watch_deinit(&watch);
    hs_region_close(&region);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_falling_counters),
        cmocka_unit_test(test_many_spans),
        cmocka_unit_test_setup_teardown(test_a_region, set_up, capture_fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
