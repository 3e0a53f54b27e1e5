/*
 * Breakpad symbol files: records, what covers an address, damage, which file of a folder counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rt/base.h"
#include "symbol/breakpad.h"
#include "symbol/breakpad_folder.h"
#include "symbol/symbol_builder.h"

static const char text[] = "MODULE Linux x86_64 4FBC0 My App\r\n"
                           "INFO CODE_ID ABCDEF01\n"
                           "FILE 0 /src/main.c\n"
                           "FILE 1 /src/with blank.c\n"
                           "FUNC m 1000 20 0 main\n"
                           "1000 8 12 0\n"
                           "1008 10 13 1\n"
                           "FUNC 1100 10 0 _ZN1a1bEv\n"
                           "INLINE 0 1 0 0 1100 4\n"
                           "1100 bad 1 0\n"
                           "FUNC 1105 4 0 overlaps\n"
                           "PUBLIC 900 0 before\n"
                           "PUBLIC m 1200 0 after(int)\n"
                           "PUBLIC 12zz 0 damaged\n"
                           "FUNC 1300 0 0 empty\n"
                           "FUNC ffffffffffffff00 100 0 wraps\n"
                           "STACK CFI INIT 1000 20 .cfa: $rsp 8 +\n";

static const struct {
    uint64_t pc;
    const char *name, *file;
    uint32_t line;
} cases[] = {
    { 0x8ff, NULL, NULL, 0 },
    { 0x900, "before", "", 0 },
    { 0xfff, "before", "", 0 },
    { 0x1000, "main", "/src/main.c", 12 },
    { 0x1007, "main", "/src/main.c", 12 },
    { 0x1008, "main", "/src/with blank.c", 13 },
    { 0x1018, "main", "", 0 },              /* no line covers it */
    { 0x1020, NULL, NULL, 0 },              /* behind main, which comes after `before` */
    { 0x1100, "a::b()", "/src/main.c", 1 }, /* where a call of an unknown function was inlined */
    { 0x1106, "a::b()", "", 0 },            /* the first of functions that overlap */
    { 0x1110, NULL, NULL, 0 },
    { 0x1200, "after(int)", "", 0 },
    { 0x13ff, "after(int)", "", 0 },
};

static void what_covers_an_address(void **state)
{
    (void)state;
    uint64_t pcs[HS_COUNT_OF(cases)];
    struct hs_symbol_builder builder;
    struct hs_symbol_table table;
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        pcs[i] = cases[i].pc;
    }
    assert_int_equal(hs_symbol_builder_init(&builder, pcs, HS_COUNT_OF(cases)), 0);
    assert_int_equal(hs_breakpad_names(&builder, 0, text, strlen(text)), 0);
    assert_int_equal(hs_symbol_builder_finish(&builder, pcs, HS_COUNT_OF(cases), &table), 0);
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        const struct hs_symbol_span *span = &table.spans[i];
        assert_int_equal(span->line_count, cases[i].name ? 1 : 0);
        if (cases[i].name) {
            const struct hs_symbol_line *line = &table.lines[span->line_first];
            assert_string_equal(hs_symbol_string(&table, line->function_off), cases[i].name);
            assert_string_equal(hs_symbol_string(&table, line->file_off), cases[i].file);
            assert_int_equal(line->line, cases[i].line);
        }
    }
    hs_symbol_table_deinit(&table);
    hs_symbol_builder_deinit(&builder);
}

static const char inlined_text[] = "MODULE Linux x86_64 4FBC0 app\n"
                                   "FILE 0 /src/main.c\n"
                                   "FILE 1 /src/parse.h\n"
                                   "INLINE_ORIGIN 0 parse\n"
                                   "INLINE_ORIGIN 2 skip(int)\n"
                                   "FUNC 1000 40 0 main\n"
                                   "INLINE 0 25 0 0 1010 10 1030 8\n"
                                   "INLINE 1 7 1 2 1014 4\n"
                                   "INLINE 1 8 1 9 1018 4\n" /* an origin without a name */
                                   "INLINE 3 9 1 2 1014 4\n" /* not the next level */
                                   "INLINE 0 99 0 2 1014 4\n"
                                   "INLINE 0 99 0 2 103f 4\n" /* ends behind the function */
                                   "1000 40 3 1\n";

/* Writes "skip(int) parse.h:3 < parse parse.h:7 < main main.c:25". */
static void write_chain(const struct hs_symbol_table *table, size_t idx, char *buf, size_t bytes)
{
    const struct hs_symbol_span *span = &table->spans[idx];
    size_t at = 0;
    for (uint32_t i = 0; i < span->line_count; i++) {
        const struct hs_symbol_line *line = &table->lines[span->line_first + i];
        const char *file = hs_symbol_string(table, line->file_off);
        at += (size_t)snprintf(buf + at, bytes - at, "%s%s %s:%u", i > 0 ? " < " : "",
                               hs_symbol_string(table, line->function_off), strrchr(file, '/') + 1,
                               line->line);
    }
}

static void inlined_calls(void **state)
{
    (void)state;
    static const struct {
        uint64_t pc;
        const char *chain;
    } chains[] = {
        { 0x1000, "main parse.h:3" },
        { 0x1010, "parse parse.h:3 < main main.c:25" },
        { 0x1014, "skip(int) parse.h:3 < parse parse.h:7 < main main.c:25" },
        { 0x1018, "parse parse.h:8 < main main.c:25" },
        { 0x1020, "main parse.h:3" },
        { 0x1037, "parse parse.h:3 < main main.c:25" },
        { 0x103f, "main parse.h:3" },
    };
    uint64_t pcs[HS_COUNT_OF(chains)];
    struct hs_symbol_builder builder;
    struct hs_symbol_table table;
    char buf[256];
    for (size_t i = 0; i < HS_COUNT_OF(chains); i++) {
        pcs[i] = chains[i].pc;
    }
    assert_int_equal(hs_symbol_builder_init(&builder, pcs, HS_COUNT_OF(chains)), 0);
    assert_int_equal(hs_breakpad_names(&builder, 0, inlined_text, strlen(inlined_text)), 0);
    assert_int_equal(hs_symbol_builder_finish(&builder, pcs, HS_COUNT_OF(chains), &table), 0);
    for (size_t i = 0; i < HS_COUNT_OF(chains); i++) {
        write_chain(&table, i, buf, sizeof(buf));
        assert_string_equal(buf, chains[i].chain);
    }
    hs_symbol_table_deinit(&table);
    hs_symbol_builder_deinit(&builder);
}

/* One address alone, so that no other address separates it from the symbols in front. */
static void each_address_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        struct hs_symbol_builder builder;
        assert_int_equal(hs_symbol_builder_init(&builder, &cases[i].pc, 1), 0);
        assert_int_equal(hs_breakpad_names(&builder, 0, text, strlen(text)), 0);
        assert_int_equal(hs_symbol_builder_has(&builder, 0), cases[i].name != NULL);
        hs_symbol_builder_deinit(&builder);
    }
}

static void heads(void **state)
{
    (void)state;
    struct hs_breakpad_head head;
    assert_true(hs_breakpad_head(text, strlen(text), &head));
    assert_int_equal(head.name_bytes, 6);
    assert_memory_equal(head.name, "My App", 6);
    assert_int_equal(head.code_id_bytes, 8);
    assert_memory_equal(head.code_id, "ABCDEF01", 8);
    static const char *const bad[] = { "", "MODULE", "MODULE Linux x86_64 0", "ELF",
                                       "\nMODULE a b c d" };
    for (size_t i = 0; i < HS_COUNT_OF(bad); i++) {
        assert_false(hs_breakpad_head(bad[i], strlen(bad[i]), &head));
    }
    assert_true(hs_breakpad_head("MODULE a b c d", 14, &head));
    assert_int_equal(head.code_id_bytes, 0);
}

static void write_file(const char *folder, const char *name, const char *code_id,
                       const char *module_id)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "MODULE Linux x86_64 %s App.so\n", module_id);
    if (code_id) {
        fprintf(file, "INFO CODE_ID %s\n", code_id);
    }
    fputs("FUNC 0 100 0 f\n", file);
    fclose(file);
}

/* Checks which file counts: the first letter of its path; '-': none, '!': only one of another
 * build. */
static void expect(const struct hs_breakpad_folder *folder, const char *path, size_t id_bytes,
                   char wanted)
{
    static const uint8_t build_id[] = { 0xAB, 0xCD };
    const struct hs_breakpad_file *other;
    const struct hs_breakpad_file *file =
        hs_breakpad_folder_find(folder, path, build_id, id_bytes, &other);
    char found = file ? strrchr(file->path, '/')[1] : other ? '!' : '-';
    assert_int_equal(found, wanted);
}

static void the_build_id_chooses_the_file(void **state)
{
    (void)state;
    char folder_path[] = "/tmp/test breakpad XXXXXX";
    char path[256];
    struct hs_breakpad_folder folder = { 0 };
    assert_non_null(mkdtemp(folder_path));
    write_file(folder_path, "a.sym", "0102", "0");
    assert_int_equal(hs_breakpad_folder_add(&folder, folder_path), 0);
    expect(&folder, "/x/app.SO", 2, '!');
    expect(&folder, "/x/app.so", 0, 'a'); /* not known: by name */
    expect(&folder, "/x/lib.so", 2, '-');
    hs_breakpad_folder_deinit(&folder);
    write_file(folder_path, "b.sym", "ABCD", "0");
    assert_int_equal(hs_breakpad_folder_add(&folder, folder_path), 0);
    expect(&folder, "/x/App.so", 2, 'b');
    hs_breakpad_folder_deinit(&folder);
    for (const char *name = "ab"; *name; name++) {
        snprintf(path, sizeof(path), "%s/%c.sym", folder_path, *name);
        unlink(path);
    }
    assert_int_equal(rmdir(folder_path), 0);
    assert_int_equal(hs_breakpad_folder_add(&folder, folder_path), -2); /* ENOENT */
}

/* Symbol files that state no CODE_ID: the id in the MODULE line is made of the build id. */
static void the_module_id_chooses_the_file(void **state)
{
    (void)state;
    static const uint8_t id[20] = { 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a,
                                    0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14 };
    static const char module_id[] = "0403020106050807090A0B0C0D0E0F100";
    char folder_path[] = "/tmp/test breakpad XXXXXX";
    struct hs_breakpad_folder folder = { 0 };
    const struct hs_breakpad_file *file, *other;
    assert_non_null(mkdtemp(folder_path));
    write_file(folder_path, "a.sym", NULL, "1403020106050807090A0B0C0D0E0F100");
    write_file(folder_path, "b.sym", NULL, module_id);
    assert_int_equal(hs_breakpad_folder_add(&folder, folder_path), 0);
    file = hs_breakpad_folder_find(&folder, "/x/App.so", id, sizeof(id), &other);
    assert_non_null(file);
    assert_int_equal(strrchr(file->path, '/')[1], 'b');
    /* Chrome records the module id itself. */
    file = hs_breakpad_folder_find(&folder, "/x/App.so", (const uint8_t *)module_id, 33, &other);
    assert_non_null(file);
    assert_int_equal(strrchr(file->path, '/')[1], 'b');
    assert_null(hs_breakpad_folder_find(&folder, "/x/App.so", id + 1, 16, &other));
    assert_non_null(other);
    hs_breakpad_folder_deinit(&folder);
    for (int i = 0; i < 2; i++) {
        char path[256];
        snprintf(path, sizeof(path), "%s/%c.sym", folder_path, "ab"[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(folder_path), 0);
}

/* A program that runs at a fixed place: the file counts from its start. */
static void addresses_are_relative_to_the_module(void **state)
{
    (void)state;
    static const char fixed[] = "MODULE Linux x86_64 0 a\nFUNC 1000 10 0 f\n1000 10 7 0\n";
    static const uint64_t pcs[] = { 0x1004, 0x401004, 0x401010 };
    struct hs_symbol_builder builder;
    assert_int_equal(hs_symbol_builder_init(&builder, pcs, 3), 0);
    assert_int_equal(hs_breakpad_names(&builder, 0x400000, fixed, strlen(fixed)), 0);
    assert_false(hs_symbol_builder_has(&builder, 0));
    assert_true(hs_symbol_builder_has(&builder, 1));
    assert_false(hs_symbol_builder_has(&builder, 2));
    hs_symbol_builder_deinit(&builder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_covers_an_address),
        cmocka_unit_test(inlined_calls),
        cmocka_unit_test(each_address_alone),
        cmocka_unit_test(heads),
        cmocka_unit_test(the_build_id_chooses_the_file),
        cmocka_unit_test(the_module_id_chooses_the_file),
        cmocka_unit_test(addresses_are_relative_to_the_module),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
