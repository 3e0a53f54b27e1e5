/*
 * collect/ledger/zeroed_data.h: where modules end, by their headers in memory and in files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/ledger/zeroed_data.h"

static char zeroed[100000];

/* The first mapping of the module that has the address. */
static const struct hs_mapping *first_of(const struct hs_address_space *space, uint64_t va)
{
    const struct hs_mapping *mapping = hs_address_space_find(space, va);
    assert_non_null(mapping);
    while (mapping > space->items && mapping->file_off != 0) {
        mapping--;
    }
    return mapping;
}

static void test_a_file_says_the_same_as_memory(void **state)
{
    (void)state;
    struct hs_address_space space;
    struct hs_remote_window window;
    assert_int_equal(hs_address_space_read(getpid(), &space), 0);
    assert_int_equal(hs_remote_window_open(getpid(), &window), 0);
    const uint64_t codes[] = { (uint64_t)(uintptr_t)&first_of,
                               (uint64_t)(uintptr_t)&_cmocka_run_group_tests };
    for (size_t i = 0; i < 2; i++) {
        const struct hs_mapping *first = first_of(&space, codes[i]);
        uint64_t end_va = hs_zeroed_data_end(&window, first);
        const char *path = hs_mapping_path(&space, first);
        assert_true(end_va > codes[i]);
        assert_int_equal(hs_zeroed_data_end_in_file(getpid(), path, first), end_va);
    }
    uint64_t zeroed_va = (uint64_t)(uintptr_t)zeroed;
    const struct hs_mapping *first = first_of(&space, codes[0]);
    const char *path = hs_mapping_path(&space, first);
    assert_true(hs_zeroed_data_end_in_file(getpid(), path, first) >= zeroed_va + sizeof(zeroed));

    struct hs_mapping other = *first;
    other.inode++; /* the file was replaced */
    assert_int_equal(hs_zeroed_data_end_in_file(getpid(), path, &other), 0);
    assert_int_equal(hs_zeroed_data_end_in_file(getpid(), "/none", first), 0);
    assert_int_equal(hs_zeroed_data_end_in_file(getpid(), "/dev/null", first), 0);
    assert_int_equal(hs_zeroed_data_end_in_file(-1, path, first), 0);
    hs_remote_window_close(&window);
    hs_address_space_deinit(&space);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_a_file_says_the_same_as_memory) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
