/*
 * Tests of cli/top/page_process.c and the files beside it: the rows of a profile, their order, and
 * the lines that a terminal gets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/top/page_process.h"
#include "cli/top/page_processes.h"
#include "fixture_profile.h"
#include "util/utf8.h"

static char long_name[10001];

/* Stacks of 30, 20 and 10 KiB; the names of two are not nice. */
static void open_source(struct fixture *fx, struct hs_top_source *source)
{
    static const char evil[] = "red\x1b[31m\r\nname \xE2\x80\xAE txt \xE6\xBC\xA2\xE5\xAD\x97 \xFF";
    *fx = fixture_new();
    memset(long_name, 'x', sizeof(long_name) - 1);
    uint32_t main_ = fixture_call(fx, HS_NODE_NONE, "main");
    uint32_t load = fixture_call(fx, main_, "load");
    uint32_t bad = fixture_call(fx, main_, evil);
    uint32_t deep = fixture_call(fx, load, long_name);
    fixture_process(fx, 100, "prog");
    fixture_dump(fx, 0);
    const struct hs_amount none = { 0 };
    fixture_sample(fx, load, fixture_exact(10240, 1), fixture_exact(10240, 1), none);
    fixture_sample(fx, bad, fixture_exact(20480, 2), fixture_exact(20480, 2), none);
    fixture_sample(fx, deep, fixture_exact(30720, 9), fixture_exact(30720, 9), none);
    *source = (struct hs_top_source){ .is_file = true,
                                      .profile = &fx->p,
                                      .link.fd = -1,
                                      .live_bytes = 61440,
                                      .live_count = 12,
                                      .rss_bytes = 1 << 20,
                                      .end = "the last snapshot of a file" };
    strcpy(source->title, evil);
    assert_int_equal(hs_top_rows_build(&fx->p, &source->rows), 0);
}

static void close_source(struct fixture *fx, struct hs_top_source *source)
{
    hs_top_rows_deinit(&source->rows);
    fixture_deinit(fx);
}

static void fill(struct hs_text_page *page, struct hs_top_source *source,
                 struct hs_top_state *state, unsigned columns, unsigned rows)
{
    struct hs_top_order order = { .idx = NULL };
    hs_text_page_init(page, columns, rows);
    assert_int_equal(hs_top_order_rows(&source->rows, state, &order), 0);
    hs_text_page_process(page, source, &order, state);
    hs_top_order_deinit(&order);
}

static bool has_text(const struct hs_text_page *page, size_t line, const char *text)
{
    char copy[2048];
    size_t bytes = page->lines[line].bytes < 2047 ? page->lines[line].bytes : 2047;
    memcpy(copy, page->text.data + page->lines[line].off, bytes);
    copy[bytes] = '\0';
    return strstr(copy, text) != NULL;
}

/* No line is wider than the terminal, or has anything in it that controls it. */
static void assert_harmless(const struct hs_text_page *page)
{
    for (size_t i = 0; i < page->count; i++) {
        const char *text = page->text.data + page->lines[i].off;
        size_t bytes = page->lines[i].bytes;
        assert_true(hs_utf8_columns(text, bytes) <= page->columns);
        for (size_t at = 0; at < bytes;) {
            uint32_t c;
            size_t length = hs_utf8_next(text + at, bytes - at, &c);
            assert_true(c >= 0x20 && c != 0x7F && !(c >= 0x80 && c < 0xA0));
            assert_false((c >= 0x202A && c <= 0x202E) || (c == 0xFFFD && length == 1));
            at += length;
        }
    }
}

static void test_order(void **unused)
{
    struct fixture fx;
    struct hs_top_source source;
    struct hs_top_state state = { .kind = HS_TOP_STACKS };
    struct hs_top_order order = { .idx = NULL };
    (void)unused;
    open_source(&fx, &source);
    struct hs_top_row *rows = source.rows.tables[HS_TOP_STACKS].rows;
    assert_int_equal(hs_top_order_rows(&source.rows, &state, &order), 0);
    assert_int_equal(order.count, 3);
    assert_true(rows[order.idx[0]].live_bytes == 30720 && rows[order.idx[2]].live_bytes == 10240);
    rows[order.idx[2]].growth = 5;
    state.sort = HS_TOP_BY_GROWTH;
    hs_top_order_rows(&source.rows, &state, &order);
    assert_true(rows[order.idx[0]].live_bytes == 10240);
    state.sort = HS_TOP_BY_NAME;
    hs_top_order_rows(&source.rows, &state, &order);
    assert_true(strncmp(hs_top_row_name(&source.rows, &rows[order.idx[0]]), "load", 4) == 0);
    strcpy(state.filter, "LOAD <");
    hs_top_order_rows(&source.rows, &state, &order);
    assert_int_equal(order.count, 2);
    strcpy(state.filter, "no such name");
    hs_top_order_rows(&source.rows, &state, &order);
    assert_int_equal(order.count, 0);
    state = (struct hs_top_state){ .kind = HS_TOP_FUNCTIONS, .sort = HS_TOP_BY_TOTAL };
    hs_top_order_rows(&source.rows, &state, &order);
    rows = source.rows.tables[HS_TOP_FUNCTIONS].rows;
    assert_string_equal(hs_top_row_name(&source.rows, &rows[order.idx[0]]), "main");
    assert_true(rows[order.idx[0]].total_bytes == 61440 && rows[order.idx[0]].live_bytes == 0);
    hs_top_order_deinit(&order);
    close_source(&fx, &source);
}

static void test_names_are_harmless(void **unused)
{
    struct fixture fx;
    struct hs_top_source source;
    struct hs_top_state state = { .kind = HS_TOP_STACKS };
    struct hs_text_page page;
    (void)unused;
    open_source(&fx, &source);
    for (unsigned columns = 1; columns < 200; columns += 7) {
        for (unsigned kind = 0; kind < HS_TOP_KIND_N; kind++) {
            state.kind = (enum hs_top_kind)kind;
            state.expanded_key = state.selected_key;
            fill(&page, &source, &state, columns, 24);
            assert_harmless(&page);
            assert_int_equal(page.count, 24);
            hs_text_page_deinit(&page);
        }
    }
    close_source(&fx, &source);
}

static void test_a_page(void **unused)
{
    struct fixture fx;
    struct hs_top_source source;
    struct hs_top_state state = { .kind = HS_TOP_STACKS };
    struct hs_text_page page;
    (void)unused;
    open_source(&fx, &source);
    fill(&page, &source, &state, 80, 24);
    assert_true(has_text(&page, 0, "heapscope top"));
    assert_true(has_text(&page, 1, "live 60.0 KiB in 12 objects"));
    assert_true(has_text(&page, 2, "RSS 1.00 MiB (live heap 5.9 %)"));
    assert_true(has_text(&page, 4, "STACK  (3, by live)"));
    assert_true(has_text(&page, 5, "30.0 KiB") && has_text(&page, 5, "50.0 %"));
    assert_true(has_text(&page, 7, "load < main"));
    assert_int_equal(page.lines[5].style, HS_TEXT_PAGE_SELECTED);
    assert_true(has_text(&page, 23, "q quit"));
    hs_text_page_deinit(&page);
    /* The cursor follows its row, and shows its frames. */
    state.cursor = 2;
    state.selected_key = 0;
    fill(&page, &source, &state, 80, 24);
    assert_int_equal(page.lines[7].style, HS_TEXT_PAGE_SELECTED);
    hs_text_page_deinit(&page);
    state.expanded_key = state.selected_key;
    state.sort = HS_TOP_BY_NAME;
    fill(&page, &source, &state, 80, 24);
    assert_int_equal(state.cursor, 0);
    assert_int_equal(page.lines[5].style, HS_TEXT_PAGE_SELECTED);
    assert_true(has_text(&page, 6, "load") && has_text(&page, 7, "main"));
    hs_text_page_deinit(&page);
    for (unsigned rows = 1; rows < 8; rows++) {
        fill(&page, &source, &state, 80, rows);
        assert_int_equal(page.count, rows);
        assert_true(has_text(&page, rows - 1, "q quit"));
        hs_text_page_deinit(&page);
    }
    /* Little room is no reason to lose the cursor. */
    state.cursor = 2;
    state.selected_key = 0;
    state.expanded_key = 0;
    fill(&page, &source, &state, 80, 7);
    assert_int_equal(page.count, 7);
    assert_int_equal(page.lines[5].style, HS_TEXT_PAGE_SELECTED);
    hs_text_page_deinit(&page);
    close_source(&fx, &source);
}

static void test_types_that_are_not_recorded(void **unused)
{
    struct fixture fx;
    struct hs_top_source source;
    struct hs_top_state state = { .kind = HS_TOP_TYPES };
    struct hs_text_page page;
    (void)unused;
    open_source(&fx, &source);
    fill(&page, &source, &state, 120, 24);
    assert_true(has_text(&page, 5, "types were not recorded"));
    hs_text_page_deinit(&page);
    source.is_file = false;
    fill(&page, &source, &state, 120, 24);
    assert_true(has_text(&page, 5, "types are not known: the session leaves them out"));
    hs_text_page_deinit(&page);
    close_source(&fx, &source);
}

static void test_chart(void **unused)
{
    const double values[] = { 0, 50, 100, 100, 0 };
    const double large[] = { 1000, 1001 };
    struct hs_buf out = HS_BUF_INIT;
    (void)unused;
    hs_text_page_write_chart(&out, values, 5, 80, true);
    assert_string_equal(hs_buf_text(&out),
                        "\xE2\x96\x81\xE2\x96\x85\xE2\x96\x88\xE2\x96\x88\xE2\x96\x81");
    hs_buf_clear(&out);
    hs_text_page_write_chart(&out, values, 5, 3, false);
    assert_string_equal(hs_buf_text(&out), "##_");
    hs_buf_clear(&out);
    hs_text_page_write_chart(&out, large, 2, 3, false);
    assert_string_equal(hs_buf_text(&out), "_#");
    hs_buf_clear(&out);
    hs_text_page_write_chart(&out, values, 0, 3, false);
    assert_string_equal(hs_buf_text(&out), "");
    hs_buf_deinit(&out);
}

static void test_processes(void **unused)
{
    struct hs_top_process list[30] = { { .pid = 7,
                                         .name = "a\x1b[2Jb",
                                         .session = "run.12",
                                         .rss_bytes = 1 << 20,
                                         .has_live = true,
                                         .live_bytes = 4096,
                                         .growth = -2048 } };
    struct hs_top_processes processes = { .list = list, .count = 30 };
    struct hs_top_state state = { .is_list = true };
    struct hs_top_order order = { .idx = NULL };
    struct hs_text_page page;
    (void)unused;
    for (int i = 1; i < 30; i++) {
        list[i] = (struct hs_top_process){ .pid = 100 + i, .name = "other", .is_dormant = i == 1 };
    }
    state.selected_key = 129;
    assert_int_equal(hs_top_order_processes(&processes, &state, &order), 0);
    hs_text_page_init(&page, 80, 24);
    hs_text_page_processes(&page, &processes, &order, &state);
    assert_int_equal(page.count, 24);
    assert_harmless(&page);
    assert_int_equal(state.cursor, 29);
    assert_int_equal(page.lines[22].style, HS_TEXT_PAGE_SELECTED);
    assert_true(has_text(&page, 0, "1 recorded, 29 could be"));
    hs_text_page_deinit(&page);
    state.selected_key = 7;
    hs_text_page_init(&page, 80, 24);
    hs_text_page_processes(&page, &processes, &order, &state);
    assert_true(has_text(&page, 3, "4.00 KiB") && has_text(&page, 3, "-2.00 KiB/s"));
    assert_true(has_text(&page, 3, "run.12") && has_text(&page, 4, "(dormant)"));
    hs_text_page_deinit(&page);
    hs_top_order_deinit(&order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),  cmocka_unit_test(test_names_are_harmless),
        cmocka_unit_test(test_a_page), cmocka_unit_test(test_types_that_are_not_recorded),
        cmocka_unit_test(test_chart),  cmocka_unit_test(test_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
