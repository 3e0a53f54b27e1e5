/* Finding our own libraries: through the environment, next to the program, and not at all. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/selfpath.h"

static void test_environment_comes_first(void **state)
{
    (void)state;
    char folder[] = "/tmp/hs-selfpath-XXXXXX", file[PATH_MAX], link[PATH_MAX], path[PATH_MAX];
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof(file), "%s/libreal.so", folder);
    snprintf(link, sizeof(link), "%s/liblink.so", folder);
    FILE *made = fopen(file, "w");
    assert_non_null(made);
    fclose(made);
    assert_int_equal(symlink("libreal.so", link), 0);
    setenv("HEAPSCOPE_LIB", folder, 1);

    assert_int_equal(hs_selfpath_find_lib("libreal.so", path, sizeof(path)), 0);
    assert_string_equal(path, file);
    assert_int_equal(hs_selfpath_find_lib("liblink.so", path, sizeof(path)), 0);
    assert_string_equal(path, file);
    assert_int_equal(hs_selfpath_find_lib("libreal.so", path, 5), -ENAMETOOLONG);
    assert_int_equal(hs_selfpath_find_lib("libnone.so", path, sizeof(path)), -ENOENT);

    unsetenv("HEAPSCOPE_LIB");
    unlink(link);
    unlink(file);
    rmdir(folder);
}

static void test_absent_is_said(void **state)
{
    (void)state;
    char path[PATH_MAX] = "untouched";
    unsetenv("HEAPSCOPE_LIB");
    assert_int_equal(hs_selfpath_find_lib("libno-such-thing.so", path, sizeof(path)), -ENOENT);
    assert_string_equal(path, "untouched");
}

/* The lib/ next to the folder of this program, as in an installed tree. */
static void test_found_beside_the_program(void **state)
{
    (void)state;
    char exe[PATH_MAX], lib[PATH_MAX + 32], made[PATH_MAX + 64], path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    assert_true(len > 0);
    exe[len] = '\0';
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(exe, '/');
        assert_non_null(slash);
        *slash = '\0';
    }
    snprintf(lib, sizeof(lib), "%s/" HS_TEST_LIB, exe);
    snprintf(made, sizeof(made), "%s/libtest-selfpath.so", lib);
    bool is_new = mkdir(lib, 0777) == 0;
    FILE *file = fopen(made, "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(hs_selfpath_find_lib("libtest-selfpath.so", path, sizeof(path)), 0);
    assert_string_equal(path, made);
    unlink(made);
    if (is_new) {
        rmdir(lib);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_environment_comes_first),
        cmocka_unit_test(test_absent_is_said),
        cmocka_unit_test(test_found_beside_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
