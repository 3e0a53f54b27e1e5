/* Command lines: every way to write an option, and the message of every mistake. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rt/base.h"
#include "util/opts.h"

#define ARGS_MAX 16

static const char *const view_names[] = { "space", "objects", "peak" };

/* One command with an option of each kind, parsed into plain fields. */
struct fixture {
    bool is_quiet, is_following;
    const char *out;
    struct hs_opt_list envs;
    uint64_t interval_bytes, duration_ns, top_count;
    unsigned view;
    struct hs_opts_result result;
    char *argv[ARGS_MAX];
    char help[4096];
};

static struct hs_opts_spec spec_of(struct fixture *f, struct hs_opt *options)
{
    const struct hs_opt table[] = {
        HS_OPT_FLAG('q', "quiet", &f->is_quiet, "say nothing"),
        HS_OPT_FLAG_OFF(0, "no-follow", &f->is_following, "leave children alone"),
        HS_OPT_STRING('o', "output", "FILE", &f->out, "where it goes"),
        HS_OPT_LIST('e', "env", "NAME", &f->envs, "may be repeated"),
        HS_OPT_SIZE('i', "interval", "BYTES", &f->interval_bytes, 1, UINT32_MAX, "mean bytes"),
        HS_OPT_DURATION('d', "duration", "TIME", &f->duration_ns, 1000000, UINT64_MAX, "how long"),
        HS_OPT_NUMBER('n', "top", "N", &f->top_count, 1, 1000, "lines\nof the table"),
        HS_OPT_CHOICE(0, "view", "NAME", &f->view, view_names, "which figures"),
        HS_OPT_STRING(0, "output-file", "FILE", &f->out, NULL),
    };
    memcpy(options, table, sizeof(table));
    return (struct hs_opts_spec){
        .command = "try",
        .summary = "a command to test with",
        .operands_usage = "FILE",
        .options = options,
        .option_count = HS_COUNT_OF(table),
        .operands_max = HS_OPERANDS_ANY,
        .footer = "See also: the manual.",
    };
}

static int parse_spec(struct fixture *f, struct hs_opts_spec *spec, const char *const *args)
{
    int argc = 0;
    f->argv[argc++] = (char *)(uintptr_t) "try";
    while (*args) {
        f->argv[argc++] = (char *)(uintptr_t)*args++;
    }
    f->argv[argc] = NULL;
    return hs_opts_parse(spec, argc, f->argv, &f->result);
}

static int parse(struct fixture *f, const char *const *args)
{
    struct hs_opt options[16];
    struct hs_opts_spec spec = spec_of(f, options);
    return parse_spec(f, &spec, args);
}

#define PARSE(f, ...) parse((f), (const char *const[]){ __VA_ARGS__, NULL })

static void expect_error(const char *words, const char *const *args)
{
    struct fixture f = { .interval_bytes = 7 };
    assert_int_equal(parse(&f, args), -EINVAL);
    assert_string_equal(f.result.error, words);
    hs_opt_list_deinit(&f.envs);
}

#define EXPECT_ERROR(words, ...) expect_error((words), (const char *const[]){ __VA_ARGS__, NULL })

static void test_reads_every_form(void **state)
{
    (void)state;
    struct fixture f = { .is_following = true };
    assert_int_equal(PARSE(&f, "-qi", "64K", "--output=a", "--duration", "1.5s", "-n3", "--view",
                           "peak", "--no-follow", "-e", "A", "--env=B", "-eC"),
                     0);
    assert_true(f.is_quiet);
    assert_false(f.is_following);
    assert_string_equal(f.out, "a");
    assert_int_equal(f.interval_bytes, 65536);
    assert_int_equal(f.duration_ns, 1500000000);
    assert_int_equal(f.top_count, 3);
    assert_int_equal(f.view, 2);
    assert_int_equal(f.envs.count, 3);
    assert_string_equal(f.envs.items[0], "A");
    assert_string_equal(f.envs.items[2], "C");
    assert_int_equal(f.result.operand_count, 0);
    hs_opt_list_deinit(&f.envs);
    assert_int_equal(f.envs.count, 0);
}

static void test_last_value_wins(void **state)
{
    (void)state;
    struct fixture f = { 0 };
    assert_int_equal(PARSE(&f, "-i1", "-i2", "--output-file", "x", "-o", "y"), 0);
    assert_int_equal(f.interval_bytes, 2);
    assert_string_equal(f.out, "y");
}

static void test_gathers_operands(void **state)
{
    (void)state;
    struct fixture f = { 0 };
    assert_int_equal(PARSE(&f, "a", "-o", "out", "b", "-", "-q", "--", "-c", "--"), 0);
    assert_int_equal(f.result.operand_count, 5);
    assert_string_equal(f.result.operands[0], "a");
    assert_string_equal(f.result.operands[1], "b");
    assert_string_equal(f.result.operands[2], "-");
    assert_string_equal(f.result.operands[3], "-c");
    assert_string_equal(f.result.operands[4], "--");
    assert_null(f.result.operands[5]);
    assert_true(f.is_quiet);
    assert_string_equal(f.out, "out");
}

static void test_operand_may_end_options(void **state)
{
    (void)state;
    struct fixture f = { 0 };
    struct hs_opt options[16];
    struct hs_opts_spec spec = spec_of(&f, options);
    spec.is_ended_by_operand = true;
    assert_int_equal(parse_spec(&f, &spec, (const char *const[]){ "-q", "ls", "-l", "-o", NULL }),
                     0);
    assert_int_equal(f.result.operand_count, 3);
    assert_string_equal(f.result.operands[1], "-l");
    assert_null(f.out);
    /* A "--" that belongs to the program stays with it. */
    assert_int_equal(parse_spec(&f, &spec, (const char *const[]){ "--", "ls", "--", "x", NULL }),
                     0);
    assert_int_equal(f.result.operand_count, 3);
    assert_string_equal(f.result.operands[1], "--");
}

static void test_counts_operands(void **state)
{
    (void)state;
    struct fixture f = { 0 };
    struct hs_opt options[16];
    struct hs_opts_spec spec = spec_of(&f, options);
    spec.operands_min = spec.operands_max = 1;
    spec.operand_missing = "no file was named";
    assert_int_equal(parse_spec(&f, &spec, (const char *const[]){ "-q", NULL }), -EINVAL);
    assert_string_equal(f.result.error, "no file was named");
    assert_int_equal(parse_spec(&f, &spec, (const char *const[]){ "a", "b", NULL }), -EINVAL);
    assert_string_equal(f.result.error, "one argument too many: 'b'");
    assert_int_equal(parse_spec(&f, &spec, (const char *const[]){ "a", NULL }), 0);
}

static void test_names_each_mistake(void **state)
{
    (void)state;
    EXPECT_ERROR("unknown option '--intervall'; did you mean '--interval'?", "--intervall=3");
    EXPECT_ERROR("unknown option '--zzz'", "--zzz");
    EXPECT_ERROR("unknown option '-z'", "-qz");
    EXPECT_ERROR("--interval needs a value: --interval BYTES", "--interval");
    EXPECT_ERROR("-i needs a value: -i BYTES", "-i");
    EXPECT_ERROR("-i: '0' is too small: at least 1", "-i", "0");
    EXPECT_ERROR("--interval: 'many' is not a size like 4096, 64K or 1.5M", "--interval=many");
    EXPECT_ERROR("--interval: '' is not a size like 4096, 64K or 1.5M", "--interval=");
    EXPECT_ERROR("--interval: '-1' is not a size like 4096, 64K or 1.5M", "--interval", "-1");
    EXPECT_ERROR("--interval: '5G' is too large: at most 4294967295", "--interval", "5G");
    EXPECT_ERROR("-d: '10' is not a duration like 500ms, 10s, 5m or 1h", "-d10");
    EXPECT_ERROR("-d: '1us' is too small: at least 1ms", "-d1us");
    EXPECT_ERROR("--top: '2K' is not a whole number", "--top", "2K");
    EXPECT_ERROR("--view: 'spaec' is not one of: space, objects, peak", "--view=spaec");
    EXPECT_ERROR("--quiet takes no value", "--quiet=yes");
    EXPECT_ERROR("--output: the FILE is empty", "--output=");
}

static void test_mistake_changes_nothing(void **state)
{
    (void)state;
    struct fixture f = { .interval_bytes = 7, .view = 1 };
    assert_int_equal(PARSE(&f, "-i0"), -EINVAL);
    assert_int_equal(f.interval_bytes, 7);
    assert_int_equal(PARSE(&f, "--view", "none"), -EINVAL);
    assert_int_equal(f.view, 1);
}

static void test_help_stops_reading(void **state)
{
    (void)state;
    struct fixture f = { 0 };
    assert_int_equal(PARSE(&f, "-q", "--help", "--nonsense"), 0);
    assert_true(f.result.is_help_wanted);
    assert_int_equal(PARSE(&f, "-qh"), 0);
    assert_true(f.result.is_help_wanted);
}

static void test_abbreviations(void **state)
{
    (void)state;
    struct hs_opt options[16];
    struct fixture f = { .is_following = true };
    struct hs_opts_spec spec = spec_of(&f, options);
    const char *const args[] = { "--int=3", "--qu", "--output", "b", "--dur", "1s", NULL };
    assert_int_equal(parse_spec(&f, &spec, args), -EINVAL);
    spec.is_abbreviated = true;
    assert_int_equal(parse_spec(&f, &spec, args), 0);
    assert_int_equal(f.interval_bytes, 3);
    assert_true(f.is_quiet);
    assert_string_equal(f.out, "b");
    const char *const two[] = { "--outp=x", NULL }; /* --output, --output-file */
    assert_int_equal(parse_spec(&f, &spec, two), -EINVAL);
    assert_string_equal(f.result.error, "unknown option '--outp'; did you mean '--output'?");
    /* Values are not operands, nor are the arguments behind "--". */
    char *const words[] = { (char[]){ "try" },  (char[]){ "-q" },       (char[]){ "-i" },
                            (char[]){ "9" },    (char[]){ "-o7" },      (char[]){ "--view=peak" },
                            (char[]){ "--en" }, (char[]){ "variable" }, (char[]){ "operand" } };
    assert_int_equal(hs_opts_find_operand(&spec, 9, words), 8);
    assert_int_equal(hs_opts_find_operand(&spec, 8, words), 0);
    char *const behind[] = { (char[]){ "try" }, (char[]){ "--" }, (char[]){ "operand" } };
    assert_int_equal(hs_opts_find_operand(&spec, 3, behind), 0);
}

static void test_help_lists_options(void **state)
{
    (void)state;
    struct fixture f = { 0 };
    struct hs_opt options[16];
    struct hs_opts_spec spec = spec_of(&f, options);
    options[0].help = "a text that is long enough to need more than one line of this narrow page";
    FILE *out = fmemopen(f.help, sizeof(f.help), "w");
    assert_non_null(out);
    hs_opts_write_help(&spec, out, 60);
    fclose(out);
    assert_non_null(strstr(f.help, "Usage: heapscope try [OPTIONS] FILE\n"));
    assert_non_null(strstr(f.help, "  -q, --quiet           a text that is long enough to need\n"
                                   "                        more than one line of this narrow\n"
                                   "                        page\n"));
    assert_non_null(strstr(f.help, "  -n, --top N           lines of the table\n"));
    assert_non_null(strstr(f.help, "  -h, --help            show this text\n"));
    assert_non_null(strstr(f.help, "\nSee also: the manual.\n"));
    assert_null(strstr(f.help, "output-file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_every_form),
        cmocka_unit_test(test_last_value_wins),
        cmocka_unit_test(test_gathers_operands),
        cmocka_unit_test(test_operand_may_end_options),
        cmocka_unit_test(test_counts_operands),
        cmocka_unit_test(test_names_each_mistake),
        cmocka_unit_test(test_mistake_changes_nothing),
        cmocka_unit_test(test_help_stops_reading),
        cmocka_unit_test(test_help_lists_options),
        cmocka_unit_test(test_abbreviations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
