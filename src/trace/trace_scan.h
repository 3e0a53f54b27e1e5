/*
 * Scans a packet without decoding it: is it well-formed, and does it contain something that we
 * read?
 *
 * Traces of other tools contain millions of packets that we do not use. In a damaged file, a scan
 * tells whether some bytes are a packet at all.
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

/* Fields of TracePacket that are checked before the packet is decoded; numbers as in
 * proto/perfetto.proto. */
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
    uint64_t value;      /* of a varint field */
    const uint8_t *data; /* content of any other field, without its length prefix */
    size_t bytes;
};

/* Reads a varint. Returns the bytes consumed, 0 if no complete varint is there. */
size_t hs_trace_scan_varint(const uint8_t *data, size_t bytes, uint64_t *ret_value);
/* Reads the field at `data`, which begins with its tag. Returns the bytes consumed, 0 if no
 * complete field is there. */
size_t hs_trace_scan_field(const uint8_t *data, size_t bytes, struct hs_trace_field *ret_field);

struct hs_trace_scan {
    bool is_packet; /* well-formed, and has a field that every recorder writes */
    bool is_wanted; /* has something that the reader always decodes */
    /* has a field that no packet has, but that nearly every other message has */
    bool is_alien;
    /* has something that the reader decodes only after hs_trace_reader_want_all() */
    bool is_extra;
    const uint8_t *zlib; /* compressed packets in this packet; NULL: none */
    size_t zlib_bytes;
    const uint8_t *zstd;
    size_t zstd_bytes;
};

/* Returns false if the bytes are not well-formed fields from start to end. */
bool hs_trace_scan(const uint8_t *data, size_t bytes, struct hs_trace_scan *ret_scan);

/* Reads the tag and the length that Trace.packet has in front of each packet. Returns the bytes
 * that these take; 0 if they are not at `data`, or not completely. */
size_t hs_trace_scan_head(const uint8_t *data, size_t bytes, uint64_t *ret_packet_bytes);
/* Are these bytes an incomplete beginning of such a tag and length? */
bool hs_trace_scan_is_cut_head(const uint8_t *data, size_t bytes);
