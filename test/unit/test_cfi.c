/* Every DW_CFA instruction as hand-written bytes, and invalid bytes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cfi_builder.h"
#include "unwind/cfi.h"

#define CODE   UINT64_C(0x401000)
#define LENGTH UINT64_C(0x100000)
#define ENC    (HS_EH_PE_PCREL | HS_EH_PE_SDATA4)

/* One function at CODE, to which a test appends instructions. */
static struct cfi_builder b;

static void begin(void)
{
    memset(&b, 0, sizeof(b));
    b.va = 0x500000;
    open_fde(&b, put_cie(&b), ENC, CODE, LENGTH);
}

static void op_u(unsigned op, uint64_t operand)
{
    put_u8(&b, op);
    put_uleb(&b, operand);
}

static void op_uu(unsigned op, uint64_t first, uint64_t second)
{
    op_u(op, first);
    put_uleb(&b, second);
}

static void op_us(unsigned op, uint64_t first, int64_t second)
{
    op_u(op, first);
    put_sleb(&b, second);
}

static void advance(unsigned delta)
{
    put_u8(&b, CFA_ADVANCE | delta);
}

static int row_of(struct cfi_builder *builder, uint64_t va, struct hs_cfi_row *ret_row)
{
    struct hs_unwind_module module = { .eh_frame = span_of(builder) };
    struct hs_cfi_fde fde;
    int err = hs_eh_find(&module, va, &fde);
    return err ? err : hs_cfi_row_at(&fde, va, ret_row);
}

/* Ends the function and returns its row at `off`. */
static struct hs_cfi_row row_at(uint64_t off)
{
    struct cfi_builder done = b;
    struct hs_cfi_row row;
    close_entry(&done);
    put_end(&done);
    assert_int_equal(row_of(&done, CODE + off, &row), 0);
    return row;
}

static void assert_bad(uint64_t off)
{
    struct cfi_builder done = b;
    struct hs_cfi_row row;
    close_entry(&done);
    put_end(&done);
    assert_int_equal(row_of(&done, CODE + off, &row), -EBADMSG);
}

static void assert_cfa(struct hs_cfi_row row, unsigned reg, int32_t off)
{
    assert_false(row.is_cfa_expr);
    assert_int_equal(row.cfa_reg, reg);
    assert_int_equal(row.cfa_value, off);
}

static void assert_reg(struct hs_cfi_row row, unsigned reg, enum hs_cfi_how how, int32_t value)
{
    assert_int_equal(row.how[reg], how);
    assert_int_equal(row.value[reg], value);
}

static void test_initial_row(void **state)
{
    (void)state;
    begin();
    assert_cfa(row_at(0), 7, 8);
    assert_reg(row_at(0), 16, HS_CFI_OFFSET, -8);
    assert_reg(row_at(0), 6, HS_CFI_UNSET, 0);
}

static void test_advance(void **state)
{
    (void)state;
    begin();
    advance(4);
    op_u(CFA_DEF_OFFSET, 16);
    put_u8(&b, CFA_ADVANCE1);
    put_u8(&b, 200);
    op_u(CFA_DEF_OFFSET, 24);
    put_u8(&b, CFA_ADVANCE2);
    put_uint(&b, 1000, 2);
    op_u(CFA_DEF_OFFSET, 32);
    put_u8(&b, CFA_ADVANCE4);
    put_uint(&b, 70000, 4);
    op_u(CFA_DEF_OFFSET, 40);
    put_u8(&b, CFA_SET_LOC);
    put_pointer(&b, ENC, CODE + 90000);
    op_u(CFA_DEF_OFFSET, 48);
    static const struct {
        uint64_t off;
        int32_t cfa_off;
    } cases[] = { { 0, 8 },      { 3, 8 },      { 4, 16 },     { 203, 16 },
                  { 204, 24 },   { 1203, 24 },  { 1204, 32 },  { 71203, 32 },
                  { 71204, 40 }, { 89999, 40 }, { 90000, 48 }, { LENGTH - 1, 48 } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_cfa(row_at(cases[i].off), 7, cases[i].cfa_off);
    }
}

static void test_cfa(void **state)
{
    (void)state;
    begin();
    op_uu(CFA_DEF, 6, 16);
    assert_cfa(row_at(0), 6, 16);
    op_u(CFA_DEF_REGISTER, 3);
    assert_cfa(row_at(0), 3, 16);
    op_u(CFA_DEF_OFFSET, 400);
    assert_cfa(row_at(0), 3, 400);
    op_us(CFA_DEF_SF, 7, -3); /* factored by the data alignment, -8 */
    assert_cfa(row_at(0), 7, 24);
    put_u8(&b, CFA_DEF_OFFSET_SF);
    put_sleb(&b, 2);
    assert_cfa(row_at(0), 7, -16);
}

static void test_register_rules(void **state)
{
    (void)state;
    begin();
    op_u(CFA_OFFSET | 3, 2);
    op_uu(CFA_OFFSET_EXTENDED, 6, 3);
    op_us(CFA_OFFSET_EXTENDED_SF, 12, -4);
    op_uu(CFA_VAL_OFFSET, 13, 5);
    op_us(CFA_VAL_OFFSET_SF, 14, -6);
    op_uu(CFA_REGISTER, 15, 0);
    op_u(CFA_UNDEFINED, 0);
    op_u(CFA_SAME_VALUE, 1);
    op_uu(CFA_GNU_NEGATIVE, 2, 7);
    op_u(CFA_GNU_ARGS_SIZE, 64);
    op_uu(CFA_OFFSET_EXTENDED, 33, 1); /* a vector register: parsed and ignored */
    struct hs_cfi_row row = row_at(0);
    assert_reg(row, 3, HS_CFI_OFFSET, -16);
    assert_reg(row, 6, HS_CFI_OFFSET, -24);
    assert_reg(row, 12, HS_CFI_OFFSET, 32);
    assert_reg(row, 13, HS_CFI_VAL_OFFSET, -40);
    assert_reg(row, 14, HS_CFI_VAL_OFFSET, 48);
    assert_reg(row, 15, HS_CFI_REGISTER, 0);
    assert_reg(row, 0, HS_CFI_UNDEFINED, 0);
    assert_reg(row, 1, HS_CFI_SAME, 0);
    assert_reg(row, 2, HS_CFI_OFFSET, 56);
    assert_cfa(row, 7, 8);
}

static void test_restore(void **state)
{
    (void)state;
    begin();
    op_u(CFA_OFFSET | 16, 9);
    op_u(CFA_OFFSET | 3, 2);
    advance(1);
    put_u8(&b, CFA_RESTORE | 16);
    op_u(CFA_RESTORE_EXTENDED, 3);
    assert_reg(row_at(0), 16, HS_CFI_OFFSET, -72);
    assert_reg(row_at(1), 16, HS_CFI_OFFSET, -8); /* as set by the CIE */
    assert_reg(row_at(1), 3, HS_CFI_UNSET, 0);
}

static void test_remember(void **state)
{
    (void)state;
    begin();
    op_u(CFA_DEF_OFFSET, 48);
    op_u(CFA_OFFSET | 6, 2);
    put_u8(&b, CFA_REMEMBER);
    advance(10);
    op_u(CFA_DEF_OFFSET, 8);
    put_u8(&b, CFA_RESTORE | 6);
    put_u8(&b, CFA_REMEMBER);
    advance(10);
    op_uu(CFA_DEF, 6, 0);
    advance(10);
    put_u8(&b, CFA_RECALL);
    advance(10);
    put_u8(&b, CFA_RECALL);
    assert_cfa(row_at(9), 7, 48);
    assert_cfa(row_at(10), 7, 8);
    assert_reg(row_at(10), 6, HS_CFI_UNSET, 0);
    assert_cfa(row_at(20), 6, 0);
    assert_cfa(row_at(30), 7, 8);
    assert_cfa(row_at(40), 7, 48);
    assert_reg(row_at(40), 6, HS_CFI_OFFSET, -16);
}

static void test_remember_limits(void **state)
{
    (void)state;
    begin();
    for (unsigned i = 0; i < HS_CFI_REMEMBER_MAX; i++) {
        put_u8(&b, CFA_REMEMBER);
    }
    row_at(0);
    put_u8(&b, CFA_REMEMBER);
    assert_bad(0);
    begin();
    put_u8(&b, CFA_RECALL);
    assert_bad(0);
}

/* A row of an expression keeps only where the expression's bytes are. */
static void test_expressions(void **state)
{
    (void)state;
    static const uint8_t cfa_expr[] = { 0x76, 0x78, 0x06 }, bp_expr[] = { 0x76, 0x00 };
    struct hs_cfi_row row;
    struct hs_cfi_fde fde;
    begin();
    op_u(CFA_DEF_EXPRESSION, sizeof(cfa_expr));
    put(&b, cfa_expr, sizeof(cfa_expr));
    op_uu(CFA_EXPRESSION, 6, sizeof(bp_expr));
    put(&b, bp_expr, sizeof(bp_expr));
    op_uu(CFA_VAL_EXPRESSION, 3, 0);
    close_entry(&b);
    struct hs_unwind_module module = { .eh_frame = span_of(&b) };
    assert_int_equal(hs_eh_find(&module, CODE, &fde), 0);
    assert_int_equal(hs_cfi_row_at(&fde, CODE, &row), 0);
    assert_true(row.is_cfa_expr);
    struct hs_cursor c = hs_cfi_expr(&fde, row.cfa_value);
    assert_int_equal(hs_cursor_left(&c), sizeof(cfa_expr));
    assert_memory_equal(c.at, cfa_expr, sizeof(cfa_expr));
    assert_int_equal(row.how[6], HS_CFI_EXPR);
    c = hs_cfi_expr(&fde, row.value[6]);
    assert_int_equal(hs_cursor_left(&c), sizeof(bp_expr));
    assert_memory_equal(c.at, bp_expr, sizeof(bp_expr));
    assert_int_equal(row.how[3], HS_CFI_VAL_EXPR);
    c = hs_cfi_expr(&fde, row.value[3]);
    assert_int_equal(hs_cursor_left(&c), 0);
}

static void test_register_after_expression(void **state)
{
    (void)state;
    begin();
    op_u(CFA_DEF_EXPRESSION, 1);
    put_u8(&b, 0x30);
    op_uu(CFA_DEF, 7, 8);
    assert_cfa(row_at(0), 7, 8);
    op_u(CFA_DEF_EXPRESSION, 1);
    put_u8(&b, 0x30);
    op_u(CFA_DEF_OFFSET, 16); /* invalid: no register is set */
    assert_bad(0);
}

static void test_nonsense(void **state)
{
    (void)state;
    static const unsigned unknown[] = { 0x17, 0x1d, 0x20, 0x2d, 0x30, 0x3f };
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        begin();
        put_u8(&b, unknown[i]);
        assert_bad(0);
    }
    begin();
    op_uu(CFA_DEF, 17, 8); /* a CFA register that is not supported */
    assert_bad(0);
    begin();
    op_u(CFA_DEF_OFFSET, UINT64_C(0x80000000));
    assert_bad(0);
    begin();
    op_u(CFA_OFFSET | 3, UINT64_C(0x7fffffff)); /* times -8 */
    assert_bad(0);
    begin();
    op_u(CFA_DEF_EXPRESSION, 100000); /* longer than the entry */
    assert_bad(0);
    begin();
    put_u8(&b, CFA_ADVANCE4); /* the bytes behind it are never reached */
    put_uint(&b, 0xffffffff, 4);
    put_u8(&b, 0x3f);
    row_at(LENGTH - 1);
}

/*
 * Every prefix of valid bytes gives an error or the right row, and no byte behind its end is read.
 */
static void test_truncated(void **state)
{
    (void)state;
    begin();
    op_u(CFA_DEF_OFFSET, 400);
    close_entry(&b);
    for (uint32_t size_bytes = 0; size_bytes <= b.size_bytes; size_bytes++) {
        uint8_t *copy = malloc(size_bytes + 1);
        struct hs_cfi_fde fde;
        struct hs_cfi_row row;
        memcpy(copy, b.bytes, size_bytes);
        struct hs_unwind_module module = { .eh_frame = { copy, b.va, size_bytes } };
        int err = hs_eh_find(&module, CODE, &fde);
        err = err ? err : hs_cfi_row_at(&fde, CODE, &row);
        assert_int_equal(err == 0, size_bytes == b.size_bytes);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_initial_row),
        cmocka_unit_test(test_advance),
        cmocka_unit_test(test_cfa),
        cmocka_unit_test(test_register_rules),
        cmocka_unit_test(test_restore),
        cmocka_unit_test(test_remember),
        cmocka_unit_test(test_remember_limits),
        cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_register_after_expression),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_truncated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
