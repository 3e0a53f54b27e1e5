/*
 * One frame with all the registers that its call frame information may need.
 *
 * The fast path knows pc, sp and bp only (see rule.h). This is for all other cases: rules that name
 * other registers, expressions, signal frames.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/regs.h"

/* A frame. */
struct hs_frame {
    uint64_t reg[HS_DWARF_REG_N]; /* by DWARF number; [HS_DWARF_RA] is the pc */
    uint32_t valid_mask;          /* registers whose value is known */
    bool is_exact;                /* the pc was interrupted there and is not a return address */
};

/* Outcomes of a step. */
enum hs_frame_step {
    HS_FRAME_STEPPED,
    HS_FRAME_END,        /* there is no caller */
    HS_FRAME_BAD_INFO,   /* the information is invalid */
    HS_FRAME_NO_INFO,    /* there is none for this pc */
    HS_FRAME_UNREADABLE, /* it needs memory outside the stack */
    HS_FRAME_UNKNOWN,    /* it needs a register that is not known */
};

/* Is the register's value known? */
static inline bool hs_frame_has(const struct hs_frame *frame, uint64_t reg)
{
    return reg < HS_DWARF_REG_N && (frame->valid_mask >> reg & 1);
}

/* Sets a register's value. */
static inline void hs_frame_set(struct hs_frame *frame, unsigned reg, uint64_t value)
{
    frame->reg[reg] = value;
    frame->valid_mask |= 1U << reg;
}
