/*
 * Memory for one decoded packet at a time: allocated piece by piece, released all at once.
 *
 * Decoding allocates one small piece per string and message, tens of thousands for a large packet.
 * With the arena each piece costs one addition. The arena limits how much one packet can take,
 * because a few bytes of a malicious file can decode to a message of a hundred bytes.
 *
 * Ensures   memory from the arena stays valid until hs_trace_arena_reset().
 * Threads   one user.
 * Fails     an allocation returns NULL; is_over_limit is set if the reason was the limit and not a
 *           lack of memory.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_trace_arena_block;

struct hs_trace_arena {
    ProtobufCAllocator allocator;        /* the allocator to pass to the unpack function */
    struct hs_trace_arena_block *blocks; /* newest first */
    size_t used_bytes;                   /* in the newest block */
    size_t total_bytes;                  /* size of all blocks */
    size_t limit_bytes;
    bool is_over_limit;
};

/* Makes an empty arena, whose limit is 0 until hs_trace_arena_reset(). */
void hs_trace_arena_init(struct hs_trace_arena *arena);
/* Frees all blocks. */
void hs_trace_arena_deinit(struct hs_trace_arena *arena);
/* Invalidates all memory taken from the arena so far, and sets the limit for the next packet. */
void hs_trace_arena_reset(struct hs_trace_arena *arena, size_t limit_bytes);
