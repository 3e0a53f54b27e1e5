/*
 * line_program.c: headers of all versions, each instruction, overlapping sequences, and damaged
 * bytes. test/e2e/test_symbols_addr2line.py checks the lines of real programs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "symbol/line_program.h"

#define CODE       UINT64_C(0x1000)
#define LINE_BASE  (-5)
#define LINE_RANGE 14
#define OPCODES    13 /* the first special opcode */

/* A .debug_line section under construction, with one program. */
struct writer {
    uint8_t bytes[1024];
    size_t count;
    size_t length_at, head_at; /* where the two lengths are, which are known only at the end */
    unsigned offset_bytes;
};

static void put(struct writer *w, uint64_t value, unsigned bytes)
{
    memcpy(w->bytes + w->count, &value, bytes);
    w->count += bytes;
}

static void put_text(struct writer *w, const char *text)
{
    memcpy(w->bytes + w->count, text, strlen(text) + 1);
    w->count += strlen(text) + 1;
}

static void put_uleb(struct writer *w, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) {
        put(w, (value & 0x7f) | 0x80, 1);
    }
    put(w, value, 1);
}

static void begin(struct writer *w, unsigned version, unsigned offset_bytes)
{
    static const uint8_t operand_counts[OPCODES - 1] = { 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1 };
    *w = (struct writer){ .offset_bytes = offset_bytes };
    if (offset_bytes == 8) {
        put(w, UINT32_MAX, 4);
    }
    w->length_at = w->count;
    put(w, 0, offset_bytes);
    put(w, version, 2);
    if (version >= 5) {
        put(w, 8, 1);
        put(w, 0, 1);
    }
    w->head_at = w->count;
    put(w, 0, offset_bytes);
    put(w, 1, 1);
    if (version >= 4) {
        put(w, 1, 1);
    }
    put(w, 1, 1);
    put(w, (uint8_t)LINE_BASE, 1);
    put(w, LINE_RANGE, 1);
    put(w, OPCODES, 1);
    for (unsigned i = 0; i < OPCODES - 1; i++) {
        put(w, operand_counts[i], 1);
    }
}

static void end_head(struct writer *w)
{
    uint64_t bytes = w->count - w->head_at - w->offset_bytes;
    memcpy(w->bytes + w->head_at, &bytes, w->offset_bytes);
}

static void begin_v4(struct writer *w)
{
    begin(w, 4, 4);
    put_text(w, "sub");
    put(w, 0, 1);
    put_text(w, "main.c");
    put(w, 0, 3);
    put_text(w, "part.h");
    put(w, 1, 1);
    put(w, 0, 2);
    put(w, 0, 1);
    end_head(w);
}

static void set_address(struct writer *w, uint64_t sva)
{
    put(w, 0, 1);
    put_uleb(w, 9);
    put(w, DW_LNE_set_address, 1);
    put(w, sva, 8);
}

static void special(struct writer *w, unsigned advance, int line_delta)
{
    put(w, OPCODES + advance * LINE_RANGE + (unsigned)(line_delta - LINE_BASE), 1);
}

static void end_sequence(struct writer *w, unsigned advance)
{
    put(w, DW_LNS_advance_pc, 1);
    put_uleb(w, advance);
    put(w, 0, 1);
    put(w, 1, 1);
    put(w, DW_LNE_end_sequence, 1);
}

static struct hs_line_sections sections_of(struct writer *w)
{
    uint64_t bytes = w->count - w->length_at - w->offset_bytes;
    memcpy(w->bytes + w->length_at, &bytes, w->offset_bytes);
    return (struct hs_line_sections){ .line = { w->bytes, w->count } };
}

static int open_written(struct writer *w, struct hs_line_program *ret_program)
{
    struct hs_line_sections sections = sections_of(w);
    return hs_line_program_open(&sections, 0, ret_program);
}

static struct hs_line_row find(struct writer *w, uint64_t pc)
{
    struct hs_line_program program;
    struct hs_line_row row;
    assert_int_equal(open_written(w, &program), 0);
    assert_int_equal(hs_line_program_find(&program, CODE, &pc, 1, &row), 0);
    hs_line_program_close(&program);
    return row;
}

static void assert_row(struct writer *w, uint64_t pc, uint64_t file_idx, uint32_t line)
{
    struct hs_line_row row = find(w, pc);
    assert_true(row.is_found);
    assert_int_equal(row.file_idx, file_idx);
    assert_int_equal(row.line, line);
}

static void assert_file(const struct hs_line_program *program, uint64_t idx, const char *folder,
                        const char *name)
{
    const char *got_folder, *got_name;
    assert_true(hs_line_program_file(program, idx, &got_folder, &got_name));
    assert_string_equal(got_name, name);
    if (folder) {
        assert_string_equal(got_folder, folder);
    } else {
        assert_null(got_folder);
    }
}

static void test_rows(void **state)
{
    struct writer w;
    (void)state;
    begin_v4(&w);
    set_address(&w, CODE);
    special(&w, 0, 6); /* 0x1000 line 7 */
    special(&w, 4, 1); /* 0x1004 line 8 */
    special(&w, 0, 2); /* 0x1004 line 10: of two rows the later counts */
    put(&w, DW_LNS_advance_line, 1);
    put_uleb(&w, 300);
    put(&w, DW_LNS_set_file, 1);
    put_uleb(&w, 2);
    put(&w, DW_LNS_const_add_pc, 1); /* as special 255: (255 - 13) / 14 = 17 */
    put(&w, DW_LNS_copy, 1);         /* 0x1015 line 310 of file 2 */
    put(&w, DW_LNS_fixed_advance_pc, 1);
    put(&w, 0x100, 2);
    put(&w, DW_LNS_advance_line, 1);
    put(&w, 0x7f, 1); /* -1 */
    put(&w, DW_LNS_negate_stmt, 1);
    put(&w, DW_LNS_set_isa, 1);
    put_uleb(&w, 1000);
    put(&w, DW_LNS_copy, 1); /* 0x1115 line 309 */
    end_sequence(&w, 1);
    assert_false(find(&w, CODE - 1).is_found);
    assert_row(&w, CODE, 1, 7);
    assert_row(&w, CODE + 3, 1, 7);
    assert_row(&w, CODE + 4, 1, 10);
    assert_row(&w, CODE + 0x14, 1, 10);
    assert_row(&w, CODE + 0x15, 2, 310);
    assert_row(&w, CODE + 0x114, 2, 310);
    assert_row(&w, CODE + 0x115, 2, 309);
    assert_false(find(&w, CODE + 0x116).is_found);
}

static void test_all_at_once(void **state)
{
    static const uint64_t pcs[] = {
        1, CODE, CODE + 1, CODE + 9, CODE + 10, CODE + 0x100, UINT64_MAX
    };
    static const uint32_t lines[] = { 0, 2, 2, 2, 3, 6, 0 };
    struct hs_line_row rows[7];
    struct hs_line_program program;
    struct writer w;
    (void)state;
    begin_v4(&w);
    /* Sequences may be in any order. */
    set_address(&w, CODE + 0x100);
    special(&w, 0, 5);
    end_sequence(&w, 4);
    set_address(&w, CODE);
    special(&w, 0, 1);
    special(&w, 10, 1);
    end_sequence(&w, 2);
    assert_int_equal(open_written(&w, &program), 0);
    assert_int_equal(hs_line_program_find(&program, CODE, pcs, 7, rows), 0);
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(rows[i].is_found, lines[i] != 0);
        assert_int_equal(rows[i].line, lines[i]);
    }
    hs_line_program_close(&program);
}

/* Code that the linker dropped stays at address 0, or overlaps other code. */
static void test_leftovers(void **state)
{
    struct writer w;
    (void)state;
    begin_v4(&w);
    set_address(&w, 0);
    special(&w, 0, 1);
    end_sequence(&w, 0x2000);
    assert_false(find(&w, CODE + 0x18).is_found);
    set_address(&w, CODE + 0x10);
    special(&w, 0, 2);
    end_sequence(&w, 0x10);
    set_address(&w, CODE);
    special(&w, 0, 3);
    end_sequence(&w, 0x100);
    assert_row(&w, CODE + 0x18, 1, 3);
    assert_row(&w, CODE + 0x28, 1, 4);
}

static void test_addresses_that_go_back(void **state)
{
    struct writer w;
    (void)state;
    begin_v4(&w);
    set_address(&w, CODE + 0x20);
    special(&w, 0, 1); /* no row follows it: it covers nothing */
    set_address(&w, CODE);
    special(&w, 0, 1);
    special(&w, 8, 1);
    end_sequence(&w, 8);
    assert_row(&w, CODE + 7, 1, 3);
    assert_row(&w, CODE + 8, 1, 4);
    assert_false(find(&w, CODE + 0x20).is_found);
}

static void test_old_files(void **state)
{
    struct hs_line_program program;
    const char *folder, *name;
    struct writer w;
    (void)state;
    begin_v4(&w);
    put(&w, 0, 1);
    put_uleb(&w, 1 + sizeof("late.c") + 3);
    put(&w, DW_LNE_define_file, 1);
    put_text(&w, "late.c");
    put(&w, 1, 1);
    put(&w, 0, 2);
    assert_int_equal(open_written(&w, &program), 0);
    assert_false(hs_line_program_file(&program, 0, &folder, &name));
    assert_file(&program, 1, NULL, "main.c");
    assert_file(&program, 2, "sub", "part.h");
    assert_false(hs_line_program_file(&program, 3, &folder, &name));
    assert_int_equal(hs_line_program_find(&program, CODE, NULL, 0, NULL), 0);
    assert_file(&program, 3, "sub", "late.c");
    assert_false(hs_line_program_file(&program, UINT64_MAX, &folder, &name));
    hs_line_program_close(&program);
}

/* Versions 2 and 3 lack a byte of version 4's header. */
static void test_version_2(void **state)
{
    struct writer w;
    (void)state;
    begin(&w, 2, 4);
    put(&w, 0, 1);
    put_text(&w, "a.c");
    put(&w, 0, 4);
    end_head(&w);
    set_address(&w, CODE);
    special(&w, 0, 1);
    end_sequence(&w, 8);
    assert_row(&w, CODE + 7, 1, 2);
}

static void check_version_5(unsigned offset_bytes)
{
    static const char line_str[] = "x\0/build\0sub";
    static const char str[] = "main.c";
    struct hs_line_program program;
    struct writer w;
    begin(&w, 5, offset_bytes);
    put(&w, 1, 1);
    put_uleb(&w, DW_LNCT_path);
    put_uleb(&w, DW_FORM_line_strp);
    put(&w, 2, 1);
    put(&w, 2, offset_bytes);
    put(&w, 9, offset_bytes);
    put(&w, 4, 1);
    put_uleb(&w, DW_LNCT_path);
    put_uleb(&w, DW_FORM_strp);
    put_uleb(&w, DW_LNCT_directory_index);
    put_uleb(&w, DW_FORM_udata);
    put_uleb(&w, DW_LNCT_MD5);
    put_uleb(&w, DW_FORM_data16);
    put_uleb(&w, 0x2001); /* a compiler's own code */
    put_uleb(&w, DW_FORM_block);
    put(&w, 3, 1);
    for (unsigned i = 0; i < 3; i++) {
        put(&w, i == 2 ? 99 : 0, offset_bytes); /* the last one's string does not exist */
        put(&w, i, 1);
        put(&w, 7, 8);
        put(&w, 7, 8);
        put(&w, 2, 1);
        put(&w, 0, 2);
    }
    end_head(&w);
    set_address(&w, CODE);
    special(&w, 0, 1);
    end_sequence(&w, 1);
    struct hs_line_sections sections = sections_of(&w);
    sections.line_str = (struct hs_line_bytes){ (const uint8_t *)line_str, sizeof(line_str) };
    sections.str = (struct hs_line_bytes){ (const uint8_t *)str, sizeof(str) };
    assert_int_equal(hs_line_program_open(&sections, 0, &program), 0);
    assert_file(&program, 0, "/build", "main.c");
    assert_file(&program, 1, "sub", "main.c");
    const char *folder, *name;
    assert_false(hs_line_program_file(&program, 2, &folder, &name));
    uint64_t pc = CODE;
    struct hs_line_row row;
    assert_int_equal(hs_line_program_find(&program, CODE, &pc, 1, &row), 0);
    assert_true(row.is_found);
    assert_int_equal(row.line, 2);
    hs_line_program_close(&program);
}

static void test_version_5(void **state)
{
    (void)state;
    check_version_5(4);
    check_version_5(8);
}

static void test_refused(void **state)
{
    struct hs_line_program program;
    struct writer w;
    (void)state;
    begin_v4(&w);
    struct hs_line_sections sections = sections_of(&w);
    assert_int_equal(hs_line_program_open(&sections, w.count, &program), -EBADMSG);
    assert_int_equal(hs_line_program_open(&sections, UINT64_MAX, &program), -EBADMSG);
    sections.line = (struct hs_line_bytes){ 0 };
    assert_int_equal(hs_line_program_open(&sections, 0, &program), -EBADMSG);
    begin(&w, 6, 4);
    assert_int_equal(open_written(&w, &program), -ENOTSUP);
    begin_v4(&w);
    w.bytes[w.head_at + 4 + 1] = 4; /* operations per instruction */
    assert_int_equal(open_written(&w, &program), -ENOTSUP);
    begin_v4(&w);
    w.bytes[w.head_at + 4 + 4] = 0; /* line_range: a divisor */
    assert_int_equal(open_written(&w, &program), -EBADMSG);
    /* Attributes that take no bytes could be repeated without end. */
    begin(&w, 5, 4);
    put(&w, 0, 1);
    put_uleb(&w, UINT64_MAX);
    put(&w, 0, 2);
    end_head(&w);
    assert_int_equal(open_written(&w, &program), 0);
    hs_line_program_close(&program);
    begin(&w, 5, 4);
    put(&w, 1, 1);
    put_uleb(&w, DW_LNCT_path);
    put_uleb(&w, DW_FORM_flag_present);
    put(&w, 1, 1);
    end_head(&w);
    assert_int_equal(open_written(&w, &program), -ENOTSUP);
}

/* Cut at any place, it is refused or gives the same rows as before the cut. */
static void test_cut(void **state)
{
    struct writer w;
    (void)state;
    begin_v4(&w);
    set_address(&w, CODE);
    special(&w, 0, 1);
    special(&w, 4, 1);
    end_sequence(&w, 0x1234);
    struct hs_line_sections whole = sections_of(&w);
    for (size_t bytes = 0; bytes < w.count; bytes++) {
        struct hs_line_program program;
        uint64_t pc = CODE;
        struct hs_line_row row;
        uint32_t length = bytes >= 4 ? (uint32_t)(bytes - 4) : 0;
        uint8_t *copy = malloc(bytes + 1);
        assert_non_null(copy);
        memcpy(copy, whole.line.bytes, bytes);
        if (bytes >= 4) {
            memcpy(copy, &length, 4);
        }
        struct hs_line_sections cut = { .line = { copy, bytes } };
        if (hs_line_program_open(&cut, 0, &program) == 0) {
            assert_int_equal(hs_line_program_find(&program, CODE, &pc, 1, &row), 0);
            assert_true(!row.is_found || row.line == 2);
            hs_line_program_close(&program);
        }
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),      cmocka_unit_test(test_all_at_once),
        cmocka_unit_test(test_leftovers), cmocka_unit_test(test_addresses_that_go_back),
        cmocka_unit_test(test_old_files), cmocka_unit_test(test_version_2),
        cmocka_unit_test(test_version_5), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
