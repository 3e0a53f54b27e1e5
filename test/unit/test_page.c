/*
 * page.h: the documents of small profiles, to the letter; names that would end an element; several
 * files; which dumps are chosen; base64.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixture_profile.h"
#include "page/page.h"
#include "page/page_base64.h"
#include "page/page_column.h"
#include "page/page_parts.h"
#include "util/buf.h"

#define TEMPLATE                                                                                   \
    "<!doctype "                                                                                   \
    "html><title>heapscope</title><style>a{}</style>\n<!--heapscope-data-->\n<script>x()"          \
    "</script>"

static const struct hs_report_options last = {
    .view = HS_VIEW_AUTO,
    .select = { .snapshot = HS_SELECT_LAST },
    .file = "prog.pftrace",
};

/* main -> load -> parse and main -> save, sampled at 4096; parse has two threads. */
static struct fixture sample_profile(const char *last_name)
{
    struct fixture fx = fixture_new();
    uint32_t main_ = fixture_call(&fx, HS_NODE_NONE, "main");
    uint32_t load = fixture_call(&fx, main_, "load");
    uint32_t parse = fixture_call(&fx, load, "parse(int)");
    uint32_t save = fixture_call(&fx, main_, last_name);
    struct hs_amount none = fixture_exact(0, 0);
    fixture_process(&fx, 5, "prog");
    fixture_dump(&fx, 3)->has_samples = true;
    fixture_sample(&fx, parse, fixture_sampled(8192, 2.5, 33554432, 3.14159265),
                   fixture_sampled(12288, 4, 50331648, 5), fixture_sampled(8192, 2.5, 33554432, 3));
    fixture_sample(&fx, save, fixture_exact(70000, 1), fixture_exact(70000, 1), none);
    fixture_part(&fx, HS_PARTS_LIVE, parse, "main", 5, fixture_sampled(4096, 1, 16777216, 1));
    fixture_part(&fx, HS_PARTS_LIVE, parse, "worker", 6, fixture_sampled(4096, 1.5, 16777216, 2));
    fixture_part(&fx, HS_PARTS_LIVE, save, "main", 5, fixture_exact(70000, 1));
    return fx;
}

static struct hs_page *page_of(const struct hs_page_file *files, uint32_t count)
{
    struct hs_page *page = NULL;
    assert_int_equal(hs_page_new(files, count, &page), 0);
    return page;
}

/* The document with this name. The caller frees it. */
static char *document_of(const struct hs_page *page, const char *wanted)
{
    char name[HS_PAGE_DOCUMENT_BYTES];
    struct hs_buf buf = HS_BUF_INIT;
    bool is_found = false;
    for (uint32_t i = 0; i < hs_page_document_count(page) && !is_found; i++) {
        is_found = strcmp(hs_page_document_name(page, i, name), wanted) == 0;
        if (is_found) {
            assert_int_equal(hs_page_write_document(page, i, &buf), 0);
        }
    }
    assert_true(is_found);
    char *text = strdup(hs_buf_text(&buf));
    hs_buf_deinit(&buf);
    return text;
}

static void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part)) {
        fail_msg("%s\nis not in\n%s", part, text);
    }
}

static void rows(void **state)
{
    (void)state;
    struct fixture fx = sample_profile("save");
    const struct hs_page_file file = { &fx.p, &last };
    struct hs_page *page = page_of(&file, 1);
    char *text = document_of(page, "rows-0");
    assert_string_equal(
        text,
        "{\"count\":2,\"node\":[2,1],\"heap\":0,\"headline\":0,\"bytes_var_unit\":16777216,"
        "\"live\":{\"bytes\":[8192,70000],\"count\":[2.5,1],\"exact_bytes\":[0,-1],"
        "\"exact_count\":[0,-1],\"bytes_var\":[2,0],\"count_var\":[3.142,0]},"
        "\"alloc\":{\"base\":\"live\",\"bytes\":[4096,0],\"count\":[1.5,0],\"exact_bytes\":[0,-1],"
        "\"exact_count\":[0,-1],\"bytes_var\":[1,0],\"count_var\":[1.858,0]},"
        "\"peak\":{\"base\":\"live\",\"bytes\":[0,-70000],\"count\":[0,-1],\"exact_bytes\":0,"
        "\"exact_count\":0,\"bytes_var\":0,\"count_var\":[-0.142,0]},"
        "\"inherited_bytes_var\":null,\"inherited_count_var\":null,"
        "\"parts\":{\"live\":{\"length\":3,\"row\":[0,0,1],\"thread\":[0,1,0],\"type\":null,"
        "\"scope\":-1,\"age\":0,\"bytes\":[4096,0,0],\"count\":[1,0,0]},"
        "\"peak\":null,\"alloc\":null}}\n");
    free(text);
    hs_page_free(page);
    fixture_deinit(&fx);
}

static void profile(void **state)
{
    (void)state;
    struct fixture fx = sample_profile("save");
    const struct hs_page_file file = { &fx.p, &last };
    struct hs_page *page = page_of(&file, 1);
    char *text = document_of(page, "profile");
    assert_contains(text, "\"tree\":{\"count\":4,\"up\":[0,1,1,3],\"frame\":[0,1,2,3]}");
    assert_contains(text, "\"modules\":{\"count\":1,");
    assert_contains(text, "\"threads\":{\"count\":2,\"process\":0,\"tid\":[5,6],");
    assert_contains(text, "\"selected\":[0]");
    assert_contains(text, "\"rows\":\"rows-0\",\"row_count\":2,\"ledger\":null,"
                          "\"has_threads\":true,\"has_types\":false,");
    assert_contains(text, "\"parse(int)\",\"parse\"");
    assert_contains(text, "\"left_out\":null");
    free(text);
    text = document_of(page, "report-0");
    assert_contains(text, "\"answer\": \"76.4 KiB ");
    free(text);
    hs_page_free(page);
    fixture_deinit(&fx);
}

/* A name that is markup ends neither the title nor an element. */
static void hostile_names(void **state)
{
    (void)state;
    static const char hostile[] = "</script></title><script>alert(1)</script>";
    struct fixture fx = sample_profile(hostile);
    fx.p.processes[0].name = fx.p.processes[0].cmdline = fixture_string(&fx, "<script>&alert(2)");
    const struct hs_page_file file = { &fx.p, &last };
    struct hs_page *page = page_of(&file, 1);
    struct hs_buf buf = HS_BUF_INIT;
    assert_int_equal(hs_page_write_html(page, TEMPLATE, &buf), 0);
    const char *html = hs_buf_text(&buf);
    assert_contains(html,
                    "<title>&lt;script&gt;&amp;alert(2) - heapscope</title><style>a{}</style>\n");
    assert_contains(html,
                    "\n<script type=\"application/octet-stream\" id=\"heapscope-profile\">H4sI");
    assert_contains(html, "id=\"heapscope-rows-0\">H4sI");
    assert_contains(html, "</script>\n<script>x()</script>");
    assert_null(strstr(html, "alert(1)"));
    assert_null(strstr(html, "heapscope-data"));
    hs_buf_clear(&buf);
    assert_int_equal(hs_page_write_html(page, "<html></html>", &buf), -EINVAL);
    hs_buf_deinit(&buf);
    hs_page_free(page);
    fixture_deinit(&fx);
}

/* Functions of two files are one table; a copy by an optimiser is the same in a comparison. */
static void two_files(void **state)
{
    (void)state;
    struct fixture a = sample_profile("save"), b = sample_profile("save.isra.0");
    const struct hs_page_file files[] = { { &a.p, &last }, { &b.p, &last } };
    struct hs_page *page = page_of(files, 2);
    char *text = document_of(page, "profile");
    assert_contains(text, "\"functions\":{\"count\":5,");
    assert_contains(text, "\"same\":[0,1,2,3,3]}");
    assert_contains(text, "\"tree\":{\"count\":5,\"up\":[0,1,1,3,4],\"frame\":[0,1,2,3,4]}");
    assert_contains(text, "\"selected\":[0]");
    assert_contains(text, "\"selected\":[1]");
    assert_contains(text, "\"report\":\"report-1\"");
    free(text);
    text = document_of(page, "rows-1");
    assert_contains(text, "\"node\":[2,2]");
    free(text);
    hs_page_free(page);
    fixture_deinit(&a);
    fixture_deinit(&b);
}

/* Of many dumps, those that are shown, special ones, and every 8th, 4th and so on are kept. */
static void choice(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    uint32_t main_ = fixture_call(&fx, HS_NODE_NONE, "main");
    fixture_process(&fx, 5, "prog");
    for (uint32_t i = 0; i < 20; i++) {
        fixture_dump(&fx, i)->has_samples = true;
        struct hs_amount amount = fixture_exact(i == 7 ? 1000 : 10 + i, 1);
        fixture_sample(&fx, main_, amount, amount, amount);
    }
    fx.p.dumps[11].name = fixture_string(&fx, "mine");
    fx.p.dumps[3].has_samples = false;
    struct hs_page_source source = { .profile = &fx.p };
    assert_int_equal(hs_select_dumps(&fx.p, &last.select, &source.selection), 0);
    assert_int_equal(hs_page_choose(&source, 6), 0);
    for (uint32_t i = 0; i < 20; i++) {
        bool is_wanted = i == 0 || i == 7 || i == 11 || i == 19 || i == 8 || i == 16;
        assert_int_equal(source.is_kept[i], is_wanted);
    }
    assert_int_equal(source.left_out_count, 14);
    free(source.is_kept);
    assert_int_equal(hs_page_choose(&source, 0), 0); /* what is shown is kept in any case */
    assert_true(source.is_kept[19]);
    assert_int_equal(source.left_out_count, 19);
    free(source.is_kept);
    hs_selection_deinit(&source.selection);
    fixture_deinit(&fx);
}

static void base64(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *text;
    } cases[] = {
        { "", "" },
        { "f", "Zg==" },
        { "fo", "Zm8=" },
        { "foo", "Zm9v" },
        { "foob", "Zm9vYg==" },
        { "fooba", "Zm9vYmE=" },
        { "foobar", "Zm9vYmFy" },
        { "\xff\xef\xbe?", "/+++Pw==" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hs_buf out = HS_BUF_INIT;
        struct hs_page_base64 it = { .out = &out };
        for (size_t k = 0; k < strlen(cases[i].bytes); k++) {
            assert_int_equal(hs_page_base64_sink(&it, cases[i].bytes + k, 1), 0);
        }
        assert_int_equal(hs_page_base64_finish(&it), 0);
        assert_string_equal(hs_buf_text(&out), cases[i].text);
        hs_buf_deinit(&out);
    }
}

static void rounding(void **state)
{
    (void)state;
    assert_true(hs_page_round(123456, 4) == 123500);
    assert_true(hs_page_round(-0.00123456, 3) == -0.00123);
    assert_true(hs_page_round(9999.6, 4) == 10000);
    assert_true(hs_page_round(0, 4) == 0);
    assert_true(hs_page_round(1e300, 4) == 1e300);
    assert_true(hs_page_round(5e-324, 4) >= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),      cmocka_unit_test(profile), cmocka_unit_test(hostile_names),
        cmocka_unit_test(two_files), cmocka_unit_test(choice),  cmocka_unit_test(base64),
        cmocka_unit_test(rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
