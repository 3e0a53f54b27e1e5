/*
 * DWARF expressions, as far as call frame information may use them.
 *
 * Holds     memory is read through the reader only, so an expression sees the stack and nothing
 *           else. The stack of the machine and the number of steps are bounded.
 */
#pragma once

#include <stdint.h>

#include "rt/cursor.h"
#include "unwind/frame.h"

/* Depth of the operand stack, and instructions run before giving up: branches may go backwards. */
#define HS_EXPR_DEPTH_MAX 32U
#define HS_EXPR_STEPS_MAX 1024U

/* Evaluates `expr` with `initial` pushed first when it is not NULL (the CFA, for register rules).
 * HS_FRAME_STEPPED: *ret_value is the result. */
enum hs_frame_step hs_expr_eval(struct hs_cursor expr, const struct hs_frame *frame,
                                struct hs_stack_reader *reader, const uint64_t *initial,
                                uint64_t *ret_value);
