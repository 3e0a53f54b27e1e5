/*
 * Writes call frame information byte by byte, for tests.
 *
 * A builder is one section at an address of its own. Entries are opened, filled and closed; closing
 * pads with DW_CFA_nop and sets the length.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "unwind/eh_pointer.h"
#include "unwind/module.h"

enum {
    CFA_SET_LOC = 0x01,
    CFA_ADVANCE1 = 0x02,
    CFA_ADVANCE2 = 0x03,
    CFA_ADVANCE4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME_VALUE = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER = 0x0a,
    CFA_RECALL = 0x0b,
    CFA_DEF = 0x0c,
    CFA_DEF_REGISTER = 0x0d,
    CFA_DEF_OFFSET = 0x0e,
    CFA_DEF_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_SF = 0x12,
    CFA_DEF_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_GNU_ARGS_SIZE = 0x2e,
    CFA_GNU_NEGATIVE = 0x2f,
    CFA_ADVANCE = 0x40,
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
};

struct cfi_builder {
    uint8_t bytes[16384];
    uint32_t size_bytes;
    uint32_t entry_at; /* the open entry's length field */
    uint64_t va;
};

static inline void put(struct cfi_builder *b, const void *data, size_t count_bytes)
{
    memcpy(b->bytes + b->size_bytes, data, count_bytes);
    b->size_bytes += (uint32_t)count_bytes;
}

static inline void put_uint(struct cfi_builder *b, uint64_t value, unsigned count_bytes)
{
    put(b, &value, count_bytes);
}

static inline void put_u8(struct cfi_builder *b, unsigned value)
{
    put_uint(b, value, 1);
}

static inline void put_uleb(struct cfi_builder *b, uint64_t value)
{
    do {
        put_u8(b, (value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value);
}

static inline void put_sleb(struct cfi_builder *b, int64_t value)
{
    for (;;) {
        unsigned byte = value & 0x7f;
        value >>= 7;
        if ((value == 0 && !(byte & 0x40)) || (value == -1 && (byte & 0x40))) {
            put_u8(b, byte);
            return;
        }
        put_u8(b, byte | 0x80);
    }
}

static inline uint64_t here_va(const struct cfi_builder *b)
{
    return b->va + b->size_bytes;
}

/* A code pointer in `encoding`. */
static inline void put_pointer(struct cfi_builder *b, uint8_t encoding, uint64_t va)
{
    if ((encoding & HS_EH_PE_BASE_MASK) == HS_EH_PE_ALIGNED) {
        while (here_va(b) % 8 != 0) {
            put_u8(b, 0);
        }
        put_uint(b, va, 8);
        return;
    }
    if ((encoding & HS_EH_PE_BASE_MASK) == HS_EH_PE_PCREL) {
        va -= here_va(b);
    }
    switch (encoding & HS_EH_PE_FORMAT_MASK) {
    case HS_EH_PE_ULEB128:
        put_uleb(b, va);
        break;
    case HS_EH_PE_SLEB128:
        put_sleb(b, (int64_t)va);
        break;
    case HS_EH_PE_UDATA2:
    case HS_EH_PE_SDATA2:
        put_uint(b, va, 2);
        break;
    case HS_EH_PE_UDATA4:
    case HS_EH_PE_SDATA4:
        put_uint(b, va, 4);
        break;
    default:
        put_uint(b, va, 8);
    }
}

static inline void open_entry(struct cfi_builder *b)
{
    b->entry_at = b->size_bytes;
    put_uint(b, 0, 4);
}

static inline void close_entry(struct cfi_builder *b)
{
    while (b->size_bytes % 8 != 0) {
        put_u8(b, 0);
    }
    uint32_t length = b->size_bytes - b->entry_at - 4;
    memcpy(b->bytes + b->entry_at, &length, 4);
}

/* Opens a "zR" CIE in the usual form, without instructions. Returns its offset. */
static inline uint32_t open_cie(struct cfi_builder *b, const char *letters, uint8_t encoding)
{
    open_entry(b);
    uint32_t at = b->entry_at;
    put_uint(b, 0, 4);
    put_u8(b, 1);
    put(b, letters, strlen(letters) + 1);
    put_uleb(b, 1);
    put_sleb(b, -8);
    put_u8(b, 16);
    if (letters[0] == 'z') {
        put_uleb(b, strlen(letters) - 1); /* one byte per letter, because no letter is 'P' */
        for (const char *p = letters + 1; *p; p++) {
            if (*p == 'R' || *p == 'L') {
                put_u8(b, *p == 'R' ? encoding : HS_EH_PE_OMIT);
            } else {
                put_u8(b, 0);
            }
        }
    }
    return at;
}

/* CFA = rsp + 8, the return address below it: the state in which functions begin. */
static inline void put_initial(struct cfi_builder *b)
{
    put_u8(b, CFA_DEF);
    put_uleb(b, 7);
    put_uleb(b, 8);
    put_u8(b, CFA_OFFSET | 16);
    put_uleb(b, 1);
}

static inline uint32_t put_cie(struct cfi_builder *b)
{
    uint32_t at = open_cie(b, "zR", HS_EH_PE_PCREL | HS_EH_PE_SDATA4);
    put_initial(b);
    close_entry(b);
    return at;
}

static inline uint32_t open_fde(struct cfi_builder *b, uint32_t cie_at, uint8_t encoding,
                                uint64_t start_va, uint64_t length_bytes)
{
    open_entry(b);
    uint32_t at = b->entry_at;
    put_uint(b, b->size_bytes - cie_at, 4);
    put_pointer(b, encoding, start_va);
    put_pointer(b, encoding & HS_EH_PE_FORMAT_MASK, length_bytes);
    put_uleb(b, 0); /* no augmentation data */
    return at;
}

static inline void put_end(struct cfi_builder *b)
{
    put_uint(b, 0, 4);
}

static inline struct hs_span span_of(const struct cfi_builder *b)
{
    return (struct hs_span){ b->bytes, b->va, b->size_bytes };
}
