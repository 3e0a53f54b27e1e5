/*
 * What the search for types needs of a process: its memory, and what is where in it.
 *
 * Of a real process, process_memory.h provides it. Tests and the fuzz target provide bytes of their
 * own.
 *
 * Trust     the bytes come from another process: nothing here interprets them.
 * Threads   one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The highest address of a program, on every processor that heapscope knows, is below. */
#define HS_TYPE_VA_MAX (UINT64_C(1) << 56)
/* How many pieces are read at once at most. */
#define HS_TYPE_PIECES_MAX 64U
/* The length of a piece at most: a page, and the head of a block that begins at its end. */
#define HS_TYPE_PIECE_BYTES 4144U

enum hs_type_place {
    HS_TYPE_PLACE_NONE,     /* nothing that can be read */
    HS_TYPE_PLACE_MEMORY,   /* of no file: heaps, stacks */
    HS_TYPE_PLACE_DATA,     /* of a module, writable */
    HS_TYPE_PLACE_CONSTANT, /* of a module, not writable: constants, relocated data (relro) */
    HS_TYPE_PLACE_CODE,     /* of a module, executable, not writable; may have constants too */
};

/* The symbol of a vtable: _ZTV... or _ZTC... */
struct hs_type_symbol {
    const char *name; /* lives as long as the memory */
    uint64_t start_va;
    uint64_t size_bytes;
};

/* A range of memory to read; which blocks begin in it, the caller knows. */
struct hs_type_piece {
    uint64_t va;
    uint32_t size_bytes;
    uint32_t read_bytes; /* of these, how many could be read, from the start on */
    size_t first_idx, end_idx;
};

/*
 * Which parts of the address space may have constants of modules. Most words of blocks are no
 * addresses of constants, and are recognized here without a search in the mappings.
 */
#define HS_TYPE_CHUNK_BYTES (UINT64_C(2) << 20)
#define HS_TYPE_CHUNKS      65536U

struct hs_type_chunks {
    uint64_t bits[HS_TYPE_CHUNKS / 64]; /* several chunks of the address space share a bit */
};

static inline unsigned hs_type_chunk(uint64_t va)
{
    uint64_t chunk = va / HS_TYPE_CHUNK_BYTES;
    return (unsigned)((chunk ^ chunk >> 16) % HS_TYPE_CHUNKS);
}

static inline void hs_type_chunks_add(struct hs_type_chunks *chunks, uint64_t start_va,
                                      uint64_t end_va)
{
    uint64_t va = start_va - start_va % HS_TYPE_CHUNK_BYTES;
    for (unsigned i = 0; va < end_va && i < HS_TYPE_CHUNKS; i++, va += HS_TYPE_CHUNK_BYTES) {
        chunks->bits[hs_type_chunk(va) / 64] |= UINT64_C(1) << hs_type_chunk(va) % 64;
    }
}

/* False: there is no constant at `va`. */
static inline bool hs_type_chunks_may_have(const struct hs_type_chunks *chunks, uint64_t va)
{
    return (chunks->bits[hs_type_chunk(va) / 64] >> hs_type_chunk(va) % 64 & 1) != 0;
}

struct hs_type_memory {
    void *ctx;
    const struct hs_type_chunks *constants; /* NULL: they may be anywhere */
    enum hs_type_place (*place)(void *ctx, uint64_t va);
    /* Reads all of `size_bytes`, or returns false. */
    bool (*read)(void *ctx, uint64_t va, void *ret_bytes, size_t size_bytes);
    /* Reads at most HS_TYPE_PIECES_MAX pieces, which are in the order of their addresses, and fills
     * their read_bytes. Piece i is read to ret_bytes + i * HS_TYPE_PIECE_BYTES. */
    void (*read_pieces)(void *ctx, struct hs_type_piece *pieces, size_t count, uint8_t *ret_bytes);
    /* The symbol of a vtable that contains `va`, if the module has symbols. */
    bool (*find_symbol)(void *ctx, uint64_t va, struct hs_type_symbol *ret_symbol);
    /* Where the `idx`th candidate for CPython's PyType_Type is. False: there is none. */
    bool (*find_python)(void *ctx, unsigned idx, uint64_t *ret_va);
};

static inline bool hs_type_place_is_constant(enum hs_type_place place)
{
    return place == HS_TYPE_PLACE_CONSTANT || place == HS_TYPE_PLACE_CODE;
}
