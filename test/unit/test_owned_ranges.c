/*
 * collect/ledger/owned_ranges and client_ranges: to whom ranges of addresses belong, and the list
 * that the client keeps of its own memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/host/own_ranges.h"
#include "client/host/pages.h"
#include "collect/ledger/client_ranges.h"
#include "collect/ledger/owned_ranges.h"
#include "trace/ledger.h"

static void add(struct hs_owned_ranges *owned, uint64_t start_va, uint64_t end_va, uint32_t kind)
{
    const struct hs_owned_range range = { start_va, end_va, kind, "" };
    assert_int_equal(hs_owned_ranges_add(owned, &range), 0);
}

static void expect(const struct hs_owned_ranges *owned, size_t i, uint64_t start_va,
                   uint64_t end_va, uint32_t kind)
{
    assert_true(i < owned->count);
    assert_int_equal(owned->items[i].start_va, start_va);
    assert_int_equal(owned->items[i].end_va, end_va);
    assert_int_equal(owned->items[i].kind, kind);
}

static void test_later_owners_get_the_rest(void **state)
{
    (void)state;
    struct hs_owned_ranges owned = { 0 };
    assert_int_equal(hs_owned_ranges_settle(&owned), 0);
    add(&owned, 50, 60, 1);
    add(&owned, 20, 30, 1);
    assert_null(hs_owned_ranges_find(&owned, 25));
    assert_int_equal(hs_owned_ranges_settle(&owned), 0);
    add(&owned, 55, 58, 2); /* nothing is left of it */
    add(&owned, 10, 70, 2);
    add(&owned, 65, 80, 3); /* begins later than the one that it overlaps */
    add(&owned, 90, 90, 3);
    assert_int_equal(hs_owned_ranges_settle(&owned), 0);
    assert_int_equal(owned.count, 6);
    expect(&owned, 0, 10, 20, 2);
    expect(&owned, 1, 20, 30, 1);
    expect(&owned, 2, 30, 50, 2);
    expect(&owned, 3, 50, 60, 1);
    expect(&owned, 4, 60, 70, 2);
    expect(&owned, 5, 70, 80, 3);
    assert_ptr_equal(hs_owned_ranges_find(&owned, 79), &owned.items[5]);
    assert_null(hs_owned_ranges_find(&owned, 80));
    assert_null(hs_owned_ranges_find(&owned, 9));
    hs_owned_ranges_deinit(&owned);
}

/* The kernel counts pages of its pool apart, those of mappings that only one process has, too. */
static void test_huge_pages_of_the_pool(void **state)
{
    (void)state;
    static const char text[] = "200000-a00000 rw-s 00000000 00:11 7 /anon_hugepage (deleted)\n"
                               "Rss: 0 kB\nShared_Hugetlb: 4096 kB\nPrivate_Hugetlb: 2048 kB\n"
                               "b00000-b01000 rw-p 00000000 00:00 0 \nRss: 4 kB\n"
                               "Shared_Hugetlb: 0 kB\nPrivate_Hugetlb: 0 kB\n";
    struct hs_address_space space;
    assert_int_equal(hs_address_space_parse(text, sizeof(text) - 1, &space), 0);
    assert_int_equal(space.count, 2);
    assert_int_equal(space.items[0].hugetlb_bytes, 6 << 20);
    assert_int_equal(space.items[0].rss_bytes, 0);
    assert_int_equal(space.items[1].hugetlb_bytes, 0);
    hs_address_space_deinit(&space);
}

static void test_gaps(void **state)
{
    (void)state;
    static const char text[] = "1000-9000 rw-p 00000000 00:00 0 \nRss: 8 kB\n"
                               "9000-a000 rw-p 00000000 00:00 0 \nRss: 0 kB\n"
                               "b000-c000 rw-p 00000000 08:01 7 /file\nRss: 4 kB\n"
                               "d000-e000 rw-s 00000000 00:00 0 \nRss: 4 kB\n"
                               "e000-f000 rw-p 00000000 00:00 0 [anon:name]\nRss: 4 kB\n"
                               "f000-11000 rw-p 00000000 00:00 0 [heap]\nRss: 4 kB\n";
    struct hs_address_space space;
    struct hs_owned_ranges owned = { 0 };
    struct hs_va_ranges gaps = { 0 };
    assert_int_equal(hs_address_space_parse(text, sizeof(text) - 1, &space), 0);
    add(&owned, 0x2000, 0x3000, 1);
    add(&owned, 0x8000, 0x10000, 1);
    assert_int_equal(hs_owned_ranges_settle(&owned), 0);
    assert_int_equal(hs_owned_ranges_gaps(&owned, &space, &gaps), 0);
    assert_int_equal(gaps.count, 3);
    assert_int_equal(gaps.items[0].start_va, 0x1000);
    assert_int_equal(gaps.items[0].end_va, 0x2000);
    assert_int_equal(gaps.items[1].start_va, 0x3000);
    assert_int_equal(gaps.items[1].end_va, 0x8000);
    assert_int_equal(gaps.items[2].start_va, 0x10000);
    assert_int_equal(gaps.items[2].end_va, 0x11000);
    hs_va_ranges_deinit(&gaps);
    hs_owned_ranges_deinit(&owned);
    hs_address_space_deinit(&space);
}

/* How many ranges of the list contain all of the pages. */
static unsigned listed(const void *pages, size_t bytes)
{
    struct hs_owned_ranges owned = { 0 };
    struct hs_remote_window window;
    uint64_t start_va = (uint64_t)(uintptr_t)pages;
    unsigned count = 0;
    assert_int_equal(hs_remote_window_open(getpid(), &window), 0);
    assert_int_equal(hs_client_ranges_read(&window, (uint64_t)(uintptr_t)&hs_own_ranges, &owned),
                     0);
    for (size_t i = 0; i < owned.added_count; i++) {
        assert_int_equal(owned.items[i].kind, HS_LEDGER_RECORDER);
        count += owned.items[i].start_va <= start_va && start_va + bytes <= owned.items[i].end_va;
    }
    hs_owned_ranges_deinit(&owned);
    hs_remote_window_close(&window);
    return count;
}

static void test_the_clients_memory_is_in_its_list(void **state)
{
    (void)state;
    enum { COUNT = 600 }; /* more than two parts of the list have room for */
    static char *pages[COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        pages[i] = hs_pages_map(3 * 4096 - 100);
        assert_non_null(pages[i]);
    }
    assert_int_equal(listed(pages[0], 3 * 4096), 1);
    assert_int_equal(listed(pages[COUNT - 1], 3 * 4096), 1);
    hs_pages_unmap(pages[COUNT - 1] + 4096, 2 * 4096);
    assert_int_equal(listed(pages[COUNT - 1], 4096), 1);
    assert_int_equal(listed(pages[COUNT - 1], 2 * 4096), 0);
    hs_pages_unmap(pages[0], 3 * 4096 - 100);
    assert_int_equal(listed(pages[0], 4096), 0);
}

static void test_a_hostile_list(void **state)
{
    (void)state;
    static struct hs_own_ranges_v2 list;
    struct hs_owned_ranges owned = { 0 };
    struct hs_remote_window window;
    list.next_va = (uint64_t)(uintptr_t)&list;
    list.ranges[0] = (struct hs_own_range_v2){ 0x2000, 0x1000 };
    list.ranges[1] = (struct hs_own_range_v2){ 0x1001, 0x3000 };
    list.ranges[2] = (struct hs_own_range_v2){ 0x1000, UINT64_MAX - 4095 };
    assert_int_equal(hs_remote_window_open(getpid(), &window), 0);
    assert_int_equal(hs_client_ranges_read(&window, list.next_va, &owned), 0);
    assert_int_equal(hs_client_ranges_read(&window, 16, &owned), 0);
    assert_int_equal(owned.added_count, 0);
    hs_remote_window_close(&window);
    hs_owned_ranges_deinit(&owned);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_later_owners_get_the_rest),
        cmocka_unit_test(test_huge_pages_of_the_pool),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_the_clients_memory_is_in_its_list),
        cmocka_unit_test(test_a_hostile_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
