/*
 * See heap_text_places.h.
 */
#include "profile/read/heap_text_places.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/elf_shift.h"
#include "trace/mapping_path.h"
#include "util/array.h"
#include "util/proc_maps.h"

#define STACK_DEPTH_MAX 4096
#define NOT_YET         UINT32_MAX
#define NAME_SEPARATOR  "--"

struct hs_heap_place {
    uint64_t start_va, end_va, file_off;
    uint32_t path;   /* string id */
    uint32_t module; /* NOT_YET: not looked up */
};

void hs_heap_places_deinit(struct hs_heap_places *places)
{
    free(places->maps);
    free(places->names);
    hs_intern_deinit(&places->named);
    *places = (struct hs_heap_places){ 0 };
}

static int compare_starts(const void *a, const void *b)
{
    const struct hs_heap_place *x = a, *y = b;
    return x->start_va < y->start_va ? -1 : x->start_va > y->start_va;
}

void hs_heap_places_add_maps(struct hs_heap_places *places, const struct hs_lines *lines)
{
    const char *at = lines->at;
    struct hs_proc_map map;
    char path[PATH_MAX];
    while (places->err == 0 && hs_proc_maps_next(&at, lines->end, &map)) {
        if (!map.is_executable || !hs_proc_map_path(&map, path, sizeof(path))) {
            continue;
        }
        places->err = hs_array_reserve(&places->maps, &places->map_capacity, places->map_count + 1,
                                       sizeof(places->maps[0]));
        if (places->err == 0) {
            places->maps[places->map_count++] = (struct hs_heap_place){
                .start_va = map.start_va,
                .end_va = map.end_va,
                .file_off = map.file_off,
                .path = hs_builder_string(places->source->builder, path),
                .module = NOT_YET,
            };
        }
    }
    if (places->map_count > 0) {
        /* The kernel lists the program first, whatever its address. */
        if (places->program == 0) {
            places->program = places->maps[0].path;
        }
        qsort(places->maps, places->map_count, sizeof(places->maps[0]), compare_starts);
    }
}

static void add_name(struct hs_heap_places *places, uint64_t va, const char *text, size_t bytes)
{
    uint32_t idx;
    bool is_new = false;
    if (places->err == 0) {
        places->err = hs_array_reserve(&places->names, &places->name_capacity,
                                       (size_t)places->named.count + 1, sizeof(places->names[0]));
    }
    if (places->err == 0) {
        places->err =
            hs_intern_put(&places->named, (struct hs_intern_key){ .lo = va }, &idx, &is_new);
    }
    if (is_new) {
        places->names[idx] = hs_builder_string_n(places->source->builder, text, bytes);
    }
}

void hs_heap_places_add_symbols(struct hs_heap_places *places, struct hs_lines *lines)
{
    static const char binary[] = "binary=";
    while (places->err == 0 && hs_lines_next(lines) && !hs_lines_starts(lines, "---")) {
        struct hs_line_at at = { .at = lines->line, .end = lines->line + lines->bytes };
        uint64_t va;
        if (lines->bytes == 0) {
            continue;
        }
        if (hs_line_word(&at, binary)) {
            places->program =
                hs_builder_string_n(places->source->builder, at.at, (size_t)(at.end - at.at));
        } else if (hs_line_address(&at, &va)) {
            hs_line_blanks(&at);
            add_name(places, va, at.at, (size_t)(at.end - at.at));
        } else {
            places->source->report->bad_line_count++;
        }
    }
}

static struct hs_heap_place *find_map(struct hs_heap_places *places, uint64_t va)
{
    size_t low = 0, high = places->map_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (places->maps[middle].start_va <= va) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && va < places->maps[low - 1].end_va ? &places->maps[low - 1] : NULL;
}

/* The frame with module and link-time address; outside of all modules, with the address itself. */
static struct hs_builder_frame frame_at(struct hs_heap_places *places, uint64_t va)
{
    struct hs_builder *builder = places->source->builder;
    struct hs_heap_place *map = find_map(places, va);
    if (!map || hs_builder_text(builder, map->path)[0] != '/') {
        struct hs_profile_module module = { .path = map ? map->path : 0 };
        return (struct hs_builder_frame){ .module = hs_builder_module(builder, &module),
                                          .rel_pc = va };
    }
    if (map->module == NOT_YET) {
        uint64_t shift = 0;
        if (places->source->may_open_modules) {
            (void)hs_elf_shift(hs_builder_text(builder, map->path), map->file_off, &shift);
        }
        struct hs_profile_module module = {
            .path = map->path,
            .start_va = map->start_va,
            .end_va = map->end_va,
            .exec_off = map->file_off,
            .bias_va = map->start_va - map->file_off - shift,
        };
        map->module = hs_builder_module(builder, &module);
    }
    const struct hs_profile_module *module = hs_builder_module_at(builder, map->module);
    return (struct hs_builder_frame){ .module = map->module,
                                      .rel_pc = va - (module ? module->bias_va : 0) };
}

/* Adds the names that jeprof found, the innermost inlined call first: "alloc--make_node". */
static void name_frame(struct hs_heap_places *places, const struct hs_builder_frame *frame,
                       uint32_t names)
{
    struct hs_builder *builder = places->source->builder;
    const struct hs_profile_module *module = hs_builder_module_at(builder, frame->module);
    struct hs_profile_line lines[32];
    uint32_t count = 0;
    const char *text = hs_builder_text(builder, names);
    while (text && *text && count < 32) {
        const char *stop = strstr(text, NAME_SEPARATOR);
        size_t bytes = stop ? (size_t)(stop - text) : strlen(text);
        uint32_t name = hs_builder_string_n(builder, text, bytes);
        if (bytes > 0) {
            lines[count++] = (struct hs_profile_line){ .function = name, .system_name = name };
        }
        text = stop ? stop + strlen(NAME_SEPARATOR) : NULL;
    }
    if (module && count > 0) {
        hs_builder_symbol(builder, module->path, module->build_id, module->build_id_bytes,
                          frame->rel_pc, lines, count);
    }
}

static uint32_t frame_of(struct hs_heap_places *places, uint64_t va, bool is_return)
{
    uint64_t pc = va - (is_return && va > 0);
    struct hs_builder_frame frame = frame_at(places, pc);
    uint32_t idx;
    if (hs_intern_find(&places->named, (struct hs_intern_key){ .lo = pc }, &idx) ||
        hs_intern_find(&places->named, (struct hs_intern_key){ .lo = va }, &idx)) {
        name_frame(places, &frame, places->names[idx]);
    }
    return hs_builder_frame(places->source->builder, &frame);
}

uint32_t hs_heap_places_node(struct hs_heap_places *places, struct hs_line_at stack)
{
    struct hs_builder *builder = places->source->builder;
    uint64_t addresses[STACK_DEPTH_MAX];
    size_t count = 0;
    while (count < STACK_DEPTH_MAX && hs_line_address(&stack, &addresses[count])) {
        count++;
    }
    hs_line_blanks(&stack);
    places->source->report->bad_line_count += stack.at < stack.end;
    uint32_t node = HS_NODE_NONE;
    for (size_t i = count; i > 0; i--) {
        node = hs_builder_node(builder, node, frame_of(places, addresses[i - 1], i > 1));
    }
    if (node == HS_NODE_NONE) {
        struct hs_profile_module module = { .path = hs_builder_string(builder, HS_MAPPING_ERROR) };
        struct hs_builder_frame marker = {
            .module = hs_builder_module(builder, &module),
            .name = hs_builder_string(builder, "[stack not in the file]"),
            .kind = HS_FRAME_KIND_MARKER,
        };
        node = hs_builder_node(builder, node, hs_builder_frame(builder, &marker));
    }
    return node;
}
