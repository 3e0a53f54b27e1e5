/*
 * Chunks and blocks. Nothing here asks for memory: the pool does, without its lock, and adds what
 * it got.
 */
#include "api/pool_chunks.h"

#include "rt/base.h"

_Static_assert(sizeof(struct hs_pool_chunk) == 64, "blocks begin at a multiple of 16");
_Static_assert(sizeof(struct hs_pool_block) == HS_POOL_UNIT_BYTES, "and are multiples of 16");

/* The largest size that is not given a chunk of its own. */
static size_t largest_bytes(const struct hs_pool_chunks *chunks)
{
    return chunks->chunk_bytes / 4;
}

static uint32_t class_of(size_t size_bytes)
{
    size_t units = (size_bytes + HS_POOL_UNIT_BYTES - 1) / HS_POOL_UNIT_BYTES;
    return hs_pool_class_of(units == 0 ? 1 : (uint32_t)units);
}

static size_t bytes_of_class(uint32_t class_id)
{
    return sizeof(struct hs_pool_block) +
           (size_t)hs_pool_class_units(class_id) * HS_POOL_UNIT_BYTES;
}

/* Freed blocks are a list through the first word of what was the user's. */
static struct hs_pool_block **next_free(struct hs_pool_block *block)
{
    return (struct hs_pool_block **)(block + 1);
}

size_t hs_pool_chunks_block_bytes(const struct hs_pool_chunks *chunks, size_t size_bytes)
{
    return size_bytes <= largest_bytes(chunks) ? bytes_of_class(class_of(size_bytes)) : 0;
}

size_t hs_pool_chunks_needs(const struct hs_pool_chunks *chunks, size_t size_bytes)
{
    if (size_bytes <= largest_bytes(chunks)) {
        return chunks->chunk_bytes;
    }
    return sizeof(struct hs_pool_chunk) + sizeof(struct hs_pool_block) +
           hs_align_up(size_bytes, HS_POOL_UNIT_BYTES);
}

void hs_pool_chunks_add(struct hs_pool_chunks *chunks, void *memory, size_t memory_bytes,
                        bool is_single)
{
    struct hs_pool_chunk *chunk = memory;
    *chunk = (struct hs_pool_chunk){
        .next = chunks->first,
        .owner = chunks,
        .size_bytes = memory_bytes,
        .used_bytes = sizeof(*chunk),
        .is_single = is_single,
    };
    if (chunk->next) {
        chunk->next->previous = chunk;
    }
    chunks->first = chunk;
    chunks->current = is_single ? chunks->current : chunk;
}

static struct hs_pool_block *carve(struct hs_pool_chunk *chunk, uint32_t class_id,
                                   size_t block_bytes)
{
    struct hs_pool_block *block = (void *)((char *)chunk + chunk->used_bytes);
    chunk->used_bytes += block_bytes;
    block->chunk = chunk;
    block->class_id = (uint16_t)class_id;
    return block;
}

static struct hs_pool_block *make_live(struct hs_pool_block *block)
{
    block->state = HS_POOL_BLOCK_LIVE;
    block->chunk->live_count++;
    return block;
}

struct hs_pool_block *hs_pool_chunks_take(struct hs_pool_chunks *chunks, size_t size_bytes)
{
    HS_ASSERT(size_bytes <= largest_bytes(chunks));
    uint32_t class_id = class_of(size_bytes);
    struct hs_pool_block *freed = chunks->free_blocks[class_id];
    if (freed) {
        HS_ASSERT(freed->state == HS_POOL_BLOCK_FREE && freed->class_id == class_id);
        chunks->free_blocks[class_id] = *next_free(freed);
        return make_live(freed);
    }
    size_t block_bytes = bytes_of_class(class_id);
    struct hs_pool_chunk *chunk = chunks->current;
    if (!chunk || chunk->size_bytes - chunk->used_bytes < block_bytes) {
        return NULL;
    }
    return make_live(carve(chunk, class_id, block_bytes));
}

struct hs_pool_block *hs_pool_chunks_take_single(struct hs_pool_chunk *chunk)
{
    HS_ASSERT(chunk->is_single && chunk->live_count == 0);
    return make_live(carve(chunk, 0, chunk->size_bytes - chunk->used_bytes));
}

void *hs_pool_block_align(struct hs_pool_block *block, size_t align_bytes)
{
    uintptr_t start = (uintptr_t)(block + 1);
    uintptr_t shift_bytes = hs_align_up(start, align_bytes) - start;
    block->shift_bytes = (uint32_t)shift_bytes;
    struct hs_pool_block *address = hs_pool_block_address(block);
    if (shift_bytes != 0) {
        address[-1] = (struct hs_pool_block){
            .chunk = block->chunk,
            .state = HS_POOL_BLOCK_SHIFTED,
            .shift_bytes = block->shift_bytes,
        };
    }
    return address;
}

struct hs_pool_block *hs_pool_block_of(const struct hs_pool_chunks *chunks, void *address)
{
    if ((uintptr_t)address % HS_POOL_UNIT_BYTES != 0) {
        return NULL;
    }
    struct hs_pool_block *block = (struct hs_pool_block *)address - 1;
    if (block->state == HS_POOL_BLOCK_SHIFTED) {
        block = (void *)((char *)block - block->shift_bytes);
    }
    bool is_block = block->state == HS_POOL_BLOCK_LIVE && hs_pool_block_address(block) == address &&
                    block->chunk->owner == chunks;
    return is_block ? block : NULL;
}

static void unlink_chunk(struct hs_pool_chunks *chunks, struct hs_pool_chunk *chunk)
{
    *(chunk->previous ? &chunk->previous->next : &chunks->first) = chunk->next;
    if (chunk->next) {
        chunk->next->previous = chunk->previous;
    }
    chunks->current = chunk == chunks->current ? NULL : chunks->current;
}

struct hs_pool_chunk *hs_pool_chunks_put(struct hs_pool_chunks *chunks, struct hs_pool_block *block)
{
    struct hs_pool_chunk *chunk = block->chunk;
    HS_ASSERT(block->state == HS_POOL_BLOCK_LIVE && chunk->live_count > 0);
    block->state = HS_POOL_BLOCK_FREE;
    chunk->live_count--;
    if (chunk->is_single) {
        unlink_chunk(chunks, chunk);
        return chunk;
    }
    *next_free(block) = chunks->free_blocks[block->class_id];
    chunks->free_blocks[block->class_id] = block;
    return NULL;
}

struct hs_pool_chunk *hs_pool_chunks_take_empty(struct hs_pool_chunks *chunks)
{
    for (uint32_t i = 0; i < HS_POOL_CLASSES; i++) {
        struct hs_pool_block **link = &chunks->free_blocks[i];
        while (*link) {
            if ((*link)->chunk->live_count == 0) {
                *link = *next_free(*link);
            } else {
                link = next_free(*link);
            }
        }
    }
    struct hs_pool_chunk *empty = NULL;
    struct hs_pool_chunk *next;
    for (struct hs_pool_chunk *chunk = chunks->first; chunk; chunk = next) {
        next = chunk->next;
        if (chunk->live_count == 0) {
            unlink_chunk(chunks, chunk);
            chunk->next = empty;
            empty = chunk;
        }
    }
    return empty;
}

struct hs_pool_block *hs_pool_chunk_next_block(struct hs_pool_chunk *chunk,
                                               struct hs_pool_block *block)
{
    char *next = (char *)(chunk + 1);
    if (block) {
        next = block->class_id == 0 ? (char *)chunk + chunk->used_bytes
                                    : (char *)block + bytes_of_class(block->class_id);
    }
    return next < (char *)chunk + chunk->used_bytes ? (void *)next : NULL;
}

#if HS_HAS_CHECKS
static bool is_valid_chunk(const struct hs_pool_chunks *chunks, struct hs_pool_chunk *chunk,
                           size_t *free_count)
{
    size_t live_count = 0;
    for (struct hs_pool_block *block = hs_pool_chunk_next_block(chunk, NULL); block;
         block = hs_pool_chunk_next_block(chunk, block)) {
        bool is_live = block->state == HS_POOL_BLOCK_LIVE;
        if (block->chunk != chunk || (block->class_id == 0) != (chunk->is_single != 0) ||
            block->class_id >= HS_POOL_CLASSES ||
            (!is_live && block->state != HS_POOL_BLOCK_FREE)) {
            return false;
        }
        live_count += is_live;
        *free_count += !is_live;
    }
    return chunk->owner == chunks && live_count == chunk->live_count &&
           chunk->used_bytes <= chunk->size_bytes &&
           (!chunk->next || chunk->next->previous == chunk);
}

bool hs_pool_chunks_is_valid(const struct hs_pool_chunks *chunks)
{
    size_t free_count = 0;
    bool has_current = chunks->current == NULL;
    for (struct hs_pool_chunk *chunk = chunks->first; chunk; chunk = chunk->next) {
        has_current = has_current || chunk == chunks->current;
        if (!is_valid_chunk(chunks, chunk, &free_count)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < HS_POOL_CLASSES; i++) {
        for (struct hs_pool_block *block = chunks->free_blocks[i]; block;
             block = *next_free(block)) {
            if (block->class_id != i || block->state != HS_POOL_BLOCK_FREE || free_count == 0) {
                return false;
            }
            free_count--;
        }
    }
    return has_current && free_count == 0;
}
#endif
