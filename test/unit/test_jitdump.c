/* jitdump.c: which code was at an address, and when; broken files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/jitdump.h"

struct dump {
    uint8_t data[4096];
    size_t bytes;
};

static void put32(struct dump *dump, uint32_t value)
{
    memcpy(dump->data + dump->bytes, &value, sizeof(value));
    dump->bytes += sizeof(value);
}

static void put64(struct dump *dump, uint64_t value)
{
    memcpy(dump->data + dump->bytes, &value, sizeof(value));
    dump->bytes += sizeof(value);
}

static void put_text(struct dump *dump, const char *text)
{
    memcpy(dump->data + dump->bytes, text, strlen(text) + 1);
    dump->bytes += strlen(text) + 1;
}

static struct dump begin(uint64_t flags)
{
    struct dump dump = { .bytes = 0 };
    put32(&dump, 0x4A695444);
    put32(&dump, 1);
    put32(&dump, 40);
    put32(&dump, 62);
    put32(&dump, 0);
    put32(&dump, 7); /* pid */
    put64(&dump, 1);
    put64(&dump, flags);
    return dump;
}

static void put_head(struct dump *dump, uint32_t id, size_t bytes, uint64_t time_ns)
{
    put32(dump, id);
    put32(dump, (uint32_t)bytes + 16);
    put64(dump, time_ns);
}

static void put_load(struct dump *dump, uint64_t time_ns, uint64_t va, uint64_t code_bytes,
                     uint64_t index, const char *name)
{
    put_head(dump, 0, 40 + strlen(name) + 1 + 4, time_ns);
    put64(dump, 7);
    put64(dump, va);
    put64(dump, va);
    put64(dump, code_bytes);
    put64(dump, index);
    put_text(dump, name);
    put32(dump, 0xc3c3c3c3); /* the code itself, which is not as long as stated */
}

static void put_move(struct dump *dump, uint64_t time_ns, uint64_t from_va, uint64_t to_va,
                     uint64_t index)
{
    put_head(dump, 1, 48, time_ns);
    put64(dump, 7);
    put64(dump, to_va);
    put64(dump, from_va);
    put64(dump, to_va);
    put64(dump, 16);
    put64(dump, index);
}

/* Two lines, in one file: the code's first 8 bytes, and the others. */
static void put_lines(struct dump *dump, uint64_t va, uint64_t shift, const char *file)
{
    put_head(dump, 2, 16 + 16 + strlen(file) + 1 + 16 + 2, 1);
    put64(dump, va);
    put64(dump, 2);
    put64(dump, va + shift);
    put32(dump, 10);
    put32(dump, 0);
    put_text(dump, file);
    put64(dump, va + shift + 8);
    put32(dump, 20);
    put32(dump, 0);
    put_text(dump, "\xff");
}

struct names {
    struct hs_symbol_builder builder;
    struct hs_symbol_table table;
    uint64_t pc;
    int err;
};

/* Looks one address up, at which code was used first at `used_ns`; 0: that is not known. */
static struct names look_up_used(const struct dump *dump, uint64_t pc, uint64_t time_max_ns,
                                 uint64_t used_ns)
{
    const struct hs_symbol_pc_time of_pcs[] = { { 1, 1 }, { pc, used_ns }, { UINT64_MAX, 1 } };
    const struct hs_symbol_jit_times times = { time_max_ns, of_pcs, used_ns != 0 ? 3 : 0 };
    struct names names = { .pc = pc };
    int fd = memfd_create("dump", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, dump->data, dump->bytes), (ssize_t)dump->bytes);
    assert_int_equal(hs_symbol_builder_init(&names.builder, &pc, 1), 0);
    names.err = hs_jitdump_names_fd(&names.builder, fd, &times);
    assert_int_equal(hs_symbol_builder_finish(&names.builder, &pc, 1, &names.table), 0);
    assert_true(hs_symbol_table_is_valid(&names.table));
    hs_symbol_builder_deinit(&names.builder);
    close(fd);
    return names;
}

static struct names look_up(const struct dump *dump, uint64_t pc, uint64_t time_max_ns)
{
    return look_up_used(dump, pc, time_max_ns, 0);
}

static void expect(struct names names, const char *name, uint32_t line)
{
    assert_int_equal(names.err, 0);
    assert_int_equal(names.table.spans[0].line_count, name ? 1 : 0);
    if (name) {
        const struct hs_symbol_line *found = &names.table.lines[names.table.spans[0].line_first];
        assert_string_equal(hs_symbol_string(&names.table, found->function_off), name);
        assert_int_equal(found->line, line);
        assert_string_equal(hs_symbol_string(&names.table, found->file_off), line ? "a.js" : "");
        assert_int_equal(names.table.source, HS_SYMBOL_SOURCE_JITDUMP);
    }
    hs_symbol_table_deinit(&names.table);
}

static void expect_at(const struct dump *dump, uint64_t pc, uint64_t time_max_ns, const char *name,
                      uint32_t line)
{
    expect(look_up(dump, pc, time_max_ns), name, line);
}

static void newest_code_counts(void **state)
{
    (void)state;
    struct dump dump = begin(0);
    put_load(&dump, 100, 0x1000, 16, 0, "first");
    put_load(&dump, 200, 0x1008, 16, 1, "second");
    expect_at(&dump, 0xfff, 0, NULL, 0);
    expect_at(&dump, 0x1007, 0, "first", 0);
    expect_at(&dump, 0x1008, 0, "second", 0);
    expect_at(&dump, 0x1017, 0, "second", 0);
    expect_at(&dump, 0x1018, 0, NULL, 0);
    expect_at(&dump, 0x1008, 199, "first", 0); /* as it was then */
    expect_at(&dump, 0x1008, 99, NULL, 0);
}

/* Of an address that was used at a time, the code of that time counts; the limit stays. */
static void code_of_the_time_of_use_counts(void **state)
{
    (void)state;
    struct dump dump = begin(0);
    put_load(&dump, 100, 0x1000, 16, 0, "first");
    put_load(&dump, 200, 0x1000, 16, 1, "second");
    put_load(&dump, 250, 0x3000, 16, 2, "other");
    put_move(&dump, 300, 0x3000, 0x1000, 2);
    expect(look_up_used(&dump, 0x1004, 0, 150), "first", 0);
    expect(look_up_used(&dump, 0x1004, 0, 200), "second", 0);
    expect(look_up_used(&dump, 0x1004, 0, 299), "second", 0);
    expect(look_up_used(&dump, 0x1004, 0, 300), "other", 0);
    expect(look_up_used(&dump, 0x1004, 0, 99), "first", 0); /* listed late */
    expect(look_up_used(&dump, 0x1004, 99, 99), NULL, 0);
    expect(look_up_used(&dump, 0x1004, 250, 400), "second", 0);
}

static void times_of_another_clock_do_not_count(void **state)
{
    (void)state;
    struct dump dump = begin(1);
    put_load(&dump, 200, 0x1000, 16, 0, "first");
    expect_at(&dump, 0x1000, 100, "first", 0);
    put_load(&dump, 300, 0x1000, 16, 0, "second");
    expect(look_up_used(&dump, 0x1000, 0, 250), "second", 0);
}

static void code_moves(void **state)
{
    (void)state;
    struct dump dump = begin(0);
    put_load(&dump, 100, 0x1000, 16, 5, "mover");
    put_load(&dump, 110, 0x3000, 16, 6, "other");
    put_move(&dump, 200, 0x1000, 0x2000, 5);
    put_move(&dump, 210, 0x1000, 0x3000, 99); /* of unknown code */
    expect_at(&dump, 0x2004, 0, "mover", 0);
    expect_at(&dump, 0x2004, 150, NULL, 0);
    expect_at(&dump, 0x1004, 0, "mover", 0); /* where it was, nothing else is */
    expect_at(&dump, 0x3004, 0, "other", 0);
}

static void lines_belong_to_the_next_code(void **state)
{
    (void)state;
    struct dump dump = begin(0);
    put_lines(&dump, 0x1000, 0, "a.js");
    put_load(&dump, 100, 0x1000, 16, 0, "first");
    put_load(&dump, 110, 0x2000, 16, 1, "second");
    put_lines(&dump, 0x4000, 0x40, "a.js");
    put_load(&dump, 120, 0x4000, 16, 2, "JS:*third a.js:9:1");
    put_lines(&dump, 0x6000, 0x40,
              "\xdc\x8d.js"); /* as V8 11.3 writes it for code that is not optimized */
    put_load(&dump, 125, 0x6000, 16, 3, "JS:*fourth a.js:9:1");
    put_lines(&dump, 0x7000, 0x40, ".js"); /* the end of another file's name, by chance of this */
    put_load(&dump, 126, 0x7000, 16, 4, "Function:*fifth a.js:9");
    put_lines(&dump, 0x8000, 0x40, "a.js"); /* positions in bytecode */
    put_load(&dump, 127, 0x8000, 16, 7, "JS:^sixth a.js:9:1");
    put_move(&dump, 130, 0x1000, 0x5000, 0);
    expect_at(&dump, 0x1007, 0, "first", 10);
    expect_at(&dump, 0x1008, 0, "first", 20);
    expect_at(&dump, 0x2000, 0, "second", 0);
    expect_at(&dump, 0x4009, 0, "JS:*third a.js:9:1", 20);
    expect_at(&dump, 0x5009, 0, "first", 20);
    expect_at(&dump, 0x6009, 0, "JS:*fourth a.js:9:1", 0);
    expect_at(&dump, 0x7009, 0, "Function:*fifth a.js:9", 0);
    expect_at(&dump, 0x8009, 0, "JS:^sixth a.js:9:1", 0);
}

static void broken_files(void **state)
{
    (void)state;
    struct dump whole = begin(0);
    put_lines(&whole, 0x1000, 0, "a.js");
    put_load(&whole, 100, 0x1000, 16, 0, "first");
    put_move(&whole, 130, 0x1000, 0x1000, 0);
    for (size_t bytes = 0; bytes < whole.bytes; bytes++) {
        struct dump dump = whole;
        dump.bytes = bytes;
        struct names names = look_up(&dump, 0x1001, 0);
        assert_int_equal(names.err, bytes < 40 ? -ENOEXEC : 0);
        hs_symbol_table_deinit(&names.table);
    }
    for (size_t at = 0; at < whole.bytes; at++) {
        struct dump dump = whole;
        dump.data[at] ^= 0xff;
        struct names names = look_up(&dump, 0x1001, 0);
        hs_symbol_table_deinit(&names.table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(newest_code_counts),
        cmocka_unit_test(times_of_another_clock_do_not_count),
        cmocka_unit_test(code_of_the_time_of_use_counts),
        cmocka_unit_test(code_moves),
        cmocka_unit_test(lines_belong_to_the_next_code),
        cmocka_unit_test(broken_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
