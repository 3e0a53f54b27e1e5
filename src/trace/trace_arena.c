/*
 * See trace_arena.h.
 */
#include "trace/trace_arena.h"

#include <stdlib.h>

#include "rt/base.h"

#define BLOCK_BYTES_MIN (256U * 1024U)
#define ALIGN_BYTES     16U

struct hs_trace_arena_block {
    struct hs_trace_arena_block *next;
    size_t bytes; /* size of `data` */
    _Alignas(16) unsigned char data[];
};

static void *arena_alloc(void *ctx, size_t bytes)
{
    struct hs_trace_arena *arena = ctx;
    if (bytes > arena->limit_bytes) {
        arena->is_over_limit = true;
        return NULL;
    }
    bytes = (size_t)hs_align_up(bytes ? bytes : 1, ALIGN_BYTES);
    struct hs_trace_arena_block *block = arena->blocks;
    if (!block || block->bytes - arena->used_bytes < bytes) {
        size_t block_bytes =
            arena->total_bytes > BLOCK_BYTES_MIN ? arena->total_bytes : BLOCK_BYTES_MIN;
        block_bytes = block_bytes > bytes ? block_bytes : bytes;
        if (arena->total_bytes > arena->limit_bytes) {
            arena->is_over_limit = true;
            return NULL;
        }
        block = malloc(sizeof(*block) + block_bytes);
        if (!block) {
            return NULL;
        }
        block->next = arena->blocks;
        block->bytes = block_bytes;
        arena->blocks = block;
        arena->used_bytes = 0;
        arena->total_bytes += block_bytes;
    }
    void *data = block->data + arena->used_bytes;
    arena->used_bytes += bytes;
    return data;
}

static void arena_free(void *ctx, void *data)
{
    (void)ctx;
    (void)data;
}

void hs_trace_arena_init(struct hs_trace_arena *arena)
{
    *arena = (struct hs_trace_arena){ 0 };
    arena->allocator.alloc = arena_alloc;
    arena->allocator.free = arena_free;
    arena->allocator.allocator_data = arena;
}

/* Frees the blocks; if keep_one is set, keeps the oldest one, which has the usual size. */
static void shrink(struct hs_trace_arena *arena, bool keep_one)
{
    while (arena->blocks && (!keep_one || arena->blocks->next)) {
        struct hs_trace_arena_block *next = arena->blocks->next;
        arena->total_bytes -= arena->blocks->bytes;
        free(arena->blocks);
        arena->blocks = next;
    }
    arena->used_bytes = 0;
}

void hs_trace_arena_deinit(struct hs_trace_arena *arena)
{
    shrink(arena, false);
}

void hs_trace_arena_reset(struct hs_trace_arena *arena, size_t limit_bytes)
{
    shrink(arena, true);
    arena->limit_bytes = limit_bytes;
    arena->is_over_limit = false;
}
