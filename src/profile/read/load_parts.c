/*
 * Reads HsParts: see load_parts.h.
 */
#include "profile/read/load_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/margin.h"
#include "trace/trace_writer.h"
#include "util/array.h"

#define THREADS_MAX 65536U
#define SCOPES_MAX  (UINT32_C(1) << 22)
/* A bound for a forged file. */
#define PARTS_MAX (UINT64_C(4) << 20)

struct part {
    uint32_t scope_id;
    uint16_t thread_id, type_id, age_class;
    double bytes, count, bytes_var, count_var;
};

/* The parts of one row. */
struct row_parts {
    struct part *items;
    uint32_t count;
    bool is_same; /* as those of what lives */
};

struct thread {
    uint32_t tid, name;
};

struct hs_load_parts {
    struct row_parts *rows[HS_PART_VIEWS_ALL]; /* by row */
    size_t row_capacity[HS_PART_VIEWS_ALL];
    struct thread *threads; /* by id */
    size_t thread_capacity;
    uint32_t *types; /* by id: string */
    size_t type_capacity;
    uint32_t *scopes; /* by id: that of the profile, index + 1 */
    size_t scope_capacity;
    uint64_t part_count;
    bool has_alloc; /* the file tells scopes of what was allocated */
};

void hs_load_parts_free(struct hs_load_parts *parts)
{
    for (unsigned view = 0; parts && view < HS_PART_VIEWS_ALL; view++) {
        for (size_t i = 0; i < parts->row_capacity[view]; i++) {
            free(parts->rows[view][i].items);
        }
        free(parts->rows[view]);
    }
    if (parts) {
        free(parts->threads);
        free(parts->types);
        free(parts->scopes);
    }
    free(parts);
}

static int name_thread(struct hs_load *load, struct hs_load_parts *parts, uint32_t id, uint32_t tid,
                       const char *name)
{
    if (id >= THREADS_MAX) {
        return 0;
    }
    int r = hs_array_reserve_zeroed(&parts->threads, &parts->thread_capacity, (size_t)id + 1,
                                    sizeof(parts->threads[0]));
    if (r == 0) {
        parts->threads[id] =
            (struct thread){ tid, name ? hs_builder_string(load->builder, name) : 0 };
    }
    return r;
}

static int name_threads(struct hs_load *load, struct hs_load_parts *parts,
                        const struct hs_load_part_names *packet)
{
    int r = 0;
    for (size_t i = 0; i < packet->n_thread_id && r == 0; i++) {
        r = name_thread(load, parts, packet->thread_id[i],
                        i < packet->n_thread_tid ? packet->thread_tid[i] : 0,
                        i < packet->n_thread_name ? packet->thread_name[i] : NULL);
    }
    return r;
}

static int name_types(struct hs_load *load, struct hs_load_parts *parts,
                      const struct hs_load_part_names *packet)
{
    int r = 0;
    for (size_t i = 0; i < packet->n_type_id && i < packet->n_type_name && r == 0; i++) {
        uint32_t id = packet->type_id[i];
        if (id < HS_PART_OTHERS) {
            r = hs_array_reserve_zeroed(&parts->types, &parts->type_capacity, (size_t)id + 1,
                                        sizeof(parts->types[0]));
        }
        if (id < HS_PART_OTHERS && r == 0) {
            parts->types[id] = hs_builder_string(load->builder, packet->type_name[i]);
        }
    }
    return r;
}

/* A scope comes behind its parent. */
static int name_scopes(struct hs_load *load, struct hs_load_parts *parts,
                       const Hs__Pb__HsParts *packet)
{
    int r = 0;
    for (size_t i = 0; i < packet->n_scope_id && i < packet->n_scope_name && r == 0; i++) {
        uint32_t id = packet->scope_id[i];
        uint32_t parent = i < packet->n_scope_parent ? packet->scope_parent[i] : 0;
        if (id == 0 || id >= SCOPES_MAX) {
            continue;
        }
        r = hs_array_reserve_zeroed(&parts->scopes, &parts->scope_capacity, (size_t)id + 1,
                                    sizeof(parts->scopes[0]));
        if (r == 0) {
            parent = parent < id ? parts->scopes[parent] : 0;
            parts->scopes[id] = hs_builder_scope(load->builder, parent, packet->scope_name[i]);
        }
    }
    return r;
}

static struct hs_load_parts *make(struct hs_load *load, struct hs_load_parts **parts)
{
    *parts = *parts ? *parts : calloc(1, sizeof(**parts));
    load->err = load->err == 0 && !*parts ? -ENOMEM : load->err;
    return *parts;
}

void hs_load_parts_name(struct hs_load *load, struct hs_load_parts **parts, uint32_t id,
                        uint32_t tid, const char *name)
{
    int r = make(load, parts) ? name_thread(load, *parts, id, tid, name) : 0;
    load->err = load->err ? load->err : r;
}

static double get_var(const uint32_t *column, size_t count, size_t i)
{
    return i < count ? hs_load_var(column[i]) : 0;
}

/* *thread: of the part before; becomes that of this one. */
static struct part get_part(const Hs__Pb__HsParts *packet, size_t i, int64_t *thread)
{
    *thread += i < packet->n_thread_delta ? packet->thread_delta[i] : 0;
    uint32_t type = i < packet->n_type ? packet->type[i] : 0;
    uint32_t age_class = i < packet->n_age_class ? packet->age_class[i] : 0;
    return (struct part){
        .thread_id = *thread >= 0 && *thread < HS_PART_OTHERS ? (uint16_t)*thread : HS_PART_OTHERS,
        .scope_id = i < packet->n_scope ? packet->scope[i] : 0,
        .type_id = type < HS_PART_OTHERS ? (uint16_t)type : HS_PART_OTHERS,
        .age_class = age_class < HS_AGE_CLASSES ? (uint16_t)age_class : HS_PART_OTHERS,
        .bytes = i < packet->n_bytes ? (double)packet->bytes[i] : 0,
        .count = i < packet->n_count_fx
                     ? (double)packet->count_fx[i] / (double)(1U << HS_COUNT_SHIFT)
                     : 0,
        .bytes_var = get_var(packet->bytes_var, packet->n_bytes_var, i),
        .count_var = get_var(packet->count_var, packet->n_count_var, i),
    };
}

/* Replaces the parts of a row by `count` elements of the packet. */
static int set_row(struct hs_load_parts *parts, enum hs_part_view view, size_t row,
                   const Hs__Pb__HsParts *packet, size_t first, uint32_t count)
{
    int r = hs_array_reserve_zeroed(&parts->rows[view], &parts->row_capacity[view], row + 1,
                                    sizeof(parts->rows[view][0]));
    if (r < 0) {
        return r;
    }
    struct row_parts *out = &parts->rows[view][row];
    parts->part_count -= out->count;
    free(out->items);
    *out = (struct row_parts){ .items = NULL };
    if (count == 0 || parts->part_count + count > PARTS_MAX) {
        return 0;
    }
    out->items = malloc(count * sizeof(out->items[0]));
    if (!out->items) {
        return -ENOMEM;
    }
    int64_t thread = 0;
    for (uint32_t i = 0; i < count; i++) {
        out->items[i] = get_part(packet, first + i, &thread);
    }
    out->count = count;
    parts->part_count += count;
    return 0;
}

/* How many elements the longest column has. */
static size_t longest(const Hs__Pb__HsParts *packet)
{
    const size_t counts[] = { packet->n_type,      packet->n_scope,    packet->n_thread_delta,
                              packet->n_age_class, packet->n_bytes,    packet->n_count_fx,
                              packet->n_bytes_var, packet->n_count_var };
    size_t most = packet->n_part_count; /* all columns of the parts may be absent */
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        most = counts[i] > most ? counts[i] : most;
    }
    return most;
}

const struct hs_load_row *hs_load_row_at(const struct hs_load_row_table *table, int64_t *iid,
                                         int64_t delta, uint32_t heap)
{
    *iid = (int64_t)((uint64_t)*iid + (uint64_t)delta);
    return hs_intern_elem(table->ids, (void *)(uintptr_t)table->rows, sizeof(table->rows[0]),
                          (struct hs_intern_key){ .hi = heap, .lo = (uint64_t)*iid });
}

size_t hs_load_row_find(const struct hs_load_row_table *table, int64_t *iid, int64_t delta,
                        uint32_t heap)
{
    const struct hs_load_row *row = hs_load_row_at(table, iid, delta, heap);
    return row ? (size_t)(row - table->rows) : SIZE_MAX;
}

static int set_rows(struct hs_load_parts *parts, const struct hs_load_row_table *table,
                    const Hs__Pb__HsParts *packet, enum hs_part_view view)
{
    size_t at = 0, end = longest(packet);
    int64_t iid = 0, same_iid = 0;
    int r = 0;
    for (size_t i = 0; i < packet->n_callstack_iid_delta && r == 0; i++) {
        uint32_t heap = i < packet->n_heap ? packet->heap[i] : 0;
        uint32_t count = i < packet->n_part_count ? packet->part_count[i] : 0;
        size_t row = hs_load_row_find(table, &iid, packet->callstack_iid_delta[i], heap);
        count = count <= end - at ? count : (uint32_t)(end - at);
        r = row != SIZE_MAX ? set_row(parts, view, row, packet, at, count) : 0;
        at += count;
    }
    for (size_t i = 0; i < packet->n_same_iid_delta && r == 0 && view == HS_PARTS_PEAK; i++) {
        uint32_t heap = i < packet->n_same_heap ? packet->same_heap[i] : 0;
        size_t row = hs_load_row_find(table, &same_iid, packet->same_iid_delta[i], heap);
        r = row != SIZE_MAX ? set_row(parts, view, row, packet, 0, 0) : 0;
        if (row != SIZE_MAX && r == 0) {
            parts->rows[view][row].is_same = true;
        }
    }
    return r;
}

void hs_load_parts_take_names(struct hs_load *load, struct hs_load_parts **parts,
                              const struct hs_load_part_names *names)
{
    int r = make(load, parts) ? name_threads(load, *parts, names) : -ENOMEM;
    r = r == 0 ? name_types(load, *parts, names) : r;
    load->err = load->err ? load->err : r;
}

void hs_load_parts_find_names(const struct hs_load_parts *parts, uint32_t thread_id,
                              uint32_t type_id, struct hs_profile_block *block)
{
    bool is_known = parts && thread_id < parts->thread_capacity;
    block->tid = is_known ? parts->threads[thread_id].tid : 0;
    block->thread_name = is_known ? parts->threads[thread_id].name : 0;
    block->type = parts && type_id < parts->type_capacity ? parts->types[type_id] : 0;
    block->is_type_given = hs_part_type_is_given(type_id);
}

void hs_load_parts_set(struct hs_load *load, struct hs_load_parts **parts,
                       const struct hs_load_row_table *table, const Hs__Pb__HsParts *packet,
                       bool is_alloc)
{
    enum hs_part_view view = is_alloc          ? HS_PARTS_ALLOC
                             : packet->is_peak ? HS_PARTS_PEAK
                                               : HS_PARTS_LIVE;
    const struct hs_load_part_names names = HS_LOAD_PART_NAMES(packet);
    hs_load_parts_take_names(load, parts, &names);
    int r = load->err;
    r = r == 0 ? name_scopes(load, *parts, packet) : r;
    r = r == 0 ? set_rows(*parts, table, packet, view) : r;
    if (r == 0 && is_alloc) {
        (*parts)->has_alloc = true;
    }
    load->err = load->err ? load->err : r;
}

/* --- from state to a dump --- */

static void take(double *rest, double part)
{
    *rest = part < *rest ? *rest - part : 0;
}

/* Makes the parts of a row. The last one is the rest of the row. */
static size_t give_row(const struct hs_load_parts *parts, const struct row_parts *from,
                       const struct hs_load_row *row, const struct hs_amount *whole,
                       uint64_t narrowest_bytes, struct hs_profile_part *out)
{
    struct part rest = { .bytes = whole->bytes,
                         .count = whole->count,
                         .bytes_var = whole->bytes_var,
                         .count_var = whole->count_var };
    for (uint32_t i = 0; i < from->count; i++) {
        struct part part = from->items[i];
        if (i + 1 == from->count) {
            part.bytes = rest.bytes;
            part.count = rest.count;
            part.bytes_var = rest.bytes_var;
            part.count_var = rest.count_var;
        }
        take(&rest.bytes, part.bytes);
        take(&rest.count, part.count);
        take(&rest.bytes_var, part.bytes_var);
        take(&rest.count_var, part.count_var);
        bool is_known = part.thread_id < parts->thread_capacity;
        out[i] = (struct hs_profile_part){
            .node = row->node,
            .heap = row->heap,
            .tid = is_known ? parts->threads[part.thread_id].tid : 0,
            .thread_name = is_known ? parts->threads[part.thread_id].name : 0,
            .type = part.type_id < parts->type_capacity ? parts->types[part.type_id] : 0,
            .is_type_given = hs_part_type_is_given(part.type_id),
            .scope = part.scope_id < parts->scope_capacity ? parts->scopes[part.scope_id] : 0,
            .age_class = part.age_class,
            .is_others = part.thread_id == HS_PART_OTHERS,
            .amount = { .bytes = part.bytes,
                        .count = part.count,
                        .bytes_var = part.bytes_var,
                        .count_var = part.count_var },
        };
        hs_margin_split(&out[i].amount, narrowest_bytes);
    }
    return from->count;
}

/* The parts of a row, in one view; of the peak, maybe those of what lives. */
static const struct row_parts *parts_of(const struct hs_load_parts *parts, enum hs_part_view view,
                                        size_t row)
{
    static const struct row_parts none = { .items = NULL };
    const struct row_parts *own = row < parts->row_capacity[view] ? &parts->rows[view][row] : &none;
    return own->is_same ? parts_of(parts, HS_PARTS_LIVE, row) : own;
}

static const struct hs_amount *whole_of(const struct hs_load_row *row, enum hs_part_view view)
{
    return view == HS_PARTS_ALLOC ? &row->alloc : view == HS_PARTS_PEAK ? &row->peak : &row->live;
}

void hs_load_parts_give(struct hs_load *load, const struct hs_load_parts *parts,
                        const struct hs_load_row_table *table,
                        const struct hs_load_heap_list *heaps, uint64_t narrowest_bytes,
                        uint32_t dump)
{
    struct hs_profile_part *out = parts ? malloc((parts->part_count + 1) * sizeof(out[0])) : NULL;
    for (unsigned view = 0; out && view < HS_PART_VIEWS_ALL; view++) {
        size_t count = 0;
        for (uint32_t i = 0; i < table->ids->ids.count; i++) {
            const struct hs_load_row *row = &table->rows[i];
            count +=
                give_row(parts, parts_of(parts, view, i), row, whole_of(row, view),
                         hs_load_heaps_narrowest(heaps, row->heap, narrowest_bytes), &out[count]);
        }
        hs_builder_dump_parts(load->builder, dump, view, out, count);
    }
    if (out && (parts->has_alloc || parts->scope_capacity == 0)) {
        hs_builder_dump_alloc_scopes(load->builder, dump);
    }
    load->err = load->err == 0 && parts && !out ? -ENOMEM : load->err;
    free(out);
}
