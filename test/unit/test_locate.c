/*
 * From addresses to records: a thread's record cache, the index behind it, and other threads that
 * use both.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "client/tables/live.h"
#include "client/tables/locate.h"
#include "client/tables/region.h"
#include "client/thread/thread.h"
#include "client_fixture.h"
#include "rt/rand.h"

static int set_up(void **state)
{
    (void)state;
    return fixture_region() == 0 && hs_live_init() ? 0 : -1;
}

/* After each test. */
static int check(void **state)
{
    (void)state;
    HS_ASSERT(hs_live_is_valid());
    return 0;
}

static int forget_strangers(void **state)
{
    (void)state;
    hs_thread_self()->found_count = 0;
    hs_thread_self()->rest_count = 0;
    return 0;
}

/* The size encodes the address. */
static uint64_t size_of(uintptr_t addr)
{
    return addr >> 4;
}

static bool insert(uintptr_t addr)
{
    struct hs_live_block block = { .addr = addr,
                                   .size_bytes = size_of(addr),
                                   .weight_bytes = size_of(addr),
                                   .epoch = hs_load_acquire(&hs_control_page.control.epoch) };
    return hs_live_insert(hs_thread_self(), &block) == HS_LOSS_N;
}

static bool take_as(struct hs_thread *thread, uintptr_t addr)
{
    struct hs_live_block removed;
    return hs_live_remove(thread, addr, &removed) && removed.addr == addr &&
           removed.size_bytes == size_of(addr);
}

static bool take(uintptr_t addr)
{
    return take_as(hs_thread_self(), addr);
}

static uint64_t alive_count(void)
{
    uint64_t count = hs_region.header->sections[HS_SECTION_RECORDS].count, alive = 0;
    for (uint32_t id = 0; id < count; id++) {
        alive += HS_RECORD_STATE(hs_region_record(id)->word) == HS_RECORD_ALIVE;
    }
    return alive;
}

static void on_another_thread(void *(*run)(void *), void *arg)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run, arg), 0);
    pthread_join(thread, NULL);
}

static void *take_there(void *arg)
{
    const uintptr_t *addr = arg;
    return take(*addr) ? arg : NULL;
}

/* --- one thread ------------------------------------------------------------------------------- */

static void test_young(void **state)
{
    (void)state;
    struct hs_thread *self = hs_thread_self();
    assert_true(insert(0x10000));
    assert_false(hs_live_remove_young(self, 0x10000)); /* the end of a peak */
    assert_true(take(0x10000));
    assert_true(insert(0x10000));
    const struct hs_record_v1 *record = hs_locate_cached(self, 0x10000)->record;
    assert_true(hs_live_remove_young(self, 0x10000));
    for (int i = 0; i < 1000; i++) {
        assert_true(insert(0x10000));
        assert_ptr_equal(hs_locate_cached(self, 0x10000)->record, record);
        assert_true(hs_live_remove_young(self, 0x10000));
        assert_false(hs_live_remove_young(self, 0x10000));
        assert_false(take(0x10000));
    }
}

static void test_more_than_places(void **state)
{
    (void)state;
    for (uintptr_t i = 0; i < 5000; i++) {
        assert_true(insert(0x200000 + 16 * i));
        if (i % 500 == 0) {
            HS_ASSERT(hs_live_is_valid());
        }
    }
    struct hs_record_place place;
    for (uintptr_t i = 0; i < 5000; i++) {
        assert_true(hs_locate_find(hs_thread_self(), 0x200000 + 16 * i, &place));
        assert_int_equal(place.record->addr, 0x200000 + 16 * i);
        assert_true(hs_locate_find(NULL, 0x200000 + 16 * i, &place));
    }
    for (uintptr_t i = 0; i < 5000; i++) {
        assert_true(take(0x200000 + 16 * i));
        assert_false(take(0x200000 + 16 * i));
        if (i % 500 == 0) {
            HS_ASSERT(hs_live_is_valid());
        }
    }
    assert_int_equal(alive_count(), 0);
}

/* --- strangers -------------------------------------------------------------------------------- */

static void test_freed_by_another(void **state)
{
    (void)state;
    struct hs_thread *self = hs_thread_self();
    uintptr_t addr = 0x300000;
    assert_true(insert(addr));
    const struct hs_cached_record *cached = hs_locate_cached(self, addr);
    const struct hs_record_v1 *record = cached->record;
    uint32_t found_count = self->found_count;
    HS_ASSERT(hs_live_is_valid());
    on_another_thread(take_there, &addr);
    HS_ASSERT(hs_live_is_valid());
    assert_int_equal(self->found_count, found_count + 1);
    assert_int_equal(cached->addr, 0);
    assert_int_equal(record->word, 0);
    assert_false(take(addr));
    /* The record stayed with its owner. */
    assert_true(insert(addr));
    assert_ptr_equal(cached->record, record);
    assert_true(take(addr));
}

static void test_freed_by_a_handler(void **state)
{
    (void)state;
    assert_true(insert(0x310000));
    assert_true(take_as(NULL, 0x310000));
    HS_ASSERT(hs_live_is_valid());
    assert_false(take_as(NULL, 0x310000));
    assert_false(take(0x310000));
    assert_int_equal(alive_count(), 0);
}

/*
 * A cut needs the record that another thread has freed: the next block at this address uses another
 * one.
 */
static void test_tombstone_in_a_place(void **state)
{
    (void)state;
    struct hs_region_control_v1 *control = &hs_control_page.control;
    uintptr_t addr = 0x320000;
    assert_true(insert(addr));
    const struct hs_cached_record *cached = hs_locate_cached(hs_thread_self(), addr);
    const struct hs_record_v1 *record = cached->record;
    control->snapshot_epoch = control->epoch;
    control->epoch += 1;
    HS_ASSERT(hs_live_is_valid());
    on_another_thread(take_there, &addr);
    HS_ASSERT(hs_live_is_valid());
    assert_true(HS_RECORD_STATE(record->word) & HS_RECORD_IN_SNAPSHOT);
    assert_true(insert(addr));
    assert_ptr_not_equal(cached->record, record);
    assert_true(HS_RECORD_STATE(record->word) & HS_RECORD_IN_SNAPSHOT);
    assert_int_equal(HS_RECORD_SIZE(record->size_thread), size_of(addr));
    assert_true(take(addr));
    control->snapshot_epoch = 0;
}

/* A longjmp left the client after the record was filled and before it was published. */
static void test_abandoned_insert(void **state)
{
    (void)state;
    struct hs_thread *self = hs_thread_self();
    struct hs_record_v1 *record = hs_locate_take(self, hs_locate_cached(self, 0x330000));
    record->word = HS_RECORD_WORD(1, 0, 0, HS_RECORD_ALIVE);
    assert_false(take(0x330000));
    assert_true(insert(0x330000));
    assert_ptr_equal(hs_locate_cached(self, 0x330000)->record, record);
    assert_true(take(0x330000));
    assert_int_equal(alive_count(), 0);
}

/*
 * A thread whose blocks are freed by others stops using its record cache, and tries it again later.
 */
static void test_blocks_for_others(void **state)
{
    (void)state;
    struct hs_thread *self = hs_thread_self();
    struct hs_record_place place;
    for (uintptr_t i = 0; i <= HS_LOCATE_FOUND_MAX; i++) {
        assert_true(insert(0x400000 + 16 * i));
        assert_true(hs_locate_find(self, 0x400000 + 16 * i, &place));
        assert_int_equal(place.cached != NULL, i < HS_LOCATE_FOUND_MAX);
        HS_ASSERT(hs_live_is_valid());
        assert_true(take_as(NULL, 0x400000 + 16 * i));
        HS_ASSERT(hs_live_is_valid());
    }
    for (uint32_t i = 0; i < HS_LOCATE_REST; i++) {
        assert_int_not_equal(self->rest_count, 0);
        hs_locate_review(self, 4096);
    }
    assert_true(insert(0x410000));
    assert_true(hs_locate_find(self, 0x410000, &place));
    assert_non_null(place.cached);
    assert_true(take(0x410000));
    assert_int_equal(alive_count(), 0);
}

/* A thread whose blocks all live too long stops using its record cache too. */
static void test_long_lives(void **state)
{
    (void)state;
    struct hs_thread *self = hs_thread_self();
    hs_locate_review(self, 4096);
    for (uintptr_t i = 0; i < 4096; i++) {
        assert_true(insert(0x500000 + 16 * i));
    }
    hs_locate_review(self, 4096);
    assert_int_equal(self->rest_count, HS_LOCATE_REST);
    for (uintptr_t i = 0; i < 4096; i++) {
        assert_true(take(0x500000 + 16 * i));
    }
    self->rest_count = 0;
    for (uintptr_t i = 0; i < 4096; i++) {
        assert_true(insert(0x500000 + 16 * i));
        assert_true(take(0x500000 + 16 * i));
    }
    hs_locate_review(self, 4096);
    assert_int_equal(self->rest_count, 0);
}

/* --- all at once ------------------------------------------------------------------------------ */

/*
 * Threads put new blocks on a shared board and free the blocks that were there: their own or those
 * of others, in the record cache, in the index, or just on the way there.
 */
#define THREADS     4U
#define BOARD       512U
#define TURNS       400000U
#define THREAD_ADDR UINT64_C(0x10000000)
static uintptr_t board[BOARD];
static uint32_t errors;

static uintptr_t swap(uint32_t at, uintptr_t addr)
{
    return __atomic_exchange_n(&board[at], addr, __ATOMIC_ACQ_REL);
}

static void *play(void *arg)
{
    uint64_t rng = (uintptr_t)arg * 77 + 1;
    uintptr_t addr = THREAD_ADDR * ((uintptr_t)arg + 1);
    for (uint32_t i = 0; i < TURNS; i++) {
        hs_store_relaxed(&hs_thread_self()->rest_count, 0); /* it never stops using its record
                                                             * cache for long */
        addr += 16;
        bool is_good = insert(addr);
        uintptr_t old = swap((uint32_t)hs_rand_next(&rng) % BOARD, addr);
        is_good = is_good && (old == 0 || take_as(i % 7 == 0 ? NULL : hs_thread_self(), old));
        __atomic_fetch_add(&errors, !is_good, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void test_all_at_once(void **state)
{
    (void)state;
    fixture_threads(THREADS, play);
    HS_ASSERT(hs_live_is_valid());
    for (uint32_t i = 0; i < BOARD; i++) {
        errors += board[i] != 0 && !take(board[i]);
    }
    assert_int_equal(errors, 0);
    assert_int_equal(alive_count(), 0);
    int64_t live_bytes = hs_control_page.control.live_bytes;
    for (const struct hs_thread *thread = hs_thread_first(); thread; thread = thread->next) {
        live_bytes += thread->block->live_bytes;
    }
    assert_int_equal(live_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_young, forget_strangers, check),
        cmocka_unit_test_setup_teardown(test_more_than_places, forget_strangers, check),
        cmocka_unit_test_setup_teardown(test_freed_by_another, forget_strangers, check),
        cmocka_unit_test_setup_teardown(test_freed_by_a_handler, forget_strangers, check),
        cmocka_unit_test_setup_teardown(test_tombstone_in_a_place, forget_strangers, check),
        cmocka_unit_test_setup_teardown(test_abandoned_insert, forget_strangers, check),
        cmocka_unit_test_setup_teardown(test_blocks_for_others, forget_strangers, check),
        cmocka_unit_test_setup_teardown(test_long_lives, forget_strangers, check),
        cmocka_unit_test_setup_teardown(test_all_at_once, forget_strangers, check),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
