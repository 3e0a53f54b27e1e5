/*
 * See trace_scan.h.
 */
#include "trace/trace_scan.h"

#include "trace/trace_writer.h"

#define TAG_PACKET 0x0AU /* Trace.packet: field 1, length-delimited */

size_t hs_trace_scan_varint(const uint8_t *data, size_t bytes, uint64_t *ret_value)
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
    size_t taken = hs_trace_scan_varint(data + 1, bytes - 1, ret_packet_bytes);
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

size_t hs_trace_scan_field(const uint8_t *data, size_t bytes, struct hs_trace_field *ret_field)
{
    uint64_t tag;
    size_t at = hs_trace_scan_varint(data, bytes, &tag);
    if (at == 0 || tag >> 3 == 0 || tag >> 32 != 0) {
        return 0;
    }
    *ret_field = (struct hs_trace_field){ .number = tag >> 3, .wire = (unsigned)(tag & 7) };
    size_t taken;
    uint64_t length;
    switch (ret_field->wire) {
    case HS_TRACE_WIRE_VARINT:
        taken = hs_trace_scan_varint(data + at, bytes - at, &ret_field->value);
        return taken == 0 ? 0 : at + taken;
    case HS_TRACE_WIRE_64:
    case HS_TRACE_WIRE_32:
        taken = ret_field->wire == HS_TRACE_WIRE_64 ? 8 : 4;
        ret_field->data = data + at;
        ret_field->bytes = taken;
        return bytes - at < taken ? 0 : at + taken;
    case HS_TRACE_WIRE_BYTES:
        taken = hs_trace_scan_varint(data + at, bytes - at, &length);
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

static void note_varint(const struct hs_trace_field *field, struct hs_trace_scan *scan)
{
    switch (field->number) {
    case HS_TRACE_FIELD_TIMESTAMP:
    case HS_TRACE_FIELD_SEQUENCE_ID:
        scan->is_packet = true;
        break;
    case HS_TRACE_FIELD_SEQUENCE_FLAGS:
        scan->is_wanted |= (field->value & 1) != 0;
        break;
    case HS_TRACE_FIELD_STATE_CLEARED:
        scan->is_wanted = true;
        break;
    case HS_TRACE_FIELD_PACKET_DROPPED:
        scan->is_extra |= field->value != 0;
        break;
    default:
        break;
    }
}

static void note_bytes(const struct hs_trace_field *field, struct hs_trace_scan *scan)
{
    switch (field->number) {
    case HS_TRACE_FIELD_CLOCK_SNAPSHOT:
    case HS_TRACE_FIELD_MODULE_SYMBOLS:
    case HS_TRACE_FIELD_DEOBFUSCATION:
        scan->is_packet = scan->is_wanted = true;
        break;
    case HS_TRACE_FIELD_PROCESS_TREE:
    case HS_TRACE_FIELD_SYS_STATS:
    case HS_TRACE_FIELD_PROCESS_STATS:
    case HS_TRACE_FIELD_INTERNED_DATA:
    case HS_TRACE_FIELD_PACKAGES_LIST:
    case HS_TRACE_FIELD_PROFILE_PACKET:
    case HS_TRACE_FIELD_SMAPS_PACKET:
    case HS_TRACE_PRIVATE_FIELD: /* our own packets */
    case HS_TRACE_FIELD_OUR_COUNTERS:
        scan->is_wanted = true;
        break;
    case HS_TRACE_FIELD_COMPRESSED:
        scan->is_packet = true;
        scan->zlib = field->data;
        scan->zlib_bytes = field->bytes;
        break;
    case HS_TRACE_FIELD_ZSTD_COMPRESSED:
        scan->is_packet = true;
        scan->zstd = field->data;
        scan->zstd_bytes = field->bytes;
        break;
    case HS_TRACE_FIELD_PERF_SAMPLE:
    case HS_TRACE_FIELD_STACK_SAMPLE:
    case HS_TRACE_FIELD_TRACE_CONFIG:
    case HS_TRACE_FIELD_PACKET_DEFAULTS:
        scan->is_extra = true;
        break;
    default:
        break;
    }
}

bool hs_trace_scan(const uint8_t *data, size_t bytes, struct hs_trace_scan *ret_scan)
{
    *ret_scan = (struct hs_trace_scan){ 0 };
    for (size_t at = 0; at < bytes;) {
        struct hs_trace_field field;
        size_t taken = hs_trace_scan_field(data + at, bytes - at, &field);
        if (taken == 0) {
            return false;
        }
        at += taken;
        /* No version of the packet uses field 1; nested messages nearly always have one. */
        ret_scan->is_alien |= field.number == 1;
        if (field.wire == HS_TRACE_WIRE_VARINT) {
            note_varint(&field, ret_scan);
        } else if (field.wire == HS_TRACE_WIRE_BYTES) {
            note_bytes(&field, ret_scan);
        }
    }
    ret_scan->is_packet &= !ret_scan->is_alien;
    return true;
}
