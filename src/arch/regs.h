/*
 * Picks the register set of the processor that heapscope is built for.
 *
 * Everything that is specific to a processor is in the folder named after it; support for a new one
 * begins with a copy of such a folder. Nothing outside src/arch tests for a processor.
 */
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/regs.h"
#else
#error "heapscope has no src/arch folder for this CPU yet: see docs/ARCHITECTURE.md"
#endif
