/*
 * All hooks by name: what a process that was not started with us has its calls led to.
 *
 * The exported names mean the allocator's own functions there; these are ours whatever was loaded first.
 */
#pragma once

#include <stdint.h>

#include "rt/base.h"

struct hs_hook {
    const char *name;
    void *va;
};

extern HS_HIDDEN const struct hs_hook hs_hooks[];
extern HS_HIDDEN const uint32_t hs_hook_count;
