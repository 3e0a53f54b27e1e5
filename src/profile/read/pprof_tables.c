/*
 * See pprof_tables.h.
 */
#include "profile/read/pprof_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt/base.h"
#include "symbol/demangle.h"
#include "symbol/elf_shift.h"
#include "trace/mapping_path.h"
#include "util/array.h"

#define NOT_YET UINT32_MAX

struct hs_pprof_string {
    const uint8_t *text; /* in the file */
    size_t bytes;
    uint32_t id; /* the builder's string id; NOT_YET: not added */
};

struct hs_pprof_function {
    int64_t name, system_name, file;
    uint32_t shown; /* string id of the demangled name; NOT_YET: not looked up */
};

struct hs_pprof_mapping {
    uint64_t start_va, end_va, file_off;
    int64_t path, build_id;
    uint32_t module; /* NOT_YET: not looked up */
};

/* A line of a location, as in the file. */
struct hs_pprof_line {
    uint64_t function;
    uint32_t line;
};

struct hs_pprof_location {
    uint64_t mapping, address;
    size_t line_first;
    uint32_t line_count;
    uint32_t frame; /* its frame, if it is one frame; NOT_YET: not looked up */
    bool is_row;    /* it is a row of named frames, one for each line */
};

void hs_pprof_tables_deinit(struct hs_pprof_tables *tables)
{
    free(tables->strings);
    hs_intern_deinit(&tables->function_ids.ids);
    hs_intern_deinit(&tables->mapping_ids.ids);
    hs_intern_deinit(&tables->location_ids.ids);
    hs_intern_deinit(&tables->named);
    free(tables->functions);
    free(tables->mappings);
    free(tables->locations);
    free(tables->lines);
    *tables = (struct hs_pprof_tables){ 0 };
}

/* --- filling --- */

/* A new element for `id`. NULL when there is one already, or after a failure. */
static void *add(struct hs_pprof_tables *tables, struct hs_pprof_ids *ids, void *array_address,
                 size_t elem_bytes, uint64_t id)
{
    uint32_t idx;
    bool is_new = false;
    if (tables->err == 0) {
        tables->err =
            hs_array_reserve(array_address, &ids->capacity, (size_t)ids->ids.count + 1, elem_bytes);
    }
    if (tables->err == 0) {
        tables->err = hs_intern_put(&ids->ids, (struct hs_intern_key){ .lo = id }, &idx, &is_new);
    }
    if (tables->err != 0 || !is_new) {
        return NULL;
    }
    char *array;
    memcpy(&array, array_address, sizeof(array));
    return array + idx * elem_bytes;
}

static void *find(const struct hs_pprof_ids *ids, void *array, size_t elem_bytes, uint64_t id)
{
    uint32_t idx;
    return hs_intern_find(&ids->ids, (struct hs_intern_key){ .lo = id }, &idx)
               ? (char *)array + idx * elem_bytes
               : NULL;
}

void hs_pprof_add_string(struct hs_pprof_tables *tables, const uint8_t *text, size_t bytes)
{
    if (tables->err == 0) {
        tables->err = hs_array_reserve(&tables->strings, &tables->string_capacity,
                                       tables->string_count + 1, sizeof(tables->strings[0]));
    }
    if (tables->err == 0) {
        tables->strings[tables->string_count++] =
            (struct hs_pprof_string){ .text = text, .bytes = bytes, .id = NOT_YET };
    }
}

void hs_pprof_add_function(struct hs_pprof_tables *tables, const Hs__Pprof__PprofFunction *function)
{
    struct hs_pprof_function *own =
        add(tables, &tables->function_ids, &tables->functions, sizeof(*own), function->id);
    if (own) {
        *own = (struct hs_pprof_function){ .name = function->name,
                                           .system_name = function->system_name,
                                           .file = function->filename,
                                           .shown = NOT_YET };
    }
}

void hs_pprof_add_mapping(struct hs_pprof_tables *tables, const Hs__Pprof__PprofMapping *mapping)
{
    struct hs_pprof_mapping *own =
        add(tables, &tables->mapping_ids, &tables->mappings, sizeof(*own), mapping->id);
    if (own) {
        *own = (struct hs_pprof_mapping){ .start_va = mapping->memory_start,
                                          .end_va = mapping->memory_limit,
                                          .file_off = mapping->file_offset,
                                          .path = mapping->filename,
                                          .build_id = mapping->build_id,
                                          .module = NOT_YET };
    }
}

void hs_pprof_add_location(struct hs_pprof_tables *tables, const Hs__Pprof__PprofLocation *location)
{
    size_t count =
        location->n_line < HS_PPROF_LINES_MAX ? location->n_line : (size_t)HS_PPROF_LINES_MAX;
    struct hs_pprof_location *own =
        add(tables, &tables->location_ids, &tables->locations, sizeof(*own), location->id);
    if (!own) {
        return;
    }
    *own = (struct hs_pprof_location){ .mapping = location->mapping_id,
                                       .address = location->address,
                                       .line_first = tables->line_count,
                                       .frame = NOT_YET };
    for (size_t i = 0; i < count && tables->err == 0; i++) {
        tables->err = hs_array_reserve(&tables->lines, &tables->line_capacity,
                                       tables->line_count + 1, sizeof(tables->lines[0]));
        if (tables->err != 0) {
            return;
        }
        int64_t line = location->line[i]->line;
        tables->lines[tables->line_count++] = (struct hs_pprof_line){
            .function = location->line[i]->function_id,
            .line = line > 0 && line < UINT32_MAX ? (uint32_t)line : 0,
        };
        own->line_count++;
    }
}

/* --- following --- */

uint32_t hs_pprof_string(struct hs_pprof_tables *tables, int64_t string)
{
    if (string < 0 || (uint64_t)string >= tables->string_count) {
        return 0;
    }
    struct hs_pprof_string *own = &tables->strings[string];
    if (own->id == NOT_YET) {
        own->id = hs_builder_string_n(tables->source->builder, (const char *)own->text, own->bytes);
    }
    return own->id;
}

void hs_pprof_copy_string(const struct hs_pprof_tables *tables, int64_t string, char *ret_text,
                          size_t room_bytes)
{
    size_t bytes = 0;
    if (string >= 0 && (uint64_t)string < tables->string_count) {
        const struct hs_pprof_string *own = &tables->strings[string];
        bytes = own->bytes < room_bytes - 1 ? own->bytes : room_bytes - 1;
        memcpy(ret_text, own->text, bytes);
    }
    ret_text[bytes] = '\0';
}

void hs_pprof_find_program(struct hs_pprof_tables *tables)
{
    if (tables->mapping_ids.ids.count > 0) {
        tables->program = hs_pprof_string(tables, tables->mappings[0].path);
    }
}

/* The demangled name; some writers store only the mangled one. */
static uint32_t shown_name(struct hs_pprof_tables *tables, uint32_t name)
{
    struct hs_builder *builder = tables->source->builder;
    const char *text = hs_builder_text(builder, name);
    char *readable = text[0] == '_' ? malloc(HS_DEMANGLED_BYTES_MAX) : NULL;
    if (readable && hs_demangle(text, readable, HS_DEMANGLED_BYTES_MAX)) {
        name = hs_builder_string(builder, readable);
    }
    free(readable);
    return name;
}

/* Resolves a line. False when there is no such function, or it has no name. */
static bool resolve_line(struct hs_pprof_tables *tables, const struct hs_pprof_line *line,
                         struct hs_profile_line *ret_line)
{
    struct hs_pprof_function *function =
        find(&tables->function_ids, tables->functions, sizeof(*function), line->function);
    if (!function) {
        return false;
    }
    uint32_t name = hs_pprof_string(tables, function->name);
    uint32_t system_name = hs_pprof_string(tables, function->system_name);
    if (function->shown == NOT_YET) {
        function->shown = shown_name(tables, name ? name : system_name);
    }
    *ret_line = (struct hs_profile_line){
        .function = function->shown,
        .system_name = system_name ? system_name : name,
        .file = hs_pprof_string(tables, function->file),
        .line = line->line,
    };
    return ret_line->function != 0;
}

static uint8_t hex_digit(char c)
{
    return (uint8_t)(c >= '0' && c <= '9'   ? c - '0'
                     : c >= 'a' && c <= 'f' ? c - 'a' + 10
                     : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                            : 16);
}

/* Text that is not hexadecimal, as in Go's profiles, is not the build id of an ELF file. */
static void set_build_id(struct hs_profile_module *module, const char *text)
{
    size_t chars = strlen(text);
    if (chars % 2 != 0 || chars / 2 > HS_BUILD_ID_MAX) {
        return;
    }
    for (size_t i = 0; i < chars; i++) {
        if (hex_digit(text[i]) > 15) {
            return;
        }
    }
    for (size_t i = 0; i < chars / 2; i++) {
        module->build_id[i] = (uint8_t)(hex_digit(text[i * 2]) << 4 | hex_digit(text[i * 2 + 1]));
    }
    module->build_id_bytes = (uint8_t)(chars / 2);
}

/* The module of a mapping; UINT32_MAX: there is no such mapping. */
static uint32_t module_of(struct hs_pprof_tables *tables, uint64_t mapping_id)
{
    struct hs_builder *builder = tables->source->builder;
    struct hs_pprof_mapping *mapping =
        find(&tables->mapping_ids, tables->mappings, sizeof(*mapping), mapping_id);
    if (!mapping) {
        return UINT32_MAX;
    }
    if (mapping->module == NOT_YET) {
        struct hs_profile_module module = {
            .path = hs_pprof_string(tables, mapping->path),
            .start_va = mapping->start_va,
            .end_va = mapping->end_va,
            .exec_off = mapping->file_off,
        };
        uint64_t shift = 0;
        if (tables->source->may_open_modules) {
            (void)hs_elf_shift(hs_builder_text(builder, module.path), mapping->file_off, &shift);
        }
        if (mapping->end_va > mapping->start_va) {
            module.bias_va = mapping->start_va - mapping->file_off - shift;
        }
        set_build_id(&module, hs_builder_text(builder, hs_pprof_string(tables, mapping->build_id)));
        mapping->module = hs_builder_module(builder, &module);
    }
    return mapping->module;
}

static uint32_t nowhere(struct hs_builder *builder)
{
    struct hs_profile_module module = { 0 };
    return hs_builder_module(builder, &module);
}

static uint32_t marker_frame(struct hs_builder *builder, const char *name)
{
    struct hs_profile_module module = { .path = hs_builder_string(builder, HS_MAPPING_ERROR) };
    struct hs_builder_frame frame = { .module = hs_builder_module(builder, &module),
                                      .name = hs_builder_string(builder, name),
                                      .kind = HS_FRAME_KIND_MARKER };
    return hs_builder_frame(builder, &frame);
}

/* True for the first location at an address. Its lines become those of the frame. */
static bool is_address_free(struct hs_pprof_tables *tables, uint32_t module, uint64_t rel_pc)
{
    uint32_t idx;
    bool is_new = false;
    if (tables->err == 0) {
        tables->err = hs_intern_put(
            &tables->named, (struct hs_intern_key){ .hi = module, .lo = rel_pc }, &idx, &is_new);
    }
    return is_new;
}

static uint32_t one_frame(struct hs_pprof_tables *tables, struct hs_pprof_location *location,
                          uint32_t module, uint64_t rel_pc)
{
    struct hs_builder *builder = tables->source->builder;
    struct hs_profile_line lines[HS_PPROF_LINES_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < location->line_count; i++) {
        count += resolve_line(tables, &tables->lines[location->line_first + i], &lines[count]);
    }
    if (count > 0) {
        const struct hs_profile_module *at = hs_builder_module_at(builder, module);
        if (at) {
            hs_builder_symbol(builder, at->path, at->build_id, at->build_id_bytes, rel_pc, lines,
                              count);
        }
    } else {
        tables->source->report->unresolved_stack_count += location->line_count > 0;
    }
    struct hs_builder_frame frame = { .module = module, .rel_pc = rel_pc };
    return hs_builder_frame(builder, &frame);
}

/* Adds a frame for each line, the outermost first. */
static uint32_t row_of_frames(struct hs_pprof_tables *tables, uint32_t parent,
                              const struct hs_pprof_location *location, uint32_t module,
                              uint64_t rel_pc)
{
    struct hs_builder *builder = tables->source->builder;
    uint32_t node = parent;
    bool has_mapping =
        hs_builder_module_at(builder, module) && hs_builder_module_at(builder, module)->path != 0;
    for (uint32_t i = location->line_count; i > 0; i--) {
        struct hs_profile_line line;
        if (!resolve_line(tables, &tables->lines[location->line_first + i - 1], &line)) {
            continue;
        }
        const char *name = hs_builder_text(builder, line.function);
        bool is_marker = !has_mapping && (name[0] == '[' || strncmp(name, "ERROR ", 6) == 0);
        struct hs_builder_frame frame = { .module = module,
                                          .rel_pc = rel_pc,
                                          .name = line.function,
                                          .file = line.file,
                                          .line = line.line,
                                          .kind = is_marker ? HS_FRAME_KIND_MARKER
                                                            : HS_FRAME_KIND_NATIVE };
        node = hs_builder_node(builder, node, hs_builder_frame(builder, &frame));
    }
    if (node == parent) {
        tables->source->report->unresolved_stack_count++;
        node = hs_builder_node(builder, node, marker_frame(builder, "[frame not in the file]"));
    }
    return node;
}

uint32_t hs_pprof_node(struct hs_pprof_tables *tables, uint32_t parent, uint64_t location_id)
{
    struct hs_builder *builder = tables->source->builder;
    struct hs_pprof_location *location =
        find(&tables->location_ids, tables->locations, sizeof(*location), location_id);
    if (!location) {
        tables->source->report->unresolved_stack_count++;
        return hs_builder_node(builder, parent, marker_frame(builder, "[frame not in the file]"));
    }
    if (location->frame != NOT_YET) {
        return hs_builder_node(builder, parent, location->frame);
    }
    uint32_t module = module_of(tables, location->mapping);
    if (module == UINT32_MAX) {
        module = nowhere(builder);
    }
    const struct hs_profile_module *at = hs_builder_module_at(builder, module);
    uint64_t rel_pc = location->address - (at && location->address != 0 ? at->bias_va : 0);
    if (!location->is_row && location->address != 0 &&
        (location->line_count == 0 || is_address_free(tables, module, rel_pc))) {
        location->frame = one_frame(tables, location, module, rel_pc);
        return hs_builder_node(builder, parent, location->frame);
    }
    location->is_row = true;
    return row_of_frames(tables, parent, location, module, location->address != 0 ? rel_pc : 0);
}
