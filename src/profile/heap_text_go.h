/*
 * What Go's runtime writes below a line of its heap text (/debug/pprof/heap?debug=1): the stack in words.
 *
 *     1: 884736 [1: 884736] @ 0x4b6f45 0x4b6ffe
 *     #	0x4b6f44	main.grow+0x84		/src/main.go:17
 *     #	0x4b6ffd	main.main.func1+0x1d	/src/main.go:24
 *
 * The innermost function first, inlined ones in lines of their own. The runtime's functions around them are left out.
 *
 * Threads   one user.
 * See       heap_text_places.h, of which this is the other way to a stack
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/builder.h"
#include "profile/text_lines.h"

/* "# runtime.MemStats", below all stacks: only Go has it. */
bool hs_go_is_text(struct hs_lines lines);

/* The stack in the remarks that follow; moves behind them. HS_NODE_NONE: there are none. */
uint32_t hs_go_stack(struct hs_builder *builder, struct hs_lines *lines);
