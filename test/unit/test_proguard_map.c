/*
 * Maps of R8 and ProGuard: what their lines say, damage with its line, and lists of maps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "deobfuscate/map_list.h"
#include "deobfuscate/proguard_map.h"
#include "rt/base.h"
#include "util/buf.h"

/* --- what a map says, as text --- */

static int write_class(void *ctx, struct hs_proguard_text original,
                       struct hs_proguard_text obfuscated)
{
    hs_buf_printf(ctx, "[%.*s=%.*s]", (int)obfuscated.bytes, obfuscated.at, (int)original.bytes,
                  original.at);
    return 0;
}

static int write_member(void *ctx, const struct hs_proguard_member *member)
{
    hs_buf_printf(ctx, "%s%.*s=%.*s", member->is_method ? "" : "field ",
                  (int)member->obfuscated.bytes, member->obfuscated.at, (int)member->original.bytes,
                  member->original.at);
    if (member->has_lines) {
        hs_buf_printf(ctx, "@%u-%u:%u-%u", member->line_first, member->line_last,
                      member->source_first, member->source_last);
    }
    hs_buf_char(ctx, ';');
    return 0;
}

static const struct {
    const char *map, *said;
} maps[] = {
    { "", "" },
    { "org.A -> a:\n    int size -> b\n", "[a=org.A]field b=size;" },
    { "org.A -> a.x:\n    void f() -> b", "[a.x=org.A]b=f;" },
    { "org.A -> a:\n    1:4:void f(int,byte[]):20:23 -> b\n", "[a=org.A]b=f@1-4:20-23;" },
    /* the line of a call */
    { "org.A -> a:\n    1:4:void f():20 -> b\n", "[a=org.A]b=f@1-4:20-20;" },
    /* lines that did not change */
    { "org.A -> a:\n    3:4:void f() -> b\n", "[a=org.A]b=f@3-4:3-4;" },
    { "org.A -> a:\n    3:void f() -> b\n", "[a=org.A]b=f@3-3:3-3;" },
    /* lines of the source alone say nothing about those of a frame */
    { "org.A -> a:\n    void f():7:8 -> b\n", "[a=org.A]b=f;" },
    /* moved from another class; inlined, then what it was inlined into */
    { "org.A -> a:\n    5:5:void org.B.g():7:7 -> b\n    5:5:void f():24 -> b\n",
      "[a=org.A]b=org.B.g@5-5:7-7;b=f@5-5:24-24;" },
    { "# compiler: R8\n\norg.A -> a:\r\n# {\"id\":\"sourceFile\"}\r\n    void f() -> b\r\n"
      "      # {\"id\":\"com.android.tools.r8.synthesized\"}\r\n",
      "[a=org.A]b=f;" },
    { "org.A -> a:\n    void <init>() -> <init>\norg.B -> b:\n    void f() -> a\n",
      "[a=org.A]<init>=<init>;[b=org.B]a=f;" },
    { "org.-$$Lambda$1 -> a:\n    org.T[] lambda$f$0(org.T) -> a\n",
      "[a=org.-$$Lambda$1]a=lambda$f$0;" },
};

static int read_text(const char *map, struct hs_buf *said, struct hs_proguard_error *error)
{
    const struct hs_proguard_sink sink = { said, write_class, write_member };
    return hs_proguard_map_parse(map, strlen(map), &sink, error);
}

static void what_a_map_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < HS_COUNT_OF(maps); i++) {
        struct hs_buf said = HS_BUF_INIT;
        struct hs_proguard_error error;
        assert_int_equal(read_text(maps[i].map, &said, &error), 0);
        assert_string_equal(hs_buf_text(&said), maps[i].said);
        assert_int_equal(error.line, 0);
        hs_buf_deinit(&said);
    }
}

/* --- damage --- */

static const struct {
    const char *map;
    uint64_t line;
    const char *what; /* the beginning of the message */
} damaged[] = {
    { "org.A a:\n", 1, "a class without ' -> '" },
    { "\n\norg.A -> a\n", 3, "a class without ':'" },
    { "org.A -> :\n", 1, "a class whose name is empty" },
    { "org.A x -> a:\n", 1, "a class whose name is empty or has a blank" },
    { "    void f() -> a\n", 1, "a member before the first class" },
    { "org.A -> a:\n    void f() a\n", 2, "a member without ' -> '" },
    { "org.A -> a:\n    f() -> a\n", 2, "a member without a type" },
    { "org.A -> a:\n    f -> a\n", 2, "a member without a type" },
    { "org.A -> a:\n    void f( -> a\n", 2, "a method whose arguments" },
    { "org.A -> a:\n    1:2:void f():x -> a\n", 2, "a method whose arguments" },
    { "org.A -> a:\n    1:2:void f():99999999999 -> a\n", 2, "a method whose arguments" },
    { "org.A -> a:\n    2:1:void f():1:2 -> a\n", 2, "a member whose last line" },
    { "org.A -> a:\n    void f() -> a b\n", 2, "a member whose new name" },
    { "org.A -> a:\norg.B -> b:\n# x\norg.C -> a:\n", 4, "a second class" },
};

static void damage_has_a_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < HS_COUNT_OF(damaged); i++) {
        struct hs_buf said = HS_BUF_INIT;
        struct hs_proguard_error error;
        assert_int_equal(read_text(damaged[i].map, &said, &error), HS_PROGUARD_E_LINE);
        assert_int_equal(error.line, damaged[i].line);
        assert_memory_equal(error.what, damaged[i].what, strlen(damaged[i].what));
        hs_buf_deinit(&said);
    }
}

/* --- files --- */

static int file_of(struct hs_buf *text)
{
    int fd = memfd_create("map", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(text->err, 0);
    assert_int_equal(write(fd, text->data, text->bytes), (ssize_t)text->bytes);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

/* A file is read in pieces, which end in the middle of lines; comments may have any length. */
static void a_long_file(void **state)
{
    (void)state;
    struct hs_buf text = HS_BUF_INIT, said = HS_BUF_INIT, expected = HS_BUF_INIT;
    const struct hs_proguard_sink sink = { &said, write_class, write_member };
    struct hs_proguard_error error;
    for (unsigned i = 0; i < 20000; i++) {
        hs_buf_printf(&text, "org.app.Class%u -> c%u:\n    1:2:void f%u():%u:%u -> a\n", i, i, i, i,
                      i + 1);
        hs_buf_printf(&expected, "[c%u=org.app.Class%u]a=f%u@1-2:%u-%u;", i, i, i, i, i + 1);
        if (i == 10000) {
            hs_buf_str(&text, "# ");
            hs_buf_repeat(&text, 'x', HS_PROGUARD_LINE_MAX * 3);
            hs_buf_str(&text, "\n");
        }
    }
    int fd = file_of(&text);
    assert_int_equal(hs_proguard_map_read(fd, &sink, &error), 0);
    assert_string_equal(hs_buf_text(&said), hs_buf_text(&expected));
    close(fd);
    hs_buf_deinit(&text);
    hs_buf_deinit(&said);
    hs_buf_deinit(&expected);
}

static void a_line_without_an_end(void **state)
{
    (void)state;
    struct hs_buf text = HS_BUF_INIT, said = HS_BUF_INIT;
    const struct hs_proguard_sink sink = { &said, write_class, write_member };
    struct hs_proguard_error error;
    hs_buf_str(&text, "org.A -> a:\n");
    hs_buf_repeat(&text, 'x', HS_PROGUARD_LINE_MAX * 2);
    int fd = file_of(&text);
    assert_int_equal(hs_proguard_map_read(fd, &sink, &error), HS_PROGUARD_E_LINE);
    assert_int_equal(error.line, 2);
    assert_string_equal(error.what, "a line that is too long");
    close(fd);
    hs_buf_deinit(&text);
    hs_buf_deinit(&said);
}

/* --- lists --- */

static void lists_of_maps(void **state)
{
    (void)state;
    struct hs_map_list list = { 0 };
    assert_int_equal(hs_map_list_add_all(&list, ":org.a=/x/one two.txt:three.txt::"), 0);
    assert_int_equal(hs_map_list_add(&list, "/with:colon"), 0);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.files[0].package, "org.a");
    assert_string_equal(list.files[0].path, "/x/one two.txt");
    assert_string_equal(list.files[1].package, "");
    assert_string_equal(list.files[1].path, "three.txt");
    assert_string_equal(list.files[2].path, "/with:colon");
    assert_int_equal(hs_map_list_add_all(&list, "a=b:org.c="), -EINVAL);
    assert_int_equal(hs_map_list_add(&list, ""), -EINVAL);
    hs_map_list_deinit(&list);
}

/* --- what is wanted of a map --- */

static void only_what_is_wanted(void **state)
{
    (void)state;
    char path[] = "/tmp/heapscope map XXXXXX";
    static const char map[] =
        "org.A -> a:\n    int size -> x\n    void f() -> x\n    void g() -> y\n"
        "org.B -> b:\n    void h() -> x\n";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, map, strlen(map)) == (ssize_t)strlen(map));
    close(fd);
    struct hs_map_list list = { 0 };
    assert_int_equal(hs_map_list_add(&list, path), 0);
    struct hs_java_wanted wanted = { 0 };
    struct hs_buf said = HS_BUF_INIT;
    const struct hs_proguard_sink sink = { &said, write_class, write_member };
    struct hs_proguard_error error;
    assert_int_equal(hs_java_wanted_add(&wanted, "a.x"), 0);
    assert_int_equal(hs_java_wanted_add(&wanted, "malloc"), 0);
    assert_int_equal(hs_map_file_read(&list.files[0], &wanted, &sink, &error), 0);
    assert_string_equal(hs_buf_text(&said), "[a=org.A]x=f;");
    hs_buf_clear(&said);
    assert_int_equal(hs_map_file_read(&list.files[0], NULL, &sink, &error), 0);
    assert_string_equal(hs_buf_text(&said), "[a=org.A]field x=size;x=f;y=g;[b=org.B]x=h;");
    unlink(path);
    assert_int_equal(hs_map_file_read(&list.files[0], NULL, &sink, &error), -ENOENT);
    hs_java_wanted_deinit(&wanted);
    hs_map_list_deinit(&list);
    hs_buf_deinit(&said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_map_says), cmocka_unit_test(damage_has_a_line),
        cmocka_unit_test(a_long_file),     cmocka_unit_test(a_line_without_an_end),
        cmocka_unit_test(lists_of_maps),   cmocka_unit_test(only_what_is_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
