/*
 * Tests of util/proc_smaps: sums by name, from pieces of any size, and with a limit on the number
 * of names.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/proc_smaps.h"

#define MAPPING(range, name, size, rss, pss)                                                       \
    range " r-xp 00000000 fe:00 1 " name "\nSize: " size " kB\nKernelPageSize: 4 kB\nRss: " rss    \
          " kB\nPss: " pss " kB\nVmFlags: rd ex\n"

static const char text[] = MAPPING("1000-2000", "/lib/a.so", "4", "4", "1") MAPPING(
    "3000-5000", "", "8", "6", "6") MAPPING("6000-7000", "/lib/a.so", "4", "3", "2")
    MAPPING("8000-9000", "/tmp/b (deleted)", "4", "1", "1") "a000-b000 rw-p 0 00:00 0 \nSize: 4 kB";

static const struct hs_proc_smaps_row *find(const struct hs_proc_smaps_sums *sums, const char *name)
{
    for (uint32_t i = 0; i < sums->row_count; i++) {
        if (strcmp(hs_proc_smaps_name(sums, i), name) == 0) {
            return &sums->rows[i];
        }
    }
    return NULL;
}

static void check(const struct hs_proc_smaps_sums *sums)
{
    assert_int_equal(sums->row_count, 3);
    assert_string_equal(hs_proc_smaps_name(sums, 0), "");
    const struct hs_proc_smaps_row *a = find(sums, "/lib/a.so");
    assert_int_equal(a->mapping_count, 2);
    assert_int_equal(a->kb[HS_SMAPS_SIZE], 8);
    assert_int_equal(a->kb[HS_SMAPS_RSS], 7);
    assert_int_equal(a->kb[HS_SMAPS_PSS], 3);
    assert_int_equal(find(sums, "/tmp/b (deleted)")->kb[HS_SMAPS_RSS], 1);
    assert_int_equal(sums->rows[0].kb[HS_SMAPS_RSS], 6);
    assert_int_equal(sums->rows[0].mapping_count, 2);
}

static void test_sums(void **state)
{
    (void)state;
    struct hs_proc_smaps_sums sums = { 0 };
    assert_int_equal(hs_proc_smaps_add(&sums, text, strlen(text)), 0);
    check(&sums);
    hs_proc_smaps_deinit(&sums);
}

static void test_pieces_of_any_size(void **state)
{
    (void)state;
    for (size_t step = 1; step < 90; step++) {
        struct hs_proc_smaps_sums sums = { 0 };
        for (size_t at = 0; at < strlen(text); at += step) {
            size_t left = strlen(text) - at;
            assert_int_equal(hs_proc_smaps_add(&sums, text + at, left < step ? left : step), 0);
        }
        check(&sums);
        hs_proc_smaps_deinit(&sums);
    }
}

/* The sums are complete all the same. */
static void test_too_many_names(void **state)
{
    (void)state;
    struct hs_proc_smaps_sums sums = { 0 };
    char part[256];
    for (unsigned i = 0; i < 10000; i++) {
        int len = snprintf(part, sizeof(part),
                           "%x000-%x800 r--p 0 fe:00 1 /file/%u\nSize: 2 kB\nRss: 1 kB\n", i + 1,
                           i + 1, i);
        assert_int_equal(hs_proc_smaps_add(&sums, part, (size_t)len), 0);
    }
    uint64_t rss_kb = 0;
    for (uint32_t i = 0; i < sums.row_count; i++) {
        rss_kb += sums.rows[i].kb[HS_SMAPS_RSS];
    }
    assert_int_equal(sums.row_count, HS_PROC_SMAPS_ROWS_MAX);
    assert_int_equal(rss_kb, 10000);
    assert_int_equal(find(&sums, HS_PROC_SMAPS_OTHERS)->mapping_count,
                     10000 - (HS_PROC_SMAPS_ROWS_MAX - 2));
    hs_proc_smaps_deinit(&sums);
}

static void test_odd_text(void **state)
{
    (void)state;
    static char line[100000];
    struct hs_proc_smaps_sums sums = { 0 };
    const char *lost = "Rss: 4 kB\nSize: 4 kB\n\n\n:\n"; /* lines before any mapping */
    assert_int_equal(hs_proc_smaps_add(&sums, lost, strlen(lost)), 0);
    assert_int_equal(sums.rows[0].kb[HS_SMAPS_RSS], 0);
    memset(line, 'x', sizeof(line));
    assert_int_equal(hs_proc_smaps_add(&sums, line, sizeof(line)), 0);
    assert_int_equal(hs_proc_smaps_add(&sums, line, sizeof(line)), 0);
    assert_true(sums.line.capacity_bytes < 2 * sizeof(line));
    assert_int_equal(hs_proc_smaps_add(&sums, "\n", 1), 0);
    assert_int_equal(hs_proc_smaps_add(&sums, text, strlen(text)), 0);
    check(&sums);
    hs_proc_smaps_deinit(&sums);
}

static void test_ourselves(void **state)
{
    (void)state;
    struct hs_proc_smaps_reader reader;
    assert_int_equal(hs_proc_smaps_open(&reader, "/proc", getpid()), 0);
    int r;
    while ((r = hs_proc_smaps_step(&reader, 0)) == HS_PROC_SMAPS_E_MORE) {
    }
    assert_int_equal(r, 0);
    /* Every process has a stack; under a sanitizer it may have no "[heap]". */
    assert_true(find(&reader.sums, "[stack]")->kb[HS_SMAPS_RSS] > 0);
    assert_true(find(&reader.sums, "[stack]")->kb[HS_SMAPS_SIZE] > 0);
    assert_true(find(&reader.sums, "[vdso]")->kb[HS_SMAPS_SIZE] > 0);
    hs_proc_smaps_close(&reader);
    assert_int_equal(hs_proc_smaps_open(&reader, "/nowhere", 1), -ENOENT);
    hs_proc_smaps_close(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),           cmocka_unit_test(test_pieces_of_any_size),
        cmocka_unit_test(test_too_many_names), cmocka_unit_test(test_odd_text),
        cmocka_unit_test(test_ourselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
