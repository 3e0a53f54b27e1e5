/*
 * Splits a packet into its head and its parts: the fields whose meaning depends on the packet's
 * time.
 *
 * Several producers write a trace, so its packets are not in the order of their times. A reader
 * that needs that order has to see all packets first. The head (times, clocks, interned data) is
 * needed in the order of the file. The parts (counters, processes, dumps) are only kept as bytes,
 * and decoded when their turn comes.
 *
 * A part is one field of the packet, including its tag. Decoded as a packet of its own, it yields
 * just that field.
 *
 * Ensures   a part's bytes stay valid until hs_trace_parts_deinit(). Bytes of the mapped file are
 *           not copied; expanded bytes are copied, up to kept_max_bytes.
 * Threads   one user.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most parts that are taken from one packet. A real packet has one. Additional parts are left
 * out and count as damage. */
#define HS_TRACE_PARTS_MAX 8U

struct hs_trace_part {
    const uint8_t *data;
    uint32_t bytes;
    uint32_t field; /* its number in TracePacket */
};

struct hs_trace_parts_block;

struct hs_trace_parts {
    /* Of the current packet: */
    struct hs_trace_part parts[HS_TRACE_PARTS_MAX];
    uint32_t count;
    uint8_t *head; /* the other fields */
    size_t head_bytes, head_capacity;
    /* Of all packets: */
    struct hs_trace_parts_block *blocks; /* newest first */
    uint64_t kept_bytes, kept_max_bytes;
};

/* Frees the head and the copies of all parts. */
void hs_trace_parts_deinit(struct hs_trace_parts *parts);

/*
 * Splits a packet that hs_trace_scan() has found well-formed. must_copy: the packet's bytes do not
 * stay valid.
 * Returns 0; -ENOMEM; or -E2BIG if a part could not be kept or there are too many parts: the other
 * parts and the head are there.
 */
int hs_trace_parts_split(struct hs_trace_parts *parts, const uint8_t *data, size_t bytes,
                         bool must_copy);
