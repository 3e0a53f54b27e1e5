/*
 * See builder.h. The arrays are those of the profile itself; their capacities are in the builder.
 */
#include "profile/model/builder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/builder_state.h"
#include "rt/check.h"
#include "util/array.h"

struct hs_builder *hs_builder_new(void)
{
    struct hs_builder *builder = calloc(1, sizeof(*builder));
    if (builder) {
        builder->p = calloc(1, sizeof(*builder->p));
    }
    if (!builder || !builder->p) {
        return hs_builder_free(builder);
    }
    /* String 0 is "". */
    hs_builder_string(builder, "");
    return builder->err == 0 ? builder : hs_builder_free(builder);
}

struct hs_builder *hs_builder_free(struct hs_builder *builder)
{
    if (builder) {
        hs_intern_deinit(&builder->strings);
        hs_intern_deinit(&builder->modules);
        hs_intern_deinit(&builder->frames);
        hs_intern_deinit(&builder->nodes);
        hs_intern_deinit(&builder->heaps);
        hs_intern_deinit(&builder->scopes);
        hs_intern_deinit(&builder->symbols);
        hs_intern_deinit(&builder->symbol_modules);
        hs_intern_deinit(&builder->nameless_ids);
        free(builder->nameless_last);
        free(builder->symbol_lines);
        hs_profile_free(builder->p);
        free(builder);
    }
    return NULL;
}

int hs_builder_error(const struct hs_builder *builder)
{
    return builder->err;
}

bool hs_builder_grow(struct hs_builder *builder, void *array_address, size_t *capacity,
                     uint64_t count, size_t elem_bytes)
{
    if (builder->err != 0) {
        return false;
    }
    if (count > HS_BUILDER_COUNT_MAX) {
        builder->err = -EOVERFLOW;
        return false;
    }
    builder->err = hs_array_reserve(array_address, capacity, count, elem_bytes);
    return builder->err == 0;
}

/* Interns a key. True when it is new and the array has room for it. */
static bool put(struct hs_builder *builder, struct hs_intern *table, struct hs_intern_key key,
                void *array_address, size_t *capacity, size_t elem_bytes, uint32_t *ret_id)
{
    bool is_new;
    *ret_id = 0;
    if (!hs_builder_grow(builder, array_address, capacity, (uint64_t)table->count + 1,
                         elem_bytes)) {
        return false;
    }
    int err = hs_intern_put(table, key, ret_id, &is_new);
    if (err < 0) {
        builder->err = err;
        *ret_id = 0;
        return false;
    }
    return is_new;
}

uint32_t hs_builder_string_n(struct hs_builder *builder, const char *text, size_t bytes)
{
    struct hs_profile *p = builder->p;
    uint32_t id;
    if (bytes == 0 && p->string_count > 0) {
        return 0; /* text may be NULL */
    }
    bytes = strnlen(text, bytes);
    if (put(builder, &builder->strings, hs_intern_hash(text, bytes), &p->strings,
            &builder->string_capacity, sizeof(p->strings[0]), &id)) {
        char *copy = malloc(bytes + 1);
        if (!copy) {
            /*
             * The table now has one element more than the array, but nothing is added after an
             * error.
             */
            builder->err = -ENOMEM;
            return 0;
        }
        memcpy(copy, text, bytes);
        copy[bytes] = '\0';
        p->strings[id] = copy;
        p->string_count = id + 1;
    }
    return id;
}

uint32_t hs_builder_string(struct hs_builder *builder, const char *text)
{
    return hs_builder_string_n(builder, text, strlen(text));
}

const char *hs_builder_text(const struct hs_builder *builder, uint32_t string)
{
    return hs_profile_string(builder->p, string);
}

static uint32_t hex_string(struct hs_builder *builder, const uint8_t *bytes, size_t count)
{
    char text[HS_BUILD_ID_MAX * 2 + 1];
    for (size_t i = 0; i < count; i++) {
        text[i * 2] = "0123456789abcdef"[bytes[i] >> 4];
        text[i * 2 + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    return hs_builder_string_n(builder, text, count * 2);
}

uint32_t hs_builder_module(struct hs_builder *builder, const struct hs_profile_module *module)
{
    struct hs_profile *p = builder->p;
    uint8_t id_bytes =
        module->build_id_bytes <= HS_BUILD_ID_MAX ? module->build_id_bytes : HS_BUILD_ID_MAX;
    struct hs_intern_key key = hs_intern_hash(module->build_id, id_bytes);
    key = hs_intern_mix(hs_intern_mix(key, module->path), module->exec_off);
    uint32_t id;
    if (put(builder, &builder->modules, key, &p->modules, &builder->module_capacity,
            sizeof(p->modules[0]), &id)) {
        struct hs_profile_module *own = &p->modules[id];
        *own = *module;
        own->build_id_bytes = id_bytes;
        own->is_symbolized = false;
        p->module_count = id + 1;
        own->build_id_hex = hex_string(builder, own->build_id, id_bytes);
    }
    return id;
}

struct hs_profile_module *hs_builder_module_at(struct hs_builder *builder, uint32_t module)
{
    return module < builder->p->module_count ? &builder->p->modules[module] : NULL;
}

static uint32_t append_lines(struct hs_builder *builder, const struct hs_profile_line *lines,
                             uint32_t count)
{
    struct hs_profile *p = builder->p;
    uint32_t first = p->line_count;
    if (count == 0) {
        return first; /* there may be no array */
    }
    if (!hs_builder_grow(builder, &p->lines, &builder->line_capacity, (uint64_t)first + count,
                         sizeof(p->lines[0]))) {
        return 0;
    }
    memcpy(p->lines + first, lines, count * sizeof(lines[0]));
    p->line_count += count;
    return first;
}

uint32_t hs_builder_frame(struct hs_builder *builder, const struct hs_builder_frame *frame)
{
    struct hs_profile *p = builder->p;
    uint32_t name_in_key = frame->is_by_address ? 0 : frame->name;
    struct hs_intern_key key = { .hi = (uint64_t)frame->module << 32 | name_in_key,
                                 .lo = frame->rel_pc };
    if (frame->file != 0 || frame->line != 0) {
        key = hs_intern_mix(key, (uint64_t)frame->file << 32 | frame->line);
    }
    uint32_t id;
    if (put(builder, &builder->frames, key, &p->frames, &builder->frame_capacity,
            sizeof(p->frames[0]), &id)) {
        struct hs_profile_frame *own = &p->frames[id];
        *own = (struct hs_profile_frame){
            .rel_pc = frame->rel_pc,
            .module = frame->module,
            .name = frame->name,
            .line = frame->line,
            .kind = (uint8_t)frame->kind,
        };
        p->frame_count = id + 1;
        if (frame->file != 0) {
            struct hs_profile_line line = { .function = frame->name,
                                            .system_name = frame->name,
                                            .file = frame->file,
                                            .line = frame->line };
            own->line_first = append_lines(builder, &line, 1);
            own->line_count = builder->err == 0 ? 1 : 0;
        }
    } else if (builder->err == 0 && p->frames[id].name == 0) {
        p->frames[id].name = frame->name;
    }
    return id;
}

const struct hs_profile_frame *hs_builder_frame_at(const struct hs_builder *builder, uint32_t frame)
{
    return frame < builder->p->frame_count ? &builder->p->frames[frame] : NULL;
}

uint32_t hs_builder_node(struct hs_builder *builder, uint32_t parent, uint32_t frame)
{
    struct hs_profile *p = builder->p;
    uint32_t id;
    if (parent != HS_NODE_NONE && parent >= p->node_count) {
        parent = HS_NODE_NONE;
    }
    if (put(builder, &builder->nodes,
            (struct hs_intern_key){ .hi = (uint64_t)parent << 32 | frame }, &p->nodes,
            &builder->node_capacity, sizeof(p->nodes[0]), &id)) {
        p->nodes[id] = (struct hs_profile_node){
            .parent = parent,
            .frame = frame,
            .depth = parent == HS_NODE_NONE ? 0 : p->nodes[parent].depth + 1,
        };
        p->node_count = id + 1;
    }
    return id;
}

uint32_t hs_builder_heap(struct hs_builder *builder, const char *name)
{
    struct hs_profile *p = builder->p;
    uint32_t string = hs_builder_string(builder, name);
    uint32_t id;
    if (put(builder, &builder->heaps, (struct hs_intern_key){ .lo = string }, &p->heaps,
            &builder->heap_capacity, sizeof(p->heaps[0]), &id)) {
        p->heaps[id] = string;
        p->heap_count = id + 1;
    }
    return id;
}

uint32_t hs_builder_scope(struct hs_builder *builder, uint32_t parent, const char *name)
{
    struct hs_profile *p = builder->p;
    uint32_t string = hs_builder_string(builder, name);
    uint32_t id;
    parent = parent <= p->scope_count ? parent : 0;
    if (put(builder, &builder->scopes, (struct hs_intern_key){ .hi = parent, .lo = string },
            &p->scopes, &builder->scope_capacity, sizeof(p->scopes[0]), &id)) {
        p->scopes[id] = (struct hs_profile_scope){ string, parent };
        p->scope_count = id + 1;
    }
    return builder->err == 0 ? id + 1 : 0;
}

void hs_builder_symbol(struct hs_builder *builder, uint32_t path, const uint8_t *build_id,
                       size_t build_id_bytes, uint64_t rel_pc, const struct hs_profile_line *lines,
                       uint32_t line_count)
{
    uint32_t id;
    bool is_new;
    build_id_bytes = build_id_bytes <= HS_BUILD_ID_MAX ? build_id_bytes : HS_BUILD_ID_MAX;
    struct hs_intern_key module = hs_builder_module_key(path, build_id, build_id_bytes);
    if (builder->err == 0) {
        builder->err = hs_intern_put(&builder->symbol_modules, module, &id, &is_new);
    }
    struct symbol_lines *own = NULL;
    put(builder, &builder->symbols, hs_intern_mix(module, rel_pc), &builder->symbol_lines,
        &builder->symbol_capacity, sizeof(builder->symbol_lines[0]), &id);
    if (builder->err == 0) {
        own = &builder->symbol_lines[id];
        own->line_first = append_lines(builder, lines, line_count);
        own->line_count = builder->err == 0 ? line_count : 0;
    }
}

void hs_builder_nameless(struct hs_builder *builder, const struct hs_profile_nameless *nameless,
                         const uint8_t *build_id, size_t build_id_bytes)
{
    struct hs_profile *p = builder->p;
    uint32_t id;
    build_id_bytes = build_id_bytes <= HS_BUILD_ID_MAX ? build_id_bytes : HS_BUILD_ID_MAX;
    put(builder, &builder->nameless_ids,
        hs_builder_module_key(nameless->path, build_id, build_id_bytes), &builder->nameless_last,
        &builder->nameless_last_capacity, sizeof(builder->nameless_last[0]), &id);
    if (hs_builder_grow(builder, &p->nameless, &builder->nameless_capacity,
                        (uint64_t)p->nameless_count + 1, sizeof(p->nameless[0]))) {
        builder->nameless_last[id] = p->nameless_count;
        p->nameless[p->nameless_count] = *nameless;
        p->nameless[p->nameless_count++].build_id_hex =
            hex_string(builder, build_id, build_id_bytes);
    }
}

void hs_builder_looked_up(struct hs_builder *builder, uint32_t module_count)
{
    builder->p->looked_up_module_count = module_count;
    builder->p->has_looked_up = true;
}

#if HS_HAS_CHECKS

bool hs_builder_is_valid(const struct hs_builder *builder)
{
    const struct hs_profile *p = builder->p;
    if (builder->err != 0 || !p) {
        return true;
    }
    return hs_intern_is_valid(&builder->strings) && builder->strings.count == p->string_count &&
           hs_intern_is_valid(&builder->modules) && builder->modules.count == p->module_count &&
           hs_intern_is_valid(&builder->frames) && builder->frames.count == p->frame_count &&
           hs_intern_is_valid(&builder->nodes) && builder->nodes.count == p->node_count &&
           hs_intern_is_valid(&builder->heaps) && builder->heaps.count == p->heap_count &&
           hs_intern_is_valid(&builder->symbols) && hs_intern_is_valid(&builder->symbol_modules) &&
           hs_profile_is_valid(p);
}

#endif
