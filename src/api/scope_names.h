/*
 * The names of scopes: each is stored once and has an id for the life of the process.
 *
 * Names are never removed, because any thread may have one in its stack of open scopes. Their
 * number and their bytes are bounded (fmt/api_scopes.h); what has no room gets the id
 * HS_API_SCOPE_OTHER and is counted.
 *
 * Threads   any; lock-free; async-signal-safe.
 * Fails     HS_API_SCOPE_OTHER without room or memory.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fmt/api_scopes.h"

/* The id of a name, of which HS_API_SCOPE_NAME_BYTES - 1 bytes count; the text is copied. 0: it is
 * NULL or empty. */
uint32_t hs_scope_names_find(const char *name);

/* The same for the label "key=value". An '=' in the key is replaced by '_'. 0: the key is NULL or
 * empty. */
uint32_t hs_scope_names_find_label(const char *key, const char *value);

/* Is this the text of a name? `id`: one that hs_scope_names_find has returned. */
bool hs_scope_names_is(uint32_t id, const char *name);
/* Is this the text of a label? `id`: one that hs_scope_names_find_label has returned. */
bool hs_scope_names_is_label(uint32_t id, const char *key, const char *value);
