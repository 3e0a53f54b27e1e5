/*
 * Groups blocks into pieces of memory: see block_heads.h.
 */
#include "collect/types/block_heads.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt/check.h"

#define PAGE_BYTES UINT64_C(4096)
#define WORD_BYTES sizeof(uint64_t)
#define HEAD_BYTES (HS_BLOCK_HEAD_WORDS * WORD_BYTES)

static_assert(PAGE_BYTES + HEAD_BYTES == HS_TYPE_PIECE_BYTES, "a piece has room for its heads");

/* Puts what is before the page of `first_va` behind all others. */
static int rotate(struct hs_block_heads *heads, uint64_t first_va)
{
    size_t before = 0, after;
    while (before < heads->count && heads->order[before].key < first_va / PAGE_BYTES) {
        before++;
    }
    after = heads->count - before;
    struct hs_pair *moved = before > 0 && after > 0 ? malloc(before * sizeof(*moved)) : NULL;
    if (!moved) {
        return before > 0 && after > 0 ? -ENOMEM : 0;
    }
    memcpy(moved, heads->order, before * sizeof(*moved));
    memmove(heads->order, heads->order + before, after * sizeof(*moved));
    memcpy(heads->order + after, moved, before * sizeof(*moved));
    free(moved);
    return 0;
}

int hs_block_heads_init(const struct hs_typed_block *blocks, size_t count, uint64_t first_va,
                        struct hs_block_heads *ret_heads)
{
    struct hs_block_heads heads = {
        .blocks = blocks,
        .order = malloc((count + 1) * sizeof(*heads.order)),
        .count = count,
        .bytes = malloc(HS_TYPE_PIECES_MAX * HS_TYPE_PIECE_BYTES),
    };
    bool is_sorted = true;
    int r = heads.order && heads.bytes ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && r == 0; i++) {
        heads.order[i] = (struct hs_pair){ .key = blocks[i].va / PAGE_BYTES, .value = i };
        is_sorted &= i == 0 || heads.order[i - 1].key <= heads.order[i].key;
    }
    r = r == 0 && !is_sorted ? hs_sort_pairs(heads.order, count) : r;
    r = r == 0 ? rotate(&heads, first_va) : r;
    if (r < 0) {
        hs_block_heads_deinit(&heads);
        return r;
    }
    *ret_heads = heads;
    return 0;
}

void hs_block_heads_deinit(struct hs_block_heads *heads)
{
    free(heads->order);
    free(heads->bytes);
    *heads = (struct hs_block_heads){ 0 };
}

static uint64_t head_bytes(const struct hs_typed_block *block)
{
    uint64_t size_bytes = block->size_bytes < HEAD_BYTES ? block->size_bytes : HEAD_BYTES;
    return block->va < HS_TYPE_VA_MAX ? size_bytes & ~(uint64_t)(WORD_BYTES - 1) : 0;
}

/* The heads that begin in one page. */
static void make_piece(struct hs_block_heads *heads, struct hs_type_piece *ret_piece)
{
    size_t first_idx = heads->next;
    uint64_t page = heads->order[first_idx].key, start_va = UINT64_MAX, end_va = 0;
    for (; heads->next < heads->count && heads->order[heads->next].key == page; heads->next++) {
        const struct hs_typed_block *block = &heads->blocks[heads->order[heads->next].value];
        uint64_t bytes = head_bytes(block);
        start_va = bytes > 0 && block->va < start_va ? block->va : start_va;
        end_va = bytes > 0 && block->va + bytes > end_va ? block->va + bytes : end_va;
    }
    /* All may be too short for a word. */
    start_va = end_va > 0 ? start_va : page * PAGE_BYTES;
    end_va = end_va > 0 ? end_va : start_va;
    HS_ASSERT(end_va - start_va <= HS_TYPE_PIECE_BYTES && heads->next > first_idx);
    *ret_piece = (struct hs_type_piece){
        .va = start_va,
        .size_bytes = (uint32_t)(end_va - start_va),
        .first_idx = first_idx,
        .end_idx = heads->next,
    };
}

bool hs_block_heads_next(struct hs_block_heads *heads, const struct hs_type_memory *memory)
{
    heads->piece_count = 0;
    while (heads->next < heads->count && heads->piece_count < HS_TYPE_PIECES_MAX) {
        make_piece(heads, &heads->pieces[heads->piece_count++]);
    }
    if (heads->piece_count > 0) {
        memory->read_pieces(memory->ctx, heads->pieces, heads->piece_count, heads->bytes);
    }
    return heads->piece_count > 0;
}

unsigned hs_block_heads_words(const struct hs_block_heads *heads, size_t piece, size_t i,
                              uint64_t ret_words[HS_BLOCK_HEAD_WORDS], size_t *ret_block)
{
    const struct hs_type_piece *from = &heads->pieces[piece];
    uint64_t va = hs_block_heads_va(heads, i);
    uint64_t off =
        va >= from->va && va - from->va < from->read_bytes ? va - from->va : from->read_bytes;
    *ret_block = (size_t)heads->order[i].value;
    uint64_t bytes = head_bytes(&heads->blocks[*ret_block]);
    uint64_t there_bytes = from->read_bytes - off;
    bytes = bytes < there_bytes ? bytes : there_bytes & ~(uint64_t)(WORD_BYTES - 1);
    memcpy(ret_words, heads->bytes + piece * HS_TYPE_PIECE_BYTES + off, bytes);
    return (unsigned)(bytes / WORD_BYTES);
}

bool hs_block_heads_word(const struct hs_block_heads *heads, size_t piece, uint64_t va,
                         uint64_t *ret_word)
{
    const struct hs_type_piece *from = &heads->pieces[piece];
    uint64_t off = va - from->va;
    if (va < from->va || off >= from->read_bytes || from->read_bytes - off < sizeof(*ret_word)) {
        return false;
    }
    memcpy(ret_word, heads->bytes + piece * HS_TYPE_PIECE_BYTES + off, sizeof(*ret_word));
    return true;
}
