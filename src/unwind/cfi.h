/*
 * Call frame information: from an FDE and an address to a row, which says for that address where
 * the caller's frame is and where each register of the caller was saved.
 *
 * This is a small interpreter of the DW_CFA instructions. It stops at the row that covers the
 * address, and makes no table of rows.
 *
 * Holds     a row consists of plain values: 100 bytes, so that a few of them fit a small stack. A
 *           row keeps an expression as the offset, within the section, at which the expression's
 *           length stands.
 * Fails     -EBADMSG on an unknown instruction, a register that has no number here, numbers beyond
 *           31 bits, or more than HS_CFI_REMEMBER_MAX remembered rows.
 */
#pragma once

#include <stdint.h>

#include "arch/regs.h"
#include "rt/check.h"
#include "unwind/eh_find.h"

/* Compilers nest one deep. */
#define HS_CFI_REMEMBER_MAX 6U

/* How a register of the caller is recovered. */
enum hs_cfi_how {
    HS_CFI_UNSET,      /* not mentioned: as in this frame, and rsp is the CFA */
    HS_CFI_SAME,       /* as in this frame */
    HS_CFI_UNDEFINED,  /* lost; for the return address: there is no caller */
    HS_CFI_OFFSET,     /* saved at CFA + value */
    HS_CFI_VAL_OFFSET, /* is CFA + value */
    HS_CFI_REGISTER,   /* is in register `value` */
    HS_CFI_EXPR,       /* saved where the expression says */
    HS_CFI_VAL_EXPR,   /* is what the expression says */
};

/* The row of one address. */
struct hs_cfi_row {
    int32_t value[HS_DWARF_REG_N]; /* an offset, a register, or the place of an expression */
    int32_t cfa_value;             /* offset, or the place of the expression */
    uint8_t how[HS_DWARF_REG_N];
    uint8_t cfa_reg;
    uint8_t is_cfa_expr;
};

_Static_assert(sizeof(struct hs_cfi_row) <= 100, "a few of them fit a small stack");

/* The row for `va`, which the FDE covers. 0 or -EBADMSG. */
int hs_cfi_row_at(const struct hs_cfi_fde *fde, uint64_t va, struct hs_cfi_row *ret_row);

/* The bytes of the expression whose place a row keeps as `value`. */
static inline struct hs_cursor hs_cfi_expr(const struct hs_cfi_fde *fde, int32_t value)
{
    struct hs_cursor c = fde->section;
    HS_ASSERT(value >= 0 && (uint64_t)value < hs_cursor_left(&c)); /* read_expr() was there */
    hs_cursor_skip(&c, (uint32_t)value);
    uint64_t size_bytes = hs_cursor_uleb(&c);
    if (size_bytes > hs_cursor_left(&c)) {
        c.is_bad = true;
        size_bytes = 0;
    }
    c.end = c.at + size_bytes;
    return c;
}
