/*
 * All hooks by name: what a process that was not started with us has its calls led to.
 *
 * The exported names mean the allocator's own functions there; these are ours whatever was loaded first.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rt/base.h"

struct hs_hook {
    const char *name;
    void *va;
};

extern HS_HIDDEN const struct hs_hook hs_hooks[];
extern HS_HIDDEN const uint32_t hs_hook_count;

/* Is that code of the library that the hooks are in? (Weak: what tests link is the client without its hooks.) */
__attribute__((weak)) bool hs_hook_table_is_own_code(uint64_t pc);
