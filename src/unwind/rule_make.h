/*
 * From the call frame information at a pc to the packed rule (arch/rule.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/rule.h"
#include "unwind/cfi.h"
#include "unwind/module.h"

/* `module` NULL: code without information. Never fails: there is a rule for every case. */
uint32_t hs_rule_make(const struct hs_unwind_module *module, uint64_t pc, bool is_exact);

/* The rule of one row, for a frame at `pc`. */
uint32_t hs_rule_from_row(const struct hs_cfi_fde *fde, const struct hs_cfi_row *row, uint64_t pc,
                          bool is_exact);
