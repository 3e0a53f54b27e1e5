/*
 * A packet in two: its head, and the parts of it whose meaning depends on when they were true.
 *
 * A trace is written by many at once, so its packets stand in another order than that of their times.
 * Who wants them in order has to see all of them first. The head (times, clocks, what is interned) is
 * needed in the order of the file; the parts (counters, processes, dumps) are only remembered, as bytes,
 * and decoded when their turn comes.
 *
 * A part is one field of the packet, tag included: as a packet of its own it decodes to just that field.
 *
 * Holds     a part's bytes stay valid until hs_trace_parts_deinit(). Those of the mapped file are not
 *           copied; those that were expanded are, up to kept_max_bytes.
 * Threads   one user.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parts of one packet; a real one has one. More are left out, and said to be damage. */
#define HS_TRACE_PARTS_MAX 8U

struct hs_trace_part {
    const uint8_t *data;
    uint32_t bytes;
    uint32_t field; /* its number in TracePacket */
};

struct hs_trace_parts_block;

struct hs_trace_parts {
    /* Of the packet at hand: */
    struct hs_trace_part parts[HS_TRACE_PARTS_MAX];
    uint32_t count;
    uint8_t *head; /* the other fields */
    size_t head_bytes, head_capacity;
    /* Of all packets: */
    struct hs_trace_parts_block *blocks; /* newest first */
    uint64_t kept_bytes, kept_max_bytes;
};

void hs_trace_parts_deinit(struct hs_trace_parts *parts);

/*
 * Takes a well-formed packet apart (hs_trace_scan() said so). must_copy: its bytes go away.
 * 0; -ENOMEM; -E2BIG: a part would not be kept, or there are too many; the others and the head are there.
 */
int hs_trace_parts_split(struct hs_trace_parts *parts, const uint8_t *data, size_t bytes,
                         bool must_copy);
