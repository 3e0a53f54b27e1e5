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

enum hs_trace_wire {
    HS_TRACE_WIRE_VARINT,
    HS_TRACE_WIRE_64,
    HS_TRACE_WIRE_BYTES,
    HS_TRACE_WIRE_32 = 5,
};

/* Fields of TracePacket that are looked for before it is decoded, as in proto/perfetto.proto. */
enum hs_trace_field_number {
    HS_TRACE_FIELD_PROCESS_TREE = 2,
    HS_TRACE_FIELD_CLOCK_SNAPSHOT = 6,
    HS_TRACE_FIELD_SYS_STATS = 7,
    HS_TRACE_FIELD_TIMESTAMP = 8,
    HS_TRACE_FIELD_PROCESS_STATS = 9,
    HS_TRACE_FIELD_SEQUENCE_ID = 10,
    HS_TRACE_FIELD_INTERNED_DATA = 12,
    HS_TRACE_FIELD_SEQUENCE_FLAGS = 13,
    HS_TRACE_FIELD_TRACE_CONFIG = 33,
    HS_TRACE_FIELD_PROFILE_PACKET = 37,
    HS_TRACE_FIELD_STATE_CLEARED = 41,
    HS_TRACE_FIELD_PACKET_DROPPED = 42,
    HS_TRACE_FIELD_PACKAGES_LIST = 47,
    HS_TRACE_FIELD_COMPRESSED = 50,
    HS_TRACE_FIELD_PACKET_DEFAULTS = 59,
    HS_TRACE_FIELD_MODULE_SYMBOLS = 61,
    HS_TRACE_FIELD_DEOBFUSCATION = 64,
    HS_TRACE_FIELD_PERF_SAMPLE = 66,
    HS_TRACE_FIELD_SMAPS_PACKET = 68,
    HS_TRACE_FIELD_ZSTD_COMPRESSED = 133,
    HS_TRACE_FIELD_STACK_SAMPLE = 135,
    HS_TRACE_FIELD_OUR_COUNTERS = 18516,
};

struct hs_trace_field {
    uint64_t number;
    unsigned wire;       /* enum hs_trace_wire */
    uint64_t value;      /* of a varint */
    const uint8_t *data; /* of all others, without their length */
    size_t bytes;
};

/* Bytes taken, 0 when there is no whole one. */
size_t hs_trace_scan_varint(const uint8_t *data, size_t bytes, uint64_t *ret_value);
/* The field at `data`, tag first. Bytes taken, 0 for what is no whole field. */
size_t hs_trace_scan_field(const uint8_t *data, size_t bytes, struct hs_trace_field *ret_field);

struct hs_trace_scan {
    bool is_packet;      /* well-formed, and has a field that every recorder writes */
    bool is_wanted;      /* has something the reader decodes */
    bool is_alien;       /* has a field that no packet has, but nearly every other message */
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
