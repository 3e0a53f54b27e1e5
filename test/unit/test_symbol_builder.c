/* symbol_builder.c and symbol_table.c: strings, names, spans, and which tables are valid. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/symbol_builder.h"

static const uint64_t pcs[] = { 10, 20, 30 };

static int set_up(void **state)
{
    struct hs_symbol_builder *builder = malloc(sizeof(*builder));
    *state = builder;
    return builder ? hs_symbol_builder_init(builder, pcs, 3) : -1;
}

static int tear_down(void **state)
{
    hs_symbol_builder_deinit(*state);
    free(*state);
    return 0;
}

static const char *text_at(const struct hs_symbol_builder *builder, uint32_t off)
{
    return hs_symbol_string(&builder->table, off);
}

static void equal_strings_are_one(void **state)
{
    struct hs_symbol_builder *builder = *state;
    uint32_t first = hs_symbol_builder_string(builder, "main.c");
    uint32_t bytes = builder->table.string_bytes;
    assert_int_equal(first, hs_symbol_builder_string(builder, "main.c"));
    assert_int_equal(bytes, builder->table.string_bytes);
    assert_int_not_equal(first, hs_symbol_builder_string(builder, "main.cc"));
    assert_string_equal(text_at(builder, first), "main.c");
    assert_int_equal(hs_symbol_builder_string(builder, ""), 0);
    assert_int_equal(hs_symbol_builder_string(builder, NULL), 0);
}

static void many_strings_keep_their_places(void **state)
{
    struct hs_symbol_builder *builder = *state;
    uint32_t offs[5000];
    char text[32];
    for (int i = 0; i < 5000; i++) {
        snprintf(text, sizeof(text), "function_%d", i);
        offs[i] = hs_symbol_builder_string(builder, text);
    }
    for (int i = 0; i < 5000; i++) {
        snprintf(text, sizeof(text), "function_%d", i);
        assert_string_equal(text_at(builder, offs[i]), text);
        assert_int_equal(hs_symbol_builder_string(builder, text), offs[i]);
    }
    assert_int_equal(builder->err, 0);
}

static void control_characters_are_replaced(void **state)
{
    struct hs_symbol_builder *builder = *state;
    uint32_t off = hs_symbol_builder_string(builder, "a\x1b[2J\nb\x7f\xc3\xa4");
    assert_string_equal(text_at(builder, off), "a?[2J?b?\xc3\xa4");
    off = hs_symbol_builder_string(builder, "\xc2\x9bx\xc2\xa0\xc2");
    assert_string_equal(text_at(builder, off), "?x\xc2\xa0\xc2");
}

static void too_long_names_are_cut(void **state)
{
    struct hs_symbol_builder *builder = *state;
    char *text = malloc(200001);
    assert_non_null(text);
    memset(text, 'x', 200000);
    text[200000] = '\0';
    uint32_t off = hs_symbol_builder_string(builder, text);
    assert_int_equal(strlen(text_at(builder, off)), 65536);
    free(text);
}

static void expect_name(struct hs_symbol_builder *builder, const char *raw, const char *function,
                        const char *system_name)
{
    struct hs_symbol_name name = hs_symbol_builder_name(builder, raw);
    assert_string_equal(text_at(builder, name.function_off), function);
    assert_string_equal(text_at(builder, name.system_name_off), system_name);
}

static void names_have_two_forms(void **state)
{
    struct hs_symbol_builder *builder = *state;
    for (int i = 0; i < 2; i++) {
        expect_name(builder, "_Z3fooi", "foo(int)", "_Z3fooi");
        expect_name(builder, "plain", "plain", "plain");
        expect_name(builder, "memcpy@@GLIBC_2.14", "memcpy", "memcpy@@GLIBC_2.14");
        expect_name(builder, "_ZNSs6appendEPKc@GLIBCXX_3.4", "std::string::append(char const*)",
                    "_ZNSs6appendEPKc@GLIBCXX_3.4");
        expect_name(builder, "@odd", "@odd", "@odd");
    }
}

static void the_plain_name_is_shown_unless_the_other_is_mangled(void **state)
{
    struct hs_symbol_builder *builder = *state;
    struct hs_symbol_name name = hs_symbol_builder_name_pair(builder, "__GI_exit", "exit");
    assert_string_equal(text_at(builder, name.function_off), "exit");
    assert_string_equal(text_at(builder, name.system_name_off), "__GI_exit");
    name = hs_symbol_builder_name_pair(builder, "_Z3fooi", "foo");
    assert_string_equal(text_at(builder, name.function_off), "foo(int)");
    name = hs_symbol_builder_name_pair(builder, NULL, "foo");
    assert_string_equal(text_at(builder, name.system_name_off), "foo");
    name = hs_symbol_builder_name_pair(builder, NULL, NULL);
    assert_int_equal(name.function_off, 0);
}

static void spans_follow_the_order_that_was_asked_for(void **state)
{
    struct hs_symbol_builder *builder = *state;
    struct hs_symbol_name inner = hs_symbol_builder_name(builder, "inner");
    struct hs_symbol_name outer = hs_symbol_builder_name(builder, "outer");
    uint32_t file = hs_symbol_builder_string(builder, "/a.c");
    hs_symbol_builder_line(builder, 2, inner, file, 7);
    hs_symbol_builder_line(builder, 2, outer, file, 9);
    hs_symbol_builder_line(builder, 0, outer, 0, 123);
    hs_symbol_builder_source(builder, HS_SYMBOL_SOURCE_DWARF);
    hs_symbol_builder_source(builder, HS_SYMBOL_SOURCE_DYNSYM);

    const uint64_t asked[] = { 30, 10, 20, 30, 99 };
    struct hs_symbol_table table;
    assert_int_equal(hs_symbol_builder_finish(builder, asked, 5, &table), 0);
    assert_true(hs_symbol_table_is_valid(&table));
    assert_int_equal(table.source, HS_SYMBOL_SOURCE_DWARF);
    assert_int_equal(table.span_count, 5);
    assert_int_equal(table.spans[0].line_count, 2);
    assert_int_equal(table.spans[1].line_count, 1);
    assert_int_equal(table.spans[2].line_count, 0);
    assert_int_equal(table.spans[3].line_first, table.spans[0].line_first);
    assert_int_equal(table.spans[4].line_count, 0);
    const struct hs_symbol_line *lines = table.lines + table.spans[0].line_first;
    assert_string_equal(hs_symbol_string(&table, lines[0].function_off), "inner");
    assert_string_equal(hs_symbol_string(&table, lines[1].function_off), "outer");
    assert_int_equal(lines[1].line, 9);
    /* A line number without a file is dropped. */
    assert_int_equal(table.lines[table.spans[1].line_first].line, 0);
    assert_int_equal(table.named_count, 3);
    assert_int_equal(table.lined_count, 2);
    hs_symbol_table_deinit(&table);
}

static void broken_tables_are_refused(void **state)
{
    struct hs_symbol_builder *builder = *state;
    struct hs_symbol_name name = hs_symbol_builder_name(builder, "f");
    hs_symbol_builder_line(builder, 0, name, 0, 0);
    struct hs_symbol_table good;
    assert_int_equal(hs_symbol_builder_finish(builder, pcs, 3, &good), 0);
    assert_true(hs_symbol_table_is_valid(&good));

    good.spans[1].line_count = 2;
    assert_false(hs_symbol_table_is_valid(&good));
    good.spans[1] = (struct hs_symbol_span){ .line_first = UINT32_MAX, .line_count = 2 };
    assert_false(hs_symbol_table_is_valid(&good));
    good.spans[1] = (struct hs_symbol_span){ 0 };
    good.lines[0].file_off = good.string_bytes;
    assert_false(hs_symbol_table_is_valid(&good));
    good.lines[0].file_off = 0;
    good.strings[good.string_bytes - 1] = 'x';
    assert_false(hs_symbol_table_is_valid(&good));
    good.strings[good.string_bytes - 1] = '\0';
    good.reason = HS_SYMBOL_REASON_N;
    assert_false(hs_symbol_table_is_valid(&good));
    good.reason = 0;
    assert_true(hs_symbol_table_is_valid(&good));
    hs_symbol_table_deinit(&good);
}

static void every_reason_has_words(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < HS_SYMBOL_REASON_N; i++) {
        assert_true(strlen(hs_symbol_reason_text(i)) > 3);
    }
    assert_string_equal(hs_symbol_reason_text(HS_SYMBOL_REASON_N), "unknown reason");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(equal_strings_are_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_strings_keep_their_places, set_up, tear_down),
        cmocka_unit_test_setup_teardown(control_characters_are_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(too_long_names_are_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_have_two_forms, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_plain_name_is_shown_unless_the_other_is_mangled, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(spans_follow_the_order_that_was_asked_for, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(broken_tables_are_refused, set_up, tear_down),
        cmocka_unit_test(every_reason_has_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
