/*
 * Fuzz target: chunks of a heap and recorded blocks, as a hostile process can make them, from which
 * the collector finds out which stacks keep pages.
 *
 * The input is a list of 8 bytes each: what it is (a chunk, a block, a free block of a thread, a
 * large block, a piece, a page that is not resident, a huge page), and its numbers. Each figure of
 * the result must be between its ends, and no set frees more than there is.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "collect/ledger/pins_make.h"

#define BASE        UINT64_C(0x550000000000)
#define PAGE_BYTES  UINT64_C(4096)
#define PIECE_PAGES 1024U
#define PIECES_MAX  8U
#define STACKS      16U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_piece(struct hs_used_chunks *chunks, uint8_t flags, uint16_t pages)
{
    uint64_t start_va = BASE + chunks->piece_count * PIECE_PAGES * PAGE_BYTES;
    uint64_t count = 1U + pages % PIECE_PAGES;
    struct hs_residency residency = { .start_va = start_va, .page_count = count };
    size_t words = PIECE_PAGES / 64 + 1;
    if (chunks->piece_count >= PIECES_MAX) {
        return;
    }
    residency.present = malloc(words * sizeof(uint64_t));
    residency.swapped = calloc(words, sizeof(uint64_t));
    residency.present_before = calloc(words, sizeof(uint32_t));
    residency.swapped_before = calloc(words, sizeof(uint32_t));
    if (!residency.present || !residency.swapped || !residency.present_before ||
        !residency.swapped_before) {
        abort();
    }
    memset(residency.present, (flags & 8) ? 0xa5 : 0xff, words * sizeof(uint64_t));
    for (size_t i = 1; i < words; i++) {
        residency.present_before[i] = residency.present_before[i - 1] +
                                      (uint32_t)__builtin_popcountll(residency.present[i - 1]);
    }
    hs_used_chunks_add_piece(chunks, &(struct hs_used_piece){
                                         .start_va = start_va,
                                         .end_va = start_va + count * PAGE_BYTES,
                                         .is_main = flags & 1,
                                         .has_top = flags & 2,
                                         .is_first = flags & 4,
                                         .residency = residency,
                                     });
}

static void add_block(struct hs_live_blocks *blocks, uint64_t va, uint16_t size, uint8_t stack)
{
    unsigned interval = stack & 0x40 ? HS_LIVE_EXACT : stack & 0x20 ? 2 : 1;
    /* One stack in 17 does not exist. */
    blocks->items[blocks->count++] =
        (struct hs_pair){ va, hs_live_block_pack(stack % (STACKS + 1), size, interval) };
}

static void take(const uint8_t *at, struct hs_used_chunks *chunks, struct hs_live_blocks *blocks)
{
    uint32_t place;
    uint16_t number;
    memcpy(&place, at + 1, sizeof(place));
    memcpy(&number, at + 5, sizeof(number));
    uint64_t va = BASE + (uint64_t)(place % (PIECES_MAX * PIECE_PAGES * 256)) * 16;
    switch (at[0] % 8) {
    case 0:
    case 1:
        hs_used_chunks_add(chunks, va, (uint64_t)number * 16 | (at[7] & 1));
        break;
    case 2:
        /* A chunk and its block. */
        hs_used_chunks_add(chunks, va, (uint64_t)(number % 1024 + 2) * 16);
        add_block(blocks, va + 16, (uint16_t)(number * 16), at[7]);
        break;
    case 3:
        add_block(blocks, va + 16, number, at[7]);
        break;
    case 4:
        hs_used_chunks_add_cached(chunks, va);
        break;
    case 5:
        hs_used_chunks_add_large(
            chunks, &(struct hs_used_large){ va, va + number * 4096ULL, number * 2048ULL });
        break;
    case 6:
        add_piece(chunks, at[7], number);
        break;
    default:
        hs_used_chunks_add_huge(
            chunks, &(struct hs_used_huge){ va, va + number * 65536ULL, number * 65536ULL });
        break;
    }
}

static void check_result(const struct hs_pinned_pages *pins)
{
    check(pins->stack_count <= HS_PIN_STACKS_MAX);
    for (uint32_t i = 0; i < pins->stack_count; i++) {
        const struct hs_pinning_stack *stack = &pins->stacks[i];
        check(stack->stack_id < STACKS);
        check(stack->gain.low_bytes <= stack->gain.bytes &&
              stack->gain.bytes <= stack->gain.high_bytes);
        check(stack->set_gain.low_bytes <= stack->set_gain.bytes &&
              stack->set_gain.bytes <= stack->set_gain.high_bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_used_chunks chunks = { 0 };
    struct hs_live_blocks blocks = { .stack_count = STACKS };
    struct hs_pinned_pages *pins;
    if (size < 8) {
        return 0;
    }
    blocks.items = calloc(size / 8 + 1, sizeof(blocks.items[0]));
    check(blocks.items);
    blocks.is_from_startup = data[0] & 1;
    blocks.widest_bytes = data[0] & 2 ? 1 : 4096;
    blocks.interval_bytes[1] = 4096;
    blocks.interval_bytes[2] = data[0] & 4 ? 100 : 0;
    chunks.page_shift = data[1] % 32 == 0 ? data[2] % 4 : 0;
    for (size_t at = 8; at + 8 <= size; at += 8) {
        take(data + at, &chunks, &blocks);
    }
    if (hs_pins_make(&chunks, &blocks, &pins) == 0) {
        check_result(pins);
        hs_pinned_pages_free(pins);
    }
    hs_used_chunks_deinit(&chunks);
    hs_live_blocks_deinit(&blocks);
    return 0;
}
