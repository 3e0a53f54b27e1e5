/*
 * check/judge: verdicts on profiles made by hand, and that its output is valid whatever the names
 * are.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "check/check_view.h"
#include "check/judge.h"
#include "fixture_profile.h"

#define INTERVAL 4096.0

/*
 * An amount of `samples` samples of small blocks: each stands for an interval, and for 41 blocks of
 * 100 bytes.
 */
static struct hs_amount of_samples(double samples)
{
    return fixture_sampled(samples * INTERVAL, samples * 41, samples * INTERVAL * INTERVAL,
                           samples * 1640);
}

/*
 * main -> open          exact 1000 in 1
 *      -> fill          100 samples
 *         -> operator new, in the C++ library   25 samples
 *      -> init, in the C++ library              4 samples
 */
static struct fixture make(void)
{
    struct fixture fx = fixture_new();
    uint32_t main_ = fixture_call(&fx, HS_NODE_NONE, "main");
    uint32_t open_ = fixture_call(&fx, main_, "open<&\"\x01\xFF>");
    uint32_t fill = fixture_call(&fx, main_, "fill");
    fixture_module(&fx, "/usr/lib/libstdc++.so.6", 0x900000);
    fx.line = 0;
    uint32_t new_ = fixture_call(&fx, fill, "operator new(unsigned long)");
    uint32_t init = fixture_call(&fx, main_, "init");
    fixture_process(&fx, 100, "prog");
    fx.p.processes[0].end_ns = 9000000000;
    fixture_dump(&fx, 5)->is_final = true;
    const struct hs_amount none = { 0 };
    fixture_sample(&fx, open_, fixture_exact(1000, 1), none, none);
    fixture_sample(&fx, fill, of_samples(100), none, none);
    fixture_sample(&fx, new_, of_samples(25), none, none);
    fixture_sample(&fx, init, of_samples(4), none, none);
    return fx;
}

struct judged {
    struct fixture fx;
    struct hs_limits limits;
    struct hs_suppressions suppressions;
    struct hs_check check;
};

static void judge(struct judged *j, const char *limits, const char *suppressions)
{
    struct hs_text_error error;
    *j = (struct judged){ .fx = make() };
    assert_int_equal(hs_limits_parse(&j->limits, "l", limits, strlen(limits), &error), 0);
    assert_int_equal(
        hs_suppressions_parse(&j->suppressions, "s", suppressions, strlen(suppressions), &error),
        0);
    hs_check_init(&j->check, "a.pftrace", &j->limits, &j->suppressions);
    assert_int_equal(hs_check_judge(&j->check, &j->fx.p, NULL), 0);
}

static void judged_deinit(struct judged *j)
{
    hs_check_deinit(&j->check);
    hs_limits_deinit(&j->limits);
    hs_suppressions_deinit(&j->suppressions);
    fixture_deinit(&j->fx);
}

/* When a pattern suppresses stacks, value and interval are those of the others alone. */
static void test_suppressed(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        double samples, exact; /* that are left */
    } rows[] = {
        { "leak:nothing", 129, 1000 },
        { "leak:^fill$", 4, 1000 },
        { "leak:^open", 129, 0 },
        /* Only the name of operator new is compared: the blocks of fill itself remain. */
        { "leak:libstdc++", 125, 1000 },
        { "leak:^operator new", 104, 1000 },
        { "leak:prog.c", 0, 0 },
        { "leak:/usr/bin/prog", 0, 0 },
        { "leak:^init$\nleak:^main$", 0, 0 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct judged j;
        judge(&j, "max-leak 0", rows[i].pattern);
        const struct hs_check_row *row = &j.check.rows[0];
        double sampled = rows[i].samples * INTERVAL;
        const struct hs_figure rest = { .value = sampled + rows[i].exact,
                                        .sampled = sampled,
                                        .var = sampled * INTERVAL,
                                        .weight = INTERVAL };
        struct hs_margin margin = hs_margin_of(&rest);
        assert_true(margin.above >= 1.96 * 1.96 * INTERVAL);
        assert_true(row->value == rest.value);
        assert_true(fabs(row->low - (rest.value - margin.below)) < 1e-3);
        assert_true(fabs(row->high - (rest.value + margin.above)) < 1e-3);
        judged_deinit(&j);
    }
}

static void test_first_that_fits(void **state)
{
    (void)state;
    struct judged j;
    judge(&j, "max-leak 0", "leak:main\nleak:fill\nleak:operator");
    /* The innermost frame that matches any pattern decides. */
    assert_true(j.suppressions.items[2].bytes == 25 * INTERVAL);
    assert_true(j.suppressions.items[1].bytes == 100 * INTERVAL);
    assert_true(j.suppressions.items[0].bytes == 4 * INTERVAL + 1000);
    assert_true(j.suppressions.items[0].count == 4 * 41 + 1);
    judged_deinit(&j);
}

static void test_leak_of_one_stack(void **state)
{
    (void)state;
    static const struct {
        const char *limits;
        enum hs_verdict verdict;
        bool is_kept;
        double value;
        uint32_t listed;
    } rows[] = {
        { "max-leak-stack 1M", HS_VERDICT_PASS, true, 100 * INTERVAL, 0 },
        { "max-leak-stack 400K", HS_VERDICT_UNCERTAIN, true, 100 * INTERVAL, 0 },
        { "max-leak-stack 400K\nstrict", HS_VERDICT_UNCERTAIN, false, 100 * INTERVAL, 1 },
        { "max-leak-stack 300K", HS_VERDICT_FAIL, false, 100 * INTERVAL, 1 },
        { "max-leak-stack 999", HS_VERDICT_FAIL, false, 100 * INTERVAL, 4 },
        { "max-leak-stack 7K", HS_VERDICT_FAIL, false, 100 * INTERVAL, 2 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct judged j;
        judge(&j, rows[i].limits, "");
        const struct hs_check_row *row = &j.check.rows[0];
        assert_string_equal(row->name, "max-leak-stack");
        assert_int_equal(row->verdict, rows[i].verdict);
        assert_int_equal(row->is_kept, rows[i].is_kept);
        assert_true(row->value == rows[i].value);
        assert_int_equal(row->stack_count, rows[i].listed);
        judged_deinit(&j);
    }
}

/* According to the samples, nothing was allocated. */
static void test_what_no_sample_shows(void **state)
{
    (void)state;
    static const double unseen = 1.96 * 1.96 * INTERVAL;
    struct judged j;
    judge(&j, "max-peak 1\nmax-allocs 1", "");
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(j.check.rows[i].verdict, HS_VERDICT_UNCERTAIN);
        double high = j.check.rows[i].high;
        assert_true(j.check.rows[i].value == 0 && high >= unseen - 1e-3 && high < unseen + 3);
    }
    assert_non_null(strstr(j.check.rows[0].text, "sampling may have missed up to 15.4 KiB"));
    assert_non_null(strstr(j.check.rows[1].text, "sampling may have missed up to 15,737"));
    judged_deinit(&j);
}

static void test_what_cannot_be_judged(void **state)
{
    (void)state;
    struct judged j;
    judge(&j, "max-leak 1G", "");
    hs_check_deinit(&j.check);
    j.fx.p.processes[0].end_ns = 0;
    hs_check_init(&j.check, "a", &j.limits, &j.suppressions);
    assert_int_equal(hs_check_judge(&j.check, &j.fx.p, NULL), 0);
    assert_int_equal(j.check.rows[0].verdict, HS_VERDICT_UNKNOWN);
    assert_false(j.check.is_kept);
    judged_deinit(&j);
}

static void test_what_is_written(void **state)
{
    (void)state;
    struct judged j;
    struct hs_buf text = HS_BUF_INIT, json_text = HS_BUF_INIT, xml = HS_BUF_INIT;
    struct hs_json json;
    struct hs_check_junit junit = { 0 };
    judge(&j, "max-leak 0", "leak:fill\nleak:init\nleak:x\nrace:y");
    hs_check_write_text(&j.check, &text);
    hs_check_write_suppressions(&j.suppressions, &text);
    assert_string_equal(
        hs_buf_text(&text),
        "FAILED  a.pftrace: leak: 1000 B +15.4 KiB, limit 0 B\n"
        "          1000 B +15.4 KiB in 1 block\n"
        "              open<&\"\xEF\xBF\xBD\xEF\xBF\xBD>  /src/prog.c:1\n"
        "              main  /src/prog.c:1\n"
        "note    a.pftrace: margins (±, or − below and + above the figure) are 95 % confidence "
        "intervals\n"
        "Suppressions used:\n"
        "  count      bytes template\n"
        "   5125     512000 fill\n"
        "    164      16384 init\n"
        "Suppression not used: s:3: x\n"
        "1 suppression of other sanitizers has no effect here\n");
    hs_json_init(&json, &json_text, 0);
    hs_check_json_begin(&json, &j.limits);
    hs_check_json_file(&json, &j.check);
    hs_check_json_end(&json, &j.suppressions, 1);
    assert_non_null(
        strstr(hs_buf_text(&json_text),
               "\"function\":\"open<&\\\"\\u0001\\ufffd>\",\"module\":\"/usr/bin/prog\""));
    hs_check_junit_file(&junit, &j.check);
    hs_check_junit_write(&junit, &xml);
    assert_non_null(strstr(hs_buf_text(&xml),
                           "<failure message=\"leak: 1000 B +15.4 KiB, limit 0 B\" "
                           "type=\"max-leak\">a.pftrace: leak: 1000 B +15"));
    assert_non_null(
        strstr(hs_buf_text(&xml), "\n      open&lt;&amp;&quot;\xEF\xBF\xBD\xEF\xBF\xBD&gt;  /src"));
    hs_check_junit_deinit(&junit);
    hs_buf_deinit(&text);
    hs_buf_deinit(&json_text);
    hs_buf_deinit(&xml);
    judged_deinit(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_suppressed),
        cmocka_unit_test(test_first_that_fits),
        cmocka_unit_test(test_leak_of_one_stack),
        cmocka_unit_test(test_what_no_sample_shows),
        cmocka_unit_test(test_what_cannot_be_judged),
        cmocka_unit_test(test_what_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
