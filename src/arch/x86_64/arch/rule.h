/*
 * The unwind rule of one pc, packed in 32 bits.
 *
 * Of all rows of call frame information in real binaries, 99.95 % say the same three things with
 * different numbers: the caller's frame address (CFA) is rsp or rbp plus a constant; the return
 * address lies at CFA - 8; and rbp is either untouched or saved at CFA minus a constant. Those
 * numbers fit 32 bits. A row that does not fit becomes HS_RULE_GENERAL: its call frame information
 * is interpreted whenever a walk meets it.
 *
 *   31              13 12       5 4  3 2    0
 *  +------------------+----------+----+------+
 *  | CFA offset bytes | bp words | 0  | kind |   `push %rbp; push %rbx; sub $0x18`: CFA = rsp + 48,
 *  +------------------+----------+----+------+   rbp at CFA - 16: 48 << 13 | 2 << 5 | HS_RULE_SP
 *
 * The offset is a multiple of 8, so it takes 16 bits and is used without a shift of its own. One bp
 * word would be the slot of the return address, where rbp cannot be saved. So it stands for "rbp
 * untouched", and the slot CFA - 8 * bp_words may be read without a test.
 *
 * Requires  in HS_RULE_SP, 8 <= bp bytes <= CFA offset: the slots read lie inside the frame.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Kinds of rules. */
enum hs_rule_kind {
    HS_RULE_SP,        /* CFA = rsp + offset */
    HS_RULE_BP,        /* CFA = rbp + offset */
    HS_RULE_FP,        /* no information: a frame pointer chain is tried, CFA = rbp + 16 */
    HS_RULE_DRAP,      /* CFA = *(rbp - offset), rbp at *rbp: a realigned stack */
    HS_RULE_SIGRETURN, /* the kernel's signal frame, which has no unwind information */
    HS_RULE_GENERAL,   /* interpret the information each time */
    HS_RULE_END,       /* the outermost frame; offset 8: its pc is the start of a function */
    HS_RULE_BAD,       /* information that cannot be used */
    HS_RULE_KIND_N,
};

#define HS_RULE_KIND_MASK     7U
#define HS_RULE_BP_SHIFT      5
#define HS_RULE_OFF_SHIFT     13
#define HS_RULE_OFF_MAX_BYTES UINT64_C(0x7fff8)
#define HS_RULE_BP_MAX_BYTES  UINT64_C(0x7f8)
/* In place of rbp's slot: rbp is untouched. */
#define HS_RULE_BP_SAME_BYTES UINT64_C(8)

/* Packs a rule; both numbers are multiples of 8. */
static inline uint32_t hs_rule_pack(enum hs_rule_kind kind, uint64_t cfa_off_bytes,
                                    uint64_t bp_bytes)
{
    return (uint32_t)kind | (uint32_t)(bp_bytes / 8) << HS_RULE_BP_SHIFT |
           (uint32_t)cfa_off_bytes << HS_RULE_OFF_SHIFT;
}

/* The kind of a rule. */
static inline enum hs_rule_kind hs_rule_kind(uint32_t rule)
{
    return (enum hs_rule_kind)(rule & HS_RULE_KIND_MASK);
}

/* The CFA offset in bytes. */
static inline uint64_t hs_rule_cfa_off(uint32_t rule)
{
    return rule >> HS_RULE_OFF_SHIFT;
}

/* How far below the CFA rbp is saved, in bytes. */
static inline uint64_t hs_rule_bp_bytes(uint32_t rule)
{
    return (rule >> (HS_RULE_BP_SHIFT - 3)) & HS_RULE_BP_MAX_BYTES;
}
