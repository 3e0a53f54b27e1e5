/*
 * What a sequence interned, and how a callstack becomes a node of the profile's tree.
 *
 * Entries are stored in the order in which they come, and followed only when a sample needs them: a
 * mapping may come after the frames in it. The first entry with an iid counts, as in Perfetto.
 *
 * A reference to a missing entry does not lose the sample, since its bytes are real. The stack gets
 * a marker in place of the unknown frame, and the case is counted.
 *
 * The oldest recorders put the tables into the packets of the dump itself. These tables are valid
 * for that dump only, and are searched before the others.
 *
 * See       load_state.h, docs/FORMAT.md
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/read/load_state.h"
#include "trace/mapping_path.h"
#include "util/array.h"
#include "util/buf.h"

#define KEY(number) ((struct hs_intern_key){ .lo = (number) })
/* The length of a build id that is already text, as Breakpad uses it. */
#define BREAKPAD_ID_CHARS 33U
/* Path components are string ids, so that a few bytes could make a path of megabytes. */
#define PATH_CHARS_MAX 8192U

void hs_load_ids_deinit(struct hs_load_ids *ids)
{
    hs_intern_deinit(&ids->ids);
}

void *hs_load_at(struct hs_load *load, struct hs_load_ids *ids, void *array_address,
                 size_t elem_bytes, struct hs_intern_key key, bool *ret_is_new)
{
    uint32_t idx;
    *ret_is_new = false;
    if (load->err != 0) {
        return NULL;
    }
    int err = hs_intern_put(&ids->ids, key, &idx, ret_is_new);
    if (err == 0) {
        err = hs_array_reserve(array_address, &ids->capacity, (size_t)idx + 1, elem_bytes);
    }
    if (err < 0) {
        load->err = err;
        return NULL;
    }
    char *array;
    memcpy(&array, array_address, sizeof(array));
    if (*ret_is_new) {
        memset(array + idx * elem_bytes, 0, elem_bytes);
    }
    return array + idx * elem_bytes;
}

void *hs_load_find(const struct hs_load_ids *ids, void *array, size_t elem_bytes,
                   struct hs_intern_key key)
{
    /* Most writers number their entries in order. Then no search is needed. */
    uint64_t guess = ids->ids.count > 0 ? key.lo - ids->ids.keys[0].lo : 0;
    if (guess < ids->ids.count && ids->ids.keys[guess].lo == key.lo &&
        ids->ids.keys[guess].hi == key.hi) {
        return (char *)array + guess * elem_bytes;
    }
    uint32_t idx;
    return hs_intern_find(&ids->ids, key, &idx) ? (char *)array + idx * elem_bytes : NULL;
}

void hs_load_tables_deinit(struct hs_load_tables *tables)
{
    for (int i = 0; i < HS_LOAD_STRINGS_N; i++) {
        hs_load_ids_deinit(&tables->string_ids[i]);
        free(tables->strings[i]);
    }
    hs_load_ids_deinit(&tables->mapping_ids);
    hs_load_ids_deinit(&tables->frame_ids);
    hs_load_ids_deinit(&tables->callstack_ids);
    free(tables->mappings);
    free(tables->frames);
    free(tables->callstacks);
    free(tables->pool);
    *tables = (struct hs_load_tables){ 0 };
}

/* --- filling --- */

static uint32_t build_id_text(struct hs_builder *builder, const ProtobufCBinaryData *id)
{
    char text[HS_BUILD_ID_MAX * 2];
    if (id->len == BREAKPAD_ID_CHARS) {
        return hs_builder_string_n(builder, (const char *)id->data, id->len);
    }
    size_t bytes = id->len <= HS_BUILD_ID_MAX ? id->len : HS_BUILD_ID_MAX;
    for (size_t i = 0; i < bytes; i++) {
        text[i * 2] = "0123456789abcdef"[id->data[i] >> 4];
        text[i * 2 + 1] = "0123456789abcdef"[id->data[i] & 15];
    }
    return hs_builder_string_n(builder, text, bytes * 2);
}

static void add_strings(struct hs_load *load, struct hs_load_tables *tables,
                        enum hs_load_strings kind, Hs__Pb__InternedString **list, size_t count)
{
    for (size_t i = 0; i < count && load->err == 0; i++) {
        bool is_new;
        uint32_t *string = hs_load_at(load, &tables->string_ids[kind], &tables->strings[kind],
                                      sizeof(uint32_t), KEY(list[i]->iid), &is_new);
        if (is_new && string) {
            const ProtobufCBinaryData *text = &list[i]->str;
            *string = kind == HS_LOAD_BUILD_IDS
                          ? build_id_text(load->builder, text)
                          : hs_builder_string_n(load->builder, (const char *)text->data, text->len);
        }
    }
}

/* Appends ids to the pool. Returns the index of the first. */
static uint32_t add_ids(struct hs_load *load, struct hs_load_tables *tables, const uint64_t *ids,
                        size_t count)
{
    if (count > UINT32_MAX / 2 - tables->pool_count) {
        load->err = -EOVERFLOW;
        return 0;
    }
    uint32_t wanted = tables->pool_count + (uint32_t)count;
    int err =
        hs_array_reserve(&tables->pool, &tables->pool_capacity, wanted, sizeof(tables->pool[0]));
    if (err < 0) {
        load->err = err;
        return 0;
    }
    uint32_t first = tables->pool_count;
    if (count > 0) {
        memcpy(tables->pool + first, ids, count * sizeof(ids[0]));
    }
    tables->pool_count = wanted;
    return first;
}

static void add_mappings(struct hs_load *load, struct hs_load_tables *tables,
                         Hs__Pb__Mapping **list, size_t count)
{
    for (size_t i = 0; i < count && load->err == 0; i++) {
        const Hs__Pb__Mapping *from = list[i];
        bool is_new;
        struct hs_load_mapping *mapping = hs_load_at(load, &tables->mapping_ids, &tables->mappings,
                                                     sizeof(*mapping), KEY(from->iid), &is_new);
        if (is_new && mapping) {
            *mapping = (struct hs_load_mapping){
                .start_va = from->start,
                .end_va = from->end,
                .exact_off = from->exact_offset,
                .start_off = from->start_offset,
                .load_bias = from->load_bias,
                .build_id_iid = from->build_id,
                .path_first = add_ids(load, tables, from->path_string_ids, from->n_path_string_ids),
                .path_count = (uint32_t)from->n_path_string_ids,
                .module = UINT32_MAX,
            };
        }
    }
}

static void add_frames(struct hs_load *load, struct hs_load_tables *tables, Hs__Pb__Frame **list,
                       size_t count)
{
    for (size_t i = 0; i < count && load->err == 0; i++) {
        const Hs__Pb__Frame *from = list[i];
        bool is_new;
        struct hs_load_frame *frame = hs_load_at(load, &tables->frame_ids, &tables->frames,
                                                 sizeof(*frame), KEY(from->iid), &is_new);
        if (is_new && frame) {
            *frame = (struct hs_load_frame){
                .function_iid = from->function_name_id,
                .mapping_iid = from->mapping_id,
                .rel_pc = from->rel_pc,
                .source_iid = from->source_path_iid,
                .line = from->line_number,
                .kind = from->kind,
                .frame = UINT32_MAX,
            };
        }
    }
}

static void add_callstacks(struct hs_load *load, struct hs_load_tables *tables,
                           Hs__Pb__Callstack **list, size_t count)
{
    for (size_t i = 0; i < count && load->err == 0; i++) {
        const Hs__Pb__Callstack *from = list[i];
        bool is_new;
        struct hs_load_callstack *callstack =
            hs_load_at(load, &tables->callstack_ids, &tables->callstacks, sizeof(*callstack),
                       KEY(from->iid), &is_new);
        if (is_new && callstack) {
            *callstack = (struct hs_load_callstack){
                .first = add_ids(load, tables, from->frame_ids, from->n_frame_ids),
                .count = (uint32_t)from->n_frame_ids,
                .node = UINT32_MAX,
            };
        }
    }
}

void hs_load_tables_add(struct hs_load *load, struct hs_load_tables *tables,
                        const Hs__Pb__InternedData *data)
{
    add_strings(load, tables, HS_LOAD_FUNCTIONS, data->function_names, data->n_function_names);
    add_strings(load, tables, HS_LOAD_PATHS, data->mapping_paths, data->n_mapping_paths);
    add_strings(load, tables, HS_LOAD_SOURCES, data->source_paths, data->n_source_paths);
    add_strings(load, tables, HS_LOAD_BUILD_IDS, data->build_ids, data->n_build_ids);
    add_mappings(load, tables, data->mappings, data->n_mappings);
    add_frames(load, tables, data->frames, data->n_frames);
    add_callstacks(load, tables, data->callstacks, data->n_callstacks);
}

void hs_load_tables_add_legacy(struct hs_load *load, struct hs_load_tables *tables,
                               const Hs__Pb__ProfilePacket *packet)
{
    /* These recorders have one string table for everything. */
    add_strings(load, tables, HS_LOAD_FUNCTIONS, packet->strings, packet->n_strings);
    add_strings(load, tables, HS_LOAD_PATHS, packet->strings, packet->n_strings);
    add_strings(load, tables, HS_LOAD_BUILD_IDS, packet->strings, packet->n_strings);
    add_mappings(load, tables, packet->mappings, packet->n_mappings);
    add_frames(load, tables, packet->frames, packet->n_frames);
    add_callstacks(load, tables, packet->callstacks, packet->n_callstacks);
}

/* --- following --- */

/*
 * The builder's string id. 0, the id of "", for iid 0, which is not valid, and for an iid that is
 * not there.
 */
static uint32_t find_string(struct hs_load_tables *tables, enum hs_load_strings kind, uint64_t iid)
{
    for (; tables && iid != 0; tables = tables->behind) {
        const uint32_t *string = hs_load_find(&tables->string_ids[kind], tables->strings[kind],
                                              sizeof(uint32_t), KEY(iid));
        if (string) {
            return *string;
        }
    }
    return 0;
}

static struct hs_load_mapping *find_mapping(struct hs_load_tables *tables, uint64_t iid,
                                            const struct hs_load_tables **ret_owner)
{
    struct hs_load_mapping *mapping = NULL;
    for (; tables && !mapping && iid != 0; tables = tables->behind) {
        mapping = hs_load_find(&tables->mapping_ids, tables->mappings, sizeof(*mapping), KEY(iid));
        *ret_owner = tables;
    }
    return mapping;
}

static struct hs_load_callstack *find_callstack(struct hs_load_tables *tables, uint64_t iid,
                                                const struct hs_load_tables **ret_owner)
{
    struct hs_load_callstack *callstack = NULL;
    for (; tables && !callstack; tables = tables->behind) {
        callstack =
            hs_load_find(&tables->callstack_ids, tables->callstacks, sizeof(*callstack), KEY(iid));
        *ret_owner = tables;
    }
    return callstack;
}

/* The path: "/" and the components joined by "/", as in Perfetto, then in its usual form. */
static uint32_t path_text(struct hs_load *load, struct hs_load_tables *tables,
                          const struct hs_load_mapping *mapping, const struct hs_load_tables *owner)
{
    struct hs_buf text = HS_BUF_INIT;
    for (uint32_t i = 0; i < mapping->path_count && text.bytes < PATH_CHARS_MAX; i++) {
        uint32_t part = find_string(tables, HS_LOAD_PATHS, owner->pool[mapping->path_first + i]);
        hs_buf_char(&text, '/');
        hs_buf_str(&text, hs_builder_text(load->builder, part));
    }
    const char *name = hs_buf_text(&text);
    uint32_t path = hs_builder_string(
        load->builder, hs_mapping_shown(name[0] == '/' && name[1] == '/' ? name + 1 : name));
    if (text.err != 0) {
        load->err = text.err;
    }
    hs_buf_deinit(&text);
    return path;
}

static uint8_t hex_digit(char c)
{
    return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static void set_build_id(struct hs_profile_module *module, const char *text)
{
    size_t chars = strlen(text);
    if (chars == BREAKPAD_ID_CHARS) {
        /* This identifies debug files and is not a build id; it is kept as it is. */
        chars = chars < HS_BUILD_ID_MAX ? chars : HS_BUILD_ID_MAX;
        memcpy(module->build_id, text, chars);
        module->build_id_bytes = (uint8_t)chars;
        return;
    }
    module->build_id_bytes = (uint8_t)(chars / 2);
    for (size_t i = 0; i < chars / 2; i++) {
        module->build_id[i] = (uint8_t)(hex_digit(text[i * 2]) << 4 | hex_digit(text[i * 2 + 1]));
    }
}

uint32_t hs_load_module(struct hs_load *load, struct hs_load_tables *tables, uint64_t mapping_iid)
{
    const struct hs_load_tables *owner = NULL;
    struct hs_load_mapping *mapping = find_mapping(tables, mapping_iid, &owner);
    if (!mapping) {
        return UINT32_MAX;
    }
    if (mapping->module == UINT32_MAX) {
        struct hs_profile_module module = {
            .path = path_text(load, tables, mapping, owner),
            .start_va = mapping->start_va,
            .end_va = mapping->end_va,
            .exec_off = mapping->exact_off,
        };
        if (mapping->end_va > mapping->start_va) {
            module.bias_va =
                mapping->start_va - (mapping->exact_off - mapping->start_off) - mapping->load_bias;
        }
        set_build_id(&module, hs_builder_text(load->builder, find_string(tables, HS_LOAD_BUILD_IDS,
                                                                         mapping->build_id_iid)));
        mapping->module = hs_builder_module(load->builder, &module);
    }
    return mapping->module;
}

static uint32_t marker_frame(struct hs_load *load, const char *name)
{
    struct hs_profile_module module = { .path =
                                            hs_builder_string(load->builder, HS_MAPPING_ERROR) };
    struct hs_builder_frame frame = {
        .module = hs_builder_module(load->builder, &module),
        .name = hs_builder_string(load->builder, name),
        .kind = HS_FRAME_KIND_MARKER,
    };
    load->report.unresolved_stack_count++;
    return hs_builder_frame(load->builder, &frame);
}

static enum hs_frame_kind frame_kind(const char *path, uint32_t kind)
{
    if (strcmp(path, HS_MAPPING_ERROR) == 0) {
        return HS_FRAME_KIND_MARKER;
    }
    if (kind == HS__PB__FRAME__KIND__KIND_JIT) {
        return HS_FRAME_KIND_JIT;
    }
    return kind == HS__PB__FRAME__KIND__KIND_INTERPRETED ? HS_FRAME_KIND_INTERPRETED
                                                         : HS_FRAME_KIND_NATIVE;
}

static uint32_t find_frame(struct hs_load *load, struct hs_load_tables *tables, uint64_t iid)
{
    struct hs_load_frame *frame = NULL;
    for (struct hs_load_tables *at = tables; at && !frame; at = at->behind) {
        frame = hs_load_find(&at->frame_ids, at->frames, sizeof(*frame), KEY(iid));
    }
    if (!frame) {
        return marker_frame(load, "[frame not in the file]");
    }
    if (frame->frame == UINT32_MAX) {
        struct hs_builder_frame out = {
            .rel_pc = frame->rel_pc,
            .name = find_string(tables, HS_LOAD_FUNCTIONS, frame->function_iid),
            .file = find_string(tables, HS_LOAD_SOURCES, frame->source_iid),
            .line = frame->line,
        };
        out.module = hs_load_module(load, tables, frame->mapping_iid);
        if (out.module == UINT32_MAX) {
            /* A frame without a mapping is known by its name alone. */
            struct hs_profile_module nowhere = { 0 };
            out.module = hs_builder_module(load->builder, &nowhere);
            load->report.unresolved_stack_count += frame->mapping_iid != 0;
        }
        const struct hs_profile_module *module = hs_builder_module_at(load->builder, out.module);
        out.kind =
            frame_kind(module ? hs_builder_text(load->builder, module->path) : "", frame->kind);
        /*
         * Its name was written when the frame first occurred; a later part of the file may lack it.
         */
        out.is_by_address =
            out.kind == HS_FRAME_KIND_NATIVE && out.rel_pc != 0 && module && module->path != 0;
        frame->frame = hs_builder_frame(load->builder, &out);
    }
    return frame->frame;
}

/*
 * True for the frame that heapscope's writer puts in front of the stacks of all heaps except
 * libc.malloc.
 */
static bool is_heap_frame(struct hs_load *load, uint32_t frame_id)
{
    const struct hs_profile_frame *frame = hs_builder_frame_at(load->builder, frame_id);
    const struct hs_profile_module *module =
        frame ? hs_builder_module_at(load->builder, frame->module) : NULL;
    return module && strcmp(hs_builder_text(load->builder, module->path), HS_MAPPING_HEAP) == 0;
}

uint32_t hs_load_node(struct hs_load *load, struct hs_load_tables *tables, uint64_t callstack_iid)
{
    const struct hs_load_tables *owner = NULL;
    struct hs_load_callstack *callstack = find_callstack(tables, callstack_iid, &owner);
    if (callstack && callstack->node != UINT32_MAX) {
        return callstack->node;
    }
    uint32_t node = HS_NODE_NONE;
    for (uint32_t i = 0; callstack && i < callstack->count; i++) {
        uint32_t frame = find_frame(load, tables, owner->pool[callstack->first + i]);
        if (i > 0 || callstack->count == 1 || !is_heap_frame(load, frame)) {
            node = hs_builder_node(load->builder, node, frame);
        }
    }
    if (node == HS_NODE_NONE) {
        node = hs_builder_node(load->builder, node, marker_frame(load, "[stack not in the file]"));
    }
    if (callstack) {
        callstack->node = node;
    }
    return node;
}
