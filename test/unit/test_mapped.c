/*
 * The ranges that a program has mapped and their blocks, on a real region: random changes against a
 * model with a cell for each page, calls that fail, cuts, the kernel's list, many threads.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "client/tables/heap_blocks.h"
#include "client/tables/heaps.h"
#include "client/tables/life_state.h"
#include "client/tables/mapped.h"
#include "client/tables/mapped_check.h"
#include "client/tables/record_pool.h"
#include "client/tables/stacks.h"
#include "client/thread/thread.h"
#include "mapped_fixture.h"
#include "rt/check.h"
#include "rt/rand.h"

#define PAGE    HS_MAPPED_PAGE_BYTES
#define BASE    UINT64_C(0x100000000)
#define PAGES   512U
#define THREADS 4U
#define STACKS  6U

/* What the model knows of a page. */
struct cell {
    uint8_t kind;   /* enum hs_range_kind + 1; 0: not mapped */
    uint8_t stack;  /* index in stacks */
    uint32_t range; /* the call that it belongs to */
};

static struct cell model[THREADS][PAGES];
static uint32_t stacks[STACKS];

static uint64_t page_va(unsigned thread, unsigned page)
{
    return BASE + ((uint64_t)thread * PAGES + page) * PAGE;
}

static int set_up(void **state)
{
    (void)state;
    return fixture_mapped(stacks, STACKS);
}

/* Before each test: nothing is mapped. */
static int clean(void **state)
{
    (void)state;
    fixture_unmap_all();
    memset(model, 0, sizeof(model));
    hs_mapped_take_suspicion();
    return 0;
}

static int check(void **state)
{
    (void)state;
    HS_ASSERT(hs_mapped_is_valid() && hs_heap_blocks_is_valid() && hs_record_pool_is_valid());
    HS_ASSERT(hs_stacks_is_valid() && hs_region_is_valid());
    return 0;
}

/* --- calls as the hooks make them ------------------------------------------------------------- */

static struct hs_mapped_origin origin(unsigned stack)
{
    return (struct hs_mapped_origin){ .thread = hs_thread_self(), .stack_id = stacks[stack] };
}

static void add(uint64_t start_va, uint64_t end_va, unsigned stack, enum hs_range_kind kind)
{
    uint64_t mask;
    struct hs_mapped_origin from = origin(stack);
    assert_true(hs_mapped_enter(&mask));
    hs_mapped_add(&from, start_va, end_va, kind);
    hs_mapped_leave(mask);
}

enum outcome { DONE, FAILED, CLOSED };

static void take(uint64_t start_va, uint64_t end_va, enum outcome outcome)
{
    uint64_t mask;
    struct hs_mapped_chain chain = { 0 };
    assert_true(hs_mapped_enter(&mask));
    hs_mapped_take(hs_thread_self(), start_va, end_va, &chain);
    hs_mapped_leave(mask);
    if (outcome == DONE) {
        hs_mapped_drop(&chain);
        return;
    }
    assert_true(hs_mapped_enter(&mask));
    hs_mapped_put_back(hs_thread_self(), &chain, outcome == CLOSED);
    hs_mapped_leave(mask);
}

static void open_between(uint64_t start_va, uint64_t end_va, unsigned stack)
{
    uint64_t mask;
    struct hs_mapped_origin from = origin(stack);
    assert_true(hs_mapped_enter(&mask));
    hs_mapped_open(&from, start_va, end_va);
    hs_mapped_leave(mask);
}

/* --- what is recorded ------------------------------------------------------------------------- */

struct block {
    uint64_t start_va, bytes;
    uint32_t stack_id;
};

static int by_start(const void *a, const void *b)
{
    const struct block *x = a, *y = b;
    return x->start_va < y->start_va ? -1 : x->start_va > y->start_va;
}

/* The live blocks of the heap, in the order of their addresses, from the region. */
static size_t read_blocks(struct block *blocks)
{
    size_t count = 0;
    uint64_t records = hs_region.header->sections[HS_SECTION_RECORDS].count;
    for (uint32_t i = 0; i < records; i++) {
        const struct hs_record_v1 *record = hs_region_alive_record(i);
        if (record && hs_region_heap_of(record) == hs_mapped_heap()) {
            assert_true(count < (size_t)THREADS * PAGES);
            blocks[count++] = (struct block){ record->addr, HS_RECORD_SIZE(record->size_thread),
                                              record->stack_id };
        }
    }
    qsort(blocks, count, sizeof(blocks[0]), by_start);
    return count;
}

/* Each page of memory lies in exactly one block, with the stack that the model says, and blocks
 * contain nothing else. */
static void compare(void)
{
    static struct block blocks[THREADS * PAGES];
    size_t count = read_blocks(blocks), at = 0;
    for (unsigned i = 0; i < THREADS * PAGES; i++) {
        const struct cell *cell = &model[i / PAGES][i % PAGES];
        uint64_t va = BASE + i * PAGE;
        while (at < count && blocks[at].start_va + blocks[at].bytes <= va) {
            at++;
        }
        bool is_block = at < count && blocks[at].start_va <= va;
        assert_int_equal(is_block, cell->kind == HS_RANGE_MEMORY + 1);
        if (is_block) {
            assert_int_equal(blocks[at].stack_id, stacks[cell->stack]);
        }
    }
}

static void totals_of(unsigned stack, uint64_t *ret_bytes, uint64_t *ret_count)
{
    const struct hs_stack_v1 *entry = hs_region_stack(stacks[stack]);
    *ret_bytes = entry->totals[0].exact_bytes + entry->totals[1].exact_bytes;
    *ret_count = entry->totals[0].exact_count + entry->totals[1].exact_count;
}

/* --- random changes --------------------------------------------------------------------------- */

static void set(unsigned thread, unsigned from, unsigned to, uint8_t kind, unsigned stack,
                uint32_t range)
{
    for (unsigned i = from; i < to; i++) {
        model[thread][i] = (struct cell){ kind, (uint8_t)stack, range };
    }
}

static void step(unsigned thread, uint64_t *random, uint32_t number)
{
    unsigned from = (unsigned)(hs_rand_next(random) % PAGES);
    unsigned length = 1 + (unsigned)(hs_rand_next(random) % 40);
    unsigned to = from + length < PAGES ? from + length : PAGES;
    unsigned stack = (unsigned)(hs_rand_next(random) % STACKS);
    uint64_t start_va = page_va(thread, from), end_va = page_va(thread, to);
    switch (hs_rand_next(random) % 8) {
    case 0:
    case 1: /* mmap, at a fixed place over what is there */
        take(start_va, end_va, DONE);
        add(start_va, end_va, stack, HS_RANGE_MEMORY);
        set(thread, from, to, HS_RANGE_MEMORY + 1, stack, number);
        break;
    case 2: /* mmap without access, at an address whose munmap was not seen */
        add(start_va, end_va, stack, HS_RANGE_RESERVED);
        set(thread, from, to, HS_RANGE_RESERVED + 1, stack, number);
        break;
    case 3: /* munmap */
        take(start_va, end_va, DONE);
        set(thread, from, to, 0, 0, 0);
        break;
    case 4: /* munmap that fails */
        take(start_va, end_va, FAILED);
        break;
    case 5: /* mprotect without access */
        take(start_va, end_va, CLOSED);
        for (unsigned i = from; i < to; i++) {
            model[thread][i].kind = model[thread][i].kind ? HS_RANGE_RESERVED + 1 : 0;
        }
        break;
    default: /* mprotect with access */
        open_between(start_va, end_va, stack);
        for (unsigned i = from; i < to; i++) {
            if (model[thread][i].kind == HS_RANGE_RESERVED + 1) {
                model[thread][i] = (struct cell){ HS_RANGE_MEMORY + 1, (uint8_t)stack, number };
            }
        }
    }
}

static void test_random_changes(void **state)
{
    (void)state;
    uint64_t random = 1;
    int64_t before = hs_control_page.control.live_bytes + hs_thread_self()->block->live_bytes;
    for (uint32_t i = 1; i <= 30000; i++) {
        step(i % THREADS, &random, i);
        if (i % 100 == 0) {
            compare();
        }
    }
    uint64_t bytes = 0;
    for (unsigned i = 0; i < THREADS * PAGES; i++) {
        bytes += model[i / PAGES][i % PAGES].kind == HS_RANGE_MEMORY + 1 ? PAGE : 0;
    }
    int64_t now = hs_control_page.control.live_bytes + hs_thread_self()->block->live_bytes;
    assert_int_equal(now - before, bytes);
}

static void *change(void *arg)
{
    unsigned thread = (unsigned)(uintptr_t)arg;
    uint64_t random = thread + 100;
    for (uint32_t i = 1; i <= 5000; i++) {
        step(thread, &random, i);
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    fixture_threads(THREADS, change);
    compare();
}

/* --- totals ----------------------------------------------------------------------------------- */

static void test_a_split_allocates_nothing(void **state)
{
    (void)state;
    uint64_t bytes, count, bytes_before, count_before;
    struct hs_thread_block_v1 *block = hs_thread_self()->block;
    totals_of(0, &bytes_before, &count_before);
    add(BASE, BASE + 10 * PAGE, 0, HS_RANGE_MEMORY);
    uint64_t freed = block->free_count, allocated = block->alloc_bytes;
    uint64_t live = block->sample_count - block->free_count;
    take(BASE + 4 * PAGE, BASE + 5 * PAGE, DONE); /* a hole: one more block */
    totals_of(0, &bytes, &count);
    assert_int_equal(bytes - bytes_before, 10 * PAGE);
    assert_int_equal(count - count_before, 2);
    assert_int_equal(block->sample_count - block->free_count, live + 1);
    take(BASE, BASE + PAGE, DONE); /* at the ends: as many as before */
    take(BASE + 9 * PAGE, BASE + 10 * PAGE, DONE);
    totals_of(0, &bytes, &count);
    assert_int_equal(bytes - bytes_before, 10 * PAGE);
    assert_int_equal(count - count_before, 2);
    assert_int_equal(block->free_count, freed);
    assert_int_equal(block->alloc_bytes, allocated);
    take(BASE, BASE + 10 * PAGE, FAILED); /* as if nothing had happened */
    totals_of(0, &bytes, &count);
    assert_int_equal(count - count_before, 2);
    assert_int_equal(block->free_count, freed);
    take(BASE, BASE + 10 * PAGE, DONE);
    assert_int_equal(block->free_count, freed + 2);
}

/* A snapshot that begins in the middle of a cut contains the old block or the new ones. */
static void test_snapshots_contain_each_byte_once(void **state)
{
    (void)state;
    struct hs_region_control_v1 *control = &hs_control_page.control;
    add(BASE, BASE + 10 * PAGE, 1, HS_RANGE_MEMORY);
    uint64_t cut = hs_load_relaxed(&control->epoch);
    hs_store_relaxed(&control->snapshot_epoch, cut);
    hs_add_relaxed(&control->epoch, 1);
    take(BASE + 2 * PAGE, BASE + 3 * PAGE, DONE);
    uint64_t in_cut = 0, alive = 0;
    uint64_t records = hs_region.header->sections[HS_SECTION_RECORDS].count;
    for (uint32_t i = 0; i < records; i++) {
        const struct hs_record_v1 *record = hs_region_record(i);
        unsigned word_state = HS_RECORD_STATE(record->word);
        uint64_t bytes = HS_RECORD_SIZE(record->size_thread);
        bool is_old = (word_state & HS_RECORD_DEAD) && (word_state & HS_RECORD_IN_SNAPSHOT) &&
                      HS_RECORD_EPOCH(record->word) > cut;
        if (record->stack_id == stacks[1]) {
            in_cut +=
                is_old || ((word_state & HS_RECORD_ALIVE) && HS_RECORD_EPOCH(record->word) <= cut)
                    ? bytes
                    : 0;
            alive += word_state & HS_RECORD_ALIVE ? bytes : 0;
        }
    }
    hs_store_relaxed(&control->snapshot_epoch, 0);
    assert_int_equal(in_cut, 10 * PAGE);
    assert_int_equal(alive, 9 * PAGE);
}

static void test_inside_our_own_code(void **state)
{
    (void)state;
    static struct block blocks[THREADS * PAGES];
    uint64_t mask;
    struct hs_mapped_chain chain = { 0 };
    const struct hs_mapped_origin nobody = { .thread = NULL };
    uint64_t lost = hs_thread_self()->block->lost_count[HS_LOSS_REENTRANT];
    add(BASE, BASE + 4 * PAGE, 2, HS_RANGE_MEMORY);
    assert_true(hs_mapped_enter(&mask));
    hs_mapped_add(&nobody, BASE + 8 * PAGE, BASE + 9 * PAGE, HS_RANGE_MEMORY);
    hs_mapped_take(NULL, BASE, BASE + 2 * PAGE, &chain); /* the rest cannot be recorded */
    hs_mapped_leave(mask);
    hs_mapped_drop(&chain);
    assert_int_equal(read_blocks(blocks), 0);
    assert_int_equal(hs_thread_self()->block->lost_count[HS_LOSS_REENTRANT], lost + 2);
    take(BASE, BASE + 10 * PAGE, DONE);
    assert_false(hs_mapped_has_any());
}

/* --- the kernel's list ------------------------------------------------------------------------ */

static void test_the_list_of_the_kernel(void **state)
{
    (void)state;
    static struct block blocks[THREADS * PAGES];
    static const char text[] =
        "100000000-100002000 rw-p 00000000 00:00 0 \n"
        "100002000-100003000 r--p 00001000 08:01 1234567                    /usr/lib/x.so\n"
        "100003000-100004000 ---p 00000000 00:00 0 \n"
        "100004000-100005000 rw-s 00000000 00:01 77                         /dev/zero (deleted)\n"
        "100006000-100007000 rw-p 00000000 00:00 0                          [anon: x]\n"
        "10000";
    uint64_t mask, end_va = 0;
    const struct hs_mapped_opener opener = { .origin = origin(3) };
    add(BASE, BASE + 10 * PAGE, 3, HS_RANGE_MEMORY);
    assert_true(hs_mapped_enter(&mask));
    size_t used = hs_mapped_check_text(&opener, text, sizeof(text) - 1, &end_va);
    hs_mapped_leave(mask);
    assert_int_equal(used, sizeof(text) - 1 - 5);
    assert_int_equal(end_va, BASE + 7 * PAGE);
    size_t count = read_blocks(blocks);
    assert_int_equal(count, 3); /* what comes behind the last line is still to be read */
    assert_true(blocks[0].start_va == BASE && blocks[0].bytes == 2 * PAGE);
    assert_true(blocks[1].start_va == BASE + 4 * PAGE && blocks[1].bytes == PAGE);
    assert_true(blocks[2].start_va == BASE + 6 * PAGE && blocks[2].bytes == 4 * PAGE);
    open_between(BASE + 3 * PAGE, BASE + 4 * PAGE, 3); /* it was only closed */
    assert_int_equal(read_blocks(blocks), 4);
}

/* mprotect fails at a hole, and has permitted access to what is before it. */
static void test_a_call_that_does_a_part(void **state)
{
    (void)state;
    static struct block blocks[THREADS * PAGES];
    static const char text[] = "100000000-100002000 ---p 00000000 00:00 0 \n"
                               "100002000-100004000 rw-p 00000000 00:00 0 \n"
                               "100005000-100009000 rw-p 00000000 00:00 0 \n";
    struct hs_mapped_opener opener = { origin(3), BASE + PAGE, BASE + 8 * PAGE };
    uint64_t mask, end_va = 0;
    add(BASE, BASE + 9 * PAGE, 2, HS_RANGE_RESERVED);
    assert_true(hs_mapped_enter(&mask));
    hs_mapped_check_text(&opener, text, sizeof(text) - 1, &end_va);
    hs_mapped_leave(mask);
    assert_int_equal(read_blocks(blocks), 2);
    assert_true(blocks[0].start_va == BASE + 2 * PAGE && blocks[0].bytes == 2 * PAGE);
    assert_true(blocks[1].start_va == BASE + 5 * PAGE && blocks[1].bytes == 3 * PAGE);
    assert_int_equal(blocks[0].stack_id, stacks[3]);
}

/* Addresses at which nothing is mapped. */
static uint64_t find_hole(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED && munmap(at, bytes) == 0);
    return (uint64_t)(uintptr_t)at;
}

static void test_suspicion_is_cleared_up(void **state)
{
    (void)state;
    uint64_t mask, here = (uint64_t)(uintptr_t)&mask & ~(PAGE - 1);
    uint64_t hole = find_hole(10 * PAGE);
    add(hole, hole + 10 * PAGE, 4, HS_RANGE_MEMORY);
    add(here, here + PAGE, 4, HS_RANGE_MEMORY);
    hs_mapped_suspect();
    assert_true(hs_mapped_enter(&mask));
    assert_true(hs_mapped_take_suspicion());
    assert_false(hs_mapped_take_suspicion());
    hs_mapped_check(&(struct hs_mapped_opener){ .origin = origin(4) });
    assert_int_equal(hs_ranges_count(), 1);
    assert_int_equal(hs_range_at(hs_ranges_find(0))->start_va, here);
    hs_mapped_leave(mask);
}

/* --- the lock --------------------------------------------------------------------------------- */

static void *try_to_enter(void *arg)
{
    uint64_t mask;
    bool *is_in = arg;
    *is_in = hs_mapped_enter(&mask);
    if (*is_in) {
        hs_mapped_leave(mask);
    }
    return NULL;
}

static bool can_another_enter(void)
{
    pthread_t thread;
    bool is_in = false;
    assert_int_equal(pthread_create(&thread, NULL, try_to_enter, &is_in), 0);
    pthread_join(thread, NULL);
    return is_in;
}

static void test_a_held_lock_is_given_up(void **state)
{
    (void)state;
    uint64_t mask;
    assert_true(hs_mapped_hold_for_fork());
    assert_true(hs_mapped_enter(&mask)); /* a signal handler of the thread that forks */
    hs_mapped_leave(mask);
    assert_false(can_another_enter());
    hs_mapped_release_after_fork();
    assert_true(can_another_enter());
}

/* The ranges of an earlier session do not come back. */
static void test_chains_of_an_earlier_session(void **state)
{
    (void)state;
    uint64_t mask;
    struct hs_mapped_chain chain = { 0 }, other = { 0 };
    add(BASE, BASE + 2 * PAGE, 5, HS_RANGE_MEMORY);
    assert_true(hs_mapped_enter(&mask));
    hs_mapped_take(hs_thread_self(), BASE, BASE + PAGE, &chain);
    hs_mapped_take(hs_thread_self(), BASE + PAGE, BASE + 2 * PAGE, &other);
    hs_mapped_leave(mask);
    hs_mapped_clear();
    assert_true(hs_mapped_enter(&mask));
    hs_mapped_put_back(hs_thread_self(), &chain, false);
    hs_mapped_leave(mask);
    hs_mapped_drop(&other);
    assert_int_equal(hs_ranges_count(), 0);
    add(BASE, BASE + 2 * PAGE, 5, HS_RANGE_MEMORY);
    assert_true(hs_ranges_is_valid());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random_changes, clean, check),
        cmocka_unit_test_setup_teardown(test_threads, clean, check),
        cmocka_unit_test_setup_teardown(test_a_split_allocates_nothing, clean, check),
        cmocka_unit_test_setup_teardown(test_snapshots_contain_each_byte_once, clean, check),
        cmocka_unit_test_setup_teardown(test_inside_our_own_code, clean, check),
        cmocka_unit_test_setup_teardown(test_the_list_of_the_kernel, clean, check),
        cmocka_unit_test_setup_teardown(test_a_call_that_does_a_part, clean, check),
        cmocka_unit_test_setup_teardown(test_suspicion_is_cleared_up, clean, check),
        cmocka_unit_test_setup_teardown(test_a_held_lock_is_given_up, clean, check),
        cmocka_unit_test_setup_teardown(test_chains_of_an_earlier_session, clean, check),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
