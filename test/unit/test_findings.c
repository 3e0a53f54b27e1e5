/* Tests of cli/findings: aligned columns, wrapped text, JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/doctor/findings.h"
#include "util/buf.h"

static struct hs_findings make(void)
{
    struct hs_findings findings = { 0 };
    hs_findings_add(&findings, HS_FINDING_OK, "kernel", NULL, "Linux %d.1", 6);
    hs_findings_add(&findings, HS_FINDING_PROBLEM, "unwind tables", "build it anew, with -x",
                    "none in %s, so stacks end there", "lib\033.so");
    hs_findings_add(&findings, HS_FINDING_NOTE, "names", "", "few");
    return findings;
}

static void assert_text(unsigned columns, bool has_colour, const char *expected)
{
    struct hs_findings findings = make();
    struct hs_buf out = HS_BUF_INIT;
    hs_findings_write_text(&findings, columns, has_colour, &out);
    assert_string_equal(hs_buf_text(&out), expected);
    hs_buf_deinit(&out);
    hs_findings_deinit(&findings);
}

static void test_text(void **state)
{
    (void)state;
    assert_text(0, false,
                "ok       kernel         Linux 6.1\n"
                "problem  unwind tables  none in lib\xEF\xBF\xBD.so, so stacks end there\n"
                "                        remedy: build it anew, with -x\n"
                "note     names          few\n");
    assert_text(50, false,
                "ok       kernel         Linux 6.1\n"
                "problem  unwind tables  none in lib\xEF\xBF\xBD.so, so stacks\n"
                "                        end there\n"
                "                        remedy: build it anew, with\n"
                "                                -x\n"
                "note     names          few\n");
}

static void test_colour(void **state)
{
    (void)state;
    struct hs_findings findings = make();
    struct hs_buf out = HS_BUF_INIT;
    hs_findings_write_text(&findings, 0, true, &out);
    assert_non_null(strstr(hs_buf_text(&out), "\033["));
    assert_null(strstr(hs_buf_text(&out), "lib\033"));
    hs_buf_deinit(&out);
    hs_findings_deinit(&findings);
}

static void test_json(void **state)
{
    (void)state;
    struct hs_findings findings = { 0 };
    struct hs_buf out = HS_BUF_INIT;
    hs_findings_add(&findings, HS_FINDING_NOTE, "names", "\"do\"", "few");
    hs_findings_add(&findings, HS_FINDING_OK, "kernel", NULL, "6");
    hs_findings_write_json(&findings, &out);
    assert_string_equal(hs_buf_text(&out), "[\n"
                                           "  {\n"
                                           "    \"check\": \"names\",\n"
                                           "    \"state\": \"note\",\n"
                                           "    \"detail\": \"few\",\n"
                                           "    \"remedy\": \"\\\"do\\\"\"\n"
                                           "  },\n"
                                           "  {\n"
                                           "    \"check\": \"kernel\",\n"
                                           "    \"state\": \"ok\",\n"
                                           "    \"detail\": \"6\",\n"
                                           "    \"remedy\": null\n"
                                           "  }\n"
                                           "]\n");
    hs_buf_deinit(&out);
    hs_findings_deinit(&findings);
}

static void test_counts(void **state)
{
    (void)state;
    struct hs_findings findings = make();
    assert_int_equal(hs_findings_count(&findings, HS_FINDING_PROBLEM), 1);
    assert_int_equal(hs_findings_count(&findings, HS_FINDING_OK), 1);
    hs_findings_deinit(&findings);
    assert_int_equal(hs_findings_count(&findings, HS_FINDING_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_colour),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
