/*
 * Reads the encoded pointers of .eh_frame and of .eh_frame_hdr with a cursor.
 */
#pragma once

#include <stdint.h>

#include "rt/cursor.h"
#include "unwind/module.h"

/* DW_EH_PE_*: encodings of pointers in .eh_frame and its header. */
enum hs_eh_pe {
    HS_EH_PE_ABSPTR = 0x00,
    HS_EH_PE_ULEB128 = 0x01,
    HS_EH_PE_UDATA2 = 0x02,
    HS_EH_PE_UDATA4 = 0x03,
    HS_EH_PE_UDATA8 = 0x04,
    HS_EH_PE_SLEB128 = 0x09,
    HS_EH_PE_SDATA2 = 0x0a,
    HS_EH_PE_SDATA4 = 0x0b,
    HS_EH_PE_SDATA8 = 0x0c,
    HS_EH_PE_FORMAT_MASK = 0x0f,
    HS_EH_PE_PCREL = 0x10,
    HS_EH_PE_DATAREL = 0x30,
    HS_EH_PE_ALIGNED = 0x50,
    HS_EH_PE_BASE_MASK = 0x70,
    HS_EH_PE_INDIRECT = 0x80,
    HS_EH_PE_OMIT = 0xff,
};

/* A cursor at the start of a span. */
static inline struct hs_cursor hs_cursor_over(const struct hs_span *span)
{
    return (struct hs_cursor){ .at = span->bytes,
                               .end = span->bytes + span->size_bytes,
                               .va_delta = span->va - (uint64_t)(uintptr_t)span->bytes };
}

/* A pointer without its base, of the length that the encoding says. */
static inline uint64_t hs_cursor_pointer_raw(struct hs_cursor *c, uint8_t encoding)
{
    switch (encoding & HS_EH_PE_FORMAT_MASK) {
    case HS_EH_PE_ABSPTR:
    case HS_EH_PE_UDATA8:
    case HS_EH_PE_SDATA8:
        return hs_cursor_uint(c, 8);
    case HS_EH_PE_ULEB128:
        return hs_cursor_uleb(c);
    case HS_EH_PE_UDATA2:
        return hs_cursor_uint(c, 2);
    case HS_EH_PE_UDATA4:
        return hs_cursor_uint(c, 4);
    case HS_EH_PE_SLEB128:
        return (uint64_t)hs_cursor_sleb(c);
    case HS_EH_PE_SDATA2:
        return (uint64_t)hs_cursor_sint(c, 2);
    case HS_EH_PE_SDATA4:
        return (uint64_t)hs_cursor_sint(c, 4);
    default:
        c->is_bad = true;
        return 0;
    }
}

/* A pointer to code. `abs_bias` is added to absolute ones; `data_va` is the base of DATAREL ones.
 * Encodings that need another base, or a word of memory, set is_bad: code pointers have none of
 * them on this architecture. */
static inline uint64_t hs_cursor_pointer(struct hs_cursor *c, uint8_t encoding, uint64_t abs_bias,
                                         uint64_t data_va)
{
    if (encoding & HS_EH_PE_INDIRECT) {
        c->is_bad = true;
        return 0;
    }
    uint64_t base = 0;
    switch (encoding & HS_EH_PE_BASE_MASK) {
    case 0:
        base = abs_bias;
        break;
    case HS_EH_PE_PCREL:
        base = hs_cursor_va(c);
        break;
    case HS_EH_PE_DATAREL:
        base = data_va;
        break;
    case HS_EH_PE_ALIGNED:
        hs_cursor_skip(c, -hs_cursor_va(c) & 7);
        base = abs_bias;
        encoding = HS_EH_PE_ABSPTR;
        break;
    default:
        c->is_bad = true;
        return 0;
    }
    return base + hs_cursor_pointer_raw(c, encoding);
}
