/*
 * Puts parts together: see watched_types.h.
 */
#include "watch/receive/watched_types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define FIGURE_MAX 1e18

/* --- types ------------------------------------------------------------------------------------ */

/* The place of a type among those that are known, or where it belongs. */
static uint32_t place_of(const struct hs_snapshot *snap, uint32_t type_id)
{
    uint32_t first = 0, end = snap->type_count;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        if (snap->types[middle].id < type_id) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

const char *hs_watched_type_name(const struct hs_snapshot *snap, uint32_t type_id)
{
    uint32_t at = place_of(snap, type_id);
    return at < snap->type_count && snap->types[at].id == type_id ? snap->types[at].name : NULL;
}

static int take_type(struct hs_watch_state *state, const Hs__Ctl__WatchedType *from)
{
    struct hs_snapshot *snap = state->snap;
    uint32_t at = place_of(snap, from->id);
    if (from->id == 0 || from->id >= HS_PART_OTHERS || hs_watched_type_name(snap, from->id)) {
        return -EPROTO;
    }
    int r = hs_array_reserve(&snap->types, &state->type_capacity, (size_t)snap->type_count + 1,
                             sizeof(snap->types[0]));
    char *name = r == 0 ? strdup(from->name ? from->name : "") : NULL;
    if (!name) {
        return -ENOMEM;
    }
    memmove(&snap->types[at + 1], &snap->types[at],
            (snap->type_count - at) * sizeof(snap->types[0]));
    snap->types[at] = (struct hs_snap_type){ (uint16_t)from->id, name };
    snap->type_count++;
    return 0;
}

/* --- parts ------------------------------------------------------------------------------------ */

static double figure(double value)
{
    return value >= 0 && value <= FIGURE_MAX ? value : 0;
}

static double variance(double value)
{
    return value >= 0 && value <= FIGURE_MAX * FIGURE_MAX ? value : 0;
}

static struct hs_snap_part part_at(const Hs__Ctl__WatchedParts *parts, size_t i)
{
    return (struct hs_snap_part){
        .key = { .stack_id = parts->stack_id[i], .type_id = (uint16_t)parts->type_id[i] },
        .amount = { figure(parts->live_bytes[i]), figure(parts->live_count[i]),
                    variance(parts->live_bytes_var[i]), variance(parts->live_count_var[i]) },
    };
}

static int compare(const struct hs_part_key *a, const struct hs_part_key *b)
{
    if (a->stack_id != b->stack_id) {
        return a->stack_id < b->stack_id ? -1 : 1;
    }
    return (a->type_id > b->type_id) - (a->type_id < b->type_id);
}

/* Are all columns as long, the elements in order, and what they refer to known? */
static bool are_good(const struct hs_snapshot *snap, const Hs__Ctl__WatchedParts *parts)
{
    size_t count = parts->n_stack_id;
    if (parts->n_type_id != count || parts->n_live_bytes != count || parts->n_live_count != count ||
        parts->n_live_bytes_var != count || parts->n_live_count_var != count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t stack_id = parts->stack_id[i];
        bool is_after =
            i == 0 || stack_id > parts->stack_id[i - 1] ||
            (stack_id == parts->stack_id[i - 1] && parts->type_id[i] > parts->type_id[i - 1]);
        if (!is_after || stack_id >= snap->stack_count || snap->stacks[stack_id].frame_count == 0 ||
            parts->type_id[i] >= HS_PART_OTHERS || !hs_watched_type_name(snap, parts->type_id[i])) {
            return false;
        }
    }
    return true;
}

static bool is_something(const struct hs_snap_part *part)
{
    return part->amount.bytes > 0 || part->amount.count > 0;
}

/* Merges the parts of an update into those that are known. */
static int take_parts(struct hs_watch_state *state, const Hs__Ctl__WatchedParts *parts)
{
    size_t room = state->part_count + parts->n_stack_id + 1, i = 0, count = 0;
    struct hs_snap_part *merged = calloc(room, sizeof(merged[0]));
    int r = hs_array_reserve(&state->changed_parts, &state->changed_part_capacity,
                             parts->n_stack_id + 1, sizeof(state->changed_parts[0]));
    if (!merged || r < 0) {
        free(merged);
        return -ENOMEM;
    }
    for (size_t k = 0; k < parts->n_stack_id; k++) {
        struct hs_snap_part part = part_at(parts, k);
        for (; i < state->part_count && compare(&state->parts[i].key, &part.key) < 0; i++) {
            merged[count++] = state->parts[i];
        }
        i += i < state->part_count && compare(&state->parts[i].key, &part.key) == 0;
        if (is_something(&part)) {
            merged[count++] = part;
        }
        state->changed_parts[state->changed_part_count++] = part;
    }
    for (; i < state->part_count; i++) {
        merged[count++] = state->parts[i];
    }
    free(state->parts);
    state->parts = merged;
    state->part_count = count;
    return 0;
}

int hs_watched_types_take(struct hs_watch_state *state, const Hs__Ctl__Update *update)
{
    const Hs__Ctl__WatchedTypes *types = update->types;
    const Hs__Ctl__WatchedParts *parts = update->parts;
    int r = 0;
    state->changed_part_count = 0;
    for (size_t i = 0; types && r == 0 && i < types->n_types; i++) {
        r = take_type(state, types->types[i]);
    }
    state->has_types |= types != NULL;
    if (types && types->has_mono_ns && r == 0) {
        state->snap->has_types = true;
        state->snap->types_time_mono_ns = types->mono_ns;
    }
    if (r < 0 || !parts) {
        return r;
    }
    if (parts->n_stack_id > HS_WATCH_PARTS_MAX - state->part_count) {
        return -EFBIG;
    }
    return are_good(state->snap, parts) ? take_parts(state, parts) : -EPROTO;
}

/* --- the parts of the snapshot ---------------------------------------------------------------- */

/* What the parts [first, end) leave of what their stack holds. An update that does not add up:
 * nothing is known of the stack. */
static bool find_rest(const struct hs_watch_state *state, size_t first, size_t end,
                      const struct hs_estimate *whole, struct hs_estimate *ret_rest)
{
    const double slack = 1 + 1e-9;
    struct hs_estimate sum = { 0 };
    for (size_t i = first; i < end; i++) {
        hs_estimate_add(&sum, &state->parts[i].amount);
    }
    if (sum.bytes > whole->bytes * slack || sum.count > whole->count * slack) {
        return false;
    }
    bool is_all = sum.bytes * slack >= whole->bytes && sum.count * slack >= whole->count;
    *ret_rest = is_all ? (struct hs_estimate){ 0 }
                       : (struct hs_estimate){ figure(whole->bytes - sum.bytes),
                                               figure(whole->count - sum.count),
                                               variance(whole->bytes_var - sum.bytes_var),
                                               variance(whole->count_var - sum.count_var) };
    return true;
}

void hs_watched_types_of(const struct hs_watch_state *state, uint32_t stack_id, size_t *ret_first,
                         size_t *ret_end, struct hs_estimate *ret_rest)
{
    size_t first = 0, end = state->part_count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (state->parts[middle].key.stack_id < stack_id) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    while (end < state->part_count && state->parts[end].key.stack_id == stack_id) {
        end++;
    }
    *ret_rest = state->snap->stacks[stack_id].live;
    *ret_first = first;
    *ret_end =
        find_rest(state, first, end, &state->snap->stacks[stack_id].live, ret_rest) ? end : first;
}

int hs_watched_types_fill(const struct hs_watch_state *state)
{
    struct hs_snapshot *snap = state->snap;
    size_t at = 0, count = 0;
    free(snap->parts[HS_PARTS_LIVE]);
    snap->part_count[HS_PARTS_LIVE] = 0;
    snap->parts[HS_PARTS_LIVE] =
        state->has_types
            ? calloc(state->part_count + snap->stack_count + 1, sizeof(state->parts[0]))
            : NULL;
    struct hs_snap_part *parts = snap->parts[HS_PARTS_LIVE];
    if (!parts) {
        return state->has_types ? -ENOMEM : 0;
    }
    for (uint32_t id = 0; id < snap->stack_count; id++) {
        const struct hs_snap_stack *stack = &snap->stacks[id];
        struct hs_snap_part rest = { .key = { .stack_id = id }, .amount = stack->live };
        size_t first = at;
        for (; at < state->part_count && state->parts[at].key.stack_id == id; at++) {
        }
        if (find_rest(state, first, at, &stack->live, &rest.amount)) {
            for (size_t i = first; i < at; i++) {
                parts[count++] = state->parts[i];
            }
        }
        if (is_something(&rest)) {
            parts[count++] = rest;
        }
    }
    snap->part_count[HS_PARTS_LIVE] = count;
    return 0;
}
