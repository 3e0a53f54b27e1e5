/*
 * See trace_scan.h.
 */
#include "trace/trace_scan.h"

#include "trace/trace_writer.h"

#define TAG_PACKET 0x0AU /* Trace.packet: field 1, length-delimited */

enum wire { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };

/* Bytes taken, 0 when there is no whole varint. */
static size_t get_varint(const uint8_t *data, size_t bytes, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes && i < 10; i++) {
        value |= (uint64_t)(data[i] & 0x7F) << (7 * i);
        if (data[i] < 0x80) {
            *ret_value = value;
            return i + 1;
        }
    }
    return 0;
}

size_t hs_trace_scan_head(const uint8_t *data, size_t bytes, uint64_t *ret_packet_bytes)
{
    if (bytes < 2 || data[0] != TAG_PACKET) {
        return 0;
    }
    size_t taken = get_varint(data + 1, bytes - 1, ret_packet_bytes);
    return taken == 0 ? 0 : taken + 1;
}

bool hs_trace_scan_is_cut_head(const uint8_t *data, size_t bytes)
{
    if (bytes == 0 || data[0] != TAG_PACKET) {
        return false;
    }
    for (size_t i = 1; i < bytes; i++) {
        if ((data[i] & 0x80) == 0) {
            return false;
        }
    }
    return true;
}

struct field {
    uint64_t number;
    unsigned wire;
    uint64_t value;      /* of a varint */
    const uint8_t *data; /* of bytes */
    size_t bytes;
};

/* Bytes taken, 0 for what is no field. */
static size_t get_field(const uint8_t *data, size_t bytes, struct field *ret_field)
{
    uint64_t tag;
    size_t at = get_varint(data, bytes, &tag);
    if (at == 0 || tag >> 3 == 0 || tag >> 32 != 0) {
        return 0;
    }
    *ret_field = (struct field){ .number = tag >> 3, .wire = (unsigned)(tag & 7) };
    size_t taken;
    uint64_t length;
    switch (ret_field->wire) {
    case WIRE_VARINT:
        taken = get_varint(data + at, bytes - at, &ret_field->value);
        return taken == 0 ? 0 : at + taken;
    case WIRE_64:
        return bytes - at < 8 ? 0 : at + 8;
    case WIRE_32:
        return bytes - at < 4 ? 0 : at + 4;
    case WIRE_BYTES:
        taken = get_varint(data + at, bytes - at, &length);
        at += taken;
        if (taken == 0 || length > bytes - at) {
            return 0;
        }
        ret_field->data = data + at;
        ret_field->bytes = (size_t)length;
        return at + (size_t)length;
    default:
        return 0;
    }
}

/* Numbers as in proto/perfetto.proto. */
static void note_varint(const struct field *field, struct hs_trace_scan *scan)
{
    switch (field->number) {
    case 8:  /* timestamp */
    case 10: /* trusted_packet_sequence_id */
        scan->is_packet = true;
        break;
    case 13: /* sequence_flags */
        scan->is_wanted |= (field->value & 1) != 0;
        break;
    case 41: /* incremental_state_cleared */
        scan->is_wanted = true;
        break;
    case 42: /* previous_packet_dropped */
        scan->is_extra |= field->value != 0;
        break;
    default:
        break;
    }
}

static void note_bytes(const struct field *field, struct hs_trace_scan *scan)
{
    switch (field->number) {
    case 6:  /* clock_snapshot */
    case 61: /* module_symbols */
        scan->is_packet = scan->is_wanted = true;
        break;
    case 2:                      /* process_tree */
    case 7:                      /* sys_stats */
    case 9:                      /* process_stats */
    case 12:                     /* interned_data */
    case 37:                     /* profile_packet */
    case 68:                     /* smaps_packet */
    case HS_TRACE_PRIVATE_FIELD: /* ours */
        scan->is_wanted = true;
        break;
    case 50: /* compressed_packets */
        scan->is_packet = true;
        scan->zlib = field->data;
        scan->zlib_bytes = field->bytes;
        break;
    case 133: /* zstd_compressed_packets */
        scan->is_packet = true;
        scan->zstd = field->data;
        scan->zstd_bytes = field->bytes;
        break;
    case 64: /* deobfuscation_mapping: stands alone, like module_symbols */
        scan->is_packet = scan->is_extra = true;
        break;
    case 33: /* trace_config */
    case 47: /* packages_list */
    case 59: /* trace_packet_defaults */
        scan->is_extra = true;
        break;
    default:
        break;
    }
}

bool hs_trace_scan(const uint8_t *data, size_t bytes, struct hs_trace_scan *ret_scan)
{
    *ret_scan = (struct hs_trace_scan){ 0 };
    bool has_alien_field = false;
    for (size_t at = 0; at < bytes;) {
        struct field field;
        size_t taken = get_field(data + at, bytes - at, &field);
        if (taken == 0) {
            return false;
        }
        at += taken;
        /* Field 1 was never used in a packet; nested messages nearly always have one. */
        has_alien_field |= field.number == 1;
        if (field.wire == WIRE_VARINT) {
            note_varint(&field, ret_scan);
        } else if (field.wire == WIRE_BYTES) {
            note_bytes(&field, ret_scan);
        }
    }
    ret_scan->is_packet &= !has_alien_field;
    return true;
}
