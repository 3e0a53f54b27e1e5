/*
 * Assertions in a build that has them: a false one ends the process with a message, a true one does
 * nothing.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Whatever the build is. */
#undef NDEBUG
#ifndef HS_SLOW_CHECKS
#define HS_SLOW_CHECKS
#endif
#include "rt/check.h"

static void assert_false_thing(void)
{
    int apples = 3;
    HS_ASSERT(apples == 4);
}

static void assert_false_thing_slowly(void)
{
    int apples = 3;
    HS_ASSERT_SLOW(apples * 2 == 7);
}

static void assert_true_things(void)
{
    int apples = 3;
    errno = EXDEV;
    HS_ASSERT(apples == 3);
    HS_ASSERT_SLOW(apples != 4);
    if (errno != EXDEV) {
        _exit(1);
    }
}

/* Runs `run` in a child. Returns the child's status, and what it wrote to standard error. */
static int status_of(void (*run)(void), char *ret_text, size_t cap_bytes)
{
    int ends[2], status = 0;
    size_t bytes = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        run();
        _exit(0);
    }
    close(ends[1]);
    ssize_t got;
    while ((got = read(ends[0], ret_text + bytes, cap_bytes - 1 - bytes)) > 0) {
        bytes += (size_t)got;
    }
    ret_text[bytes] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void assert_ends(void (*run)(void), const char *condition)
{
    char text[16384];
    int status = status_of(run, text, sizeof(text));
    /* A sanitizer reports the signal, and exits with a status of its own. */
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_ptr_equal(strstr(text, "heapscope: "), text);
    assert_non_null(strstr(text, "test_check.c:"));
    assert_non_null(strstr(text, condition));
}

static void test_false(void **state)
{
    (void)state;
    assert_ends(assert_false_thing, ": does not hold: apples == 4\n");
    assert_ends(assert_false_thing_slowly, ": does not hold: apples * 2 == 7\n");
}

static void test_true(void **state)
{
    char text[16384];
    (void)state;
    assert_int_equal(status_of(assert_true_things, text, sizeof(text)), 0);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_false),
        cmocka_unit_test(test_true),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
