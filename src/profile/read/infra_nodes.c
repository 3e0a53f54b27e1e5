/*
 * Makes nodes of the profile from those of a MemoryInfra trace. See infra_tables.h.
 *
 * A frame without a name is called "pc:" and its address. The regions of the process say which
 * module is there. Chrome writes no link-time address of a region ("fo"); then the first region of
 * the file is taken as the place of the file's address 0.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/model/cut_stacks.h"
#include "profile/read/infra_tables.h"
#include "util/array.h"

/* Chrome keeps 48 frames. */
#define DEPTH_MAX 4096
#define PC        "pc:"

/* --- regions --- */

static int compare_places(const void *a, const void *b)
{
    const struct hs_infra_place *x = a, *y = b;
    return x->start_va != y->start_va ? (x->start_va < y->start_va ? -1 : 1)
                                      : (x->path > y->path) - (x->path < y->path);
}

/* Reads {"sa":"7f00","sz":"1000","mf":"/lib/x.so","fo":"1000","build_id":"ab12"}. */
static void read_region(struct hs_infra_tables *tables, struct hs_infra_in_process *process,
                        struct hs_json_reader *reader)
{
    struct hs_json_text key, text;
    struct hs_infra_place place = { 0 };
    uint64_t size_bytes = 0, link_va = 0;
    hs_json_enter(reader, '{');
    while (hs_json_next_key(reader, &key)) {
        if (hs_json_text_is(&key, "sa")) {
            place.start_va = hs_infra_read_hex(reader);
        } else if (hs_json_text_is(&key, "sz")) {
            size_bytes = hs_infra_read_hex(reader);
        } else if (hs_json_text_is(&key, "fo")) {
            link_va = hs_infra_read_hex(reader);
        } else if (hs_json_text_is(&key, "build_id")) {
            place.build_id_bytes = hs_infra_read_build_id(reader, place.build_id);
        } else if (!hs_json_text_is(&key, "mf")) {
            hs_json_skip(reader);
        } else if (hs_json_read_text(reader, &text)) {
            place.path = hs_builder_string_n(tables->source->builder, text.text, text.bytes);
        }
    }
    place.end_va = place.start_va + size_bytes;
    place.bias_va = link_va > 0 ? place.start_va - link_va : 0;
    if (place.path == 0 || place.end_va <= place.start_va || tables->err != 0) {
        return; /* memory without a file */
    }
    tables->err = hs_array_reserve(&process->places, &process->place_capacity,
                                   process->place_count + 1, sizeof(process->places[0]));
    if (tables->err == 0) {
        process->places[process->place_count++] = place;
    }
}

/* The regions of a file follow each other in memory, so that the first one is not far away. */
static void find_biases(struct hs_infra_in_process *process)
{
    for (size_t i = 0; i < process->place_count; i++) {
        struct hs_infra_place *place = &process->places[i];
        if (place->bias_va == 0) {
            size_t first = i;
            for (size_t back = 1; back <= 64 && back <= i; back++) {
                first = process->places[i - back].path == place->path ? i - back : first;
            }
            place->bias_va = first == i ? place->start_va : process->places[first].bias_va;
        }
    }
}

void hs_infra_read_regions(struct hs_infra_tables *tables, uint32_t process_idx,
                           struct hs_json_reader *reader)
{
    struct hs_infra_in_process *process = &tables->processes[process_idx];
    process->place_count = 0;
    hs_json_enter(reader, '[');
    while (hs_json_next_element(reader)) {
        read_region(tables, process, reader);
    }
    if (process->place_count > 0) {
        qsort(process->places, process->place_count, sizeof(process->places[0]), compare_places);
    }
    find_biases(process);
}

static const struct hs_infra_place *find_place(const struct hs_infra_in_process *process,
                                               uint64_t pc)
{
    size_t low = 0, high = process->place_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (process->places[middle].start_va <= pc) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool is_in = low > 0 && pc < process->places[low - 1].end_va;
    return is_in ? &process->places[low - 1] : NULL;
}

/* --- frames --- */

/* Reads "pc:7f3a10". */
static bool read_pc(const char *name, uint64_t *ret_pc)
{
    if (strncmp(name, PC, strlen(PC)) != 0 || name[strlen(PC)] == '\0') {
        return false;
    }
    char *end;
    *ret_pc = strtoull(name + strlen(PC), &end, 16);
    return *end == '\0';
}

static bool is_marker(const char *name)
{
    return name[0] == '[' || strcmp(name, "<other>") == 0 || strcmp(name, "<truncated>") == 0;
}

static uint32_t frame_at(struct hs_infra_tables *tables, const struct hs_infra_in_process *process,
                         uint64_t pc, uint32_t name)
{
    struct hs_builder *builder = tables->source->builder;
    const struct hs_infra_place *place = find_place(process, pc);
    struct hs_builder_frame frame = { .kind = HS_FRAME_KIND_NATIVE };
    if (place) {
        struct hs_profile_module module = {
            .path = place->path,
            .start_va = place->start_va,
            .end_va = place->end_va,
            .bias_va = place->bias_va,
            .exec_off = place->start_va - place->bias_va,
            .build_id_bytes = place->build_id_bytes,
        };
        memcpy(module.build_id, place->build_id, place->build_id_bytes);
        frame.module = hs_builder_module(builder, &module);
        frame.rel_pc = pc - place->bias_va;
        frame.is_by_address = true;
        hs_builder_place(builder, &(struct hs_profile_place){ .process = process->builder_idx,
                                                              .module = frame.module,
                                                              .bias_va = place->bias_va });
    } else {
        frame.module = tables->nowhere;
        frame.name = name;
    }
    return hs_builder_frame(builder, &frame);
}

static uint32_t frame_of(struct hs_infra_tables *tables, uint32_t process, uint32_t name)
{
    struct hs_builder *builder = tables->source->builder;
    const char *text = hs_builder_text(builder, name);
    uint64_t pc;
    if (read_pc(text, &pc)) {
        return frame_at(tables, &tables->processes[process], pc, name);
    }
    struct hs_builder_frame frame = {
        .module = tables->nowhere,
        .name = name,
        .kind = is_marker(text) ? HS_FRAME_KIND_MARKER : HS_FRAME_KIND_NATIVE,
    };
    return hs_builder_frame(builder, &frame);
}

uint32_t hs_infra_make_marker(struct hs_infra_tables *tables, const char *name)
{
    struct hs_builder *builder = tables->source->builder;
    struct hs_builder_frame frame = {
        .module = tables->nowhere,
        .name = hs_builder_string(builder, name),
        .kind = HS_FRAME_KIND_MARKER,
    };
    return hs_builder_node(builder, HS_NODE_NONE, hs_builder_frame(builder, &frame));
}

uint32_t hs_infra_find_node(const struct hs_infra_tables *tables, uint32_t process, uint64_t id)
{
    uint32_t idx;
    return hs_intern_find(&tables->node_ids, (struct hs_intern_key){ process, id }, &idx)
               ? idx
               : HS_INFRA_NO_ID;
}

static uint32_t broken(struct hs_infra_tables *tables, const char *name)
{
    tables->source->report->unresolved_stack_count++;
    return hs_infra_make_marker(tables, name);
}

uint32_t hs_infra_make_node(struct hs_infra_tables *tables, uint32_t process, uint64_t id)
{
    uint32_t made = HS_NODE_NONE;
    uint32_t idx = hs_infra_find_node(tables, process, id);
    size_t depth = 0;
    uint32_t level = 0;
    if (idx == HS_INFRA_NO_ID) {
        return broken(tables, "[stack not in the file]");
    }
    /* Outwards to a node that is made already, then back. */
    for (;;) {
        if (tables->nodes[idx].made != HS_INFRA_NO_ID) {
            made = tables->nodes[idx].made;
            level = tables->nodes[idx].depth;
            break;
        }
        tables->err = tables->err ? tables->err
                                  : hs_array_reserve(&tables->path, &tables->path_capacity,
                                                     depth + 1, sizeof(tables->path[0]));
        if (tables->err != 0) {
            return 0;
        }
        tables->path[depth++] = idx;
        if (!tables->nodes[idx].has_parent) {
            break;
        }
        idx = hs_infra_find_node(tables, process, tables->nodes[idx].parent);
        if (idx == HS_INFRA_NO_ID || depth >= DEPTH_MAX) { /* or a circle */
            made = broken(tables, "[frame not in the file]");
            break;
        }
    }
    while (depth > 0) {
        struct hs_infra_in_node *node = &tables->nodes[tables->path[--depth]];
        if (level >= DEPTH_MAX) {
            made = broken(tables, HS_CUT_STACK_NAME);
            level = 0;
        }
        made =
            hs_builder_node(tables->source->builder, made, frame_of(tables, process, node->name));
        node->made = made;
        node->depth = ++level;
    }
    return made;
}
