/*
 * Tests of symbol/library_search: the result must equal what the loader has just done for this
 * process. test/e2e/test_doctor.py tries search paths of all kinds end to end.
 */
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "rt/text.h"
#include "symbol/library_search.h"

static const char *find(const struct hs_libraries *libraries, const char *name)
{
    for (size_t i = 1; i < libraries->count; i++) {
        if (strcmp(libraries->items[i].name, name) == 0) {
            return libraries->items[i].path;
        }
    }
    return NULL;
}

static int compare(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
    const struct hs_libraries *libraries = ctx;
    char ours[4096], theirs[4096];
    (void)bytes;
    if (info->dlpi_name[0] != '/' || strstr(info->dlpi_name, "libasan") ||
        strstr(info->dlpi_name, "libubsan")) {
        return 0;
    }
    const char *path = find(libraries, hs_text_base_name(info->dlpi_name));
    assert_non_null(path);
    assert_non_null(realpath(path, ours));
    assert_non_null(realpath(info->dlpi_name, theirs));
    assert_string_equal(ours, theirs);
    return 0;
}

static void test_as_the_loader_finds_them(void **state)
{
    (void)state;
    const struct hs_library_options options = { .library_path = getenv("LD_LIBRARY_PATH") };
    struct hs_libraries libraries;
    assert_int_equal(hs_library_search("/proc/self/exe", &options, &libraries), 0);
    dl_iterate_phdr(compare, &libraries);
    assert_true(libraries.count > 3);
    hs_libraries_deinit(&libraries);
}

static void test_without_a_cache_the_default_folders_do(void **state)
{
    (void)state;
    const struct hs_library_options options = { .cache_folder = "/no/such/folder",
                                                .library_path = "/no:/such:" };
    struct hs_libraries libraries;
    assert_int_equal(hs_library_search("/proc/self/exe", &options, &libraries), 0);
    assert_non_null(find(&libraries, "libc.so.6"));
    hs_libraries_deinit(&libraries);
}

static void test_what_is_no_program(void **state)
{
    (void)state;
    const struct hs_library_options options = { 0 };
    struct hs_libraries libraries;
    assert_true(hs_library_search("/no/such/file", &options, &libraries) < 0);
    assert_true(hs_library_search("/dev/null", &options, &libraries) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_the_loader_finds_them),
        cmocka_unit_test(test_without_a_cache_the_default_folders_do),
        cmocka_unit_test(test_what_is_no_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
