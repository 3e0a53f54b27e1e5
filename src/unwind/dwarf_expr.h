/*
 * DWARF expressions, as far as call frame information may use them.
 *
 * Holds     memory is read through the reader only, so an expression sees the stack and nothing
 *           else. The depth of the operand stack and the number of steps are bounded.
 */
#pragma once

#include <stdint.h>

#include "rt/cursor.h"
#include "unwind/frame.h"
#include "unwind/reader.h"

/* Depth of the operand stack, and the number of operations before giving up: branches may go
 * backwards. */
#define HS_EXPR_DEPTH_MAX 32U
#define HS_EXPR_STEPS_MAX 1024U

/* Evaluates `expr`. If `initial` is not NULL (it is the CFA, for register rules), it is pushed
 * first. HS_FRAME_STEPPED: *ret_value is the result; otherwise why it failed. */
enum hs_frame_step hs_expr_eval(struct hs_cursor expr, const struct hs_frame *frame,
                                struct hs_stack_reader *reader, const uint64_t *initial,
                                uint64_t *ret_value);
