/*
 * From the call frame information at a pc to the packed rule (arch/rule.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/rule.h"
#include "unwind/cfi.h"
#include "unwind/module.h"

/* The rule for `pc`. `module` NULL: code without information. Never fails: there is a rule for
 * every case. */
uint32_t hs_rule_make(const struct hs_unwind_module *module, uint64_t pc, bool is_exact);

/* Does the rule end a stack at a return address that was made by hand, that is, at the first byte
 * of a function? The frame's function is then the one at pc, not the one before it. */
static inline bool hs_rule_is_made_by_hand(uint32_t rule)
{
    return hs_rule_kind(rule) == HS_RULE_END && hs_rule_cfa_off(rule) != 0;
}

/* The rule of one row, for a frame at `pc`. */
uint32_t hs_rule_from_row(const struct hs_cfi_fde *fde, const struct hs_cfi_row *row, uint64_t pc,
                          bool is_exact);
