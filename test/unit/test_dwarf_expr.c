/* Every operation of the DWARF expression machine, and invalid expressions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unwind/dwarf_expr.h"
#include "unwind/eh_pointer.h"

#define STACK_VA UINT64_C(0x7ff000)

static const uint64_t stack[4] = { 0x1122334455667788, 22, 33, STACK_VA + 8 };

static struct hs_stack_window window;
static struct hs_stack_reader reader;
static struct hs_frame frame;

static int setup(void **state)
{
    (void)state;
    window = (struct hs_stack_window){ .lo_va = STACK_VA,
                                       .hi_va = STACK_VA + sizeof(stack),
                                       .shift = (uint64_t)(uintptr_t)stack - STACK_VA };
    reader = (struct hs_stack_reader){ .window = &window, .base_va = STACK_VA };
    frame = (struct hs_frame){ 0 };
    hs_frame_set(&frame, HS_DWARF_SP, STACK_VA);
    hs_frame_set(&frame, HS_DWARF_BP, STACK_VA + 24);
    hs_frame_set(&frame, HS_DWARF_RA, 0x40100b);
    return 0;
}

static enum hs_frame_step eval(const uint8_t *bytes, size_t size_bytes, const uint64_t *initial,
                               uint64_t *ret_value)
{
    /* A copy of exact size, so that the sanitizer detects reads behind it. */
    uint8_t *copy = malloc(size_bytes ? size_bytes : 1);
    memcpy(copy, bytes, size_bytes);
    struct hs_span span = { copy, 0, size_bytes };
    enum hs_frame_step result =
        hs_expr_eval(hs_cursor_over(&span), &frame, &reader, initial, ret_value);
    free(copy);
    return result;
}

#define BYTES(...) ((const uint8_t[]){ __VA_ARGS__ })
#define ASSERT_VALUE(wanted, ...)                                                                  \
    do {                                                                                           \
        uint64_t value = 0xdead;                                                                   \
        assert_int_equal(eval(BYTES(__VA_ARGS__), sizeof(BYTES(__VA_ARGS__)), NULL, &value),       \
                         HS_FRAME_STEPPED);                                                        \
        assert_int_equal(value, (uint64_t)(wanted));                                               \
    } while (0)
#define ASSERT_FAILS(why, ...)                                                                     \
    do {                                                                                           \
        uint64_t value = 0xdead;                                                                   \
        assert_int_equal(eval(BYTES(__VA_ARGS__), sizeof(BYTES(__VA_ARGS__)), NULL, &value), why); \
        assert_int_equal(value, 0xdead);                                                           \
    } while (0)

static void test_constants(void **state)
{
    (void)state;
    ASSERT_VALUE(0, 0x30);
    ASSERT_VALUE(31, 0x4f);
    ASSERT_VALUE(0xff, 0x08, 0xff);
    ASSERT_VALUE(-1, 0x09, 0xff);
    ASSERT_VALUE(0xfffe, 0x0a, 0xfe, 0xff);
    ASSERT_VALUE(-2, 0x0b, 0xfe, 0xff);
    ASSERT_VALUE(0xfffffffd, 0x0c, 0xfd, 0xff, 0xff, 0xff);
    ASSERT_VALUE(-3, 0x0d, 0xfd, 0xff, 0xff, 0xff);
    ASSERT_VALUE(0x0807060504030201, 0x0e, 1, 2, 3, 4, 5, 6, 7, 8);
    ASSERT_VALUE(-4, 0x0f, 0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff);
    ASSERT_VALUE(300, 0x10, 0xac, 0x02);
    ASSERT_VALUE(-300, 0x11, 0xd4, 0x7d);
    ASSERT_VALUE(0x0807060504030201, 0x03, 1, 2, 3, 4, 5, 6, 7, 8);
}

static void test_stack_operations(void **state)
{
    (void)state;
    ASSERT_VALUE(10, 0x35, 0x12, 0x22);                            /* 5 dup plus */
    ASSERT_VALUE(1, 0x31, 0x32, 0x13);                             /* 1 2 drop */
    ASSERT_VALUE(4 - 7, 0x37, 0x34, 0x14, 0x1c);                   /* 7 4 over minus */
    ASSERT_VALUE(9, 0x39, 0x31, 0x32, 0x15, 2);                    /* 9 1 2 pick 2 */
    ASSERT_VALUE(2 - 8, 0x38, 0x32, 0x16, 0x1c);                   /* 8 2 swap minus: 2 - 8 */
    ASSERT_VALUE(3 - (1 - 2), 0x31, 0x32, 0x33, 0x17, 0x1c, 0x1c); /* 1 2 3 rot: 3 1 2 */
}

static void test_arithmetic(void **state)
{
    (void)state;
    ASSERT_VALUE(5, 0x09, 0xfb, 0x19); /* abs -5 */
    ASSERT_VALUE(INT64_MIN, 0x0f, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x19);
    ASSERT_VALUE(8, 0x3c, 0x3a, 0x1a);        /* 12 & 10 */
    ASSERT_VALUE(-3, 0x09, 0xf9, 0x32, 0x1b); /* -7 / 2: toward zero */
    ASSERT_VALUE(INT64_MIN, 0x0f, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x09, 0xff, 0x1b);
    ASSERT_VALUE(3, 0x37, 0x34, 0x1c);
    ASSERT_VALUE(3, 0x37, 0x34, 0x1d);
    ASSERT_VALUE(28, 0x37, 0x34, 0x1e);
    ASSERT_VALUE(-7, 0x37, 0x1f);
    ASSERT_VALUE(~UINT64_C(7), 0x37, 0x20);
    ASSERT_VALUE(7, 0x36, 0x33, 0x21);
    ASSERT_VALUE(11, 0x37, 0x34, 0x22);
    ASSERT_VALUE(307, 0x37, 0x23, 0xac, 0x02);
    ASSERT_VALUE(7 << 4, 0x37, 0x34, 0x24);
    ASSERT_VALUE(0, 0x37, 0x08, 64, 0x24);
    ASSERT_VALUE(UINT64_MAX >> 4, 0x09, 0xff, 0x34, 0x25);
    ASSERT_VALUE(0, 0x09, 0xff, 0x08, 64, 0x25);
    ASSERT_VALUE(-1, 0x09, 0xff, 0x34, 0x26);
    ASSERT_VALUE(-1, 0x09, 0xff, 0x08, 200, 0x26);
    ASSERT_VALUE(5, 0x36, 0x33, 0x27);
}

static void test_comparisons(void **state)
{
    (void)state;
    static const uint8_t ops[] = { 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e }; /* eq ge gt le lt ne */
    static const uint8_t less[] = { 0, 0, 0, 1, 1, 1 }, same[] = { 1, 1, 0, 1, 0, 0 };
    for (size_t i = 0; i < sizeof(ops); i++) {
        ASSERT_VALUE(less[i], 0x09, 0xff, 0x31, ops[i]); /* -1 and 1: signed */
        ASSERT_VALUE(same[i], 0x37, 0x37, ops[i]);
    }
}

static void test_branches(void **state)
{
    (void)state;
    ASSERT_VALUE(1, 0x31, 0x2f, 1, 0, 0x13);             /* skip over a drop */
    ASSERT_VALUE(7, 0x37, 0x31, 0x28, 1, 0, 0x13);       /* taken */
    ASSERT_VALUE(7, 0x36, 0x37, 0x30, 0x28, 1, 0, 0x96); /* not taken */
    /* 10, then minus one until it is zero: a backward branch that ends */
    ASSERT_VALUE(0, 0x3a, 0x31, 0x1c, 0x12, 0x28, 0xfa, 0xff);
    ASSERT_FAILS(HS_FRAME_BAD_INFO, 0x31, 0x2f, 0xfc, 0xff); /* never ends */
    ASSERT_FAILS(HS_FRAME_BAD_INFO, 0x31, 0x2f, 0xfb, 0xff); /* jumps before the start */
    ASSERT_FAILS(HS_FRAME_BAD_INFO, 0x31, 0x2f, 1, 0);       /* jumps behind the end */
}

static void test_registers(void **state)
{
    (void)state;
    ASSERT_VALUE(STACK_VA + 8, 0x77, 8);
    ASSERT_VALUE(STACK_VA + 16, 0x76, 0x78);
    ASSERT_VALUE(0x40100b, 0x80, 0);
    ASSERT_VALUE(STACK_VA + 8, 0x92, 7, 8);
    ASSERT_FAILS(HS_FRAME_UNKNOWN, 0x73, 0); /* rbx is not known */
    ASSERT_FAILS(HS_FRAME_UNKNOWN, 0x81, 0); /* a register without a number here */
    ASSERT_FAILS(HS_FRAME_UNKNOWN, 0x92, 40, 0);
}

static void test_memory(void **state)
{
    (void)state;
    ASSERT_VALUE(stack[0], 0x77, 0, 0x06);
    ASSERT_VALUE(22, 0x76, 0, 0x06, 0x06); /* the last word points at the second */
    ASSERT_VALUE(0x88, 0x77, 0, 0x94, 1);
    ASSERT_VALUE(0x7788, 0x77, 0, 0x94, 2);
    ASSERT_VALUE(0x55667788, 0x77, 0, 0x94, 4);
    ASSERT_VALUE(stack[0], 0x77, 0, 0x94, 8);
    ASSERT_FAILS(HS_FRAME_BAD_INFO, 0x77, 0, 0x94, 9);
    ASSERT_FAILS(HS_FRAME_BAD_INFO, 0x77, 0, 0x94, 0);
    ASSERT_FAILS(HS_FRAME_UNREADABLE, 0x77, 0x78, 0x06); /* address below the window */
    ASSERT_FAILS(HS_FRAME_UNREADABLE, 0x77, 25, 0x06);   /* its last bytes are outside */
    ASSERT_FAILS(HS_FRAME_UNREADABLE, 0x30, 0x06);
    ASSERT_FAILS(HS_FRAME_UNREADABLE, 0x09, 0xff, 0x06);
}

static void test_initial(void **state)
{
    (void)state;
    uint64_t cfa = 1000, value;
    assert_int_equal(eval(BYTES(0x23, 8), 2, &cfa, &value), HS_FRAME_STEPPED);
    assert_int_equal(value, 1008);
    assert_int_equal(eval(BYTES(0), 0, &cfa, &value), HS_FRAME_STEPPED);
    assert_int_equal(value, 1000);
}

static void test_nonsense(void **state)
{
    (void)state;
    ASSERT_FAILS(HS_FRAME_BAD_INFO, 0x96); /* leaves no result */
    ASSERT_FAILS(HS_FRAME_BAD_INFO, 0x22); /* nothing to add */
    ASSERT_FAILS(HS_FRAME_BAD_INFO, 0x31, 0x22);
    ASSERT_FAILS(HS_FRAME_BAD_INFO, 0x31, 0x16);
    ASSERT_FAILS(HS_FRAME_BAD_INFO, 0x31, 0x32, 0x17);
    ASSERT_FAILS(HS_FRAME_BAD_INFO, 0x31, 0x15, 1);    /* picks below the bottom of the stack */
    ASSERT_FAILS(HS_FRAME_BAD_INFO, 0x31, 0x30, 0x1b); /* division by zero */
    ASSERT_FAILS(HS_FRAME_BAD_INFO, 0x31, 0x30, 0x1d);
    ASSERT_FAILS(HS_FRAME_BAD_INFO, 0x0c, 1, 2, 3); /* the operand is cut off */
    ASSERT_FAILS(HS_FRAME_BAD_INFO, 0x10, 0x80);
    ASSERT_FAILS(HS_FRAME_BAD_INFO, 0x50); /* a location, not a value */
    ASSERT_FAILS(HS_FRAME_BAD_INFO, 0x9c); /* call_frame_cfa would need itself */
    ASSERT_FAILS(HS_FRAME_BAD_INFO, 0xff);
    ASSERT_FAILS(HS_FRAME_BAD_INFO, 0x00);
    uint8_t deep[HS_EXPR_DEPTH_MAX + 1];
    uint64_t value = 0;
    memset(deep, 0x31, sizeof(deep));
    assert_int_equal(eval(deep, sizeof(deep) - 1, NULL, &value), HS_FRAME_STEPPED);
    assert_int_equal(eval(deep, sizeof(deep), NULL, &value), HS_FRAME_BAD_INFO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constants),  cmocka_unit_test(test_stack_operations),
        cmocka_unit_test(test_arithmetic), cmocka_unit_test(test_comparisons),
        cmocka_unit_test(test_branches),   cmocka_unit_test(test_registers),
        cmocka_unit_test(test_memory),     cmocka_unit_test(test_initial),
        cmocka_unit_test(test_nonsense),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
