/*
 * The interpreter of DW_CFA instructions.
 *
 * The initial instructions of the CIE run first, and their row is kept, because DW_CFA_restore goes
 * back to it. Then those of the FDE run until the location passes the wanted address.
 */
#include "unwind/cfi.h"

#include <errno.h>

#include "unwind/eh_pointer.h"

enum dw_cfa {
    DW_CFA_NOP = 0x00,
    DW_CFA_SET_LOC = 0x01,
    DW_CFA_ADVANCE_LOC1 = 0x02,
    DW_CFA_ADVANCE_LOC2 = 0x03,
    DW_CFA_ADVANCE_LOC4 = 0x04,
    DW_CFA_OFFSET_EXTENDED = 0x05,
    DW_CFA_RESTORE_EXTENDED = 0x06,
    DW_CFA_UNDEFINED = 0x07,
    DW_CFA_SAME_VALUE = 0x08,
    DW_CFA_REGISTER = 0x09,
    DW_CFA_REMEMBER_STATE = 0x0a,
    DW_CFA_RESTORE_STATE = 0x0b,
    DW_CFA_DEF_CFA = 0x0c,
    DW_CFA_DEF_CFA_REGISTER = 0x0d,
    DW_CFA_DEF_CFA_OFFSET = 0x0e,
    DW_CFA_DEF_CFA_EXPRESSION = 0x0f,
    DW_CFA_EXPRESSION = 0x10,
    DW_CFA_OFFSET_EXTENDED_SF = 0x11,
    DW_CFA_DEF_CFA_SF = 0x12,
    DW_CFA_DEF_CFA_OFFSET_SF = 0x13,
    DW_CFA_VAL_OFFSET = 0x14,
    DW_CFA_VAL_OFFSET_SF = 0x15,
    DW_CFA_VAL_EXPRESSION = 0x16,
    DW_CFA_GNU_ARGS_SIZE = 0x2e,
    DW_CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
    /* These carry an operand in their low six bits. */
    DW_CFA_ADVANCE_LOC = 0x40,
    DW_CFA_OFFSET = 0x80,
    DW_CFA_RESTORE = 0xc0,
};

struct machine {
    const struct hs_cfi_fde *fde;
    struct hs_cursor c;
    uint64_t loc_va;
    uint64_t wanted_va;
    struct hs_cfi_row *row;
    const struct hs_cfi_row *initial; /* NULL while the CIE's instructions run */
    uint32_t remembered_count;
    struct hs_cfi_row remembered[HS_CFI_REMEMBER_MAX];
};

static int32_t narrow(struct machine *m, int64_t value)
{
    if (value != (int32_t)value) {
        m->c.is_bad = true;
    }
    return (int32_t)value;
}

/* An unsigned operand that must fit 31 bits. */
static int32_t read_small(struct machine *m)
{
    uint64_t value = hs_cursor_uleb(&m->c);
    return narrow(m, value > INT32_MAX ? INT64_MAX : (int64_t)value);
}

static int32_t scale(struct machine *m, int64_t factored)
{
    int64_t value;
    if (__builtin_mul_overflow(factored, m->fde->cie.data_align, &value)) {
        value = INT64_MAX;
    }
    return narrow(m, value);
}

static int32_t read_scaled_u(struct machine *m)
{
    return scale(m, read_small(m));
}

static int32_t read_scaled_s(struct machine *m)
{
    return scale(m, hs_cursor_sleb(&m->c));
}

/* The place of the expression that follows, which is skipped. */
static int32_t read_expr(struct machine *m)
{
    uint64_t off = (uint64_t)(m->c.at - m->fde->section.at);
    hs_cursor_skip(&m->c, hs_cursor_uleb(&m->c));
    return narrow(m, off > INT32_MAX ? INT64_MAX : (int64_t)off);
}

/* Registers without a number here (vectors, flags) are of no use to unwinding: their rules are read
 * and dropped. */
static void set(struct machine *m, uint64_t reg, enum hs_cfi_how how, int32_t value)
{
    if (reg < HS_DWARF_REG_N) {
        m->row->how[reg] = (uint8_t)how;
        m->row->value[reg] = value;
    }
}

static void restore(struct machine *m, uint64_t reg)
{
    if (reg >= HS_DWARF_REG_N) {
        return;
    }
    if (!m->initial) {
        m->c.is_bad = true;
        return;
    }
    m->row->how[reg] = m->initial->how[reg];
    m->row->value[reg] = m->initial->value[reg];
}

static void set_cfa_reg(struct machine *m, uint64_t reg)
{
    if (reg >= HS_DWARF_RA) {
        m->c.is_bad = true;
        return;
    }
    m->row->cfa_reg = (uint8_t)reg;
    m->row->is_cfa_expr = 0;
}

static void set_cfa_off(struct machine *m, int32_t off)
{
    if (m->row->is_cfa_expr) {
        m->c.is_bad = true;
    }
    m->row->cfa_value = off;
}

static void remember(struct machine *m)
{
    if (m->remembered_count == HS_CFI_REMEMBER_MAX) {
        m->c.is_bad = true;
        return;
    }
    m->remembered[m->remembered_count++] = *m->row;
}

static void recall(struct machine *m)
{
    if (m->remembered_count == 0) {
        m->c.is_bad = true;
        return;
    }
    *m->row = m->remembered[--m->remembered_count];
}

/* Advances the location. False: the wanted row is complete. */
static bool advance(struct machine *m, uint64_t delta)
{
    uint64_t distance;
    if (__builtin_mul_overflow(delta, m->fde->cie.code_align, &distance) ||
        distance > m->wanted_va - m->loc_va) {
        return false;
    }
    m->loc_va += distance;
    return true;
}

static bool advance_to(struct machine *m, uint64_t va)
{
    if (va > m->wanted_va) {
        return false;
    }
    m->loc_va = va;
    return true;
}

/* Executes an instruction about one register. */
static void exec_register_op(struct machine *m, uint8_t op)
{
    uint64_t reg = hs_cursor_uleb(&m->c);
    switch (op) {
    case DW_CFA_OFFSET_EXTENDED:
        set(m, reg, HS_CFI_OFFSET, read_scaled_u(m));
        break;
    case DW_CFA_OFFSET_EXTENDED_SF:
        set(m, reg, HS_CFI_OFFSET, read_scaled_s(m));
        break;
    case DW_CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
        set(m, reg, HS_CFI_OFFSET, scale(m, -(int64_t)read_small(m)));
        break;
    case DW_CFA_VAL_OFFSET:
        set(m, reg, HS_CFI_VAL_OFFSET, read_scaled_u(m));
        break;
    case DW_CFA_VAL_OFFSET_SF:
        set(m, reg, HS_CFI_VAL_OFFSET, read_scaled_s(m));
        break;
    case DW_CFA_EXPRESSION:
        set(m, reg, HS_CFI_EXPR, read_expr(m));
        break;
    case DW_CFA_VAL_EXPRESSION:
        set(m, reg, HS_CFI_VAL_EXPR, read_expr(m));
        break;
    case DW_CFA_REGISTER:
        set(m, reg, HS_CFI_REGISTER, read_small(m));
        break;
    case DW_CFA_UNDEFINED:
        set(m, reg, HS_CFI_UNDEFINED, 0);
        break;
    case DW_CFA_SAME_VALUE:
        set(m, reg, HS_CFI_SAME, 0);
        break;
    case DW_CFA_RESTORE_EXTENDED:
        restore(m, reg);
        break;
    default:
        m->c.is_bad = true;
    }
}

/* Executes any other instruction. False: the wanted row is complete. */
static bool exec_other_op(struct machine *m, uint8_t op)
{
    switch (op) {
    case DW_CFA_NOP:
        return true;
    case DW_CFA_SET_LOC:
        return advance_to(m,
                          hs_cursor_pointer(&m->c, m->fde->cie.pointer_enc, m->fde->abs_bias, 0));
    case DW_CFA_ADVANCE_LOC1:
        return advance(m, hs_cursor_u8(&m->c));
    case DW_CFA_ADVANCE_LOC2:
        return advance(m, hs_cursor_uint(&m->c, 2));
    case DW_CFA_ADVANCE_LOC4:
        return advance(m, hs_cursor_u32(&m->c));
    case DW_CFA_REMEMBER_STATE:
        remember(m);
        return true;
    case DW_CFA_RESTORE_STATE:
        recall(m);
        return true;
    case DW_CFA_DEF_CFA:
        set_cfa_reg(m, hs_cursor_uleb(&m->c));
        m->row->cfa_value = read_small(m);
        return true;
    case DW_CFA_DEF_CFA_SF:
        set_cfa_reg(m, hs_cursor_uleb(&m->c));
        m->row->cfa_value = read_scaled_s(m);
        return true;
    case DW_CFA_DEF_CFA_REGISTER:
        if (m->row->is_cfa_expr) {
            m->c.is_bad = true;
        }
        set_cfa_reg(m, hs_cursor_uleb(&m->c));
        return true;
    case DW_CFA_DEF_CFA_OFFSET:
        set_cfa_off(m, read_small(m));
        return true;
    case DW_CFA_DEF_CFA_OFFSET_SF:
        set_cfa_off(m, read_scaled_s(m));
        return true;
    case DW_CFA_DEF_CFA_EXPRESSION:
        m->row->cfa_value = read_expr(m);
        m->row->is_cfa_expr = 1;
        return true;
    case DW_CFA_GNU_ARGS_SIZE:
        hs_cursor_uleb(&m->c);
        return true;
    default:
        exec_register_op(m, op);
        return true;
    }
}

/* Runs until the wanted row is complete, or the instructions end. */
static int run(struct machine *m, struct hs_cursor insns)
{
    m->c = insns;
    while (m->c.at < m->c.end && !m->c.is_bad) {
        uint8_t op = hs_cursor_u8(&m->c);
        uint8_t low = op & 0x3f;
        bool goes_on = true;
        switch (op & 0xc0) {
        case DW_CFA_ADVANCE_LOC:
            goes_on = advance(m, low);
            break;
        case DW_CFA_OFFSET:
            set(m, low, HS_CFI_OFFSET, read_scaled_u(m));
            break;
        case DW_CFA_RESTORE:
            restore(m, low);
            break;
        default:
            goes_on = exec_other_op(m, op);
        }
        if (!goes_on) {
            break;
        }
    }
    return m->c.is_bad ? -EBADMSG : 0;
}

int hs_cfi_row_at(const struct hs_cfi_fde *fde, uint64_t va, struct hs_cfi_row *ret_row)
{
    struct hs_cfi_row initial;
    struct machine m; /* `remembered` need not be cleared */

    m.fde = fde;
    m.loc_va = fde->start_va;
    m.wanted_va = va;
    m.row = ret_row;
    m.initial = NULL;
    m.remembered_count = 0;

    *ret_row = (struct hs_cfi_row){ 0 };
    int err = run(&m, fde->cie.insns);
    if (err) {
        return err;
    }
    initial = *ret_row;
    m.initial = &initial;
    return run(&m, fde->insns);
}
