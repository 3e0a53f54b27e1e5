/* table.h: alignment in columns (not bytes), shortened names, and no styles without colour. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rt/base.h"
#include "util/table.h"

static const struct hs_table_column columns[] = {
    { "self", HS_TABLE_RIGHT },    { "", HS_TABLE_LEFT }, { "never", HS_TABLE_LEFT },
    { "function", HS_TABLE_NAME }, { "", HS_TABLE_NOTE },
};

static void check(unsigned width, bool has_colour, const char *want)
{
    struct hs_table table;
    struct hs_buf out = HS_BUF_INIT;
    hs_table_init(&table, columns, HS_COUNT_OF(columns));
    const char *const rows[][HS_COUNT_OF(columns)] = {
        { "61.2 MiB", "± 0.9 MiB", "", "ns::Class<int>::function(int, char)", "file.cc:88" },
        { "1 B", "", "", "main", "main.cc:1" },
    };
    for (size_t r = 0; r < HS_COUNT_OF(rows); r++) {
        for (size_t c = 0; c < HS_COUNT_OF(columns); c++) {
            hs_table_cell(&table, "%s", rows[r][c]);
        }
    }
    hs_table_write(
        &table, &out,
        &(struct hs_table_style){
            .indent = 2, .columns = width, .has_colour = has_colour, .has_titles = true });
    assert_int_equal(hs_buf_finish(&out), 0);
    assert_string_equal(hs_buf_text(&out), want);
    hs_table_deinit(&table);
    hs_buf_deinit(&out);
}

static void lines_up(void **state)
{
    (void)state;
    check(0, false,
          "      self               function\n"
          "  61.2 MiB   ± 0.9 MiB   ns::Class<int>::function(int, char)  file.cc:88\n"
          "       1 B               main  main.cc:1\n");
}

static void shortens_names(void **state)
{
    (void)state;
    check(60, false,
          "      self               function\n"
          "  61.2 MiB   ± 0.9 MiB   ns::Class<int>::function(int, char)\n"
          "       1 B               main  main.cc:1\n");
    check(50, false,
          "      self               function\n"
          "  61.2 MiB   ± 0.9 MiB   ns::Class<…>::function(…)\n"
          "       1 B               main  main.cc:1\n");
}

static void colours(void **state)
{
    (void)state;
    check(0, true,
          "\x1b[2m      self               function\x1b[0m\n"
          "  61.2 MiB   ± 0.9 MiB   ns::Class<int>::function(int, char)  \x1b[2m"
          "file.cc:88\x1b[0m\n"
          "       1 B               main  \x1b[2mmain.cc:1\x1b[0m\n");
}

static void pads_by_columns(void **state)
{
    (void)state;
    struct hs_buf out = HS_BUF_INIT;
    hs_text_pad(&out, "ä日", 5, true);
    hs_text_pad(&out, "±", 3, false);
    hs_text_pad(&out, "long", 2, false);
    assert_string_equal(hs_buf_text(&out), "  ä日±  long");
    hs_buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_up),
        cmocka_unit_test(shortens_names),
        cmocka_unit_test(colours),
        cmocka_unit_test(pads_by_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
