/*
 * The trace reader: a file in, decoded packets out, one at a time.
 *
 * Takes what users have: a plain trace, one compressed with gzip or zstd, several of these one after
 * another (`cat a b`), packets that are themselves compressed. Packets of kinds that nothing here
 * understands are stepped over without being decoded.
 *
 * Files get damaged: a disk was full, a copy was cut off, a recorder died. What is whole is
 * read: a packet that cannot be decoded is left out, and when the chain of lengths breaks, the next
 * place is searched where a packet plainly starts. The damage is counted, for the user to be told.
 *
 * Holds     memory is bounded by the largest packet (HS_TRACE_PACKET_MAX, and about 60 times its size
 *           decoded), not by the file, and for small files by a small multiple of their size.
 * Threads   one user.
 * Fails     -errno from opening, -ENOMEM, -EIO; damage is no failure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/proto/perfetto.pb-c.h"
#include "trace/trace_parts.h"

#define HS_TRACE_PACKET_MAX (UINT32_C(128) << 20)

/* Verdicts: what kind of file it was. */
#define HS_TRACE_E_EMPTY   1 /* not a single byte */
#define HS_TRACE_E_FOREIGN 2 /* not a Perfetto trace: no packet found in it */

struct hs_trace_damage {
    uint64_t packet_count;     /* read, or stepped over */
    uint64_t bad_packet_count; /* left out: could not be decoded */
    uint64_t skipped_bytes;    /* between packets, or after the last one */
    bool is_truncated;         /* ends inside a packet or a compressed stream */
    bool has_bad_compression;  /* a compressed part could not be expanded to its end */
    bool is_too_big;           /* expands to more than any real trace does; not read to its end */
};

struct hs_trace_reader;

/* Reads from a file, a pipe, or standard input ("-"). */
int hs_trace_reader_open(const char *path, struct hs_trace_reader **ret_reader);
/* Reads from memory, which must stay. */
int hs_trace_reader_new(const void *data, size_t bytes, struct hs_trace_reader **ret_reader);
struct hs_trace_input;
/* Takes over an open input, also when it fails; *input is empty afterwards. */
int hs_trace_reader_take(struct hs_trace_input *input, struct hs_trace_reader **ret_reader);
/* NULL is fine. Returns NULL. */
struct hs_trace_reader *hs_trace_reader_free(struct hs_trace_reader *reader);

/* Also hand out what a profile is not made of: counters, smaps, deobfuscation, configs, lost packets. */
void hs_trace_reader_want_all(struct hs_trace_reader *reader);

/* From now on packets are handed out without the parts that depend on their time; see trace_parts.h. */
void hs_trace_reader_split(struct hs_trace_reader *reader);
/* Parts of the packet that was handed out last. Their bytes stay until the reader is freed. */
const struct hs_trace_part *hs_trace_reader_parts(const struct hs_trace_reader *reader,
                                                  uint32_t *ret_count);
/* A part, decoded: a packet with that field alone, valid until the next call. NULL: it cannot be
 * decoded, which is counted as damage. */
const Hs__Pb__TracePacket *hs_trace_reader_decode(struct hs_trace_reader *reader,
                                                  const struct hs_trace_part *part);
/* What the caller leaves out because there is too much of it counts as that. */
void hs_trace_reader_note_too_big(struct hs_trace_reader *reader);

/* 1: *ret_packet is the next one, valid until the next call. 0: the end. -errno. */
int hs_trace_reader_next(struct hs_trace_reader *reader, const Hs__Pb__TracePacket **ret_packet);

/* At the end: 0, or HS_TRACE_E_*. */
int hs_trace_reader_verdict(const struct hs_trace_reader *reader);
/* Of a file that is HS_TRACE_E_EMPTY or HS_TRACE_E_FOREIGN: is it nevertheless a whole trace, of no packet, or of packets
 * that say nothing? */
bool hs_trace_reader_is_blank(const struct hs_trace_reader *reader);
/* So far. */
const struct hs_trace_damage *hs_trace_reader_damage(const struct hs_trace_reader *reader);
