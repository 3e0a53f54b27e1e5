/* perf_map.c: lines as JITs write them, and invalid lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/perf_map.h"

static void expect_line(const char *line, uint64_t start_va, uint64_t size_bytes, const char *name)
{
    struct hs_perf_map_entry entry;
    assert_true(hs_perf_map_parse_line(line, strlen(line), &entry));
    assert_int_equal(entry.start_va, start_va);
    assert_int_equal(entry.size_bytes, size_bytes);
    assert_int_equal(entry.name_bytes, strlen(name));
    assert_memory_equal(entry.name, name, strlen(name));
}

static void expect_none(const char *line, size_t bytes)
{
    struct hs_perf_map_entry entry;
    assert_false(hs_perf_map_parse_line(line, bytes, &entry));
}

static void good_lines(void **state)
{
    (void)state;
    expect_line("7f00 10 name", 0x7f00, 0x10, "name");
    expect_line("0x7F00 0xA Lcom/foo/Bar;::baz", 0x7f00, 10, "Lcom/foo/Bar;::baz");
    expect_line("7f00\t10\tLazyCompile:~f /a b.js:3:4", 0x7f00, 16, "LazyCompile:~f /a b.js:3:4");
    expect_line("7f00 10 name\r", 0x7f00, 0x10, "name");
    expect_line("ffffffffffffff00 ff x", UINT64_MAX - 255, 255, "x");
}

static void bad_lines(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "",
        "7f00",
        "7f00 10",
        "7f00 10 ",
        " 7f00 10 name",
        "g00 1 n",
        "7f00 z name",
        "7f00 0 empty",
        "7f00,10,name",
        "0x 10 name",
        "7f00 0x n",
        "-1 10 name",
        "# comment",
        "10000000000000000 1 n",
        "ffffffffffffffff 2 wraps",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        expect_none(lines[i], strlen(lines[i]));
    }
    expect_none("7f00 10 a\0b", 11);
}

/* Writes `text` to a file and names three addresses from it. */
static void name_from(const char *text, size_t bytes, const char *expected[3])
{
    static const uint64_t pcs[3] = { 0x1000, 0x10ff, 0x2000 };
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    rewind(file);
    struct hs_symbol_builder builder;
    assert_int_equal(hs_symbol_builder_init(&builder, pcs, 3), 0);
    assert_int_equal(hs_perf_map_names_fd(&builder, fileno(file)), 0);
    for (size_t i = 0; i < 3; i++) {
        const struct hs_symbol_span *span = &builder.table.spans[i];
        assert_int_equal(span->line_count, expected[i] ? 1 : 0);
        if (expected[i]) {
            const struct hs_symbol_line *line = &builder.table.lines[span->line_first];
            assert_string_equal(hs_symbol_string(&builder.table, line->function_off), expected[i]);
        }
    }
    hs_symbol_builder_deinit(&builder);
    fclose(file);
}

static void the_later_line_counts(void **state)
{
    (void)state;
    const char *text = "1000 1000 first\n2000 10 other\n1000 80 second\nnonsense\n";
    name_from(text, strlen(text), (const char *[3]){ "second", "first", "other" });
}

static void the_last_line_needs_no_end(void **state)
{
    (void)state;
    const char *text = "1000 100 first";
    name_from(text, strlen(text), (const char *[3]){ "first", "first", NULL });
}

/*
 * Longer than the window in which the file is read: the line is skipped, and the next line is
 * found.
 */
static void a_line_without_end(void **state)
{
    (void)state;
    size_t bytes = 300000;
    char *text = malloc(bytes);
    assert_non_null(text);
    memset(text, 'x', bytes);
    memcpy(text, "1000 100 ", 9);
    const char *tail = "\n2000 1 after\n";
    memcpy(text + bytes - strlen(tail), tail, strlen(tail));
    name_from(text, bytes, (const char *[3]){ NULL, NULL, "after" });
    free(text);
}

/* Lines fall on all positions relative to the end of the window. */
static void many_lines(void **state)
{
    (void)state;
    size_t capacity = 1 << 20, bytes = 0;
    char *text = malloc(capacity);
    assert_non_null(text);
    for (int i = 0; bytes < capacity - 64; i++) {
        bytes += (size_t)snprintf(text + bytes, 64, "%x 10 filler%d\n", 0x100000 + i, i);
    }
    bytes += (size_t)snprintf(text + bytes, 32, "10ff 1 last\n");
    name_from(text, bytes, (const char *[3]){ NULL, "last", NULL });
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_lines),
        cmocka_unit_test(bad_lines),
        cmocka_unit_test(the_later_line_counts),
        cmocka_unit_test(the_last_line_needs_no_end),
        cmocka_unit_test(a_line_without_end),
        cmocka_unit_test(many_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
