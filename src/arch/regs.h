/*
 * Picks the register set of the CPU we are built for.
 *
 * Everything that is specific to a CPU lives in the folder named after it; a new one is a folder to
 * copy. Nothing outside src/arch tests for a CPU.
 */
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/regs.h"
#else
#error "heapscope has no src/arch folder for this CPU yet: see docs/ARCHITECTURE.md"
#endif
