/*
 * Reads the stacks in words that Go's runtime writes below each line of its heap text
 * (/debug/pprof/heap?debug=1).
 *
 *     1: 884736 [1: 884736] @ 0x4b6f45 0x4b6ffe
 *     #	0x4b6f44	main.grow+0x84		/src/main.go:17
 *     #	0x4b6ffd	main.main.func1+0x1d	/src/main.go:24
 *
 * The innermost function comes first; inlined functions have lines of their own. The frames of the
 * runtime around them are left out.
 *
 * Threads   one user.
 * See       heap_text_places.h, which finds the stack of other texts
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/model/builder.h"
#include "profile/read/text_lines.h"

/* True for a text of Go: it has "# runtime.MemStats" below all stacks, which no other text has. */
bool hs_go_is_text(struct hs_lines lines);

/*
 * The node of the stack in the comment lines that follow; `lines` moves behind them. HS_NODE_NONE:
 * there are none.
 */
uint32_t hs_go_stack(struct hs_builder *builder, struct hs_lines *lines);
