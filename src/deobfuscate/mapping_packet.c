/*
 * Writes DeobfuscationMapping packets class by class, and reads them. See mapping_packet.h.
 *
 * They are encoded here, not by protobuf-c, which needs the whole message in memory.
 */
#include "deobfuscate/mapping_packet.h"

#include <errno.h>
#include <string.h>

/* A packet is written when it has this many bytes of classes. */
#define PACKET_BYTES ((size_t)256 << 10)

/* Fields, as in trace/proto/perfetto.proto. */
enum {
    TRACE_PACKET = 1,
    PACKET_MAPPING = 64,
    MAPPING_PACKAGE = 1,
    MAPPING_CLASS = 3,
    CLASS_OBFUSCATED = 1,
    CLASS_ORIGINAL = 2,
    CLASS_FIELD = 3,
    CLASS_METHOD = 4,
    MEMBER_OBFUSCATED = 1,
    MEMBER_ORIGINAL = 2,
    MEMBER_LINE_FIRST = 3,
    MEMBER_LINE_LAST = 4,
    MEMBER_SOURCE_FIRST = 5,
    MEMBER_SOURCE_LAST = 6,
};

static size_t varint_bytes(uint64_t value)
{
    size_t bytes = 1;
    for (; value >= 0x80; value >>= 7) {
        bytes++;
    }
    return bytes;
}

static void put_varint(struct hs_buf *buf, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) {
        hs_buf_char(buf, (char)(0x80 | (value & 0x7f)));
    }
    hs_buf_char(buf, (char)value);
}

static void put_number(struct hs_buf *buf, unsigned field, uint64_t value)
{
    put_varint(buf, (uint64_t)field << 3);
    put_varint(buf, value);
}

static void put_head(struct hs_buf *buf, unsigned field, size_t bytes)
{
    put_varint(buf, (uint64_t)field << 3 | 2);
    put_varint(buf, bytes);
}

static void put_text(struct hs_buf *buf, unsigned field, const char *text, size_t bytes)
{
    put_head(buf, field, bytes);
    hs_buf_add(buf, text, bytes);
}

static void put_buf(struct hs_buf *buf, unsigned field, struct hs_buf *from)
{
    put_text(buf, field, hs_buf_text(from), from->bytes);
}

static size_t text_field_bytes(size_t bytes)
{
    return 1 + varint_bytes(bytes) + bytes;
}

/* The first error of the buffers. */
static int error_of(const struct hs_mapping_writer *writer)
{
    const struct hs_buf *all[] = { &writer->body,       &writer->members, &writer->original,
                                   &writer->obfuscated, &writer->member,  writer->out };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i]->err != 0) {
            return all[i]->err;
        }
    }
    return 0;
}

static void flush_packet(struct hs_mapping_writer *writer)
{
    size_t package_bytes = strlen(writer->package);
    size_t mapping_bytes = text_field_bytes(package_bytes) + writer->body.bytes;
    size_t packet_bytes =
        varint_bytes((uint64_t)PACKET_MAPPING << 3) + varint_bytes(mapping_bytes) + mapping_bytes;
    if (writer->body.bytes > 0) {
        put_head(writer->out, TRACE_PACKET, packet_bytes);
        put_head(writer->out, PACKET_MAPPING, mapping_bytes);
        put_text(writer->out, MAPPING_PACKAGE, writer->package, package_bytes);
        hs_buf_add(writer->out, hs_buf_text(&writer->body), writer->body.bytes);
    }
    hs_buf_clear(&writer->body);
}

static void flush_class(struct hs_mapping_writer *writer)
{
    if (!writer->has_class) {
        return;
    }
    writer->has_class = false;
    writer->class_count++;
    put_head(&writer->body, MAPPING_CLASS,
             text_field_bytes(writer->obfuscated.bytes) + text_field_bytes(writer->original.bytes) +
                 writer->members.bytes);
    put_buf(&writer->body, CLASS_OBFUSCATED, &writer->obfuscated);
    put_buf(&writer->body, CLASS_ORIGINAL, &writer->original);
    hs_buf_add(&writer->body, hs_buf_text(&writer->members), writer->members.bytes);
    if (writer->body.bytes >= PACKET_BYTES) {
        flush_packet(writer);
    }
}

static int take_class(void *ctx, struct hs_proguard_text original,
                      struct hs_proguard_text obfuscated)
{
    struct hs_mapping_writer *writer = ctx;
    flush_class(writer);
    hs_buf_clear(&writer->members);
    hs_buf_clear(&writer->original);
    hs_buf_clear(&writer->obfuscated);
    hs_buf_add(&writer->original, original.at, original.bytes);
    hs_buf_add(&writer->obfuscated, obfuscated.at, obfuscated.bytes);
    writer->has_class = true;
    return error_of(writer);
}

static int take_member(void *ctx, const struct hs_proguard_member *member)
{
    struct hs_mapping_writer *writer = ctx;
    struct hs_buf *buf = &writer->member;
    hs_buf_clear(buf);
    put_text(buf, MEMBER_OBFUSCATED, member->obfuscated.at, member->obfuscated.bytes);
    put_text(buf, MEMBER_ORIGINAL, member->original.at, member->original.bytes);
    if (member->has_lines) {
        put_number(buf, MEMBER_LINE_FIRST, member->line_first);
        put_number(buf, MEMBER_LINE_LAST, member->line_last);
        put_number(buf, MEMBER_SOURCE_FIRST, member->source_first);
        put_number(buf, MEMBER_SOURCE_LAST, member->source_last);
    }
    put_buf(&writer->members, member->is_method ? CLASS_METHOD : CLASS_FIELD, buf);
    writer->member_count++;
    return error_of(writer);
}

struct hs_proguard_sink hs_mapping_writer_sink(struct hs_mapping_writer *writer)
{
    return (struct hs_proguard_sink){ writer, take_class, take_member };
}

int hs_mapping_writer_finish(struct hs_mapping_writer *writer)
{
    flush_class(writer);
    flush_packet(writer);
    int err = error_of(writer);
    hs_buf_deinit(&writer->body);
    hs_buf_deinit(&writer->members);
    hs_buf_deinit(&writer->original);
    hs_buf_deinit(&writer->obfuscated);
    hs_buf_deinit(&writer->member);
    return err;
}

/* --- reading --- */

static int read_class(const char *package, const Hs__Pb__ObfuscatedClass *class,
                      struct hs_java_names *names)
{
    int err = 0;
    for (size_t i = 0; i < class->n_obfuscated_methods && err == 0; i++) {
        const Hs__Pb__ObfuscatedMember *member = class->obfuscated_methods[i];
        if (!class->obfuscated_name || !class->deobfuscated_name || !member->obfuscated_name ||
            !member->deobfuscated_name) {
            continue;
        }
        const struct hs_java_method method = {
            .obfuscated = member->obfuscated_name,
            .original = member->deobfuscated_name,
            .has_lines = member->has_obfuscated_line_start,
            .line_first = member->obfuscated_line_start,
            .line_last = member->has_obfuscated_line_end ? member->obfuscated_line_end
                                                         : member->obfuscated_line_start,
            .has_source = member->has_source_line_start,
            .source_first = member->source_line_start,
            .has_source_last = member->has_source_line_end,
            .source_last = member->source_line_end,
        };
        err = hs_java_names_add(names, package, class->obfuscated_name, class->deobfuscated_name,
                                &method);
    }
    return err;
}

int hs_mapping_packet_read(const Hs__Pb__DeobfuscationMapping *mapping, struct hs_java_names *names)
{
    const char *package = mapping->package_name ? mapping->package_name : "";
    int err = 0;
    for (size_t i = 0; i < mapping->n_obfuscated_classes && err == 0; i++) {
        err = read_class(package, mapping->obfuscated_classes[i], names);
    }
    return err;
}
