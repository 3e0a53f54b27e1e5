/*
 * client/python/python_lines.c, with tables that the interpreters themselves have written, and
 * python_layout.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/python/python_layout.h"
#include "client/python/python_lines.h"
#include "rt/base.h"

/* One function: its table, and the line of each instruction as the interpreter says it (0: none).
 * It begins in line 301. */
/* clang-format off */
static const uint8_t table_3_8[] = {
    0, 1, 2, 1, 6, 255, 4, 2, 4, 1, 2, 1, 2, 255, 4, 5, 8, 1, 2, 1, 12, 1, 16, 1, 20, 1, 10,
    1, 20, 1,
};
static const uint16_t lines_3_8[] = {
    302, 303, 303, 303, 302, 302, 304, 304, 305, 306, 305, 305, 310, 310, 310, 310, 311,
    312, 312, 312, 312, 312, 312, 313, 313, 313, 313, 313, 313, 313, 313, 314, 314, 314,
    314, 314, 314, 314, 314, 314, 314, 315, 315, 315, 315, 315, 316, 316, 316, 316, 316,
    316, 316, 316, 316, 316, 317, 317,
};
static const uint8_t table_3_9[] = {
    0, 1, 2, 1, 6, 255, 4, 2, 4, 1, 2, 1, 2, 255, 4, 5, 8, 1, 2, 1, 12, 1, 14, 1, 24, 1, 10,
    1, 40, 1,
};
static const uint16_t lines_3_9[] = {
    302, 303, 303, 303, 302, 302, 304, 304, 305, 306, 305, 305, 310, 310, 310, 310, 311,
    312, 312, 312, 312, 312, 312, 313, 313, 313, 313, 313, 313, 313, 314, 314, 314, 314,
    314, 314, 314, 314, 314, 314, 314, 314, 315, 315, 315, 315, 315, 316, 316, 316, 316,
    316, 316, 316, 316, 316, 316, 316, 316, 316, 316, 316, 316, 316, 316, 316, 316, 317, 317,
};
static const uint8_t table_3_10[] = {
    2, 1, 6, 1, 4, 255, 4, 2, 2, 1, 2, 1, 4, 255, 8, 5, 2, 1, 12, 1, 14, 1, 12, 1, 8, 128,
    2, 255, 10, 2, 12, 1, 10, 255, 4, 2, 16, 254, 4, 2,
};
static const uint16_t lines_3_10[] = {
    302, 303, 303, 303, 302, 302, 304, 304, 305, 306, 305, 305, 310, 310, 310, 310, 311,
    312, 312, 312, 312, 312, 312, 313, 313, 313, 313, 313, 313, 313, 314, 314, 314, 314,
    314, 314, 0, 0, 0, 0, 313, 315, 315, 315, 315, 315, 316, 316, 316, 316, 316, 316, 315,
    315, 315, 315, 315, 317, 317, 315, 315, 315, 315, 315, 315, 315, 315, 317, 317,
};
static const uint8_t table_3_11[] = {
    128, 0, 216, 9, 10, 216, 9, 10, 136, 81, 137, 21, 240, 3, 1, 9, 16, 128, 65, 224, 7, 8,
    240, 0, 2, 5, 19, 216, 16, 17, 216, 16, 17, 240, 3, 1, 16, 19, 240, 0, 1, 9, 19, 240,
    10, 0, 14, 15, 240, 0, 4, 5, 17, 240, 0, 4, 5, 17, 136, 1, 240, 2, 3, 9, 17, 216, 16,
    17, 144, 65, 145, 5, 136, 65, 136, 65, 248, 221, 15, 32, 240, 0, 1, 9, 17, 240, 0, 1, 9,
    17, 240, 0, 1, 9, 17, 216, 12, 16, 136, 68, 136, 68, 136, 68, 136, 68, 248, 248, 248,
    248, 240, 3, 1, 9, 17, 248, 248, 248, 229, 9, 13, 136, 97, 137, 23, 140, 23, 240, 0, 1,
    5, 26, 144, 65, 216, 13, 22, 136, 89, 136, 89, 137, 77, 140, 77, 136, 1, 240, 3, 1, 5,
    26, 240, 0, 1, 5, 26, 240, 0, 1, 5, 26, 241, 0, 1, 5, 26, 244, 0, 1, 5, 26, 240, 0, 1,
    5, 26, 240, 0, 1, 5, 26, 240, 0, 1, 5, 26, 240, 0, 1, 5, 26, 240, 0, 1, 5, 26, 240, 0,
    1, 5, 26, 248, 248, 248, 240, 0, 1, 5, 26, 240, 0, 1, 5, 26, 240, 0, 1, 5, 26, 240, 0,
    1, 5, 26, 224, 11, 12, 128, 72,
};
static const uint16_t lines_3_11[] = {
    301, 302, 303, 303, 303, 303, 302, 302, 304, 304, 305, 306, 305, 305, 310, 310, 310,
    310, 311, 312, 312, 312, 312, 312, 312, 0, 313, 313, 313, 313, 313, 313, 313, 313, 313,
    314, 314, 314, 314, 314, 0, 0, 0, 0, 313, 0, 0, 0, 315, 315, 315, 315, 315, 315, 315,
    315, 315, 315, 315, 315, 315, 315, 315, 315, 316, 316, 316, 316, 316, 316, 316, 316,
    316, 316, 316, 315, 315, 315, 315, 315, 315, 315, 315, 315, 315, 315, 315, 315, 315,
    315, 315, 0, 0, 0, 315, 315, 315, 315, 317, 317,
};
static const uint8_t table_3_12[] = {
    128, 0, 216, 9, 10, 216, 9, 10, 136, 81, 137, 21, 240, 3, 1, 9, 16, 128, 65, 225, 7, 8,
    216, 16, 17, 216, 16, 17, 240, 3, 1, 16, 19, 240, 0, 1, 9, 19, 240, 10, 0, 14, 15, 242,
    0, 4, 5, 17, 136, 1, 240, 2, 3, 9, 17, 216, 16, 17, 144, 65, 145, 5, 137, 65, 240, 5, 4,
    5, 17, 244, 10, 0, 10, 14, 136, 97, 139, 23, 240, 0, 1, 5, 26, 144, 65, 218, 13, 22,
    139, 77, 136, 1, 247, 3, 1, 5, 26, 224, 11, 12, 128, 72, 248, 244, 9, 0, 16, 33, 242, 0,
    1, 9, 17, 220, 12, 16, 251, 240, 3, 1, 9, 17, 250, 247, 4, 1, 5, 26, 224, 11, 12, 128,
    72, 250,
};
static const uint16_t lines_3_12[] = {
    301, 302, 303, 303, 303, 303, 302, 302, 304, 304, 305, 306, 305, 305, 310, 310, 310,
    310, 310, 311, 312, 312, 312, 312, 312, 312, 310, 315, 315, 315, 315, 315, 315, 315,
    315, 315, 315, 315, 315, 316, 316, 316, 316, 316, 316, 316, 316, 315, 315, 315, 315,
    315, 315, 315, 315, 317, 317, 0, 313, 313, 313, 313, 313, 313, 313, 313, 314, 314, 314,
    314, 314, 0, 0, 0, 0, 313, 0, 0, 0, 315, 315, 315, 315, 315, 315, 315, 315, 317, 317, 0,
    0, 0,
};
static const uint8_t table_3_13[] = {
    128, 0, 216, 9, 10, 216, 9, 10, 136, 81, 137, 21, 240, 3, 1, 9, 16, 128, 65, 230, 7, 8,
    216, 16, 17, 216, 16, 17, 240, 3, 1, 16, 19, 240, 0, 1, 9, 19, 243, 10, 0, 14, 15, 136,
    1, 240, 2, 3, 9, 17, 216, 16, 17, 144, 65, 145, 5, 138, 65, 241, 5, 0, 14, 15, 244, 10,
    0, 10, 14, 136, 97, 140, 23, 144, 65, 218, 13, 22, 139, 77, 136, 1, 247, 3, 0, 10, 17,
    224, 11, 12, 128, 72, 248, 244, 9, 0, 16, 33, 243, 0, 1, 9, 17, 221, 12, 16, 251, 240,
    3, 1, 9, 17, 250, 231, 9, 16, 140, 23, 224, 11, 12, 128, 72, 250,
};
static const uint16_t lines_3_13[] = {
    301, 302, 303, 303, 303, 303, 302, 302, 304, 304, 304, 304, 304, 304, 304, 305, 306,
    305, 305, 310, 310, 310, 310, 310, 311, 312, 312, 312, 312, 312, 312, 312, 310, 310,
    315, 315, 315, 315, 315, 315, 315, 315, 315, 315, 315, 315, 316, 316, 316, 316, 316,
    316, 316, 316, 315, 315, 315, 315, 315, 315, 315, 315, 317, 317, 0, 313, 313, 313, 313,
    313, 313, 313, 313, 313, 314, 314, 314, 314, 314, 314, 0, 0, 0, 0, 313, 0, 0, 0, 315,
    315, 315, 315, 315, 315, 315, 315, 315, 315, 315, 315, 315, 317, 317, 0, 0, 0,
};
/* clang-format on */

static const struct {
    uint32_t minor;
    const uint8_t *table;
    uint32_t bytes;
    const uint16_t *lines;
    uint32_t count;
} functions[] = {
    { 8, table_3_8, sizeof(table_3_8), lines_3_8, HS_COUNT_OF(lines_3_8) },
    { 9, table_3_9, sizeof(table_3_9), lines_3_9, HS_COUNT_OF(lines_3_9) },
    { 10, table_3_10, sizeof(table_3_10), lines_3_10, HS_COUNT_OF(lines_3_10) },
    { 11, table_3_11, sizeof(table_3_11), lines_3_11, HS_COUNT_OF(lines_3_11) },
    { 12, table_3_12, sizeof(table_3_12), lines_3_12, HS_COUNT_OF(lines_3_12) },
    { 13, table_3_13, sizeof(table_3_13), lines_3_13, HS_COUNT_OF(lines_3_13) },
};

static void test_lines_of_each_instruction(void **state)
{
    (void)state;
    for (unsigned f = 0; f < HS_COUNT_OF(functions); f++) {
        for (uint32_t i = 0; i < functions[f].count; i++) {
            uint32_t line = hs_python_line(functions[f].minor, functions[f].table,
                                           functions[f].bytes, 301, 2 * i);
            if (line != functions[f].lines[i]) {
                fail_msg("3.%u, instruction %u: line %u, and not %u", functions[f].minor, i, line,
                         functions[f].lines[i]);
            }
        }
    }
}

/* A table that ends in the middle, or adds more lines than there are numbers. */
static void test_tables_that_make_no_sense(void **state)
{
    (void)state;
    uint8_t table[4096];
    for (unsigned f = 0; f < HS_COUNT_OF(functions); f++) {
        for (uint32_t bytes = 0; bytes < functions[f].bytes; bytes++) {
            hs_python_line(functions[f].minor, functions[f].table, bytes, 301, 1U << 20);
        }
        for (uint32_t fill = 0; fill < 256; fill++) {
            memset(table, (int)fill, sizeof(table));
            hs_python_line(functions[f].minor, table, sizeof(table), 301, 1U << 30);
        }
    }
    assert_int_equal(hs_python_line(11, table, 0, 301, 0), 0);
    /* Long entries whose lines are the largest numbers, one after the other. */
    for (unsigned i = 0; i + 12 <= sizeof(table); i += 12) {
        static const uint8_t entry[12] = { 0xf7, 0x7e, 0x7f, 0x7f, 0x7f, 0x7f,
                                           0x7f, 0x7f, 0x7f, 0x7f, 0x3f, 0 };
        memcpy(table + i, entry, sizeof(entry));
    }
    assert_int_equal(hs_python_line(12, table, 4092, 301, 5000), 0);
}

static void test_versions(void **state)
{
    (void)state;
    struct hs_python_layout layout;
    uint8_t offsets[HS_PYTHON_OFFSETS_BYTES] = { 0 };
    assert_false(hs_python_layout_make(7, offsets, &layout));
    assert_false(hs_python_layout_make(14, offsets, &layout));
    assert_true(hs_python_layout_make(12, NULL, &layout));
    assert_int_equal(layout.minor, 12);
    assert_false(hs_python_layout_make(13, NULL, &layout));
    assert_false(hs_python_layout_make(13, offsets, &layout)); /* it publishes nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_of_each_instruction),
        cmocka_unit_test(test_tables_that_make_no_sense),
        cmocka_unit_test(test_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
