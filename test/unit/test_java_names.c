/*
 * Original names of obfuscated methods: chains by lines, several candidates, packages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "deobfuscate/java_names.h"
#include "rt/base.h"

/* Names and lines of the answer: "A:4 < B". */
static void expect(const struct hs_java_names *names, const struct hs_java_frame *frame,
                   const char *expected)
{
    struct hs_java_answer answer;
    struct hs_buf text = HS_BUF_INIT;
    assert_int_equal(hs_java_names_find(names, frame, &answer), 0);
    for (uint32_t i = 0; i < answer.count; i++) {
        hs_buf_printf(&text, "%s%s", i > 0 ? " < " : "", answer.lines[i].name);
        if (answer.lines[i].has_line) {
            hs_buf_printf(&text, ":%u", answer.lines[i].line);
        }
    }
    assert_string_equal(hs_buf_text(&text), expected);
    hs_buf_deinit(&text);
    hs_java_answer_deinit(&answer);
}

static void add(struct hs_java_names *names, const char *package, const char *original,
                const uint32_t *lines)
{
    struct hs_java_method method = { .obfuscated = "b", .original = original };
    if (lines) {
        method.has_lines = method.has_source = method.has_source_last = true;
        method.line_first = lines[0];
        method.line_last = lines[1];
        method.source_first = lines[2];
        method.source_last = lines[3];
    }
    assert_int_equal(hs_java_names_add(names, package, "x.A", "org.Real", &method), 0);
}

static void a_chain_by_its_line(void **state)
{
    (void)state;
    struct hs_java_names names = { 0 };
    add(&names, "", "org.Other.inner", (const uint32_t[]){ 1, 9, 100, 108 });
    add(&names, "", "outer", (const uint32_t[]){ 1, 9, 50, 50 });
    add(&names, "", "elsewhere", (const uint32_t[]){ 10, 20, 1, 11 });
    struct hs_java_frame frame = { .name = "x.A.b", .path = "jit", .has_line = true, .line = 5 };
    expect(&names, &frame, "org.Other.inner:104 < org.Real.outer:50");
    frame.has_perfetto_lines = true;
    expect(&names, &frame, "org.Other.inner:104 < org.Real.outer:54");
    frame.line = 20;
    expect(&names, &frame, "org.Real.elsewhere:11");
    frame.line = 21;
    expect(&names, &frame, "org.Other.inner | org.Real.outer | org.Real.elsewhere");
    frame.has_line = false;
    expect(&names, &frame, "org.Other.inner | org.Real.outer | org.Real.elsewhere");
    hs_java_names_deinit(&names);
}

static void names_of_frames(void **state)
{
    (void)state;
    static const struct {
        const char *name, *expected;
    } cases[] = {
        { "x.A.b", "org.Real.load | org.Real.save" },
        { "int x.A.b(byte[], java.lang.String)", "org.Real.load | org.Real.save" },
        { "x.A.b()", "org.Real.load | org.Real.save" },
        { "x.A.c", "" },
        { "x.A", "" },
        { "b", "" },
        { "", "" },
        { "()", "" },
        { "operator()(x.A.b)", "" },
    };
    struct hs_java_names names = { 0 };
    add(&names, "", "load", NULL);
    add(&names, "", "save", NULL);
    add(&names, "", "load", NULL);
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        const struct hs_java_frame frame = { .name = cases[i].name, .path = "" };
        expect(&names, &frame, cases[i].expected);
    }
    hs_java_names_deinit(&names);
}

static void packages(void **state)
{
    (void)state;
    static const char *const users[] = { "org.user" };
    static const struct {
        const char *path;
        size_t package_count;
        const char *expected;
    } cases[] = {
        { "/data/app/org.pkg-1/base.odex", 0, "org.Real.of_pkg" },
        { "/data/app/~~x==/org.pkg-2==/base.odex", 1, "org.Real.of_pkg" },
        { "/data/app/org.user-1/base.odex", 0, "org.Real.of_user" },
        { "/data/app/org.none-1/base.odex", 1, "org.Real.of_all" },
        { "jit", 0, "org.Real.of_all" },
        { "jit", 1, "org.Real.of_user" },
        { "/memfd:jit", 0, "org.Real.of_user" }, /* the last one */
    };
    struct hs_java_names names = { 0 };
    add(&names, "org.pkg", "of_pkg", NULL);
    add(&names, "", "of_all", NULL);
    add(&names, "org.user", "of_user", NULL);
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        const struct hs_java_frame frame = { .name = "x.A.b",
                                             .path = cases[i].path,
                                             .packages = users,
                                             .package_count = cases[i].package_count };
        expect(&names, &frame, cases[i].expected);
    }
    hs_java_names_deinit(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_by_its_line),
        cmocka_unit_test(names_of_frames),
        cmocka_unit_test(packages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
