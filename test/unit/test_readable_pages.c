/*
 * Pages that are believed to be readable: what the kernel said counts for a number of walks, until
 * the program closes memory, and no page is read that was not asked for. The two pages that were
 * asked for last are recognized without a search.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "client/host/readable_pages.h"
#include "rt/base.h"

#define PAGE_BYTES 4096U

static struct hs_readable_pages pages;

/* Two pages, of which the second one cannot be read. */
static uint8_t *map_two(void)
{
    uint8_t *va =
        mmap(NULL, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(va, MAP_FAILED);
    va[PAGE_BYTES - 1] = 7;
    assert_int_equal(mprotect(va + PAGE_BYTES, PAGE_BYTES, PROT_NONE), 0);
    return va;
}

static bool is_believed(const uint8_t *va)
{
    return hs_readable_pages_at(&pages, (uint64_t)(uintptr_t)va, 1) != NULL;
}

static int set_up(void **state)
{
    (void)state;
    pages = (struct hs_readable_pages){ .era = 0 };
    hs_readable_pages_begin(&pages);
    return 0;
}

static void test_bounds(void **state)
{
    (void)state;
    uint8_t *va = map_two(), bytes[16] = { 0 };
    const uint64_t end = (uint64_t)(uintptr_t)va + PAGE_BYTES;
    assert_ptr_equal(hs_readable_pages_at(&pages, end - 8, 8), (const void *)(uintptr_t)(end - 8));
    assert_null(hs_readable_pages_at(&pages, end - 8, 9));
    assert_null(hs_readable_pages_at(&pages, end, 1));
    assert_true(hs_readable_pages_copy(&pages, end - 3, bytes, 3));
    assert_int_equal(bytes[2], 7);
    assert_true(hs_readable_pages_copy(&pages, end - 16, bytes, 16));
    assert_int_equal(bytes[15], 7);
    assert_false(hs_readable_pages_copy(&pages, end - 8, bytes, 16));
    munmap(va, 2 * PAGE_BYTES);
}

static void test_impossible_addresses(void **state)
{
    (void)state;
    static const uint64_t none[] = {
        0, 8, PAGE_BYTES - 1, UINT64_C(1) << 47, UINT64_MAX / 2, UINT64_MAX - 4, UINT64_MAX,
    };
    for (unsigned i = 0; i < HS_COUNT_OF(none); i++) {
        assert_null(hs_readable_pages_at(&pages, none[i], 8));
    }
    assert_null(hs_readable_pages_at(&pages, (UINT64_C(1) << 47) - 4, 8));
    assert_null(hs_readable_pages_at(&pages, (uint64_t)(uintptr_t)&pages, 0));
    assert_null(hs_readable_pages_at(&pages, (uint64_t)(uintptr_t)&pages, SIZE_MAX));
}

/* The answer outlives the page by so many walks at most. */
static void test_walks(void **state)
{
    (void)state;
    uint8_t *va = map_two();
    assert_true(is_believed(va));
    assert_int_equal(munmap(va, 2 * PAGE_BYTES), 0);
    for (unsigned i = 1; i < HS_READABLE_WALKS; i++) {
        hs_readable_pages_begin(&pages);
        assert_true(is_believed(va));
    }
    hs_readable_pages_begin(&pages);
    assert_false(is_believed(va));
}

static void test_closed(void **state)
{
    (void)state;
    uint8_t *va = map_two();
    assert_true(is_believed(va));
    assert_int_equal(munmap(va, 2 * PAGE_BYTES), 0);
    hs_readable_note_closed();
    hs_readable_pages_begin(&pages);
    assert_false(is_believed(va));
}

/* A page that could not be read is asked about again. */
static void test_opened(void **state)
{
    (void)state;
    uint8_t *va = map_two();
    assert_false(is_believed(va + PAGE_BYTES));
    assert_int_equal(mprotect(va + PAGE_BYTES, PAGE_BYTES, PROT_READ), 0);
    assert_true(is_believed(va + PAGE_BYTES));
    munmap(va, 2 * PAGE_BYTES);
}

/* The number of an era comes again after a long time: pages of the first one are not found. */
static void test_last_era(void **state)
{
    (void)state;
    uint8_t *va = map_two();
    assert_true(is_believed(va));
    assert_int_equal(munmap(va, 2 * PAGE_BYTES), 0);
    const uint64_t first = pages.era;
    pages.era = (UINT64_C(1) << 29) - 1; /* 35 bits are the page's */
    hs_readable_pages_forget(&pages);
    assert_int_equal(pages.era, 0);
    pages.era = first;
    assert_false(is_believed(va));
}

/* Heaps consist of large units, and objects often lie near their beginning: the pages of one stack
 * do not push each other out. */
static void test_pages_of_a_stack(void **state)
{
    (void)state;
    static const size_t strides[] = { 1, 3, 64, 65, 512, 1024 };
    for (unsigned s = 0; s < HS_COUNT_OF(strides); s++) {
        const size_t bytes = (size_t)64 * strides[s] * PAGE_BYTES;
        uint8_t *va =
            mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        assert_ptr_not_equal(va, MAP_FAILED);
        hs_readable_pages_forget(&pages);
        for (size_t i = 0; i < 64; i++) {
            assert_true(is_believed(va + i * strides[s] * PAGE_BYTES));
        }
        assert_int_equal(munmap(va, bytes), 0);
        for (size_t i = 0; i < 64; i++) {
            assert_true(is_believed(va + i * strides[s] * PAGE_BYTES));
        }
    }
}

/* Pages that share a place do not count as one another. */
static void test_shared_place(void **state)
{
    (void)state;
    const size_t bytes = (size_t)4 * HS_READABLE_PAGES * PAGE_BYTES;
    uint8_t *va = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(va, MAP_FAILED);
    for (size_t at = 0; at < bytes; at += (size_t)2 * PAGE_BYTES) {
        assert_int_equal(mprotect(va + at, PAGE_BYTES, PROT_READ), 0);
    }
    for (unsigned turn = 0; turn < 2; turn++) {
        for (size_t at = 0; at < bytes; at += PAGE_BYTES) {
            assert_int_equal(is_believed(va + at), at / PAGE_BYTES % 2 == 0);
        }
    }
    munmap(va, bytes);
}

/* What the table says is forgotten, and the kernel would deny: only the two entries beside the
 * table can say that a page is readable. */
static void leave_only_last_two(uint8_t *va, size_t bytes)
{
    memset(pages.page, 0, sizeof(pages.page));
    assert_int_equal(mprotect(va, bytes, PROT_NONE), 0);
}

static uint8_t *map_readable(size_t page_count)
{
    uint8_t *va =
        mmap(NULL, page_count * PAGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(va, MAP_FAILED);
    return va;
}

static void test_last_two(void **state)
{
    (void)state;
    enum { A, B, C, N };
    /* Pages in the order in which they are asked for, and which of them are recognized then. */
    static const struct {
        unsigned asked[4];
        unsigned count;
        bool is_recognized[N];
    } cases[] = {
        { { A }, 1, { true, false, false } },
        { { A, B }, 2, { true, true, false } },
        { { B, A }, 2, { true, true, false } },
        { { A, B, C }, 3, { false, true, true } },
        { { C, B, A }, 3, { true, true, false } },
        /* A page that is recognized does not displace the other one. */
        { { A, B, A, A }, 4, { true, true, false } },
        { { A, B, B, B }, 4, { true, true, false } },
    };
    for (unsigned i = 0; i < HS_COUNT_OF(cases); i++) {
        uint8_t *va = map_readable(N);
        hs_readable_pages_forget(&pages);
        for (unsigned k = 0; k < cases[i].count; k++) {
            assert_true(is_believed(va + (size_t)cases[i].asked[k] * PAGE_BYTES));
        }
        leave_only_last_two(va, (size_t)N * PAGE_BYTES);
        for (size_t page = 0; page < N; page++) {
            assert_int_equal(is_believed(va + page * PAGE_BYTES), cases[i].is_recognized[page]);
        }
        munmap(va, (size_t)N * PAGE_BYTES);
    }
}

/* Of bytes in several pages the last page is noted, and such bytes are never taken for those of one
 * page. Nothing at all is not readable either. */
static void test_last_two_and_their_ends(void **state)
{
    (void)state;
    uint8_t *va = map_readable(2);
    const uint64_t end = (uint64_t)(uintptr_t)va + PAGE_BYTES;
    assert_non_null(hs_readable_pages_at(&pages, end - 8, 16));
    leave_only_last_two(va, (size_t)2 * PAGE_BYTES);
    assert_non_null(hs_readable_pages_at(&pages, end, PAGE_BYTES));
    assert_non_null(hs_readable_pages_at(&pages, end + PAGE_BYTES - 1, 1));
    assert_null(hs_readable_pages_at(&pages, end, PAGE_BYTES + 1));
    assert_null(hs_readable_pages_at(&pages, end + PAGE_BYTES - 1, 2));
    assert_null(hs_readable_pages_at(&pages, end, 0));
    assert_null(hs_readable_pages_at(&pages, end, SIZE_MAX));
    assert_null(hs_readable_pages_at(&pages, end - 8, 8));
    munmap(va, (size_t)2 * PAGE_BYTES);
}

/* A page that could not be read is not noted, and displaces none that could. */
static void test_last_two_are_readable(void **state)
{
    (void)state;
    uint8_t *va = map_readable(3);
    assert_int_equal(mprotect(va + (size_t)2 * PAGE_BYTES, PAGE_BYTES, PROT_NONE), 0);
    assert_true(is_believed(va));
    assert_true(is_believed(va + PAGE_BYTES));
    assert_false(is_believed(va + (size_t)2 * PAGE_BYTES));
    assert_false(is_believed(va + (size_t)2 * PAGE_BYTES));
    leave_only_last_two(va, (size_t)3 * PAGE_BYTES);
    assert_true(is_believed(va));
    assert_true(is_believed(va + PAGE_BYTES));
    /* What is forgotten is not recognized. */
    hs_readable_pages_forget(&pages);
    assert_false(is_believed(va));
    assert_false(is_believed(va + PAGE_BYTES));
    munmap(va, (size_t)3 * PAGE_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_bounds, set_up),
        cmocka_unit_test_setup(test_impossible_addresses, set_up),
        cmocka_unit_test_setup(test_walks, set_up),
        cmocka_unit_test_setup(test_closed, set_up),
        cmocka_unit_test_setup(test_opened, set_up),
        cmocka_unit_test_setup(test_last_era, set_up),
        cmocka_unit_test_setup(test_pages_of_a_stack, set_up),
        cmocka_unit_test_setup(test_shared_place, set_up),
        cmocka_unit_test_setup(test_last_two, set_up),
        cmocka_unit_test_setup(test_last_two_and_their_ends, set_up),
        cmocka_unit_test_setup(test_last_two_are_readable, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
