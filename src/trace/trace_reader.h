/*
 * The trace reader: takes a file and returns its decoded packets, one at a time.
 *
 * It accepts what users have: a plain trace, one compressed with gzip or zstd, several of these one
 * after another (`cat a b`), and packets that are themselves compressed. It skips packets of kinds
 * that heapscope does not use, without decoding them.
 *
 * Files can be damaged: the disk was full, a copy was cut off, a recorder died. The reader reads
 * what is intact. It leaves out a packet that it cannot decode. When the chain of lengths breaks,
 * it searches for the next place where a packet clearly starts. It counts the damage, so that
 * commands can report it.
 *
 * Ensures   memory is bounded by the largest packet (HS_TRACE_PACKET_MAX, and about 60 times its
 *           size when decoded), not by the file; for small files by a small multiple of their size.
 * Threads   one user.
 * Fails     -errno from opening, -ENOMEM, -EIO; damage is not a failure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/proto/perfetto.pb-c.h"
#include "trace/trace_parts.h"

#define HS_TRACE_PACKET_MAX (UINT32_C(128) << 20)

/* Verdicts on the kind of file. */
#define HS_TRACE_E_EMPTY   1 /* the file has no bytes */
#define HS_TRACE_E_FOREIGN 2 /* not a Perfetto trace: the file contains no packet */

struct hs_trace_damage {
    uint64_t packet_count;     /* packets read or skipped */
    uint64_t bad_packet_count; /* packets left out because they could not be decoded */
    uint64_t skipped_bytes;    /* bytes between packets, or after the last one */
    bool is_truncated;         /* the file ends inside a packet or a compressed stream */
    bool has_bad_compression;  /* a compressed part could not be expanded to its end */
    bool is_too_big;           /* expands to more than any real trace does; the rest was not read */
};

struct hs_trace_reader;

/* Reads from memory, which must stay valid. */
int hs_trace_reader_new(const void *data, size_t bytes, struct hs_trace_reader **ret_reader);
struct hs_trace_input;
/* Takes over an open input, also if the call fails; *input is empty afterwards. */
int hs_trace_reader_take(struct hs_trace_input *input, struct hs_trace_reader **ret_reader);
/* NULL is allowed. Returns NULL. */
struct hs_trace_reader *hs_trace_reader_free(struct hs_trace_reader *reader);

/* Makes the reader also return packets that a profile does not need: deobfuscation, package lists,
 * samples of the CPU and of stacks, configurations, packet defaults, lost packets. */
void hs_trace_reader_want_all(struct hs_trace_reader *reader);

/* From now on the reader keeps the parts of packets that depend on their time (trace_parts.h), and
 * returns packets without them. keeps_whole: it returns packets whole, as long as all parts can be
 * decoded. */
void hs_trace_reader_split(struct hs_trace_reader *reader, bool keeps_whole);
/* Parts of the packet that was returned last. Their bytes stay valid until the reader is freed. */
const struct hs_trace_part *hs_trace_reader_parts(const struct hs_trace_reader *reader,
                                                  uint32_t *ret_count);
/* Decodes a part. Returns a packet that has only that field, valid until the next call; NULL if the
 * part cannot be decoded, which counts as damage. */
const Hs__Pb__TracePacket *hs_trace_reader_decode(struct hs_trace_reader *reader,
                                                  const struct hs_trace_part *part);
/* Sets is_too_big in the damage, because the caller leaves packets out: there are too many of
 * them. */
void hs_trace_reader_note_too_big(struct hs_trace_reader *reader);

/* Returns 1 and the next packet, which is valid until the next call; 0 at the end; or -errno. */
int hs_trace_reader_next(struct hs_trace_reader *reader, const Hs__Pb__TracePacket **ret_packet);

/* Call this at the end. Returns 0 or HS_TRACE_E_*. */
int hs_trace_reader_verdict(const struct hs_trace_reader *reader);
/* Call this at the end if the verdict is HS_TRACE_E_EMPTY or HS_TRACE_E_FOREIGN: is the file
 * nevertheless an intact trace, one without packets or with packets that contain nothing we
 * read? */
bool hs_trace_reader_is_blank(const struct hs_trace_reader *reader);
/* Does the reader return the last packet also without hs_trace_reader_want_all()? */
bool hs_trace_reader_is_needed(const struct hs_trace_reader *reader);
/* No damage was found so far. */
bool hs_trace_reader_is_intact(const struct hs_trace_reader *reader);
/* The damage found so far. */
const struct hs_trace_damage *hs_trace_reader_damage(const struct hs_trace_reader *reader);
