/*
 * See append.h.
 */
#include "profile/model/append.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

void hs_append_init(struct hs_append *append, struct hs_profile *profile)
{
    *append = (struct hs_append){
        .p = profile,
        .string_capacity = profile->string_count,
        .frame_capacity = profile->frame_count,
        .node_capacity = profile->node_count,
        .module_capacity = profile->module_count,
        .module = UINT32_MAX,
    };
}

void hs_append_deinit(struct hs_append *append)
{
    hs_intern_deinit(&append->names);
    hs_intern_deinit(&append->frames);
    hs_intern_deinit(&append->nodes);
    free(append->strings);
    free(append->frame_ids);
    free(append->node_ids);
}

/* Room for one element more, in an array whose capacity is at first its count. */
static bool reserve(struct hs_append *append, void *array_address, size_t *capacity, size_t count,
                    size_t elem_bytes)
{
    append->err = append->err ? append->err
                  : count >= UINT32_MAX - 1
                      ? -EOVERFLOW
                      : hs_array_reserve(array_address, capacity, count + 1, elem_bytes);
    return append->err == 0;
}

/* The place for the id of a key in *ids; NULL after an error. */
static uint32_t *id_place(struct hs_append *append, struct hs_intern *table,
                          struct hs_intern_key key, uint32_t **ids, size_t *capacity,
                          bool *ret_is_new)
{
    uint32_t number = 0;
    *ret_is_new = false;
    if (!reserve(append, ids, capacity, table->count, sizeof(**ids))) {
        return NULL;
    }
    append->err = hs_intern_put(table, key, &number, ret_is_new);
    return append->err == 0 ? &(*ids)[number] : NULL;
}

uint32_t hs_append_string(struct hs_append *append, const char *text)
{
    struct hs_profile *p = append->p;
    bool is_new;
    uint32_t *id = id_place(append, &append->names, hs_intern_hash(text, strlen(text)),
                            &append->strings, &append->strings_capacity, &is_new);
    if (id && is_new &&
        reserve(append, &p->strings, &append->string_capacity, p->string_count,
                sizeof(p->strings[0]))) {
        char *copy = strdup(text);
        append->err = copy ? 0 : -ENOMEM;
        if (copy) {
            p->strings[p->string_count] = copy;
            *id = p->string_count++;
        }
    }
    return id && append->err == 0 ? *id : 0;
}

/* The module of frames that are no code: some formats need one. */
static uint32_t add_module(struct hs_append *append)
{
    struct hs_profile *p = append->p;
    if (append->module == UINT32_MAX && reserve(append, &p->modules, &append->module_capacity,
                                                p->module_count, sizeof(p->modules[0]))) {
        p->modules[p->module_count] = (struct hs_profile_module){ 0 };
        append->module = p->module_count++;
    }
    return append->module;
}

uint32_t hs_append_frame(struct hs_append *append, const char *name, enum hs_frame_kind kind)
{
    struct hs_profile *p = append->p;
    bool is_new;
    uint32_t string = hs_append_string(append, name), module = add_module(append);
    uint32_t *id = id_place(append, &append->frames,
                            (struct hs_intern_key){ .hi = (uint64_t)kind, .lo = string },
                            &append->frame_ids, &append->frame_ids_capacity, &is_new);
    if (id && is_new &&
        reserve(append, &p->frames, &append->frame_capacity, p->frame_count,
                sizeof(p->frames[0]))) {
        p->frames[p->frame_count] =
            (struct hs_profile_frame){ .module = module, .name = string, .kind = (uint8_t)kind };
        *id = p->frame_count++;
    }
    return id && append->err == 0 ? *id : 0;
}

uint32_t hs_append_node(struct hs_append *append, uint32_t parent, uint32_t frame)
{
    struct hs_profile *p = append->p;
    bool is_new;
    uint32_t *id =
        id_place(append, &append->nodes, (struct hs_intern_key){ .hi = parent, .lo = frame },
                 &append->node_ids, &append->node_ids_capacity, &is_new);
    if (id && is_new &&
        reserve(append, &p->nodes, &append->node_capacity, p->node_count, sizeof(p->nodes[0]))) {
        uint32_t depth = parent == HS_NODE_NONE ? 0 : p->nodes[parent].depth + 1;
        p->nodes[p->node_count] =
            (struct hs_profile_node){ .parent = parent, .frame = frame, .depth = depth };
        *id = p->node_count++;
    }
    return id && append->err == 0 ? *id : 0;
}
