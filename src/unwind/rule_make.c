/*
 * Packs the rows that fit, and recognizes the few expressions that compilers and linkers write.
 *
 * Since a rule belongs to one pc, an expression that depends on pc alone is a constant. The one of
 * the PLT,
 *   rsp + 8 + ((pc & 15) >= 11 ? 8 : 0)
 * becomes a plain HS_RULE_SP. A realigned stack has CFA = *(rbp - n) and rbp at *rbp.
 */
#include "unwind/rule_make.h"

#include <errno.h>

#include "arch/code.h"
#include "rt/check.h"

/* The DW_OP_* that the patterns need. */
enum {
    OP_DEREF = 0x06,
    OP_AND = 0x1a,
    OP_PLUS = 0x22,
    OP_SHL = 0x24,
    OP_GE = 0x2a,
    OP_LIT0 = 0x30,
    OP_BREG0 = 0x70,
};

static bool is_sigreturn(const struct hs_unwind_module *m, uint64_t pc)
{
    uint64_t off = pc - m->text.va;
    return off < m->text.size_bytes &&
           hs_arch_is_sigreturn(m->text.bytes + off, m->text.size_bytes - off);
}

/* Reads `lit n`; -1: it is another operation. */
static int read_lit(struct hs_cursor *c)
{
    uint8_t op = hs_cursor_u8(c);
    return op >= OP_LIT0 && op < OP_LIT0 + 32 ? op - OP_LIT0 : -1;
}

/* Matches rsp + a + ((rip + b & m) >= n) << k, and evaluates it at this pc. */
static bool match_plt(struct hs_cursor c, uint64_t pc, int64_t *ret_off)
{
    if (hs_cursor_u8(&c) != OP_BREG0 + HS_DWARF_SP) {
        return false;
    }
    int64_t sp_off = hs_cursor_sleb(&c);
    if (hs_cursor_u8(&c) != OP_BREG0 + HS_DWARF_RA) {
        return false;
    }
    uint64_t pc_off = (uint64_t)hs_cursor_sleb(&c);
    int mask = read_lit(&c);
    bool has_and = hs_cursor_u8(&c) == OP_AND;
    int limit = read_lit(&c);
    bool has_ge = hs_cursor_u8(&c) == OP_GE;
    int shift = read_lit(&c);
    bool has_shl = hs_cursor_u8(&c) == OP_SHL;
    bool has_plus = hs_cursor_u8(&c) == OP_PLUS;
    if (c.is_bad || c.at != c.end || mask < 0 || limit < 0 || shift < 0 || !has_and || !has_ge ||
        !has_shl || !has_plus) {
        return false;
    }
    bool is_past = ((pc + pc_off) & (uint64_t)mask) >= (uint64_t)limit;
    int64_t extra = is_past ? INT64_C(1) << shift : 0;
    return !__builtin_add_overflow(sp_off, extra, ret_off);
}

/* Matches rbp + off, followed by a dereference if has_deref, and nothing else. */
static bool match_bp(struct hs_cursor c, bool has_deref, int64_t *ret_off)
{
    if (hs_cursor_u8(&c) != OP_BREG0 + HS_DWARF_BP) {
        return false;
    }
    *ret_off = hs_cursor_sleb(&c);
    if (has_deref && hs_cursor_u8(&c) != OP_DEREF) {
        return false;
    }
    return !c.is_bad && c.at == c.end;
}

static uint32_t pack_expr(const struct hs_cfi_fde *fde, const struct hs_cfi_row *row)
{
    int64_t cfa_off, bp_off;
    if (match_bp(hs_cfi_expr(fde, row->cfa_value), true, &cfa_off) &&
        row->how[HS_DWARF_BP] == HS_CFI_EXPR &&
        match_bp(hs_cfi_expr(fde, row->value[HS_DWARF_BP]), false, &bp_off) && bp_off == 0 &&
        cfa_off < 0 && cfa_off % 8 == 0 && -cfa_off <= (int64_t)HS_RULE_OFF_MAX_BYTES) {
        return hs_rule_pack(HS_RULE_DRAP, (uint64_t)-cfa_off, HS_RULE_BP_SAME_BYTES);
    }
    return hs_rule_pack(HS_RULE_GENERAL, 0, 0);
}

static uint32_t pack_plain(uint64_t cfa_reg, int64_t cfa_off, const struct hs_cfi_row *row,
                           bool is_exact)
{
    const uint32_t general = hs_rule_pack(HS_RULE_GENERAL, 0, 0);
    uint64_t bp_bytes = HS_RULE_BP_SAME_BYTES;
    int32_t bp_value = row->value[HS_DWARF_BP];

    switch ((enum hs_cfi_how)row->how[HS_DWARF_BP]) {
    case HS_CFI_UNSET:
    case HS_CFI_SAME:
        break;
    case HS_CFI_OFFSET:
        /* Not in the slot of the return address, nor above the frame. */
        if (bp_value > -16 || bp_value % 8 != 0 || bp_value < -(int32_t)HS_RULE_BP_MAX_BYTES) {
            return general;
        }
        bp_bytes = (uint64_t) - (int64_t)bp_value;
        break;
    default:
        return general;
    }
    if (cfa_off < 0 || cfa_off % 8 != 0 || cfa_off > (int64_t)HS_RULE_OFF_MAX_BYTES) {
        return general;
    }
    if (cfa_reg == HS_DWARF_BP) {
        return hs_rule_pack(HS_RULE_BP, (uint64_t)cfa_off, bp_bytes);
    }
    if (cfa_reg != HS_DWARF_SP || cfa_off < 8) {
        return general;
    }
    if ((uint64_t)cfa_off < bp_bytes) {
        /* A slot below the stack: the register has been popped. The information may still name the
         * slot, as long as nothing overwrites it. A call does. */
        if (is_exact) {
            return general;
        }
        bp_bytes = HS_RULE_BP_SAME_BYTES;
    }
    HS_ASSERT(bp_bytes >= 8 && bp_bytes <= (uint64_t)cfa_off); /* the slots lie inside the frame */
    HS_ASSERT(bp_bytes >= 8 && bp_bytes <= (uint64_t)cfa_off &&
              (uint64_t)cfa_off <= HS_RULE_OFF_MAX_BYTES && bp_bytes <= HS_RULE_BP_MAX_BYTES);
    return hs_rule_pack(HS_RULE_SP, (uint64_t)cfa_off, bp_bytes);
}

uint32_t hs_rule_from_row(const struct hs_cfi_fde *fde, const struct hs_cfi_row *row, uint64_t pc,
                          bool is_exact)
{
    if (row->how[HS_DWARF_RA] == HS_CFI_UNDEFINED) {
        return hs_rule_pack(HS_RULE_END, 0, 0);
    }
    bool has_sp_rule = row->how[HS_DWARF_SP] != HS_CFI_UNSET;
    bool has_plain_ra = row->how[HS_DWARF_RA] == HS_CFI_OFFSET && row->value[HS_DWARF_RA] == -8;
    if (fde->cie.is_signal || has_sp_rule || !has_plain_ra) {
        return hs_rule_pack(HS_RULE_GENERAL, 0, 0);
    }
    int64_t plt_off;
    if (!row->is_cfa_expr) {
        return pack_plain(row->cfa_reg, row->cfa_value, row, is_exact);
    }
    if (match_plt(hs_cfi_expr(fde, row->cfa_value), pc, &plt_off)) {
        return pack_plain(HS_DWARF_SP, plt_off, row, is_exact);
    }
    return pack_expr(fde, row);
}

/* Is the instruction before `pc` a call? True also if its bytes are not known. */
static bool is_after_call(const struct hs_unwind_module *m, uint64_t pc)
{
    return !hs_span_holds(&m->text, pc - HS_ARCH_CALL_BYTES_MAX, HS_ARCH_CALL_BYTES_MAX) ||
           hs_arch_is_after_call(m->text.bytes + (pc - m->text.va));
}

/* Is this a return address at the very start of a function, with no call before it?
 * makecontext() and similar functions put one at the end of a stack that they make. (Behind a
 * call to a function that does not return, such an address is a real one.) `before` covers pc -
 * 1; NULL: no FDE does. */
static bool is_made_by_hand(const struct hs_unwind_module *m, uint64_t pc,
                            const struct hs_cfi_fde *before)
{
    struct hs_cfi_fde fde;
    if (before && (before->end_va != pc || is_after_call(m, pc))) {
        return false;
    }
    /* The return address that the kernel sets, the start of a signal trampoline, does have a
     * caller. */
    return hs_eh_find(m, pc, &fde) == 0 && fde.start_va == pc && !fde.cie.is_signal &&
           !is_sigreturn(m, pc);
}

uint32_t hs_rule_make(const struct hs_unwind_module *module, uint64_t pc, bool is_exact)
{
    struct hs_cfi_fde fde;
    struct hs_cfi_row row;
    uint64_t lookup_va = pc - (is_exact ? 0 : 1);

    if (!module) {
        return hs_rule_pack(HS_RULE_FP, 16, 16);
    }
    int err = hs_eh_find(module, lookup_va, &fde);
    if (!is_exact && (err == 0 || err == -ENOENT) &&
        is_made_by_hand(module, pc, err == 0 ? &fde : NULL)) {
        return hs_rule_pack(HS_RULE_END, 8, 0);
    }
    if (err == 0) {
        err = hs_cfi_row_at(&fde, lookup_va, &row);
    }
    if (err == 0) {
        return hs_rule_from_row(&fde, &row, pc, is_exact);
    }
    if (is_sigreturn(module, pc)) {
        return hs_rule_pack(HS_RULE_SIGRETURN, 0, 0);
    }
    if (err != -ENOENT) {
        return hs_rule_pack(HS_RULE_BAD, 0, 0);
    }
    return hs_rule_pack(HS_RULE_FP, 16, 16);
}
