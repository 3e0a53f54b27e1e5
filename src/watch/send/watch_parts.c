/*
 * From the sums of a look to its parts: see watch_parts.h.
 */
#include "watch/send/watch_parts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collect/region/capture_types.h"
#include "collect/region/part_table.h"
#include "collect/region/record_types.h"
#include "util/array.h"

int hs_watch_parts_compare(const void *a, const void *b)
{
    const struct hs_part_key *left = &((const struct hs_snap_part *)a)->key;
    const struct hs_part_key *right = &((const struct hs_snap_part *)b)->key;
    if (left->stack_id != right->stack_id) {
        return left->stack_id < right->stack_id ? -1 : 1;
    }
    return (left->type_id > right->type_id) - (left->type_id < right->type_id);
}

static void drop(struct hs_snapshot *tables)
{
    free(tables->parts[HS_PARTS_LIVE]);
    tables->parts[HS_PARTS_LIVE] = NULL;
    tables->part_count[HS_PARTS_LIVE] = 0;
    for (uint32_t i = 0; i < tables->type_count; i++) {
        free(tables->types[i].name);
    }
    free(tables->types);
    tables->types = NULL;
    tables->type_count = 0;
    tables->has_types = false;
}

static const struct hs_snap_stack *stack_of(const struct hs_snapshot *tables, uint32_t id)
{
    return id < tables->stack_count && tables->stacks[id].frame_count > 0 ? &tables->stacks[id]
                                                                          : NULL;
}

/* Are its parts those of memory? Then its frames are known, and the program gave it no type. */
static bool is_of_memory(const struct hs_snapshot *tables, uint32_t stack_id)
{
    const struct hs_snap_stack *stack = stack_of(tables, stack_id);
    return stack && stack->type_id == 0;
}

/* The parts that are not in the table: what was not read, and all of a stack with a given type,
 * which hs_capture_types() finds. */
static size_t add_by_stack(const struct hs_live_totals *totals, const struct hs_snapshot *tables,
                           struct hs_snap_part *parts, size_t count)
{
    for (uint32_t i = 0; i < totals->stack_count; i++) {
        const struct hs_snap_stack *stack = stack_of(tables, i);
        bool is_given = stack && stack->type_id != 0;
        const struct hs_estimate *amount =
            is_given ? &totals->of_stack[i].live : &totals->unread[i];
        if (stack && amount->count > 0) {
            parts[count++] = (struct hs_snap_part){
                .key = { .stack_id = i, .type_id = is_given ? 0 : HS_PART_NOT_READ },
                .amount = *amount,
            };
        }
    }
    return count;
}

/* Keeps the parts of stacks that are known. Those for which the table had no room were not told,
 * as if they had not been read. */
static int choose(const struct hs_live_totals *totals, struct hs_snapshot *tables)
{
    size_t all_count = 0, count = 0;
    struct hs_snap_part *all = hs_part_table_list(totals->parts, &all_count);
    struct hs_snap_part *parts = calloc(all_count + totals->stack_count + 1, sizeof(parts[0]));
    if (!all || !parts) {
        free(all);
        free(parts);
        return -ENOMEM;
    }
    for (size_t i = 0; i < all_count; i++) {
        if (is_of_memory(tables, all[i].key.stack_id)) {
            parts[count] = all[i];
            parts[count].key.age_class = 0;
            parts[count].key.thread_id = 0;
            if (all[i].key.type_id == HS_PART_OTHERS) {
                parts[count].key.type_id = HS_PART_NOT_READ;
            }
            count++;
        }
    }
    free(all);
    tables->parts[HS_PARTS_LIVE] = parts;
    tables->part_count[HS_PARTS_LIVE] = add_by_stack(totals, tables, parts, count);
    return 0;
}

static int name_type(struct hs_snapshot *tables, uint32_t id, const char *name)
{
    char *copy = strdup(name);
    tables->types[tables->type_count] = (struct hs_snap_type){ (uint16_t)id, copy };
    tables->type_count += copy != NULL;
    return copy ? 0 : -ENOMEM;
}

/* Names the types that were found in memory. */
static int name_found(const struct hs_record_types *types, struct hs_snapshot *tables)
{
    bool *is_used = calloc(HS_PART_OTHERS + 1, sizeof(is_used[0]));
    uint32_t end = types->name_count < HS_PART_GIVEN ? types->name_count : HS_PART_GIVEN;
    tables->has_types = true;
    tables->types_time_mono_ns = types->time_mono_ns;
    tables->types = calloc((size_t)end + 1, sizeof(tables->types[0]));
    int r = is_used && tables->types ? 0 : -ENOMEM;
    for (size_t i = 0; r == 0 && i < tables->part_count[HS_PARTS_LIVE]; i++) {
        is_used[tables->parts[HS_PARTS_LIVE][i].key.type_id] = true;
    }
    for (uint32_t id = 1; r == 0 && id < end; id++) {
        r = is_used[id] ? name_type(tables, id, types->names[id]) : 0;
    }
    if (r == 0 && is_used[HS_PART_NOT_READ]) {
        r = name_type(tables, HS_PART_NOT_READ, HS_PART_NOT_READ_NAME);
    }
    free(is_used);
    return r;
}

int hs_watch_parts_make(const struct hs_region *region, const struct hs_live_totals *totals,
                        struct hs_snapshot *tables)
{
    struct hs_region now = *region; /* its counts are newer than the stacks in the tables */
    drop(tables);
    if (!region->types || !totals->parts) {
        return 0;
    }
    int r = hs_region_refresh(&now);
    r = r == 0 ? choose(totals, tables) : r;
    r = r == 0 ? name_found(region->types, tables) : r;
    r = r == 0 ? hs_capture_types(&now, tables) : r;
    if (r < 0) {
        drop(tables);
        return r;
    }
    tables->part_count[HS_PARTS_LIVE] =
        hs_array_merge(tables->parts[HS_PARTS_LIVE], tables->part_count[HS_PARTS_LIVE],
                       sizeof(tables->parts[0][0]), hs_watch_parts_compare, hs_snap_part_add);
    return 0;
}
