/*
 * Picks the packed unwind rule of the processor that heapscope is built for; see regs.h.
 */
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/rule.h"
#else
#error "heapscope has no src/arch folder for this CPU yet: see docs/ARCHITECTURE.md"
#endif
