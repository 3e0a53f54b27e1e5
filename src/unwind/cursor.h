/*
 * A reader of hostile bytes that can be asked for anything and checked once.
 *
 * Reading past the end gives zeros and sets is_bad, which stays set; so a parser reads a whole
 * header and asks afterwards. Little-endian, unaligned.
 *
 * Holds     at <= end, always.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "rt/base.h"
#include "unwind/module.h"

struct hs_cursor {
    const uint8_t *at;
    const uint8_t *end;
    uint64_t va_delta; /* address of a byte minus the pointer we read it by */
    bool is_bad;
};

/* DW_EH_PE_*: how pointers are written in .eh_frame and its header. */
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

static inline struct hs_cursor hs_cursor_over(const struct hs_span *span)
{
    return (struct hs_cursor){ .at = span->bytes,
                               .end = span->bytes + span->size_bytes,
                               .va_delta = span->va - (uint64_t)(uintptr_t)span->bytes };
}

static inline uint64_t hs_cursor_left(const struct hs_cursor *c)
{
    return (uint64_t)(c->end - c->at);
}

static inline uint64_t hs_cursor_va(const struct hs_cursor *c)
{
    return (uint64_t)(uintptr_t)c->at + c->va_delta;
}

static inline void hs_cursor_skip(struct hs_cursor *c, uint64_t count_bytes)
{
    if (hs_unlikely(count_bytes > hs_cursor_left(c))) {
        c->is_bad = true;
        c->at = c->end;
        return;
    }
    c->at += count_bytes;
}

/* The next `count_bytes` <= 8 bytes, zero-extended. */
static inline uint64_t hs_cursor_uint(struct hs_cursor *c, unsigned count_bytes)
{
    uint64_t value = 0;
    if (hs_unlikely(count_bytes > hs_cursor_left(c))) {
        c->is_bad = true;
        c->at = c->end;
        return 0;
    }
    memcpy(&value, c->at, count_bytes);
    c->at += count_bytes;
    return value;
}

static inline uint8_t hs_cursor_u8(struct hs_cursor *c)
{
    if (hs_unlikely(c->at == c->end)) {
        c->is_bad = true;
        return 0;
    }
    return *c->at++;
}

static inline uint32_t hs_cursor_u32(struct hs_cursor *c)
{
    return (uint32_t)hs_cursor_uint(c, 4);
}

static inline int64_t hs_cursor_sint(struct hs_cursor *c, unsigned count_bytes)
{
    unsigned unused_bits = 64 - 8 * count_bytes;
    return (int64_t)(hs_cursor_uint(c, count_bytes) << unused_bits) >> unused_bits;
}

/* Bits beyond the 64th are dropped; a number without an end is bad. */
static inline uint64_t hs_cursor_uleb(struct hs_cursor *c)
{
    uint64_t value = 0;
    unsigned shift = 0;
    while (c->at < c->end) {
        uint8_t byte = *c->at++;
        if (shift < 64) {
            value |= (uint64_t)(byte & 0x7f) << shift;
        }
        shift += 7;
        if (!(byte & 0x80)) {
            return value;
        }
    }
    c->is_bad = true;
    return 0;
}

static inline int64_t hs_cursor_sleb(struct hs_cursor *c)
{
    uint64_t value = 0;
    unsigned shift = 0;
    while (c->at < c->end) {
        uint8_t byte = *c->at++;
        if (shift < 64) {
            value |= (uint64_t)(byte & 0x7f) << shift;
        }
        shift += 7;
        if (!(byte & 0x80)) {
            if (shift < 64 && (byte & 0x40)) {
                value |= ~UINT64_C(0) << shift;
            }
            return (int64_t)value;
        }
    }
    c->is_bad = true;
    return 0;
}

/* A pointer's bytes without its base: as many as the format says. */
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

/* A pointer to code. `abs_bias` is added to absolute ones, `data_va` is the base of DATAREL ones.
 * Encodings that need another base, or a word of memory, are bad: code pointers have none of them
 * on this architecture. */
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
