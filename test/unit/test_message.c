/*
 * Messages on standard error: the prefix of every line, --quiet, and that errno does not change;
 * and how a command answers --help and wrong usage.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/message.h"

/* Collects what is written to descriptor `fd` between start and stop. */
struct tap {
    int fd, kept, read_end;
    char text[16384];
};

static void tap_start(struct tap *tap, int fd)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    tap->fd = fd;
    tap->kept = dup(fd);
    tap->read_end = ends[0];
    assert_true(tap->kept >= 0);
    assert_int_equal(dup2(ends[1], fd), fd);
    close(ends[1]);
}

static void tap_stop(struct tap *tap)
{
    dup2(tap->kept, tap->fd);
    close(tap->kept);
    size_t used = 0;
    ssize_t got;
    while ((got = read(tap->read_end, tap->text + used, sizeof(tap->text) - 1 - used)) > 0) {
        used += (size_t)got;
    }
    close(tap->read_end);
    tap->text[used] = '\0';
}

static void test_every_line_has_the_prefix(void **state)
{
    (void)state;
    struct tap tap;
    tap_start(&tap, STDERR_FILENO);
    hs_message("one %d\ntwo\n\nthree", 1);
    hs_message("%s", "");
    tap_stop(&tap);
    assert_string_equal(tap.text, "heapscope: one 1\nheapscope: two\nheapscope: \n"
                                  "heapscope: three\n");
}

/* Text from a file must not move the cursor. */
static void test_quoted_text_is_made_harmless(void **state)
{
    (void)state;
    struct tap tap;
    tap_start(&tap, STDERR_FILENO);
    hs_message("a\x1b[2Jb\tc\xff \xc3\xa9\r");
    tap_stop(&tap);
    assert_string_equal(tap.text, "heapscope: a\xEF\xBF\xBD[2Jb\tc\xEF\xBF\xBD "
                                  "\xc3\xa9\xEF\xBF\xBD\n");
}

static void test_quiet_drops_what_is_good_to_know(void **state)
{
    (void)state;
    struct tap tap;
    tap_start(&tap, STDERR_FILENO);
    hs_message_info("shown");
    hs_message_set_quiet(true);
    hs_message_info("dropped");
    hs_message("an error");
    hs_message_set_quiet(false);
    tap_stop(&tap);
    assert_string_equal(tap.text, "heapscope: shown\nheapscope: an error\n");
}

static void test_errno_survives(void **state)
{
    (void)state;
    int kept = dup(STDERR_FILENO);
    close(STDERR_FILENO);
    errno = ENOENT;
    hs_message("this message is lost");
    int after = errno;
    dup2(kept, STDERR_FILENO);
    close(kept);
    assert_int_equal(after, ENOENT);
}

static void test_long_messages_are_cut(void **state)
{
    (void)state;
    static char long_line[6000], many_lines[4000];
    memset(long_line, 'x', sizeof(long_line) - 1);
    memset(many_lines, '\n', sizeof(many_lines) - 1);
    struct tap tap;
    tap_start(&tap, STDERR_FILENO);
    hs_message("%s", long_line);
    tap_stop(&tap);
    assert_int_equal(strlen(tap.text), strlen("heapscope: ") + 4095 + 1);
    tap_start(&tap, STDERR_FILENO);
    hs_message("%s", many_lines);
    tap_stop(&tap);
    size_t bytes = strlen(tap.text);
    assert_in_range(bytes, 8000, 8192);
    assert_string_equal(tap.text + bytes - strlen("heapscope: \n"), "heapscope: \n");
}

static int parse(const char *option, struct tap *tap, int fd)
{
    bool is_on = false;
    const struct hs_opt options[] = { HS_OPT_FLAG('x', "extra", &is_on, "more") };
    const struct hs_opts_spec spec = {
        .command = "try",
        .summary = "a command to test with",
        .operands_usage = "",
        .options = options,
        .option_count = 1,
    };
    char *argv[] = { (char *)(uintptr_t) "try", (char *)(uintptr_t)option, NULL };
    struct hs_opts_result result;
    tap_start(tap, fd);
    int status = hs_args_parse(&spec, 2, argv, &result);
    tap_stop(tap);
    return status;
}

static void test_commands_answer_alike(void **state)
{
    (void)state;
    struct tap tap;
    assert_int_equal(parse("--extra", &tap, STDERR_FILENO), HS_ARGS_GO_ON);
    assert_string_equal(tap.text, "");
    assert_int_equal(parse("--extar", &tap, STDERR_FILENO), HS_EXIT_STATUS_USAGE);
    assert_string_equal(tap.text, "heapscope: unknown option '--extar'; did you mean '--extra'?\n"
                                  "heapscope: Try 'heapscope try --help'.\n");
    assert_int_equal(parse("--help", &tap, STDOUT_FILENO), HS_EXIT_STATUS_DONE);
    assert_non_null(strstr(tap.text, "Usage: heapscope try [OPTIONS]\n"));
}

static void test_width_of_the_page(void **state)
{
    (void)state;
    static const struct {
        const char *env;
        unsigned columns;
    } cases[] = { { "120", 120 }, { "10", 40 }, { "0", 80 }, { "wide", 80 }, { "", 80 } };
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        setenv("COLUMNS", cases[i].env, 1);
        assert_int_equal(hs_args_columns(ends[1]), cases[i].columns);
    }
    unsetenv("COLUMNS");
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_line_has_the_prefix),
        cmocka_unit_test(test_quoted_text_is_made_harmless),
        cmocka_unit_test(test_quiet_drops_what_is_good_to_know),
        cmocka_unit_test(test_errno_survives),
        cmocka_unit_test(test_long_messages_are_cut),
        cmocka_unit_test(test_commands_answer_alike),
        cmocka_unit_test(test_width_of_the_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
