/*
 * Which loaded object is a JVM, if there is one: libjvm.so, noticed when it enters the table of
 * modules. A program that has none pays for this once for each of its libraries.
 *
 * Threads   any.
 */
#pragma once

#include <link.h>
#include <stdbool.h>

#include "rt/atomic.h"
#include "rt/base.h"

/* The loader's entry of the JVM that was seen last; NULL: none was. */
extern HS_HIDDEN const struct link_map *hs_jvm_module_seen;

/* Called for each object that is new in the table of modules. */
void hs_jvm_module_note(const struct link_map *map);

/* The loader's entry of the JVM, if it is still loaded. NULL: there is none. */
const struct link_map *hs_jvm_module_find(void);

/* Has a JVM been seen? */
static inline bool hs_jvm_module_is_seen(void)
{
    return hs_load_relaxed(&hs_jvm_module_seen) != NULL;
}
