/* cache_folder.c: which variable decides, which folders are made, and when none is made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/cache_folder.h"

static char home[64];

static int set_up(void **state)
{
    (void)state;
    strcpy(home, "/tmp/hs-cache-folder-XXXXXX");
    unsetenv("HEAPSCOPE_CACHE");
    unsetenv("XDG_CACHE_HOME");
    return mkdtemp(home) && setenv("HOME", home, 1) == 0 ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)st;
    (void)type;
    (void)walk;
    return remove(path);
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(home, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* The folder is HOME followed by `below`, and it exists; NULL: there is none. */
static void assert_place(const char *below)
{
    char path[PATH_MAX] = "", wanted[PATH_MAX];
    struct stat st;
    assert_int_equal(hs_cache_folder_find(path, sizeof(path)), below != NULL);
    if (below) {
        snprintf(wanted, sizeof(wanted), "%s/%s", home, below);
        assert_string_equal(path, wanted);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
    }
}

static void set_below_home(const char *variable, const char *below)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", home, below);
    setenv(variable, path, 1);
}

static bool is_home_empty(void)
{
    return rmdir(home) == 0 && mkdir(home, 0700) == 0;
}

static void home_by_default(void **state)
{
    (void)state;
    assert_place(".cache/heapscope/symbols");
    assert_place(".cache/heapscope/symbols");
}

static void xdg_before_home(void **state)
{
    (void)state;
    set_below_home("XDG_CACHE_HOME", "xdg");
    assert_place("xdg/heapscope/symbols");
    setenv("XDG_CACHE_HOME", "relative", 1);
    assert_place(".cache/heapscope/symbols");
}

static void own_variable_before_all(void **state)
{
    (void)state;
    set_below_home("XDG_CACHE_HOME", "xdg");
    setenv("HEAPSCOPE_CACHE", "off", 1);
    assert_place(NULL);
    setenv("HEAPSCOPE_CACHE", "relative/folder", 1);
    assert_place(NULL);
    assert_true(is_home_empty());
    set_below_home("HEAPSCOPE_CACHE", "own");
    assert_place("own");
    setenv("HEAPSCOPE_CACHE", "", 1);
    assert_place("xdg/heapscope/symbols");
}

static void no_home(void **state)
{
    (void)state;
    static const char *const homes[] = { "",      "relative",  "/nonexistent/home",
                                         "/proc", "/dev/null", "/" };
    unsetenv("HOME");
    assert_place(NULL);
    /* Root may make a folder in `/`, which belongs to root. */
    for (size_t i = 0; i < sizeof(homes) / sizeof(homes[0]) - (geteuid() == 0); i++) {
        setenv("HOME", homes[i], 1);
        assert_place(NULL);
    }
    char path[4096];
    memset(path, 'x', sizeof(path));
    path[0] = '/';
    path[sizeof(path) - 1] = '\0';
    setenv("HEAPSCOPE_CACHE", path, 1);
    assert_place(NULL);
}

static void home_of_somebody_else(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip(); /* only root can give a folder to another user */
    }
    assert_int_equal(chown(home, 1, 1), 0);
    assert_place(NULL);
    set_below_home("XDG_CACHE_HOME", "xdg");
    assert_place(NULL);
    set_below_home("HEAPSCOPE_CACHE", "own");
    assert_place(NULL);
    assert_true(is_home_empty());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(home_by_default, set_up, tear_down),
        cmocka_unit_test_setup_teardown(xdg_before_home, set_up, tear_down),
        cmocka_unit_test_setup_teardown(own_variable_before_all, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_home, set_up, tear_down),
        cmocka_unit_test_setup_teardown(home_of_somebody_else, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
