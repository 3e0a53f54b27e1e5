/*
 * Copies the given types. See capture_types.h.
 */
#include "collect/region/capture_types.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collect/region/capture_scopes.h"
#include "rt/check.h"
#include "trace/heap_parts.h"

_Static_assert(HS_PART_GIVEN + HS_TYPES_MAX <= HS_PART_NOT_READ, "each has an id");

struct given {
    const struct hs_region *region;
    struct hs_snapshot *snap;
    struct hs_name_v2 *names;
    uint32_t count;
    bool is_used[HS_TYPES_MAX];
    bool is_any_used, has_unread;
};

/* The type that a stack has in the snapshot; 0: none was given. */
static uint16_t type_of(struct given *given, uint32_t stack_id)
{
    uint32_t type_id =
        stack_id < given->snap->stack_count ? given->snap->stacks[stack_id].type_id : 0;
    if (type_id == 0) {
        return 0;
    }
    given->is_used[type_id] = given->is_any_used = true;
    return (uint16_t)(HS_PART_GIVEN + type_id);
}

static void check_stacks(struct given *given)
{
    for (uint32_t i = 0; i < given->snap->stack_count; i++) {
        struct hs_snap_stack *stack = &given->snap->stacks[i];
        if (stack->type_id >= given->count && stack->type_id != 0) {
            stack->type_id = 0;
            given->snap->bad_count++;
        }
    }
}

/* Gives parts and blocks the types of their stacks. What is HS_PART_OTHERS stays that. */
static void set_given(struct given *given)
{
    struct hs_snapshot *snap = given->snap;
    for (unsigned view = 0; view < HS_PART_VIEWS; view++) {
        for (size_t i = 0; i < snap->part_count[view]; i++) {
            struct hs_part_key *key = &snap->parts[view][i].key;
            bool is_others = key->type_id == HS_PART_OTHERS;
            uint16_t type_id = is_others ? 0 : type_of(given, key->stack_id);
            key->type_id = type_id != 0 ? type_id : key->type_id;
        }
    }
    for (size_t i = 0; i < snap->block_count; i++) {
        uint16_t type_id = type_of(given, snap->blocks[i].stack_id);
        snap->blocks[i].type_id = type_id != 0 ? type_id : snap->blocks[i].type_id;
    }
}

/* Where nothing was looked for in memory: what has no given type was not read. */
static void set_unread(struct given *given)
{
    struct hs_snapshot *snap = given->snap;
    for (unsigned view = 0; view < HS_PART_VIEWS; view++) {
        for (size_t i = 0; i < snap->part_count[view]; i++) {
            uint16_t *type_id = &snap->parts[view][i].key.type_id;
            given->has_unread |= *type_id == 0;
            *type_id = *type_id == 0 ? HS_PART_NOT_READ : *type_id;
        }
    }
    for (size_t i = 0; i < snap->block_count; i++) {
        uint16_t *type_id = &snap->blocks[i].type_id;
        given->has_unread |= *type_id == 0;
        *type_id = *type_id == 0 ? HS_PART_NOT_READ : *type_id;
    }
    snap->has_types = true;
}

static int compare_ids(const void *a, const void *b)
{
    const struct hs_snap_type *left = a, *right = b;
    return (left->id > right->id) - (left->id < right->id);
}

static int add_type(struct hs_snapshot *snap, uint32_t id, char *name)
{
    snap->types[snap->type_count] = (struct hs_snap_type){ (uint16_t)id, name };
    snap->type_count += name != NULL;
    return name ? 0 : -ENOMEM;
}

/* Adds the names of given types to those of the snapshot. */
static int name_types(struct given *given)
{
    struct hs_snapshot *snap = given->snap;
    uint64_t budget_bytes = HS_CAPTURE_NAMES_BUDGET_BYTES;
    size_t room = (size_t)snap->type_count + given->count + 1;
    struct hs_snap_type *types = realloc(snap->types, room * sizeof(types[0]));
    int r = types ? 0 : -ENOMEM;
    snap->types = types ? types : snap->types;
    for (uint32_t id = 1; id < given->count && r == 0; id++) {
        char *name = NULL;
        if (given->is_used[id]) {
            r = id == HS_TYPE_OTHER
                    ? hs_capture_clean_name("(other)", &name)
                    : hs_capture_name(given->region, &given->names[id], &budget_bytes, &name);
            r = r == 0 ? add_type(snap, HS_PART_GIVEN + id, name) : r;
        }
    }
    if (r == 0 && given->has_unread) {
        r = add_type(snap, HS_PART_NOT_READ, strdup(HS_PART_NOT_READ_NAME));
    }
    qsort(snap->types, snap->type_count, sizeof(snap->types[0]), compare_ids);
    return r;
}

static int apply(struct given *given)
{
    check_stacks(given);
    set_given(given);
    if (!given->is_any_used) {
        return 0;
    }
    if (!given->snap->has_types) {
        set_unread(given);
    }
    return name_types(given);
}

int hs_capture_types(const struct hs_region *region, struct hs_snapshot *snap)
{
    uint64_t count = hs_region_count(region, HS_SECTION_TYPES);
    struct given *given = calloc(1, sizeof(*given));
    if (!given) {
        return -ENOMEM;
    }
    given->region = region;
    given->snap = snap;
    given->count = count < HS_TYPES_MAX ? (uint32_t)count : HS_TYPES_MAX;
    given->names = calloc((size_t)given->count + 1, sizeof(given->names[0]));
    int r = given->names ? hs_region_read(region, HS_SECTION_TYPES, 0, given->count, given->names)
                         : -ENOMEM;
    r = r == 0 ? apply(given) : r;
    free(given->names);
    free(given);
    return r;
}
