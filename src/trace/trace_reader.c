/* From bytes to packets: lengths, damage, packets within packets, decoding. See trace_reader.h. */
#include "trace/trace_reader.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/trace_arena.h"
#include "trace/trace_input.h"
#include "trace/trace_scan.h"

/* What precedes a packet: a tag, and a length of at most ten bytes. */
#define HEAD_BYTES_MAX 11U
/* Limits of a search after damage: how far it looks ahead at a time, the longest packet that it
 * accepts, and how many bytes it examines in all, because each candidate costs a scan of all its
 * bytes. */
#define SEARCH_BYTES      (64U * 1024U)
#define SEARCH_PACKET_MAX (UINT64_C(8) << 20)
#define SEARCH_BUDGET     (UINT64_C(1) << 30)
#define NESTING_MAX       2U
/* Memory for one decoded packet. A real packet takes less than ten times its size. */
#define DECODED_BYTES_MIN ((size_t)4 << 20)
#define DECODED_FACTOR    64U
#define DECODED_BYTES_MAX ((size_t)2 << 30)
/* Compressed files need copies of the parts that are kept for later: at most this much for any
 * file, plus this many bytes for each byte of the file. Real traces are compressed to a tenth. */
#define KEPT_BYTES_MIN ((uint64_t)256 << 20)
#define KEPT_RATE      64U

/* The expanded content of a packet of compressed packets. */
struct nested {
    uint8_t *data;
    size_t bytes, at;
};

struct hs_trace_reader {
    struct hs_trace_input input;
    struct hs_trace_arena arena;
    struct hs_trace_damage damage;
    struct nested nested[NESTING_MAX];
    unsigned depth;  /* entries of `nested` in use */
    bool has_packet; /* a packet was found that only a trace can have */
    bool has_alien;  /* a packet was found that no recorder writes */
    bool wants_all, is_split, keeps_whole;
    bool is_needed;              /* the last packet is one that a profile needs */
    bool has_broken_part;        /* a packet could not be returned whole */
    struct hs_trace_parts parts; /* used if is_split */
    uint64_t search_left;
};

static int reader_new(struct hs_trace_reader **ret_reader)
{
    struct hs_trace_reader *reader = calloc(1, sizeof(*reader));
    if (!reader) {
        return -ENOMEM;
    }
    hs_trace_arena_init(&reader->arena);
    reader->search_left = SEARCH_BUDGET;
    *ret_reader = reader;
    return 0;
}

int hs_trace_reader_new(const void *data, size_t bytes, struct hs_trace_reader **ret_reader)
{
    int err = reader_new(ret_reader);
    if (err == 0) {
        hs_trace_input_init(&(*ret_reader)->input, data, bytes);
    }
    return err;
}

int hs_trace_reader_take(struct hs_trace_input *input, struct hs_trace_reader **ret_reader)
{
    int err = reader_new(ret_reader);
    if (err == 0) {
        (*ret_reader)->input = *input;
        *input = (struct hs_trace_input){ 0 };
    } else {
        hs_trace_input_deinit(input);
    }
    return err;
}

struct hs_trace_reader *hs_trace_reader_free(struct hs_trace_reader *reader)
{
    if (reader) {
        for (unsigned i = 0; i < NESTING_MAX; i++) {
            free(reader->nested[i].data);
        }
        hs_trace_parts_deinit(&reader->parts);
        hs_trace_arena_deinit(&reader->arena);
        hs_trace_input_deinit(&reader->input);
        free(reader);
    }
    return NULL;
}

void hs_trace_reader_want_all(struct hs_trace_reader *reader)
{
    reader->wants_all = true;
}

void hs_trace_reader_split(struct hs_trace_reader *reader, bool keeps_whole)
{
    reader->is_split = true;
    reader->keeps_whole = keeps_whole;
    reader->parts.kept_max_bytes = KEPT_BYTES_MIN + (uint64_t)reader->input.file_bytes * KEPT_RATE;
}

const struct hs_trace_part *hs_trace_reader_parts(const struct hs_trace_reader *reader,
                                                  uint32_t *ret_count)
{
    *ret_count = reader->parts.count;
    return reader->parts.parts;
}

void hs_trace_reader_note_too_big(struct hs_trace_reader *reader)
{
    reader->damage.is_too_big = true;
}

int hs_trace_reader_verdict(const struct hs_trace_reader *reader)
{
    if (reader->input.file_bytes == 0) {
        return HS_TRACE_E_EMPTY;
    }
    return reader->has_packet ? 0 : HS_TRACE_E_FOREIGN;
}

bool hs_trace_reader_is_needed(const struct hs_trace_reader *reader)
{
    return reader->is_needed;
}

bool hs_trace_reader_is_intact(const struct hs_trace_reader *reader)
{
    const struct hs_trace_damage *damage = &reader->damage;
    return !reader->has_broken_part && damage->bad_packet_count == 0 &&
           damage->skipped_bytes == 0 && !damage->is_truncated && !damage->has_bad_compression &&
           !damage->is_too_big;
}

bool hs_trace_reader_is_blank(const struct hs_trace_reader *reader)
{
    return !reader->has_packet && !reader->has_alien && hs_trace_reader_is_intact(reader);
}

const struct hs_trace_damage *hs_trace_reader_damage(const struct hs_trace_reader *reader)
{
    return &reader->damage;
}

/* --- finding packets in the file --- */

static void skip_damage(struct hs_trace_reader *reader, size_t bytes)
{
    reader->damage.skipped_bytes += bytes;
    hs_trace_input_skip(&reader->input, bytes);
}

/* Can the bytes at `off` follow a packet? */
static bool is_boundary(const struct hs_trace_input *input, size_t off)
{
    uint64_t bytes;
    return off == input->avail ||
           hs_trace_scan_head(input->at + off, input->avail - off, &bytes) > 0 ||
           hs_trace_coding_of(input->at + off, input->avail - off) != HS_TRACE_PLAIN;
}

/* Is there clearly a packet at the current place? Returns 1, 0, or -ENOMEM. */
static int is_candidate(struct hs_trace_reader *reader)
{
    struct hs_trace_input *input = &reader->input;
    struct hs_trace_scan scan;
    uint64_t bytes;
    size_t head = hs_trace_scan_head(input->at, input->avail, &bytes);
    if (head == 0 || bytes == 0 || bytes > SEARCH_PACKET_MAX) {
        return 0;
    }
    int err = hs_trace_input_want(input, head + (size_t)bytes + HEAD_BYTES_MAX);
    if (err < 0 || input->avail < head + bytes) {
        return err;
    }
    uint64_t cost = bytes + HEAD_BYTES_MAX;
    reader->search_left -= cost < reader->search_left ? cost : reader->search_left;
    return is_boundary(input, head + (size_t)bytes) &&
           hs_trace_scan(input->at + head, (size_t)bytes, &scan) && scan.is_packet;
}

/* Advances to the next packet, or to the end of the run. The current byte is not the start of a
 * packet. */
static int search(struct hs_trace_reader *reader)
{
    struct hs_trace_input *input = &reader->input;
    size_t off = 1;
    for (;;) {
        skip_damage(reader, off < input->avail ? off : input->avail);
        int err = hs_trace_input_want(input, SEARCH_BYTES);
        if (err < 0) {
            return err;
        }
        if (input->avail == 0) {
            return 0;
        }
        if (reader->search_left == 0) {
            off = input->avail;
            continue;
        }
        if (hs_trace_coding_of(input->at, input->avail) != HS_TRACE_PLAIN) {
            return 0;
        }
        int found = is_candidate(reader);
        if (found != 0) {
            return found < 0 ? found : 0;
        }
        /* A packet and a compressed member both start with one of these bytes. */
        for (off = 1; off < input->avail; off++) {
            uint8_t byte = input->at[off];
            if (byte == 0x0A || byte == 0x1f || byte == 0x28) {
                break;
            }
        }
    }
}

/* Finds the bytes of the next packet of the file. Returns 1, 0 at the end, or -errno. */
static int next_raw(struct hs_trace_reader *reader, const uint8_t **ret_data, size_t *ret_bytes)
{
    struct hs_trace_input *input = &reader->input;
    struct hs_trace_scan scan;
    for (;;) {
        int err = hs_trace_input_want(input, HEAD_BYTES_MAX);
        if (err < 0) {
            return err;
        }
        if (input->avail == 0) {
            if (!hs_trace_input_next_run(input)) {
                return 0;
            }
            continue;
        }
        if (input->coding == HS_TRACE_PLAIN &&
            hs_trace_coding_of(input->at, input->avail) != HS_TRACE_PLAIN) {
            hs_trace_input_cut(input);
            continue;
        }
        uint64_t bytes = 0;
        size_t head = hs_trace_scan_head(input->at, input->avail, &bytes);
        bool is_head = head > 0 && bytes <= HS_TRACE_PACKET_MAX;
        if (is_head) {
            err = hs_trace_input_want(input, head + (size_t)bytes + HEAD_BYTES_MAX);
            if (err < 0) {
                return err;
            }
        }
        bool is_there = is_head && input->avail - head >= bytes;
        bool is_cut =
            (is_head && !is_there) ||
            (input->avail < HEAD_BYTES_MAX && hs_trace_scan_is_cut_head(input->at, input->avail));
        if (is_there && hs_trace_scan(input->at + head, (size_t)bytes, &scan)) {
            *ret_data = input->at + head;
            *ret_bytes = (size_t)bytes;
            hs_trace_input_skip(input, head + (size_t)bytes);
            return 1;
        }
        if (is_there && is_boundary(input, head + (size_t)bytes)) {
            /* The length is right, so only the content of this packet is lost. */
            reader->damage.bad_packet_count++;
            hs_trace_input_skip(input, head + (size_t)bytes);
            continue;
        }
        uint64_t skipped_bytes = reader->damage.skipped_bytes;
        err = search(reader);
        if (err < 0) {
            return err;
        }
        if (input->avail == 0 && is_cut) {
            /* The packet is not damaged but cut off. */
            reader->damage.is_truncated = true;
            reader->damage.skipped_bytes = skipped_bytes;
        }
    }
}

/* --- packets within packets --- */

/* Like next_raw(), for the innermost expanded content. Returns 0 when no expanded content is
 * left. */
static int next_nested(struct hs_trace_reader *reader, const uint8_t **ret_data, size_t *ret_bytes)
{
    while (reader->depth > 0) {
        struct nested *nested = &reader->nested[reader->depth - 1];
        uint64_t bytes = 0;
        size_t left = nested->bytes - nested->at;
        size_t head = hs_trace_scan_head(nested->data + nested->at, left, &bytes);
        if (head > 0 && bytes <= left - head) {
            *ret_data = nested->data + nested->at + head;
            *ret_bytes = (size_t)bytes;
            nested->at += head + (size_t)bytes;
            return 1;
        }
        reader->damage.skipped_bytes += left;
        free(nested->data);
        *nested = (struct nested){ 0 };
        reader->depth--;
    }
    return 0;
}

static int open_nested(struct hs_trace_reader *reader, enum hs_trace_coding coding,
                       const uint8_t *data, size_t bytes)
{
    struct hs_trace_input *input = &reader->input;
    if (reader->depth == NESTING_MAX) {
        reader->damage.bad_packet_count++;
        return 0;
    }
    uint64_t left = input->expanded_max_bytes > input->expanded_bytes
                        ? input->expanded_max_bytes - input->expanded_bytes
                        : 0;
    uint64_t max_bytes = left < HS_TRACE_PACKET_MAX ? left : HS_TRACE_PACKET_MAX;
    struct nested nested = { 0 };
    if (max_bytes == 0) {
        reader->damage.is_too_big = true;
        return 0;
    }
    int err = hs_trace_expand(coding, data, bytes, (size_t)max_bytes, &nested.data, &nested.bytes);
    if (err == -ENOMEM) {
        return err;
    }
    if (err < 0) {
        reader->damage.has_bad_compression = true;
    }
    input->expanded_bytes += nested.bytes;
    reader->nested[reader->depth++] = nested;
    return 0;
}

/* --- decoding --- */

/* Returns NULL if the packet cannot be decoded. */
static const Hs__Pb__TracePacket *unpack(struct hs_trace_reader *reader, const uint8_t *data,
                                         size_t bytes)
{
    size_t limit_bytes = DECODED_BYTES_MIN + bytes * DECODED_FACTOR;
    limit_bytes = limit_bytes < DECODED_BYTES_MAX ? limit_bytes : DECODED_BYTES_MAX;
    hs_trace_arena_reset(&reader->arena, limit_bytes);
    return hs__pb__trace_packet__unpack(&reader->arena.allocator, bytes, data);
}

const Hs__Pb__TracePacket *hs_trace_reader_decode(struct hs_trace_reader *reader,
                                                  const struct hs_trace_part *part)
{
    const Hs__Pb__TracePacket *packet = unpack(reader, part->data, part->bytes);
    reader->damage.bad_packet_count += packet == NULL;
    return packet;
}

/* Separates the parts of a packet, and decodes its head, or all of it. *ret_packet is NULL if it
 * cannot be decoded. */
static int decode_split(struct hs_trace_reader *reader, const uint8_t *data, size_t bytes,
                        const Hs__Pb__TracePacket **ret_packet)
{
    const struct hs_trace_input *input = &reader->input;
    uintptr_t off = (uintptr_t)data - (uintptr_t)input->file;
    int err = hs_trace_parts_split(&reader->parts, data, bytes, off >= input->file_bytes);
    if (err == -ENOMEM) {
        return err;
    }
    reader->damage.is_too_big |= err == -E2BIG;
    *ret_packet = reader->keeps_whole ? unpack(reader, data, bytes) : NULL;
    if (!*ret_packet) {
        reader->has_broken_part |= reader->keeps_whole;
        *ret_packet = unpack(reader, reader->parts.head, reader->parts.head_bytes);
    }
    return 0;
}

/* Decodes the packet, or only its head. Returns 1; 0 if it cannot be decoded, which counts as
 * damage; or -ENOMEM. */
static int decode(struct hs_trace_reader *reader, const uint8_t *data, size_t bytes,
                  const Hs__Pb__TracePacket **ret_packet)
{
    int err = 0;
    if (reader->is_split) {
        err = decode_split(reader, data, bytes, ret_packet);
    } else {
        *ret_packet = unpack(reader, data, bytes);
    }
    if (err < 0) {
        return err;
    }
    reader->damage.packet_count += *ret_packet != NULL;
    reader->damage.bad_packet_count += *ret_packet == NULL;
    return *ret_packet != NULL;
}

static void note_input_damage(struct hs_trace_reader *reader)
{
    reader->damage.is_truncated |= reader->input.is_truncated;
    reader->damage.has_bad_compression |= reader->input.has_bad_compression;
    reader->damage.is_too_big |= reader->input.is_too_big;
}

int hs_trace_reader_next(struct hs_trace_reader *reader, const Hs__Pb__TracePacket **ret_packet)
{
    for (;;) {
        const uint8_t *data;
        size_t bytes;
        struct hs_trace_scan scan;
        int found = next_nested(reader, &data, &bytes);
        if (found == 0) {
            found = next_raw(reader, &data, &bytes);
        }
        if (found <= 0) {
            note_input_damage(reader);
            return found;
        }
        if (!hs_trace_scan(data, bytes, &scan)) {
            reader->damage.bad_packet_count++;
            continue;
        }
        reader->has_packet |= scan.is_packet;
        reader->has_alien |= scan.is_alien;
        int err = 0;
        if (scan.zstd) {
            err = open_nested(reader, HS_TRACE_ZSTD, scan.zstd, scan.zstd_bytes);
        }
        if (err == 0 && scan.zlib) {
            err = open_nested(reader, HS_TRACE_GZIP, scan.zlib, scan.zlib_bytes);
        }
        if (err < 0) {
            return err;
        }
        if (!scan.is_wanted && !(reader->wants_all && scan.is_extra)) {
            reader->damage.packet_count++;
            continue;
        }
        reader->is_needed = scan.is_wanted;
        err = decode(reader, data, bytes, ret_packet);
        if (err != 0) {
            return err;
        }
    }
}
