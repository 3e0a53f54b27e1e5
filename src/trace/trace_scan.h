/*
 * A look at a packet without decoding it: is it well-formed, and is there anything in it for us?
 *
 * Traces of other tools hold millions of packets we have no use for; and in a damaged file a look
 * tells whether bytes are a packet at all.
 *
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_trace_scan {
    bool is_packet;      /* well-formed, and has a field that every recorder writes */
    bool is_wanted;      /* has something the reader decodes */
    bool is_extra;       /* has something it decodes for who asks: hs_trace_reader_want_all() */
    const uint8_t *zlib; /* compressed packets in it; NULL: none */
    size_t zlib_bytes;
    const uint8_t *zstd;
    size_t zstd_bytes;
};

/* False when the bytes are not well-formed fields from start to end. */
bool hs_trace_scan(const uint8_t *data, size_t bytes, struct hs_trace_scan *ret_scan);

/* The length of Trace.packet's head at `data` and the packet's own length; 0: no head here, or not
 * all of it. */
size_t hs_trace_scan_head(const uint8_t *data, size_t bytes, uint64_t *ret_packet_bytes);
/* Are these bytes the start of such a head, and not all of it? */
bool hs_trace_scan_is_cut_head(const uint8_t *data, size_t bytes);
