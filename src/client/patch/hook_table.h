/*
 * All hooks by name. In a process that was not started with the client, calls are redirected to the
 * addresses in this table.
 *
 * In such a process a look-up of malloc by name finds the allocator's own function. This table has
 * the addresses of our hooks themselves, whatever the load order is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rt/base.h"

/* A hook: the name of the function it replaces, and its address. */
struct hs_hook {
    const char *name;
    void *va;
};

/* All hooks; other files name a hook by its index here. */
extern HS_HIDDEN const struct hs_hook hs_hooks[];
/* How many hooks there are. */
extern HS_HIDDEN const uint32_t hs_hook_count;

/* Is `pc` in the code of the library that contains the hooks? (Weak: tests link the client without
 * its hooks.) */
__attribute__((weak)) bool hs_hook_table_is_own_code(uint64_t pc);
