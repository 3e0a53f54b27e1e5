/*
 * A small address space for the search for types: constants of a module, its code and data, and a
 * heap. For the unit tests and the fuzz target of collect/types.
 *
 * Threads   one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/types/type_memory.h"

#define TYPED_CODE_VA  UINT64_C(0x400000)
#define TYPED_CONST_VA UINT64_C(0x500000)
#define TYPED_DATA_VA  UINT64_C(0x600000)
#define TYPED_HEAP_VA  UINT64_C(0x700000)
#define TYPED_BYTES    65536U /* of each of them */
#define TYPED_PAGE     4096U
#define TYPED_SYMBOLS  8U

struct typed_memory {
    uint8_t code[TYPED_BYTES], constants[TYPED_BYTES], data[TYPED_BYTES], heap[TYPED_BYTES];
    uint64_t gone_va; /* a page that cannot be read; 0: none */
    struct hs_type_symbol symbols[TYPED_SYMBOLS];
    unsigned symbol_count;
    uint64_t python_va; /* 0: none */
    uint64_t read_count;
};

static inline enum hs_type_place typed_place(void *ctx, uint64_t va)
{
    (void)ctx;
    switch (va & ~(uint64_t)(TYPED_BYTES - 1)) {
    case TYPED_CODE_VA:
        return HS_TYPE_PLACE_CODE;
    case TYPED_CONST_VA:
        return HS_TYPE_PLACE_CONSTANT;
    case TYPED_DATA_VA:
        return HS_TYPE_PLACE_DATA;
    case TYPED_HEAP_VA:
        return HS_TYPE_PLACE_MEMORY;
    default:
        return HS_TYPE_PLACE_NONE;
    }
}

/* The byte at `va`, behind which are *ret_left more of the same range. NULL: there is none. */
static inline uint8_t *typed_at(struct typed_memory *memory, uint64_t va, size_t *ret_left)
{
    uint64_t off = va % TYPED_BYTES;
    *ret_left = (size_t)(TYPED_BYTES - off);
    switch (va - off) {
    case TYPED_CODE_VA:
        return memory->code + off;
    case TYPED_CONST_VA:
        return memory->constants + off;
    case TYPED_DATA_VA:
        return memory->data + off;
    case TYPED_HEAP_VA:
        return memory->heap + off;
    default:
        return NULL;
    }
}

static inline bool typed_is_gone(const struct typed_memory *memory, uint64_t va)
{
    return memory->gone_va != 0 && va / TYPED_PAGE == memory->gone_va / TYPED_PAGE;
}

static inline bool typed_read(void *ctx, uint64_t va, void *ret_bytes, size_t size_bytes)
{
    struct typed_memory *memory = ctx;
    size_t left;
    const uint8_t *from = typed_at(memory, va, &left);
    memory->read_count++;
    if (!from || left < size_bytes || typed_is_gone(memory, va) ||
        typed_is_gone(memory, va + size_bytes - 1)) {
        return false;
    }
    memcpy(ret_bytes, from, size_bytes);
    return true;
}

static inline void typed_read_pieces(void *ctx, struct hs_type_piece *pieces, size_t count,
                                     uint8_t *ret_bytes)
{
    struct typed_memory *memory = ctx;
    for (size_t i = 0; i < count; i++) {
        size_t left;
        const uint8_t *from = typed_at(memory, pieces[i].va, &left);
        uint64_t va = pieces[i].va, end_va = va + pieces[i].size_bytes;
        if (pieces[i].size_bytes > HS_TYPE_PIECE_BYTES || count > HS_TYPE_PIECES_MAX) {
            abort();
        }
        while (from && va < end_va && va - pieces[i].va < left && !typed_is_gone(memory, va)) {
            va++;
        }
        pieces[i].read_bytes = (uint32_t)(va - pieces[i].va);
        if (from) {
            memcpy(ret_bytes + i * HS_TYPE_PIECE_BYTES, from, pieces[i].read_bytes);
        }
    }
}

static inline bool typed_find_symbol(void *ctx, uint64_t va, struct hs_type_symbol *ret_symbol)
{
    struct typed_memory *memory = ctx;
    for (unsigned i = 0; i < memory->symbol_count; i++) {
        if (va - memory->symbols[i].start_va < memory->symbols[i].size_bytes) {
            *ret_symbol = memory->symbols[i];
            return true;
        }
    }
    return false;
}

static inline bool typed_find_python(void *ctx, unsigned idx, uint64_t *ret_va)
{
    struct typed_memory *memory = ctx;
    *ret_va = memory->python_va;
    return idx == 0 && memory->python_va != 0;
}

static inline struct hs_type_memory typed_view(struct typed_memory *memory)
{
    return (struct hs_type_memory){
        .ctx = memory,
        .place = typed_place,
        .read = typed_read,
        .read_pieces = typed_read_pieces,
        .find_symbol = typed_find_symbol,
        .find_python = typed_find_python,
    };
}

/* Writes words to where `va` is, which must exist. */
static inline void typed_put(struct typed_memory *memory, uint64_t va, const uint64_t *words,
                             size_t word_count)
{
    size_t left;
    uint8_t *to = typed_at(memory, va, &left);
    if (!to || left < word_count * sizeof(*words)) {
        abort();
    }
    memcpy(to, words, word_count * sizeof(*words));
}
