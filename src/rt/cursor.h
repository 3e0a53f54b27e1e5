/*
 * A reader of untrusted bytes whose calls need no checks of their own.
 *
 * Reading past the end gives zeros and sets is_bad, which stays set. So a parser reads a whole
 * header and checks is_bad once, afterwards. Little-endian, unaligned.
 *
 * Holds     at <= end, always.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "rt/base.h"
#include "rt/check.h"

/* A position in a span of bytes. */
struct hs_cursor {
    const uint8_t *at;
    const uint8_t *end;
    uint64_t va_delta; /* address of a byte minus the pointer through which it is read */
    bool is_bad;
};

/* Bytes that have not been read. */
static inline uint64_t hs_cursor_left(const struct hs_cursor *c)
{
    HS_ASSERT(c->at <= c->end);
    return (uint64_t)(c->end - c->at);
}

/* The address of the next byte. */
static inline uint64_t hs_cursor_va(const struct hs_cursor *c)
{
    return (uint64_t)(uintptr_t)c->at + c->va_delta;
}

/* Skips bytes. */
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

/* The next byte. */
static inline uint8_t hs_cursor_u8(struct hs_cursor *c)
{
    if (hs_unlikely(c->at == c->end)) {
        c->is_bad = true;
        return 0;
    }
    return *c->at++;
}

/* The next four bytes. */
static inline uint32_t hs_cursor_u32(struct hs_cursor *c)
{
    return (uint32_t)hs_cursor_uint(c, 4);
}

/* The next `count_bytes` <= 8 bytes, sign-extended. */
static inline int64_t hs_cursor_sint(struct hs_cursor *c, unsigned count_bytes)
{
    unsigned unused_bits = 64 - 8 * count_bytes;
    return (int64_t)(hs_cursor_uint(c, count_bytes) << unused_bits) >> unused_bits;
}

/* A LEB128 number and its length in bits. Bits beyond the 64th are dropped. A number without an end
 * sets is_bad, and is 0 with 0 bits. */
static inline uint64_t hs_cursor_leb(struct hs_cursor *c, unsigned *ret_bits)
{
    uint64_t value = 0;
    unsigned bits = 0;
    while (c->at < c->end) {
        uint8_t byte = *c->at++;
        if (bits < 64) {
            value |= (uint64_t)(byte & 0x7f) << bits;
        }
        bits += 7;
        if (!(byte & 0x80)) {
            *ret_bits = bits;
            return value;
        }
    }
    c->is_bad = true;
    *ret_bits = 0;
    return 0;
}

/* An unsigned LEB128 number. */
static inline uint64_t hs_cursor_uleb(struct hs_cursor *c)
{
    unsigned unused;
    return hs_cursor_leb(c, &unused);
}

/* A signed LEB128 number. */
static inline int64_t hs_cursor_sleb(struct hs_cursor *c)
{
    unsigned bits;
    uint64_t value = hs_cursor_leb(c, &bits);
    if (bits == 0 || bits >= 64) {
        return (int64_t)value;
    }
    uint64_t sign = UINT64_C(1) << (bits - 1);
    return (int64_t)((value ^ sign) - sign);
}
