/*
 * One pass fills all tables that are expected to be read: whatever was expected, and whether the
 * file is intact or not, each table has the same rows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "heaps_fixture.h"
#include "sql/database.h"
#include "sql/language/named_tables.h"
#include "sql/store/table_names.h"
#include "trace/trace_decoder.h"
#include "trace_bytes.h"

/* How often a file was read; the linker's --wrap leads the calls of the library here. */
static unsigned pass_count;

int __real_hs_trace_decoder_run(struct hs_trace_decoder *decoder, const struct hs_trace_sink *sink,
                                const struct hs_trace_sink *second, bool *ret_is_second_full);
int __wrap_hs_trace_decoder_run(struct hs_trace_decoder *decoder, const struct hs_trace_sink *sink,
                                const struct hs_trace_sink *second, bool *ret_is_second_full);

int __wrap_hs_trace_decoder_run(struct hs_trace_decoder *decoder, const struct hs_trace_sink *sink,
                                const struct hs_trace_sink *second, bool *ret_is_second_full)
{
    pass_count++;
    return __real_hs_trace_decoder_run(decoder, sink, second, ret_is_second_full);
}

static int add_row(void *ctx, int count, char **values, char **names)
{
    (void)names;
    for (int i = 0; i < count; i++) {
        hs_buf_printf(ctx, "%s|", values[i] ? values[i] : "NULL");
    }
    hs_buf_char(ctx, '\n');
    return 0;
}

/* The heaps that the tables contain. */
static struct hs_sql_heaps chosen;

/* All rows of all tables. Those of the profile are read last, or first. */
static void read_all(struct hs_buf *rows, unsigned expected, const struct hs_buf *file,
                     bool is_profile_first)
{
    sqlite3 *db;
    assert_int_equal(hs_sql_open_memory_for(expected, file->data, file->bytes, &chosen, &db, NULL),
                     0);
    struct hs_buf parts[2] = { HS_BUF_INIT, HS_BUF_INIT };
    for (int turn = 0; turn < 2; turn++) {
        bool is_own = (turn == 0) == is_profile_first;
        int first = is_own ? HS_SQL_OWN_FIRST : 0;
        int end = is_own ? HS_SQL_TABLES_N : HS_SQL_OWN_FIRST;
        for (int i = first; i < end; i++) {
            char text[128];
            snprintf(text, sizeof(text), "SELECT * FROM %s",
                     hs_sql_table_name((enum hs_sql_table)i));
            assert_int_equal(sqlite3_exec(db, text, add_row, &parts[is_own], NULL), SQLITE_OK);
        }
    }
    for (int i = 0; i < 2; i++) {
        hs_buf_add(rows, hs_buf_text(&parts[i]), parts[i].bytes);
        hs_buf_deinit(&parts[i]);
    }
    sqlite3_close(db);
}

static void check_same_rows(const struct hs_buf *file)
{
    struct hs_buf first = HS_BUF_INIT, other = HS_BUF_INIT;
    read_all(&first, HS_SQL_PACKETS, file, false);
    assert_true(first.bytes > 1000);
    for (unsigned expected = 1; expected <= (HS_SQL_PACKETS | HS_SQL_PROFILE); expected++) {
        for (int is_profile_first = 0; is_profile_first < 2; is_profile_first++) {
            hs_buf_clear(&other);
            read_all(&other, expected, file, is_profile_first);
            assert_string_equal(hs_buf_text(&other), hs_buf_text(&first));
        }
    }
    hs_buf_deinit(&first);
    hs_buf_deinit(&other);
}

static void test_same_rows(void **state)
{
    (void)state;
    struct hs_buf file = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&file, 5);
    dump_and_free(writer, fixture_typical(100, 20, 4, 1000));
    dump_and_free(writer, fixture_typical(101, 20, 4, 2000));
    finish_writer(writer);
    check_same_rows(&file);
    file.bytes -= 3; /* cut off */
    check_same_rows(&file);
    memset(file.data + file.bytes / 2, 0xff, 40); /* damaged */
    check_same_rows(&file);
    hs_buf_deinit(&file);
}

/* The same with some heaps only, of which the profile knows the names and the packets the rows. */
static void test_same_rows_of_heaps(void **state)
{
    (void)state;
    const char *const names[] = { "pool,g*", "idle" }, *const wrong[] = { "pool,nope" };
    struct hs_buf file = HS_BUF_INIT, rows = HS_BUF_INIT, missing = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&file, 5);
    dump_and_free(writer, fixture_heaps(100, 5000000));
    dump_and_free(writer, fixture_heaps(101, 6000000));
    finish_writer(writer);
    for (int turn = 0; turn < 2; turn++) {
        chosen = (struct hs_sql_heaps){ { names, 2 }, &missing };
        check_same_rows(&file);
        hs_buf_clear(&rows);
        read_all(&rows, HS_SQL_PACKETS, &file, false);
        assert_non_null(strstr(hs_buf_text(&rows), "|pool|"));
        assert_null(strstr(hs_buf_text(&rows), "slab/inner"));
        chosen = (struct hs_sql_heaps){ { wrong, 1 }, &missing };
        for (unsigned expected = 1; expected <= (HS_SQL_PACKETS | HS_SQL_PROFILE); expected++) {
            sqlite3 *db;
            hs_buf_clear(&missing);
            assert_int_equal(
                hs_sql_open_memory_for(expected, file.data, file.bytes, &chosen, &db, NULL),
                HS_SQL_E_NO_HEAP);
            assert_string_equal(hs_buf_text(&missing),
                                "there is no heap 'nope'; there are libc.malloc, pool, slab/inner, "
                                "lost pool, gpu and idle");
        }
        file.bytes -= 3; /* cut off: then the profile takes a pass of its own */
    }
    chosen = (struct hs_sql_heaps){ 0 };
    hs_buf_deinit(&missing);
    hs_buf_deinit(&rows);
    hs_buf_deinit(&file);
}

/* A file is read once for both kinds of tables, and twice only if it is damaged, or if the second
 * kind was not expected. */
static void test_one_pass(void **state)
{
    (void)state;
    struct hs_buf file = HS_BUF_INIT, rows = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&file, 5);
    dump_and_free(writer, fixture_typical(100, 20, 4, 1000));
    finish_writer(writer);
    for (int is_profile_first = 0; is_profile_first < 2; is_profile_first++) {
        pass_count = 0;
        read_all(&rows, HS_SQL_PACKETS | HS_SQL_PROFILE, &file, is_profile_first);
        assert_int_equal(pass_count, 1);
        pass_count = 0;
        read_all(&rows, HS_SQL_PACKETS, &file, is_profile_first);
        assert_int_equal(pass_count, 2);
    }
    memset(file.data + file.bytes / 2, 0xff, 40); /* damaged */
    pass_count = 0;
    read_all(&rows, HS_SQL_PACKETS | HS_SQL_PROFILE, &file, false);
    assert_int_equal(pass_count, 2);
    hs_buf_deinit(&rows);
    hs_buf_deinit(&file);
}

static void test_named_tables(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned expected;
    } cases[] = {
        { "", HS_SQL_PACKETS },
        { "SELECT 1", HS_SQL_PACKETS },
        { "select count(*) from heap_profile_allocation", HS_SQL_PACKETS },
        { "SELECT * FROM HEAPSCOPE_DUMPS", HS_SQL_PROFILE },
        { "SELECT * FROM \"heapscope_dumps\" d JOIN heapscope_samples", HS_SQL_PROFILE },
        { "SELECT process FROM heapscope_dumps", HS_SQL_PROFILE }, /* a column */
        { "SELECT * FROM heapscope_dumps, process", HS_SQL_PACKETS | HS_SQL_PROFILE },
        { "SELECT * FROM heapscope_dumps; SELECT * FROM stats", HS_SQL_PACKETS | HS_SQL_PROFILE },
        { "SELECT (SELECT max(ts) FROM counter) FROM heapscope_dumps",
          HS_SQL_PACKETS | HS_SQL_PROFILE },
        { "SELECT * FROM trace_bounds JOIN heapscope_dumps", HS_SQL_PACKETS | HS_SQL_PROFILE },
        { "INCLUDE PERFETTO MODULE callstacks.stack_profile; SELECT * FROM heapscope_dumps",
          HS_SQL_PACKETS | HS_SQL_PROFILE },
        { "SELECT 'heapscope_dumps' -- heapscope_dumps", HS_SQL_PACKETS },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(hs_sql_named_tables(cases[i].text, strlen(cases[i].text)),
                         cases[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_rows),
        cmocka_unit_test(test_same_rows_of_heaps),
        cmocka_unit_test(test_one_pass),
        cmocka_unit_test(test_named_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
