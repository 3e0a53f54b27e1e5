/*
 * Sends what has changed of the parts: see update_parts.h.
 */
#include "watch/send/update_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "watch/send/watch_parts.h"

void hs_update_parts_deinit(struct hs_update_parts *update)
{
    free(update->type_items);
    free(update->type_pointers);
    free(update->ids);
    free(update->figures);
    *update = (struct hs_update_parts){ .ids = NULL };
}

void hs_parts_sent_end_look(struct hs_parts_sent *sent)
{
    sent->is_compared = false;
}

void hs_parts_sent_deinit(struct hs_parts_sent *sent)
{
    free(sent->known);
    free(sent->changed);
    free(sent->is_type_sent);
    *sent = (struct hs_parts_sent){ .known = NULL };
}

/* --- what has changed ------------------------------------------------------------------------- */

static bool is_equal(const struct hs_estimate *a, const struct hs_estimate *b)
{
    return a->bytes == b->bytes && a->count == b->count && a->bytes_var == b->bytes_var &&
           a->count_var == b->count_var;
}

/* Lists what differs between two lists in the same order. Returns how much it is. */
static size_t list_changes(const struct hs_snap_part *old, size_t old_count,
                           const struct hs_snap_part *now, size_t now_count,
                           struct hs_snap_part *ret_changed)
{
    size_t i = 0, k = 0, count = 0;
    while (i < old_count || k < now_count) {
        int order = i == old_count   ? 1
                    : k == now_count ? -1
                                     : hs_watch_parts_compare(&old[i], &now[k]);
        if (order < 0) {
            ret_changed[count++] = (struct hs_snap_part){ .key = old[i++].key };
            continue;
        }
        if (order > 0 || !is_equal(&old[i].amount, &now[k].amount)) {
            ret_changed[count++] = now[k];
        }
        i += order == 0;
        k++;
    }
    return count;
}

static int compare_with_known(struct hs_parts_sent *sent, const struct hs_snapshot *tables)
{
    const struct hs_snap_part *now = tables->parts[HS_PARTS_LIVE];
    size_t count = tables->part_count[HS_PARTS_LIVE];
    struct hs_snap_part *copy = calloc(count + 1, sizeof(copy[0]));
    struct hs_snap_part *changed = calloc(sent->known_count + count + 1, sizeof(changed[0]));
    if (!copy || !changed) {
        free(copy);
        free(changed);
        return -ENOMEM;
    }
    if (count > 0) {
        memcpy(copy, now, count * sizeof(copy[0]));
    }
    free(sent->changed);
    sent->changed = changed;
    sent->changed_count = list_changes(sent->known, sent->known_count, now, count, changed);
    sent->at = 0;
    free(sent->known);
    sent->known = copy;
    sent->known_count = count;
    sent->is_compared = true;
    return 0;
}

/* --- messages --------------------------------------------------------------------------------- */

static int compare_types(const void *a, const void *b)
{
    const struct hs_snap_type *left = a, *right = b;
    return (left->id > right->id) - (left->id < right->id);
}

/* Adds the names of types that these parts are the first to have. */
static int fill_types(struct hs_parts_sent *sent, const struct hs_snapshot *tables, size_t count,
                      struct hs_update_parts *update)
{
    Hs__Ctl__WatchedTypes *types = &update->types;
    update->type_items = calloc((size_t)tables->type_count + 1, sizeof(update->type_items[0]));
    update->type_pointers = calloc((size_t)tables->type_count + 1, sizeof(*update->type_pointers));
    if (!update->type_items || !update->type_pointers) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        const struct hs_snap_type wanted = { .id = sent->changed[sent->at + i].key.type_id };
        const struct hs_snap_type *found = sent->is_type_sent[wanted.id] || tables->type_count == 0
                                               ? NULL
                                               : bsearch(&wanted, tables->types, tables->type_count,
                                                         sizeof(wanted), compare_types);
        if (found) {
            Hs__Ctl__WatchedType *to = &update->type_items[types->n_types];
            hs__ctl__watched_type__init(to);
            to->has_id = true;
            to->id = found->id;
            to->name = found->name;
            update->type_pointers[types->n_types++] = to;
            sent->is_type_sent[found->id] = true;
        }
    }
    types->types = update->type_pointers;
    return 0;
}

static int fill_columns(const struct hs_parts_sent *sent, size_t count,
                        struct hs_update_parts *update)
{
    Hs__Ctl__WatchedParts *parts = &update->parts;
    update->ids = calloc(2 * count + 1, sizeof(update->ids[0]));
    update->figures = calloc(4 * count + 1, sizeof(update->figures[0]));
    if (!update->ids || !update->figures) {
        return -ENOMEM;
    }
    parts->n_stack_id = parts->n_type_id = parts->n_live_bytes = parts->n_live_count =
        parts->n_live_bytes_var = parts->n_live_count_var = count;
    parts->stack_id = update->ids;
    parts->type_id = update->ids + count;
    parts->live_bytes = update->figures;
    parts->live_count = update->figures + count;
    parts->live_bytes_var = update->figures + 2 * count;
    parts->live_count_var = update->figures + 3 * count;
    for (size_t i = 0; i < count; i++) {
        const struct hs_snap_part *from = &sent->changed[sent->at + i];
        parts->stack_id[i] = from->key.stack_id;
        parts->type_id[i] = from->key.type_id;
        parts->live_bytes[i] = from->amount.bytes;
        parts->live_count[i] = from->amount.count;
        parts->live_bytes_var[i] = from->amount.bytes_var;
        parts->live_count_var[i] = from->amount.count_var;
    }
    return 0;
}

int hs_update_parts_fill(struct hs_parts_sent *sent, const struct hs_snapshot *tables,
                         size_t parts_max, struct hs_update_parts *update, Hs__Ctl__Update *message,
                         bool *ret_has_rest)
{
    *ret_has_rest = false;
    hs__ctl__watched_types__init(&update->types);
    hs__ctl__watched_parts__init(&update->parts);
    message->types = sent->is_wanted ? &update->types : NULL;
    if (!sent->is_wanted || !tables->has_types) {
        return 0;
    }
    update->types.has_mono_ns = true;
    update->types.mono_ns = tables->types_time_mono_ns;
    if (!sent->is_type_sent) {
        sent->is_type_sent = calloc(HS_PART_OTHERS + 1, sizeof(sent->is_type_sent[0]));
    }
    int r = sent->is_type_sent ? 0 : -ENOMEM;
    r = r < 0 || sent->is_compared ? r : compare_with_known(sent, tables);
    if (r < 0) {
        return r;
    }
    size_t left = sent->changed_count - sent->at, count = left < parts_max ? left : parts_max;
    r = fill_types(sent, tables, count, update);
    r = r < 0 ? r : fill_columns(sent, count, update);
    if (r == 0) {
        message->parts = count > 0 ? &update->parts : NULL;
        sent->at += count;
        *ret_has_rest = sent->at < sent->changed_count;
    }
    return r;
}
