/*
 * Tests of collect/glibc_version: version strings of several builds, and this process's own C
 * library.
 */
#include <gnu/libc-version.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "collect/inspect/glibc_version.h"

static void test_sentences(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned major, minor; /* 0: none is found */
    } cases[] = {
        { "..GNU C Library (Debian GLIBC 2.36-9+deb12u13) stable release version 2.36.\n", 2, 36 },
        { "GNU C Library (Ubuntu GLIBC 2.31-0ubuntu9) stable release version 2.31.", 2, 31 },
        { "GNU C Library (GNU libc) development release version 2.40.9000.", 2, 40 },
        { "GNU C Library (one) GNU C Library (two) stable release version 2.4", 2, 4 },
        { "GNU C Library (GNU libc) stable release version 2", 0, 0 },
        { "GNU C Library (GNU libc) stable release version x.1", 0, 0 },
        { "GNU C Library (GNU libc) stable release version 99999.1", 0, 0 },
        { "stable release version 2.36.", 0, 0 },
        { "", 0, 0 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hs_glibc_version version = { 0 };
        bool is_found = hs_glibc_version_parse(cases[i].text, strlen(cases[i].text), &version);
        assert_int_equal(is_found, cases[i].major != 0);
        assert_int_equal(version.major, cases[i].major);
        assert_int_equal(version.minor, cases[i].minor);
    }
}

static int find_libc(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
    (void)bytes;
    if (strstr(info->dlpi_name, "/libc.so.6")) {
        *(const char **)ctx = info->dlpi_name;
    }
    return 0;
}

static void test_our_own(void **state)
{
    (void)state;
    const char *path = NULL;
    char text[32];
    struct hs_glibc_version version;
    dl_iterate_phdr(find_libc, &path);
    assert_non_null(path);
    assert_true(hs_glibc_version_of(path, &version));
    snprintf(text, sizeof(text), "%u.%u", version.major, version.minor);
    assert_string_equal(text, gnu_get_libc_version());
    assert_false(hs_glibc_version_of("/dev/null", &version));
    assert_false(hs_glibc_version_of("/no/such/file", &version));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_our_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
