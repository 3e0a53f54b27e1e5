/*
 * How a callstack becomes a node of the profile's tree.
 *
 * What a sequence interned is followed only when a sample needs it: a mapping may come after the
 * frames in it. What was made of an element is kept with it.
 *
 * A reference to a missing entry does not lose the sample, since its bytes are real. The stack gets
 * a marker in place of the unknown frame, and the case is counted.
 *
 * See       load_state.h, trace/interned.h, docs/FORMAT.md
 */
#include <errno.h>
#include <string.h>

#include "profile/read/load_state.h"
#include "trace/mapping_path.h"
#include "util/buf.h"

void *hs_load_at(struct hs_load *load, struct hs_intern_array *ids, void *array_address,
                 size_t elem_bytes, struct hs_intern_key key, bool *ret_is_new)
{
    void *elem = NULL;
    *ret_is_new = false;
    if (load->err == 0) {
        load->err = hs_intern_at(ids, array_address, elem_bytes, key, &elem, ret_is_new);
    }
    return load->err == 0 ? elem : NULL;
}

/*
 * The builder's string id. 0, the id of "", for iid 0, which is not valid, and for an iid that is
 * not there.
 */
static uint32_t string_of(struct hs_load *load, const struct hs_interned *tables,
                          enum hs_interned_kind kind, uint64_t iid)
{
    const struct hs_interned_text *text =
        hs_interned_find_text(tables, HS_INTERNED_LENIENT, kind, iid);
    return text ? hs_builder_string_n(load->builder, text->text, text->bytes) : 0;
}

/* The path in its usual form. */
static uint32_t path_of(struct hs_load *load, const struct hs_interned *tables,
                        const struct hs_interned_mapping *mapping)
{
    struct hs_buf text = HS_BUF_INIT;
    hs_interned_path(tables, HS_INTERNED_LENIENT, mapping, &text);
    uint32_t path = hs_builder_string(load->builder, hs_mapping_shown(hs_buf_text(&text)));
    load->err = load->err ? load->err : text.err;
    hs_buf_deinit(&text);
    return path;
}

/* A Breakpad id identifies debug files and is not a build id; it is kept as it is. */
static void set_build_id(struct hs_profile_module *module, const struct hs_interned_text *build_id)
{
    size_t bytes = build_id ? build_id->bytes : 0;
    bytes = bytes < HS_BUILD_ID_MAX ? bytes : HS_BUILD_ID_MAX;
    if (bytes > 0) {
        memcpy(module->build_id, build_id->text, bytes);
    }
    module->build_id_bytes = (uint8_t)bytes;
}

uint32_t hs_load_module(struct hs_load *load, const struct hs_interned *tables,
                        uint64_t mapping_iid)
{
    struct hs_interned_mapping *mapping =
        hs_interned_find_mapping(tables, HS_INTERNED_LENIENT, mapping_iid);
    if (!mapping) {
        return UINT32_MAX;
    }
    if (mapping->made == HS_INTERNED_NONE) {
        struct hs_profile_module module = {
            .path = path_of(load, tables, mapping),
            .start_va = mapping->start_va,
            .end_va = mapping->end_va,
            .exec_off = mapping->exact_off,
        };
        if (mapping->end_va > mapping->start_va) {
            module.bias_va =
                mapping->start_va - (mapping->exact_off - mapping->start_off) - mapping->load_bias;
        }
        set_build_id(&module, hs_interned_find_text(tables, HS_INTERNED_LENIENT,
                                                    HS_INTERNED_BUILD_ID, mapping->build_id_iid));
        mapping->made = hs_builder_module(load->builder, &module);
    }
    return mapping->made;
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

static uint32_t find_frame(struct hs_load *load, const struct hs_interned *tables, uint64_t iid)
{
    struct hs_interned_frame *frame = hs_interned_find_frame(tables, HS_INTERNED_LENIENT, iid);
    if (!frame) {
        return marker_frame(load, "[frame not in the file]");
    }
    if (frame->made == HS_INTERNED_NONE) {
        struct hs_builder_frame out = {
            .rel_pc = frame->rel_pc,
            .name = string_of(load, tables, HS_INTERNED_FUNCTION, frame->function_iid),
            .file = string_of(load, tables, HS_INTERNED_SOURCE, frame->source_iid),
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
        frame->made = hs_builder_frame(load->builder, &out);
    }
    return frame->made;
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

uint32_t hs_load_node(struct hs_load *load, const struct hs_interned *tables,
                      uint64_t callstack_iid)
{
    struct hs_interned_callstack *callstack =
        hs_interned_find_callstack(tables, HS_INTERNED_LENIENT, callstack_iid);
    if (callstack && callstack->made != HS_INTERNED_NONE) {
        return callstack->made;
    }
    uint32_t node = HS_NODE_NONE;
    for (uint32_t i = 0; callstack && i < callstack->frames.count; i++) {
        uint32_t frame = find_frame(load, tables, hs_interned_iid(&callstack->frames, i));
        if (i > 0 || callstack->frames.count == 1 || !is_heap_frame(load, frame)) {
            node = hs_builder_node(load->builder, node, frame);
        }
    }
    if (node == HS_NODE_NONE) {
        node = hs_builder_node(load->builder, node, marker_frame(load, "[stack not in the file]"));
    }
    if (callstack) {
        callstack->made = node;
    }
    return node;
}
