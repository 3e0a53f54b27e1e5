/* symbol_folders.c: how the folders of a variable are told apart, and which of them are indexed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/symbol_folders.h"

static void variables(void **state)
{
    (void)state;
    static const struct {
        const char *value; /* NULL: not set */
        size_t count;
        const char *paths[3];
    } cases[] = {
        { NULL, 0, { NULL } },
        { "", 0, { NULL } },
        { ":::", 0, { NULL } },
        { "/a", 1, { "/a" } },
        { "/a b:relative", 2, { "/a b", "relative" } },
        { ":/a::/b:/a:", 3, { "/a", "/b", "/a" } },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hs_symbol_folders folders = { 0 };
        unsetenv(HS_ENV_BINARY_PATH);
        if (cases[i].value) {
            setenv(HS_ENV_BINARY_PATH, cases[i].value, 1);
        }
        assert_int_equal(hs_symbol_folders_add(&folders, "/first/rest", 6), 0);
        assert_int_equal(hs_symbol_folders_add_variable(&folders, HS_ENV_BINARY_PATH), 0);
        assert_int_equal(folders.count, cases[i].count + 1);
        assert_string_equal(folders.paths[0], "/first");
        for (size_t k = 0; k < cases[i].count; k++) {
            assert_string_equal(folders.paths[k + 1], cases[i].paths[k]);
        }
        hs_symbol_folders_deinit(&folders);
        assert_int_equal(folders.count, 0);
    }
}

/* No folder is left out because there are many. */
static void many(void **state)
{
    (void)state;
    char value[4096] = "";
    struct hs_symbol_folders folders = { 0 };
    for (unsigned i = 0; i < 300; i++) {
        snprintf(value + strlen(value), sizeof(value) - strlen(value), "/f%u:", i);
    }
    setenv(HS_ENV_BINARY_PATH, value, 1);
    assert_int_equal(hs_symbol_folders_add_variable(&folders, HS_ENV_BINARY_PATH), 0);
    assert_int_equal(folders.count, 300);
    assert_string_equal(folders.paths[299], "/f299");
    hs_symbol_folders_deinit(&folders);
}

static void modes(void **state)
{
    (void)state;
    unsetenv("PERFETTO_SYMBOLIZER_MODE");
    assert_true(hs_symbol_folders_are_indexed());
    setenv("PERFETTO_SYMBOLIZER_MODE", "index", 1);
    assert_true(hs_symbol_folders_are_indexed());
    setenv("PERFETTO_SYMBOLIZER_MODE", "find", 1);
    assert_false(hs_symbol_folders_are_indexed());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables),
        cmocka_unit_test(many),
        cmocka_unit_test(modes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
