/*
 * See infra_totals.h.
 */
#include "profile/read/infra_totals.h"

#include <errno.h>
#include <stdlib.h>

#include "util/array.h"

/* So many callers without an entry are looked at; the writers left out none. */
#define STEPS_MAX 64

struct entry {
    uint64_t id;
    uint32_t node; /* in tables->nodes; HS_INFRA_NO_ID: the whole heap, or not in the file */
    bool is_whole;
    double bytes, count; /* at first of the total, then of the stack itself */
};

struct entries {
    struct entry *entries;
    size_t count, capacity;
    struct hs_intern ids; /* of nodes, in order of by_id */
    uint32_t *by_id;      /* index in entries */
    size_t by_id_capacity;
    uint32_t whole; /* index; HS_INFRA_NO_ID: none */
};

/* Reads an entry. False when it is one of a type, or damaged. */
static bool read_entry(struct hs_infra_tables *tables, uint32_t process,
                       struct hs_json_reader *json, struct entry *ret_entry)
{
    struct hs_json_text key;
    struct entry entry = { .node = HS_INFRA_NO_ID, .is_whole = true };
    /* what hs_infra_read_id() makes of "" */
    const uint64_t empty_id = hs_intern_hash("", 0).lo;
    bool has_type = false;
    hs_json_enter(json, '{');
    while (hs_json_next_key(json, &key)) {
        if (hs_json_text_is(&key, "bt")) {
            entry.is_whole = !hs_infra_read_id(json, &entry.id) || entry.id == empty_id;
        } else if (hs_json_text_is(&key, "size")) {
            entry.bytes = (double)hs_infra_read_hex(json);
        } else if (hs_json_text_is(&key, "count")) {
            entry.count = (double)hs_infra_read_hex(json);
        } else {
            has_type |= hs_json_text_is(&key, "type");
            hs_json_skip(json);
        }
    }
    if (!entry.is_whole) {
        entry.node = hs_infra_find_node(tables, process, entry.id);
    }
    *ret_entry = entry;
    return !has_type;
}

static void add_entry(struct hs_infra_tables *tables, struct entries *list,
                      const struct entry *entry)
{
    bool is_new = true;
    uint32_t place;
    tables->err = hs_array_reserve(&list->entries, &list->capacity, list->count + 1,
                                   sizeof(list->entries[0]));
    if (tables->err == 0) {
        tables->err = hs_array_reserve(&list->by_id, &list->by_id_capacity,
                                       (size_t)list->ids.count + 1, sizeof(list->by_id[0]));
    }
    if (tables->err == 0 && entry->is_whole) {
        is_new = list->whole == HS_INFRA_NO_ID;
        list->whole = is_new ? (uint32_t)list->count : list->whole;
    } else if (tables->err == 0) {
        tables->err =
            hs_intern_put(&list->ids, (struct hs_intern_key){ .lo = entry->id }, &place, &is_new);
        if (tables->err == 0 && is_new) {
            list->by_id[place] = (uint32_t)list->count;
        }
    }
    if (tables->err == 0 && is_new) {
        list->entries[list->count++] = *entry;
    } else if (tables->err == 0) {
        tables->source->report->bad_record_count++; /* the same stack once more */
    }
}

/* The entry that contains this one; HS_INFRA_NO_ID: none does. */
static uint32_t outer_of(const struct hs_infra_tables *tables, uint32_t process,
                         const struct entries *list, const struct entry *entry)
{
    uint32_t node = entry->node;
    for (int i = 0; i < STEPS_MAX && node != HS_INFRA_NO_ID; i++) {
        uint32_t place;
        if (!tables->nodes[node].has_parent) {
            break;
        }
        uint64_t parent = tables->nodes[node].parent;
        if (hs_intern_find(&list->ids, (struct hs_intern_key){ .lo = parent }, &place)) {
            return list->by_id[place];
        }
        node = hs_infra_find_node(tables, process, parent);
    }
    return list->whole;
}

static void subtract_inner(struct hs_infra_tables *tables, uint32_t process, struct entries *list)
{
    double *own = calloc(list->count + 1, 2 * sizeof(*own));
    if (!own) {
        tables->err = -ENOMEM;
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        const struct entry *entry = &list->entries[i];
        uint32_t outer = entry->is_whole ? HS_INFRA_NO_ID : outer_of(tables, process, list, entry);
        own[2 * i] += entry->bytes;
        own[2 * i + 1] += entry->count;
        if (outer != HS_INFRA_NO_ID && outer != i) {
            own[2 * (size_t)outer] -= entry->bytes;
            own[2 * (size_t)outer + 1] -= entry->count;
        }
    }
    for (size_t i = 0; i < list->count; i++) {
        list->entries[i].bytes = own[2 * i];
        list->entries[i].count = own[2 * i + 1];
    }
    free(own);
}

void hs_infra_read_totals(struct hs_infra_tables *tables, uint32_t process, uint32_t heap,
                          struct hs_json_reader *json, hs_infra_add_fn *add, void *ctx)
{
    struct entries list = { .whole = HS_INFRA_NO_ID };
    struct entry entry;
    hs_json_enter(json, '[');
    while (hs_json_next_element(json) && tables->err == 0) {
        if (read_entry(tables, process, json, &entry)) {
            add_entry(tables, &list, &entry);
        }
    }
    if (tables->err == 0) {
        subtract_inner(tables, process, &list);
    }
    for (size_t i = 0; i < list.count && tables->err == 0; i++) {
        const struct entry *e = &list.entries[i];
        if (e->bytes != 0 || e->count != 0) {
            add(ctx, heap,
                e->is_whole ? hs_infra_make_marker(tables, "<other>")
                            : hs_infra_make_node(tables, process, e->id),
                e->bytes, e->count);
        }
    }
    hs_intern_deinit(&list.ids);
    free(list.entries);
    free(list.by_id);
}
