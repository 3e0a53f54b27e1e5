/*
 * The tables of scopes and types: a scope is a name and the scope that it lies in, a type is a
 * name; each is stored once.
 *
 * So one id stands for all scopes that a thread has open. The text of a name is stored once, too:
 * with the scope of this name that lies in no other.
 *
 * Threads   any; lock-free; async-signal-safe.
 * Fails     HS_SCOPE_OTHER, HS_TYPE_OTHER when a section is full or memory is short.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fmt/region_layout.h"

/* Makes the indexes; called by hs_stacks_init. False: no memory. */
bool hs_scopes_init(void);

/* Forgets all scopes and types; called by hs_stacks_clear. No other thread may use them
 * meanwhile. */
void hs_scopes_clear(void);

/* A name. */
struct hs_scope_text {
    const char *text; /* ends with a NUL */
    uint32_t bytes;   /* without it */
    uint64_t hash;    /* of the text alone */
};

/* The id of the scope with this name in the scope `parent` (0: in none), which is stored if it is
 * new. */
uint32_t hs_scope_intern(uint32_t parent, const struct hs_scope_text *name);

/* The id of a type that the program has named, of which HS_SCOPE_NAME_BYTES - 1 bytes count; it is
 * stored if it is new. 0: the name is empty. */
uint32_t hs_type_intern(const char *name);
