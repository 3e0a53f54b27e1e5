/*
 * See infra_maps.h.
 */
#include "view/infra_maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/describe.h"
#include "rt/check.h"
#include "util/array.h"

void hs_infra_maps_init(struct hs_infra_maps *maps, const struct hs_profile *profile)
{
    *maps = (struct hs_infra_maps){ .profile = profile };
    maps->processes = calloc(profile->process_count + 1u, sizeof(maps->processes[0]));
    maps->node_marks = calloc(profile->node_count + 1u, sizeof(maps->node_marks[0]));
    maps->module_marks = calloc(profile->module_count + 1u, sizeof(maps->module_marks[0]));
    maps->err = maps->processes && maps->node_marks && maps->module_marks ? 0 : -ENOMEM;
}

void hs_infra_maps_deinit(struct hs_infra_maps *maps)
{
    hs_intern_deinit(&maps->strings);
    hs_intern_deinit(&maps->nodes);
    hs_intern_deinit(&maps->stacks);
    hs_intern_deinit(&maps->types);
    hs_buf_deinit(&maps->new_texts);
    for (uint32_t i = 0; maps->processes && i < maps->profile->process_count; i++) {
        free(maps->processes[i].regions);
    }
    free(maps->processes);
    free(maps->node_marks);
    free(maps->module_marks);
    free(maps->new_strings);
    free(maps->new_nodes);
    free(maps->new_types);
    free(maps->type_ids);
    free(maps->string_ids);
    free(maps->node_ids);
    free(maps->stack_ids);
    free(maps->path);
}

void hs_infra_maps_clear_new(struct hs_infra_maps *maps)
{
    maps->new_string_count = maps->new_node_count = maps->new_type_count = 0;
    hs_buf_clear(&maps->new_texts);
}

/* --- regions --- */

static int compare_regions(const void *a, const void *b)
{
    const struct hs_infra_region *x = a, *y = b;
    if (x->start_va != y->start_va) {
        return x->start_va < y->start_va ? -1 : 1;
    }
    return x->module < y->module ? -1 : x->module > y->module;
}

static void add_region(struct hs_infra_maps *maps, uint32_t module, bool is_used)
{
    struct hs_infra_process *process = &maps->processes[maps->process];
    const struct hs_profile_module *m = &maps->profile->modules[module];
    uint64_t bias_va = hs_profile_bias_of(maps->profile, maps->process, module);
    uint64_t start_va = m->start_va + (bias_va - m->bias_va);
    uint64_t end_va = m->end_va + (bias_va - m->bias_va);
    if (m->path == 0 || m->end_va <= m->start_va || end_va <= start_va || maps->err != 0) {
        return;
    }
    maps->err = hs_array_reserve(&process->regions, &process->region_capacity,
                                 process->region_count + 1, sizeof(process->regions[0]));
    if (maps->err == 0) {
        process->regions[process->region_count++] = (struct hs_infra_region){ .start_va = start_va,
                                                                              .end_va = end_va,
                                                                              .bias_va = bias_va,
                                                                              .module = module,
                                                                              .is_used = is_used };
    }
}

/* Of regions that overlap, one is left: one with frames, if there is any. */
static void leave_out_overlaps(struct hs_infra_process *process)
{
    size_t kept = 0;
    struct hs_infra_region *regions = process->regions;
    for (size_t i = 0; i < process->region_count; i++) {
        while (kept > 0 && regions[i].is_used && !regions[kept - 1].is_used &&
               regions[kept - 1].end_va > regions[i].start_va) {
            kept--;
        }
        if (kept == 0 || regions[kept - 1].end_va <= regions[i].start_va) {
            regions[kept++] = regions[i];
        }
    }
    process->region_count = kept;
}

/* Marks each node of the process's stacks, and each module that has a frame in them. */
static void mark_used(struct hs_infra_maps *maps)
{
    const struct hs_profile *p = maps->profile;
    uint32_t mark = maps->process + 1;
    for (uint32_t d = 0; d < p->dump_count; d++) {
        const struct hs_profile_dump *dump = &p->dumps[d];
        for (uint64_t i = 0; dump->process == maps->process && i < dump->samples_n; i++) {
            uint32_t node = p->samples[dump->sample_first + i].node;
            for (; node != HS_NODE_NONE && maps->node_marks[node] != mark;
                 node = p->nodes[node].parent) {
                maps->node_marks[node] = mark;
                uint32_t module = p->frames[p->nodes[node].frame].module;
                if (module < p->module_count) {
                    maps->module_marks[module] = mark;
                }
            }
        }
    }
}

/* The first place of the process. */
static uint32_t first_place(const struct hs_infra_maps *maps)
{
    uint32_t low = 0, high = maps->profile->place_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (maps->profile->places[middle].process < maps->process) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void find_regions(struct hs_infra_maps *maps)
{
    const struct hs_profile *p = maps->profile;
    struct hs_infra_process *process = &maps->processes[maps->process];
    uint32_t mark = maps->process + 1;
    mark_used(maps);
    for (uint32_t i = 0; i < p->module_count; i++) {
        if (maps->module_marks[i] == mark) {
            add_region(maps, i, true);
        }
    }
    for (uint32_t i = first_place(maps); i < p->place_count; i++) {
        if (p->places[i].process != maps->process) {
            break;
        }
        if (maps->module_marks[p->places[i].module] != mark) {
            add_region(maps, p->places[i].module, false);
        }
    }
    if (process->region_count > 0) {
        qsort(process->regions, process->region_count, sizeof(process->regions[0]),
              compare_regions);
    }
    leave_out_overlaps(process);
}

void hs_infra_maps_begin(struct hs_infra_maps *maps, uint32_t process)
{
    maps->process = process;
    if (maps->err == 0 && !maps->processes[process].is_known) {
        maps->processes[process].is_known = true;
        find_regions(maps);
    }
}

/* True when a reader finds the module at this address. */
static bool is_in_region(const struct hs_infra_maps *maps, uint64_t pc, uint32_t module)
{
    const struct hs_infra_process *process = &maps->processes[maps->process];
    size_t low = 0, high = process->region_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (process->regions[middle].end_va <= pc) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < process->region_count && process->regions[low].start_va <= pc &&
           process->regions[low].module == module;
}

/* --- strings and nodes --- */

/* The number of a new or known key in a table, and in *ids a place for its id. */
static uint64_t *id_place(struct hs_infra_maps *maps, struct hs_intern *table,
                          struct hs_intern_key key, uint64_t **ids, size_t *capacity,
                          bool *ret_is_new)
{
    uint32_t number = 0;
    *ret_is_new = false;
    if (maps->err == 0) {
        maps->err = hs_array_reserve(ids, capacity, (size_t)table->count + 1, sizeof(**ids));
    }
    if (maps->err == 0) {
        maps->err = hs_intern_put(table, key, &number, ret_is_new);
    }
    return maps->err == 0 ? &(*ids)[number] : NULL;
}

uint64_t hs_infra_string(struct hs_infra_maps *maps, const char *text)
{
    bool is_new;
    struct hs_intern_key key = hs_intern_mix(hs_intern_hash(text, strlen(text)), maps->process);
    uint64_t *id =
        id_place(maps, &maps->strings, key, &maps->string_ids, &maps->string_capacity, &is_new);
    if (id && is_new) {
        *id = ++maps->last_id;
        maps->err = hs_array_reserve(&maps->new_strings, &maps->new_string_capacity,
                                     maps->new_string_count + 1, sizeof(maps->new_strings[0]));
        if (maps->err == 0) {
            maps->new_strings[maps->new_string_count++] =
                (struct hs_infra_string){ .id = *id, .text_off = maps->new_texts.bytes };
            hs_buf_add(&maps->new_texts, text, strlen(text) + 1);
            maps->err = maps->new_texts.err;
        }
    }
    return id && maps->err == 0 ? *id : 0;
}

static uint64_t node_of(struct hs_infra_maps *maps, uint64_t parent, const char *name)
{
    bool is_new;
    uint64_t name_sid = hs_infra_string(maps, name);
    struct hs_intern_key key = { .hi = parent, .lo = name_sid };
    uint64_t *id =
        id_place(maps, &maps->nodes, key, &maps->node_ids, &maps->node_capacity, &is_new);
    if (id && is_new) {
        *id = ++maps->last_id;
        HS_ASSERT(parent < *id && name_sid < *id);
        maps->err = hs_array_reserve(&maps->new_nodes, &maps->new_node_capacity,
                                     maps->new_node_count + 1, sizeof(maps->new_nodes[0]));
        if (maps->err == 0) {
            maps->new_nodes[maps->new_node_count++] =
                (struct hs_infra_node){ .id = *id, .parent = parent, .name_sid = name_sid };
        }
    }
    return id && maps->err == 0 ? *id : 0;
}

uint64_t hs_infra_type(struct hs_infra_maps *maps, const char *name)
{
    bool is_new, is_unknown = name[0] == '\0' || strcmp(name, HS_INFRA_TYPE_UNKNOWN_NAME) == 0;
    uint64_t name_sid = hs_infra_string(maps, is_unknown ? HS_INFRA_TYPE_UNKNOWN_NAME : name);
    struct hs_intern_key key = { .hi = maps->process, .lo = name_sid };
    uint64_t *id =
        id_place(maps, &maps->types, key, &maps->type_ids, &maps->type_capacity, &is_new);
    if (id && is_new) {
        *id = is_unknown ? HS_INFRA_TYPE_UNKNOWN : ++maps->last_id;
        maps->err = hs_array_reserve(&maps->new_types, &maps->new_type_capacity,
                                     maps->new_type_count + 1, sizeof(maps->new_types[0]));
        if (maps->err == 0) {
            maps->new_types[maps->new_type_count++] =
                (struct hs_infra_type){ .id = *id, .name_sid = name_sid };
        }
    }
    return id && maps->err == 0 ? *id : 0;
}

/* The node of a frame that has no function name from symbols. */
static uint64_t plain_frame(struct hs_infra_maps *maps, uint64_t parent,
                            const struct hs_profile_frame *frame)
{
    const struct hs_profile *p = maps->profile;
    const char *name = hs_profile_string(p, frame->name);
    uint64_t pc = frame->rel_pc;
    bool has_path = frame->module < p->module_count && p->modules[frame->module].path != 0;
    if (name[0] != '\0') {
        return node_of(maps, parent, name);
    }
    if (frame->module < p->module_count) {
        pc += hs_profile_bias_of(p, maps->process, frame->module);
    }
    struct hs_buf text = HS_BUF_INIT;
    if (!has_path || is_in_region(maps, pc, frame->module)) {
        hs_buf_printf(&text, "pc:%" PRIx64, pc);
    } else {
        hs_buf_printf(&text, "%s+0x%" PRIx64, hs_describe_module(p, frame->module), frame->rel_pc);
    }
    maps->err = maps->err ? maps->err : text.err;
    uint64_t id = node_of(maps, parent, hs_buf_text(&text));
    hs_buf_deinit(&text);
    return id;
}

/* The node of a frame, below one node for each call that it was inlined into. */
static uint64_t add_frame(struct hs_infra_maps *maps, uint64_t parent, uint32_t frame_idx)
{
    const struct hs_profile *p = maps->profile;
    const struct hs_profile_frame *frame = &p->frames[frame_idx];
    for (uint32_t i = frame->line_count; i > 0; i--) {
        const char *name = hs_profile_string(p, p->lines[frame->line_first + i - 1].function);
        parent = name[0] != '\0' ? node_of(maps, parent, name) : plain_frame(maps, parent, frame);
    }
    return frame->line_count > 0 ? parent : plain_frame(maps, parent, frame);
}

uint64_t hs_infra_stack(struct hs_infra_maps *maps, uint32_t node)
{
    const struct hs_profile *p = maps->profile;
    uint64_t id = 0;
    size_t depth = 0;
    /* Up to a node that is known, then down again. */
    for (; node != HS_NODE_NONE && maps->err == 0; node = p->nodes[node].parent) {
        struct hs_intern_key key = { .hi = maps->process, .lo = node };
        uint32_t number;
        if (hs_intern_find(&maps->stacks, key, &number)) {
            id = maps->stack_ids[number];
            break;
        }
        maps->err =
            hs_array_reserve(&maps->path, &maps->path_capacity, depth + 1, sizeof(maps->path[0]));
        if (maps->err == 0) {
            maps->path[depth++] = node;
        }
    }
    while (depth > 0 && maps->err == 0) {
        node = maps->path[--depth];
        id = add_frame(maps, id, p->nodes[node].frame);
        bool is_new;
        struct hs_intern_key key = { .hi = maps->process, .lo = node };
        uint64_t *place =
            id_place(maps, &maps->stacks, key, &maps->stack_ids, &maps->stack_capacity, &is_new);
        if (place) {
            *place = id;
        }
    }
    return maps->err == 0 ? id : 0;
}
