/*
 * What the unwinder must know of a module (an executable or a library): where it is, and where its
 * bytes of call frame information can be read.
 *
 * Addresses (`va`) are those in the process that is unwound; pointers are where the unwinder reads
 * the same bytes. Inside that process the two are equal; for a copy or a file they are not.
 *
 * Requires  the bytes stay readable until the walk returns. Their content is treated as hostile;
 *           their addresses and sizes are trusted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* `bytes` are the memory at [va, va + size_bytes). Empty: {0}. */
struct hs_span {
    const uint8_t *bytes;
    uint64_t va;
    uint64_t size_bytes;
};

/* Unwind information from elsewhere, of a module that has none in its memory: the bytes of a
 * section, and an index of its FDEs. */
struct hs_unwind_table {
    struct hs_span cfi;
    const uint8_t *entries; /* struct hs_unwind_entry_v2, unaligned; sorted by address */
    uint64_t entry_count;
    uint64_t code_va; /* the entries count from here */
    uint64_t bias;    /* added to absolute addresses */
    bool is_debug;    /* a .debug_frame; otherwise an .eh_frame */
};

/* A module. */
struct hs_unwind_module {
    uint64_t start_va; /* all its code lies in [start_va, end_va) */
    uint64_t end_va;
    /* Exactly PT_GNU_EH_FRAME. Empty: there is none. */
    struct hs_span eh_hdr;
    /* The bytes that contain .eh_frame: the section, or the whole loaded segment around it. Entries
     * are only looked for in here. */
    struct hs_span eh_frame;
    /* Where .eh_frame starts when no eh_hdr says so; 0: at the start of the span. */
    uint64_t eh_frame_va;
    /* The .debug_frame section, tried when .eh_frame has no entry. Empty: there is none. */
    struct hs_span debug_frame;
    /* Run-time address minus link-time address: added to the absolute addresses of .debug_frame. */
    uint64_t bias;
    /* The same for .eh_frame: 0 in memory, where the loader has relocated them; bias in a file. */
    uint64_t eh_bias;
    /* The module's code, to recognize a signal trampoline without information. Empty: not
     * readable. */
    struct hs_span text;
    /* Tried when nothing else has an entry. NULL: there is none, or not yet; any thread may set
     * it. */
    const struct hs_unwind_table *table;
};

/* Does the span contain [va, va + size_bytes)? */
static inline int hs_span_holds(const struct hs_span *span, uint64_t va, uint64_t size_bytes)
{
    return va >= span->va && va - span->va <= span->size_bytes &&
           size_bytes <= span->size_bytes - (va - span->va);
}
