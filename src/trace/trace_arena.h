/*
 * Memory for one decoded packet at a time: taken in order, given back all at once.
 *
 * Decoding asks for one small piece per string and message, tens of thousands for a large packet. Here
 * each costs an addition. There is a limit to what one packet may take, because a few bytes of a
 * hostile file decode to a message of a hundred.
 *
 * Holds     what was taken stays valid until hs_trace_arena_reset().
 * Threads   one user.
 * Fails     by returning NULL; is_over_limit tells a limit from a lack of memory.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_trace_arena_block;

struct hs_trace_arena {
    ProtobufCAllocator allocator;        /* give this to unpack */
    struct hs_trace_arena_block *blocks; /* newest first */
    size_t used_bytes;                   /* of the newest block */
    size_t total_bytes;                  /* of all blocks */
    size_t limit_bytes;
    bool is_over_limit;
};

void hs_trace_arena_init(struct hs_trace_arena *arena);
void hs_trace_arena_deinit(struct hs_trace_arena *arena);
/* Everything taken so far is invalid. */
void hs_trace_arena_reset(struct hs_trace_arena *arena, size_t limit_bytes);
