/*
 * Which methods a pc of compiled code belongs to: the method, and those into which it was inlined.
 *
 * For each pc at which a frame may be looked at, the compiler has written a PcDesc, sorted by pc,
 * which leads to a scope in a stream of compressed numbers. A scope says where its caller's scope
 * is (0: it has none), its method, and how far that method has come in its bytecodes.
 *
 * Ensures   a search ends: the scope of a caller lies before that of what it calls.
 * Threads   any: nothing is kept.
 * Trust     as hotspot_memory.h. The outermost method must be the one that the blob is of; so a
 *           stream of another form is noticed.
 */
#pragma once

#include "hotspot/code_blob.h"

/* The place in bytecodes of a method that has not begun. */
#define HS_BCI_ENTRY (-1)

/* The scopes of one pc, innermost first. */
struct hs_debug_scopes {
    const struct hs_hotspot_layout *layout;
    const struct hs_hotspot_memory *memory;
    const struct hs_code_blob *blob;
    uint32_t next_off; /* of the next scope; 0: there is none */
};

/* Begins with the scopes of `pc`, which is a return address or one of the blob's own descriptions.
 * False: the blob does not describe it, or not as it should. */
bool hs_debug_scopes_begin(const struct hs_hotspot_layout *layout,
                           const struct hs_hotspot_memory *memory, const struct hs_code_blob *blob,
                           uint64_t pc, struct hs_debug_scopes *ret_scopes);

/* The next scope: the address of its method, and its place in the bytecodes. False: there are no
 * more. */
bool hs_debug_scopes_next(struct hs_debug_scopes *scopes, uint64_t *ret_method_va,
                          int32_t *ret_bci);
