/*
 * The memory of a pool: chunks, and in them blocks.
 *
 *     chunk, 64 KiB   | head 64 | block | block | block | not used yet        |
 *     block, 64 B     | head 16: chunk, class, state, shift | 48 for the user |
 *
 * Blocks lie one after the other, so all blocks of a chunk can be found. A freed block goes to the
 * list of its size class. A block that fits into no class has a chunk of its own (class 0), which
 * is given back when the block is freed. A block with a larger alignment than 16 begins `shift`
 * bytes behind its head, and has a second head before it, which leads to the first one.
 *
 * Holds     a chunk's live_count is the number of its blocks that are live.
 * Threads   one at a time, except hs_pool_block_of for a block that the caller owns.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/pool_class.h"

#define HS_POOL_CHUNK_BYTES_MIN     4096U
#define HS_POOL_CHUNK_BYTES_MAX     (16U << 20)
#define HS_POOL_CHUNK_BYTES_DEFAULT (64U << 10)
#define HS_POOL_ALIGN_BYTES_MAX     (1U << 30)

/* Words that memory which is no head of a block rarely has. */
enum hs_pool_block_state {
    HS_POOL_BLOCK_LIVE = 0x6c76,
    HS_POOL_BLOCK_FREE = 0x6672,
    HS_POOL_BLOCK_SHIFTED = 0x7368, /* not a block: the head is `shift` + 16 bytes before here */
};

struct hs_pool_chunk {
    struct hs_pool_chunk *next;
    struct hs_pool_chunk *previous;
    const struct hs_pool_chunks *owner;
    size_t size_bytes;
    size_t used_bytes; /* head and blocks; behind them the chunk has never been used */
    size_t live_count;
    uint64_t is_single; /* one block, of class 0 */
    uint64_t reserved;
};

struct hs_pool_block {
    struct hs_pool_chunk *chunk;
    uint16_t class_id; /* 0: the only block of its chunk */
    uint16_t state;    /* enum hs_pool_block_state */
    uint32_t shift_bytes;
};

/* All chunks of a pool. */
struct hs_pool_chunks {
    struct hs_pool_chunk *first;
    struct hs_pool_chunk *current; /* blocks are carved from this one; NULL: from none */
    struct hs_pool_block *free_blocks[HS_POOL_CLASSES]; /* the next one is behind the head */
    size_t chunk_bytes;
};

/* What the user of a block has as its address. */
static inline void *hs_pool_block_address(struct hs_pool_block *block)
{
    return (char *)(block + 1) + block->shift_bytes;
}

/* The bytes that a block of this size takes in a chunk, at most; 0: it needs a chunk of its own. */
size_t hs_pool_chunks_block_bytes(const struct hs_pool_chunks *chunks, size_t size_bytes);
/* The size of the chunk that such a block needs if hs_pool_chunks_take finds no room. */
size_t hs_pool_chunks_needs(const struct hs_pool_chunks *chunks, size_t size_bytes);
/* Adds memory of that size. */
void hs_pool_chunks_add(struct hs_pool_chunks *chunks, void *memory, size_t memory_bytes,
                        bool is_single);
/* Takes a block of at least this size out of what is there. NULL: there is no room. The caller
 * aligns it. */
struct hs_pool_block *hs_pool_chunks_take(struct hs_pool_chunks *chunks, size_t size_bytes);
/* Takes the block of a single chunk. */
struct hs_pool_block *hs_pool_chunks_take_single(struct hs_pool_chunk *chunk);
/* Aligns what the user gets, within the block. */
void *hs_pool_block_align(struct hs_pool_block *block, size_t align_bytes);
/* The live block at this address; NULL: there is none, as far as its head shows. */
struct hs_pool_block *hs_pool_block_of(const struct hs_pool_chunks *chunks, void *address);
/* Frees a live block. Returns its chunk if that has to be given back. */
struct hs_pool_chunk *hs_pool_chunks_put(struct hs_pool_chunks *chunks,
                                         struct hs_pool_block *block);
/* Takes the chunks without live blocks out; they are linked by `next`. */
struct hs_pool_chunk *hs_pool_chunks_take_empty(struct hs_pool_chunks *chunks);
/* The block behind `block` in the chunk, or its first one for NULL; NULL: there are no more. */
struct hs_pool_block *hs_pool_chunk_next_block(struct hs_pool_chunk *chunk,
                                               struct hs_pool_block *block);
/* Does what this file states hold? Walks all blocks. */
bool hs_pool_chunks_is_valid(const struct hs_pool_chunks *chunks);
