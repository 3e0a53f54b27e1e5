/*
 * Applies a whole row of call frame information. See frame_step.h.
 */
#include "unwind/frame_step.h"

#include <errno.h>

#include "unwind/cfi.h"
#include "unwind/dwarf_expr.h"

struct step {
    const struct hs_cfi_fde *fde;
    const struct hs_cfi_row *row;
    struct hs_stack_reader *reader;
    const struct hs_frame *from;
    uint64_t cfa;
};

static enum hs_frame_step find_cfa(struct step *s)
{
    if (s->row->is_cfa_expr) {
        return hs_expr_eval(hs_cfi_expr(s->fde, s->row->cfa_value), s->from, s->reader, NULL,
                            &s->cfa);
    }
    if (!hs_frame_has(s->from, s->row->cfa_reg)) {
        return HS_FRAME_UNKNOWN;
    }
    s->cfa = s->from->reg[s->row->cfa_reg] + (uint64_t)(int64_t)s->row->cfa_value;
    return HS_FRAME_STEPPED;
}

/* Evaluates an expression for a register of the caller, with the CFA on the operand stack. */
static enum hs_frame_step eval(const struct step *s, int32_t expr, bool is_address,
                               uint64_t *ret_value)
{
    uint64_t value;
    enum hs_frame_step result =
        hs_expr_eval(hs_cfi_expr(s->fde, expr), s->from, s->reader, &s->cfa, &value);
    if (result == HS_FRAME_STEPPED && is_address && !hs_stack_read(s->reader, value, &value)) {
        result = HS_FRAME_UNREADABLE;
    }
    if (result == HS_FRAME_STEPPED) {
        *ret_value = value;
    }
    return result;
}

static enum hs_frame_step same(const struct step *s, uint64_t reg, uint64_t *ret_value)
{
    if (!hs_frame_has(s->from, reg)) {
        return HS_FRAME_UNKNOWN;
    }
    *ret_value = s->from->reg[reg];
    return HS_FRAME_STEPPED;
}

/* Recovers a register of the caller. HS_FRAME_UNKNOWN: it is lost, which only matters if a rule
 * needs it. */
static enum hs_frame_step recover(const struct step *s, unsigned reg, uint64_t *ret_value)
{
    int32_t value = s->row->value[reg];
    uint64_t there = s->cfa + (uint64_t)(int64_t)value;
    switch ((enum hs_cfi_how)s->row->how[reg]) {
    case HS_CFI_UNSET:
        if (reg == HS_DWARF_SP) {
            *ret_value = s->cfa;
            return HS_FRAME_STEPPED;
        }
        return same(s, reg, ret_value);
    case HS_CFI_SAME:
        return same(s, reg, ret_value);
    case HS_CFI_REGISTER:
        return same(s, (uint64_t)(int64_t)value, ret_value);
    case HS_CFI_OFFSET:
        /* The slot lies below the stack of a frame that has made a call: the register was popped
         * already, as in rule_make.c. */
        if (!s->from->is_exact && reg != HS_DWARF_RA && there < s->from->reg[HS_DWARF_SP]) {
            return same(s, reg, ret_value);
        }
        return hs_stack_read(s->reader, there, ret_value) ? HS_FRAME_STEPPED : HS_FRAME_UNREADABLE;
    case HS_CFI_VAL_OFFSET:
        *ret_value = there;
        return HS_FRAME_STEPPED;
    case HS_CFI_EXPR:
        return eval(s, value, true, ret_value);
    case HS_CFI_VAL_EXPR:
        return eval(s, value, false, ret_value);
    case HS_CFI_UNDEFINED:
        break;
    }
    return HS_FRAME_UNKNOWN;
}

enum hs_frame_step hs_frame_step(const struct hs_unwind_module *module,
                                 struct hs_stack_reader *reader, struct hs_frame *frame)
{
    struct hs_cfi_fde fde;
    struct hs_cfi_row row;
    uint64_t lookup_va = frame->reg[HS_DWARF_RA] - (frame->is_exact ? 0 : 1);

    int err = hs_eh_find(module, lookup_va, &fde);
    if (err == 0) {
        err = hs_cfi_row_at(&fde, lookup_va, &row);
    }
    if (err) {
        return err == -ENOENT ? HS_FRAME_NO_INFO : HS_FRAME_BAD_INFO;
    }
    if (row.how[HS_DWARF_RA] == HS_CFI_UNDEFINED) {
        return HS_FRAME_END;
    }
    struct step s = { .fde = &fde, .row = &row, .reader = reader, .from = frame };
    enum hs_frame_step result = find_cfa(&s);
    if (result != HS_FRAME_STEPPED) {
        return result;
    }
    struct hs_frame to = { .is_exact = fde.cie.is_signal };
    for (unsigned reg = 0; reg < HS_DWARF_REG_N; reg++) {
        uint64_t value;
        result = recover(&s, reg, &value);
        if (result == HS_FRAME_STEPPED) {
            hs_frame_set(&to, reg, value);
        } else if (result == HS_FRAME_BAD_INFO || reg == HS_DWARF_RA) {
            return result;
        }
        /* Otherwise the register is lost, which matters only if a frame further out needs it. At
         * the end of a function, where everything has been popped, the named slots may lie below
         * the stack. */
    }
    /* A return address that is "as before" would make an endless walk. */
    if (row.how[HS_DWARF_RA] == HS_CFI_UNSET || row.how[HS_DWARF_RA] == HS_CFI_SAME) {
        return HS_FRAME_BAD_INFO;
    }
    if (!hs_frame_has(&to, HS_DWARF_SP)) {
        return HS_FRAME_UNKNOWN;
    }
    *frame = to;
    return HS_FRAME_STEPPED;
}
