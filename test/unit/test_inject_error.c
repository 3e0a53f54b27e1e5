/* Every failure has a sentence, and an invalid request is not tried. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "inject/inject.h"

static void test_words(void **state)
{
    (void)state;
    for (int error = 0; error < HS_INJECT_ERROR_N; error++) {
        const char *words = hs_inject_error_words(error);
        assert_non_null(words);
        assert_true(strlen(words) > 10);
        assert_true(words[strlen(words) - 1] != '.');
        for (int other = 0; other < error; other++) {
            assert_string_not_equal(words, hs_inject_error_words(other));
        }
    }
    assert_non_null(hs_inject_error_words(-1));
    assert_non_null(hs_inject_error_words(HS_INJECT_ERROR_N));
}

static void test_senseless(void **state)
{
    struct hs_inject_result result;
    char arg[8] = "";
    (void)state;
    struct hs_inject_request request = { .pid = getpid(),
                                         .symbol = "nothing",
                                         .arg = arg,
                                         .arg_bytes = HS_INJECT_ARG_BYTES_MAX + 1,
                                         .fetch_fd_off = -1 };
    assert_int_equal(hs_inject_call(&request, &result), HS_INJECT_OURS);
    assert_int_equal(result.fd, -1);
    request.arg_bytes = sizeof(arg);
    request.fetch_fd_off = 5; /* an int32_t does not fit there */
    assert_int_equal(hs_inject_call(&request, &result), HS_INJECT_OURS);
    request.fetch_fd_off = -1;
    request.pid = 0;
    assert_int_equal(hs_inject_call(&request, &result), HS_INJECT_NO_PROCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_senseless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
