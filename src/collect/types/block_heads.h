/*
 * The first words of blocks, read for many blocks at once.
 *
 * Blocks that begin in the same page are one piece, so that reading costs once for each page and
 * not for each block.
 *
 *     hs_block_heads_init(blocks, count, &heads);
 *     while (hs_block_heads_next(&heads, memory)) {
 *         for each piece, for i from its first_idx up to its end_idx:
 *             word_count = hs_block_heads_words(&heads, piece, i, words);
 *     }
 *     hs_block_heads_deinit(&heads);
 *
 * Threads   one.
 * Fails     -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/types/block_types.h"
#include "collect/types/python_types.h"
#include "collect/types/type_memory.h"
#include "util/sort_pairs.h"

#define HS_BLOCK_HEAD_WORDS HS_PYTHON_HEAD_WORDS

struct hs_block_heads {
    const struct hs_typed_block *blocks;
    struct hs_pair *order; /* page and index of each block, in the order of the pages */
    size_t count, next;
    struct hs_type_piece pieces[HS_TYPE_PIECES_MAX];
    size_t piece_count;
    uint8_t *bytes; /* of the pieces, one behind the other */
};

/* `blocks` must outlive the heads. The order begins with the first block in the page of `first_va`
 * or behind it; those before that page come last. */
int hs_block_heads_init(const struct hs_typed_block *blocks, size_t count, uint64_t first_va,
                        struct hs_block_heads *ret_heads);
void hs_block_heads_deinit(struct hs_block_heads *heads);

/* Reads the next pieces. False: there are none left. */
bool hs_block_heads_next(struct hs_block_heads *heads, const struct hs_type_memory *memory);

/* The address of the block at `i` in the order. */
static inline uint64_t hs_block_heads_va(const struct hs_block_heads *heads, size_t i)
{
    return heads->blocks[heads->order[i].value].va;
}

/* Copies the first words of the block at `i` in the order, which begins in piece `piece`; words
 * behind the end of the block are left out. Returns how many could be read. `ret_block`: its index
 * among the blocks. */
unsigned hs_block_heads_words(const struct hs_block_heads *heads, size_t piece, size_t i,
                              uint64_t ret_words[HS_BLOCK_HEAD_WORDS], size_t *ret_block);

/* The word at `va`, if piece `piece` has it. */
bool hs_block_heads_word(const struct hs_block_heads *heads, size_t piece, uint64_t va,
                         uint64_t *ret_word);
