/*
 * See writer_batch.h.
 */
#include "trace/writer_batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt/base.h"
#include "rt/check.h"
#include "trace/mapping_path.h"
#include "trace/writer_state.h"

#define BATCH_STRINGS    512U
#define BATCH_MAPPINGS   256U
#define BATCH_FRAMES     4096U
#define BATCH_CALLSTACKS 4096U
#define PATH_COMPONENTS  256U
#define BATCH_IDS        1024U
/* Callstacks are encoded when they are added, because they are the largest part of a file with many
 * stacks. protobuf-c takes 150 instructions for each frame's id. Therefore the ids of a callstack
 * are passed to it as an unknown field, which it copies unchanged. The buffer has room for one
 * callstack of the greatest length; the batch is sent when another such callstack would not fit. */
#define FRAME_IDS_FIELD  2U
#define FRAME_IDS_KEY    (FRAME_IDS_FIELD << 3 | PROTOBUF_C_WIRE_TYPE_VARINT)
#define FRAME_ID_BYTES   6U /* key, and a varint of 32 bits */
#define BATCH_BYTES      (96U * 1024U * FRAME_ID_BYTES)
#define BATCH_BYTES_FULL (BATCH_BYTES - 66U * 1024U * FRAME_ID_BYTES)

struct strings {
    Hs__Pb__InternedString list[BATCH_STRINGS];
    size_t count;
};

struct hs_writer_batch {
    struct strings functions, paths, build_ids, sources;
    Hs__Pb__Mapping mappings[BATCH_MAPPINGS];
    size_t mapping_count;
    Hs__Pb__Frame frames[BATCH_FRAMES];
    size_t frame_count;
    Hs__Pb__Callstack callstacks[BATCH_CALLSTACKS];
    ProtobufCMessageUnknownField frame_ids[BATCH_CALLSTACKS];
    size_t callstack_count;
    uint8_t bytes[BATCH_BYTES]; /* encoded frame_ids */
    size_t byte_count;
    uint64_t ids[BATCH_IDS]; /* path components */
    size_t id_count;
    size_t text_bytes;
    char *texts[BATCH_STRINGS]; /* strings that live as long as the batch */
    size_t text_count;
    uint64_t time_ns;
    void *pointers[BATCH_STRINGS * 4 + BATCH_MAPPINGS + BATCH_FRAMES + BATCH_CALLSTACKS];
};

struct hs_writer_batch *hs_batch_new(void)
{
    return calloc(1, sizeof(struct hs_writer_batch));
}

static void drop_texts(struct hs_writer_batch *batch)
{
    while (batch->text_count > 0) {
        free(batch->texts[--batch->text_count]);
    }
}

struct hs_writer_batch *hs_batch_free(struct hs_writer_batch *batch)
{
    if (batch) {
        drop_texts(batch);
    }
    free(batch);
    return NULL;
}

void hs_batch_begin(struct hs_trace_writer *writer, uint64_t time_mono_ns)
{
    writer->batch->time_ns = time_mono_ns;
}

/* Points n entries at the elements of a list of messages. */
#define POINT_AT(pointers, list, n)                                                                \
    do {                                                                                           \
        for (size_t point_ = 0; point_ < (n); point_++) {                                          \
            (pointers)[point_] = &(list)[point_];                                                  \
        }                                                                                          \
    } while (0)

void hs_batch_flush(struct hs_trace_writer *writer)
{
    struct hs_writer_batch *batch = writer->batch;
    if (batch->functions.count + batch->paths.count + batch->build_ids.count +
            batch->sources.count + batch->mapping_count + batch->frame_count +
            batch->callstack_count >
        0) {
        Hs__Pb__InternedData data = HS__PB__INTERNED_DATA__INIT;
        void **at = batch->pointers;
#define FIELD(name, items, count)                                                                  \
    POINT_AT(at, items, count);                                                                    \
    data.n_##name = (count);                                                                       \
    data.name = (void *)at;                                                                        \
    at += (count)
        FIELD(function_names, batch->functions.list, batch->functions.count);
        FIELD(mapping_paths, batch->paths.list, batch->paths.count);
        FIELD(build_ids, batch->build_ids.list, batch->build_ids.count);
        FIELD(source_paths, batch->sources.list, batch->sources.count);
        FIELD(mappings, batch->mappings, batch->mapping_count);
        FIELD(frames, batch->frames, batch->frame_count);
        FIELD(callstacks, batch->callstacks, batch->callstack_count);
#undef FIELD
        Hs__Pb__TracePacket packet;
        hs_writer_packet_init(writer, &packet, batch->time_ns);
        packet.interned_data = &data;
        hs_writer_packet(writer, &packet);
    }
    batch->functions.count = batch->paths.count = batch->build_ids.count = 0;
    batch->sources.count = 0;
    batch->mapping_count = batch->frame_count = batch->callstack_count = 0;
    batch->byte_count = batch->id_count = batch->text_bytes = 0;
    drop_texts(batch);
}

/* Makes room for one more element of every kind, and for `ids` ids, by sending the batch if
 * necessary. */
static void make_room(struct hs_trace_writer *writer, size_t ids)
{
    struct hs_writer_batch *batch = writer->batch;
    if (batch->functions.count == BATCH_STRINGS || batch->paths.count == BATCH_STRINGS ||
        batch->build_ids.count == BATCH_STRINGS || batch->sources.count == BATCH_STRINGS ||
        batch->text_count == BATCH_STRINGS || batch->mapping_count == BATCH_MAPPINGS ||
        batch->frame_count == BATCH_FRAMES || batch->callstack_count == BATCH_CALLSTACKS ||
        batch->byte_count >= BATCH_BYTES_FULL || batch->id_count + ids > BATCH_IDS ||
        batch->text_bytes > HS_PACKET_BYTES / 2) {
        hs_batch_flush(writer);
    }
}

/* Interns a string. Text that is not copied must stay valid until the batch is sent. The empty
 * string is iid 0, which the first packet defined. */
static int intern_string(struct hs_trace_writer *writer, struct hs_intern *table,
                         struct strings *strings, const void *text, size_t bytes, bool must_copy,
                         uint32_t *ret_iid)
{
    struct hs_writer_batch *batch = writer->batch;
    uint32_t id;
    bool is_new;
    *ret_iid = 0;
    if (bytes == 0) {
        return 0;
    }
    int err = hs_intern_put(table, hs_intern_hash(text, bytes), &id, &is_new);
    if (err < 0) {
        return err;
    }
    *ret_iid = id + 1;
    if (!is_new) {
        return 0;
    }
    make_room(writer, 0);
    if (must_copy) {
        char *copy = malloc(bytes);
        if (!copy) {
            return -ENOMEM;
        }
        text = memcpy(copy, text, bytes);
        batch->texts[batch->text_count++] = copy;
    }
    Hs__Pb__InternedString *string = &strings->list[strings->count++];
    hs__pb__interned_string__init(string);
    string->has_iid = string->has_str = true;
    string->iid = *ret_iid;
    string->str = (ProtobufCBinaryData){ .len = bytes, .data = (uint8_t *)(uintptr_t)text };
    batch->text_bytes += bytes;
    return 0;
}

static struct hs_intern_key mapping_key(const struct hs_batch_mapping *mapping)
{
    struct hs_intern_key key = hs_intern_hash(mapping->path, strlen(mapping->path));
    struct hs_intern_key id = hs_intern_hash(mapping->build_id, mapping->build_id_bytes);
    key = hs_intern_mix(hs_intern_mix(key, id.hi), id.lo);
    key = hs_intern_mix(hs_intern_mix(key, mapping->exact_off), mapping->load_bias);
    return hs_intern_mix(key, 0);
}

static int define_mapping(struct hs_trace_writer *writer, const struct hs_batch_mapping *mapping,
                          uint32_t iid)
{
    struct hs_writer_batch *batch = writer->batch;
    uint32_t build_id_iid, component_iid;
    const char *path = mapping->path, *start;
    uint64_t components[PATH_COMPONENTS];
    size_t count = 0, bytes;
    int err = intern_string(writer, &writer->build_ids, &batch->build_ids, mapping->build_id,
                            mapping->build_id_bytes, false, &build_id_iid);
    while (err == 0 && count < PATH_COMPONENTS &&
           (bytes = hs_mapping_component(&path, &start)) > 0) {
        err = intern_string(writer, &writer->paths, &batch->paths, start, bytes, false,
                            &component_iid);
        components[count++] = component_iid;
    }
    if (err < 0) {
        return err;
    }
    make_room(writer, count);
    Hs__Pb__Mapping *out = &batch->mappings[batch->mapping_count++];
    hs__pb__mapping__init(out);
    out->has_iid = out->has_build_id = out->has_start_offset = out->has_start = out->has_end =
        out->has_load_bias = out->has_exact_offset = true;
    out->iid = iid;
    out->build_id = build_id_iid;
    out->start = mapping->start_va;
    out->end = mapping->end_va;
    out->load_bias = mapping->load_bias;
    out->exact_offset = mapping->exact_off;
    out->path_string_ids = &batch->ids[batch->id_count];
    out->n_path_string_ids = count;
    memcpy(out->path_string_ids, components, count * sizeof(components[0]));
    batch->id_count += count;
    return 0;
}

int hs_batch_mapping(struct hs_trace_writer *writer, const struct hs_batch_mapping *mapping,
                     uint32_t *ret_iid)
{
    uint32_t id;
    bool is_new;
    int err = hs_intern_put(&writer->mappings, mapping_key(mapping), &id, &is_new);
    if (err == 0 && is_new) {
        err = define_mapping(writer, mapping, id + 1);
    }
    if (err == 0) {
        *ret_iid = id + 1;
        HS_ASSERT(*ret_iid > 0);
    }
    return err;
}

/* The identity of a frame: the address for code, the name for other frames, and both for code that
 * is made at run time: another function may be at the address later, or in another process. */
static struct hs_intern_key frame_key(uint32_t mapping_iid, uint32_t function_iid, uint64_t rel_pc)
{
    return (struct hs_intern_key){ .hi = (uint64_t)mapping_iid << 32 | function_iid, .lo = rel_pc };
}

/* What a frame says of itself, beside its key. */
struct frame_facts {
    uint32_t function_iid, source_iid; /* 0: unknown */
    uint32_t line;                     /* 0: unknown */
    uint32_t kind;                     /* KIND_UNKNOWN is not written */
    bool is_numbered;                  /* rel_pc is a number of its own, not that of the key */
};

static int intern_frame(struct hs_trace_writer *writer, struct hs_intern_key key,
                        const struct frame_facts *facts, uint32_t *ret_iid)
{
    struct hs_writer_batch *batch = writer->batch;
    uint32_t id;
    bool is_new;
    int err = hs_intern_put(&writer->frames, key, &id, &is_new);
    if (err < 0) {
        return err;
    }
    *ret_iid = id + 1;
    if (is_new) {
        make_room(writer, 0);
        Hs__Pb__Frame *frame = &batch->frames[batch->frame_count++];
        hs__pb__frame__init(frame);
        frame->has_iid = frame->has_mapping_id = frame->has_rel_pc = true;
        frame->iid = *ret_iid;
        frame->mapping_id = key.hi >> 32;
        frame->rel_pc = facts->is_numbered ? *ret_iid : key.lo;
        frame->has_function_name_id = facts->function_iid != 0;
        frame->function_name_id = facts->function_iid;
        frame->has_source_path_iid = facts->source_iid != 0;
        frame->source_path_iid = facts->source_iid;
        frame->has_line_number = facts->line != 0;
        frame->line_number = facts->line;
        frame->has_kind = facts->kind != HS__PB__FRAME__KIND__KIND_UNKNOWN;
        frame->kind = facts->kind;
    }
    return 0;
}

static int intern_function(struct hs_trace_writer *writer, const char *name, uint32_t *ret_iid)
{
    return intern_string(writer, &writer->functions, &writer->batch->functions, name, strlen(name),
                         true, ret_iid);
}

static int intern_source(struct hs_trace_writer *writer, const char *file, uint32_t *ret_iid)
{
    return intern_string(writer, &writer->sources, &writer->batch->sources, file, strlen(file),
                         true, ret_iid);
}

bool hs_batch_has_frame(const struct hs_trace_writer *writer, uint32_t mapping_iid, uint64_t rel_pc)
{
    uint32_t id;
    return hs_intern_find(&writer->frames, frame_key(mapping_iid, 0, rel_pc), &id);
}

int hs_batch_frame(struct hs_trace_writer *writer, uint32_t mapping_iid, uint64_t rel_pc,
                   bool is_jit, const struct hs_trace_frame_name *name, uint32_t *ret_iid)
{
    struct frame_facts facts = { .kind = is_jit ? HS__PB__FRAME__KIND__KIND_JIT
                                                : HS__PB__FRAME__KIND__KIND_UNKNOWN };
    int err = name->function ? intern_function(writer, name->function, &facts.function_iid) : 0;
    if (err == 0 && name->file) {
        facts.line = name->line;
        err = intern_source(writer, name->file, &facts.source_iid);
    }
    return err < 0 ? err
                   : intern_frame(writer,
                                  frame_key(mapping_iid, is_jit ? facts.function_iid : 0, rel_pc),
                                  &facts, ret_iid);
}

int hs_batch_note(struct hs_trace_writer *writer, const char *path, const char *name,
                  uint32_t *ret_iid)
{
    struct hs_batch_mapping mapping = { .path = path, .build_id = (const uint8_t *)"" };
    struct frame_facts facts = { 0 };
    uint32_t mapping_iid = 0;
    int err = hs_batch_mapping(writer, &mapping, &mapping_iid);
    if (err == 0) {
        err = intern_function(writer, name, &facts.function_iid);
    }
    return err < 0 ? err
                   : intern_frame(writer, frame_key(mapping_iid, facts.function_iid, 0), &facts,
                                  ret_iid);
}

int hs_batch_script_frame(struct hs_trace_writer *writer, const char *path, const char *function,
                          const char *file, uint32_t line, uint32_t *ret_iid)
{
    struct hs_batch_mapping mapping = { .path = path, .build_id = (const uint8_t *)"" };
    struct frame_facts facts = { .line = line,
                                 .kind = HS__PB__FRAME__KIND__KIND_INTERPRETED,
                                 .is_numbered = true };
    uint32_t mapping_iid = 0;
    int err = hs_batch_mapping(writer, &mapping, &mapping_iid);
    if (err == 0) {
        err = intern_function(writer, function, &facts.function_iid);
    }
    if (err == 0) {
        err = intern_source(writer, file, &facts.source_iid);
    }
    uint64_t place = (uint64_t)facts.source_iid << 32 | line;
    return err < 0 ? err
                   : intern_frame(writer, frame_key(mapping_iid, facts.function_iid, place), &facts,
                                  ret_iid);
}

/* Encodes frame ids. protobuf-c writes the key in front of the first id itself. */
static void put_frame_ids(struct hs_writer_batch *batch, ProtobufCMessageUnknownField *field,
                          const uint32_t *frame_iids, size_t count)
{
    uint8_t *start = &batch->bytes[batch->byte_count], *at = start;
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            *at++ = FRAME_IDS_KEY;
        }
        at += hs_put_varint(at, frame_iids[i]);
    }
    batch->byte_count += (size_t)(at - start);
    *field = (ProtobufCMessageUnknownField){ .tag = FRAME_IDS_FIELD,
                                             .wire_type = PROTOBUF_C_WIRE_TYPE_VARINT,
                                             .len = (size_t)(at - start),
                                             .data = start };
}

int hs_batch_callstack(struct hs_trace_writer *writer, const uint32_t *frame_iids, size_t count,
                       uint32_t image, uint32_t *ret_iid)
{
    struct hs_writer_batch *batch = writer->batch;
    struct hs_intern_key key = hs_intern_hash(frame_iids, count * sizeof(frame_iids[0]));
    uint32_t id;
    bool is_new;
    int err = hs_intern_put(&writer->callstacks, hs_intern_mix(key, image), &id, &is_new);
    if (err < 0) {
        return err;
    }
    *ret_iid = id + 1;
    if (is_new) {
        make_room(writer, 0);
        ProtobufCMessageUnknownField *frame_ids = &batch->frame_ids[batch->callstack_count];
        Hs__Pb__Callstack *out = &batch->callstacks[batch->callstack_count++];
        hs__pb__callstack__init(out);
        out->has_iid = true;
        out->iid = *ret_iid;
        out->base.n_unknown_fields = count > 0;
        out->base.unknown_fields = frame_ids;
        put_frame_ids(batch, frame_ids, frame_iids, count);
    }
    return 0;
}
