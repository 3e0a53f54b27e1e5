/* Our own symbol lookup finds the same symbols as the loader. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/host/linkmap.h"

static void test_as_dlsym(void **state)
{
    (void)state;
    /* Functions and variables of libc and ld.so that the executable does not define itself. */
    const char *names[] = {
        "malloc", "free",           "posix_memalign",  "aligned_alloc",         "qsort",
        "dlsym",  "pthread_create", "_dl_find_object", "__libc_single_threaded"
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        void *want = dlsym(RTLD_DEFAULT, names[i]);
        assert_non_null(want);
        assert_ptr_equal(hs_linkmap_search(NULL, NULL, names[i], NULL), want);
    }
}

static void test_absent(void **state)
{
    (void)state;
    const struct link_map *map = hs_linkmap_first();
    assert_null(hs_linkmap_search(NULL, NULL, "no_such_symbol_anywhere", NULL));
    assert_null(hs_linkmap_search(NULL, NULL, "", NULL));
    const struct link_map *last = map;
    while (last->l_next) {
        last = last->l_next;
    }
    assert_null(hs_linkmap_search(last, NULL, "malloc", NULL));
}

/*
 * "After" and "except" skip the objects that they name. The symbol is one that no sanitizer defines
 * before libc.
 */
static void test_where(void **state)
{
    (void)state;
    const struct link_map *libc;
    void *va = hs_linkmap_search(NULL, NULL, "getpid", &libc);
    assert_non_null(va);
    assert_non_null(strstr(libc->l_name, "libc.so"));
    assert_ptr_not_equal(hs_linkmap_search(libc, NULL, "getpid", NULL), va);
    assert_ptr_not_equal(hs_linkmap_search(NULL, libc, "getpid", NULL), va);
    assert_ptr_equal(hs_linkmap_symbol(libc, "getpid"), va);
}

static void test_self(void **state)
{
    (void)state;
    /* The test is the executable, which comes first. */
    assert_ptr_equal(hs_linkmap_self(), hs_linkmap_first());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_dlsym),
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_where),
        cmocka_unit_test(test_self),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
