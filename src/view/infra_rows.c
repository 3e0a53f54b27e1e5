/*
 * See infra_rows.h.
 */
#include "view/infra_rows.h"

#include <math.h>
#include <string.h>

#include "profile/model/dump_parts.h"
#include "util/array.h"

/* What is left of a stack without its parts is less than this share of it if only rounding has left
 * it. */
#define ROUNDING 1e-9

const struct hs_amount *hs_infra_amount(const struct hs_profile_sample *sample, enum hs_view view)
{
    enum hs_quantity quantity = hs_views[view].quantity;
    return quantity == HS_QUANTITY_LIVE    ? &sample->live
           : quantity == HS_QUANTITY_ALLOC ? &sample->alloc
                                           : &sample->peak;
}

const char *hs_infra_part_type(const struct hs_profile *p, const struct hs_profile_part *part)
{
    const char *name = hs_profile_string(p, part->type);
    return part->is_others ? HS_INFRA_TYPE_OTHERS_NAME
           : part->type == 0 || strcmp(name, HS_PART_NOT_READ_NAME) == 0
               ? HS_INFRA_TYPE_UNKNOWN_NAME
               : name;
}

static int compare_rows(const void *a, const void *b)
{
    const struct hs_infra_row *x = a, *y = b;
    if (x->heap != y->heap) {
        return x->heap < y->heap ? -1 : 1;
    }
    if (x->node != y->node) {
        return x->node < y->node ? -1 : 1;
    }
    return x->type < y->type ? -1 : x->type > y->type;
}

static void add_up(void *sum, void *item)
{
    struct hs_infra_row *to = sum;
    const struct hs_infra_row *from = item;
    to->bytes += from->bytes;
    to->count += from->count;
}

static void add(struct hs_infra_rows *rows, struct hs_infra_maps *maps,
                const struct hs_infra_row *row)
{
    if (maps->err == 0) {
        maps->err =
            hs_array_reserve(&rows->rows, &rows->capacity, rows->count + 1, sizeof(rows->rows[0]));
    }
    if (maps->err == 0) {
        rows->rows[rows->count++] = *row;
        rows->has_heap[row->heap] = true;
    }
}

/* Adds up equal rows. Stacks of different addresses with the same names are one. */
static void merge(struct hs_infra_rows *rows)
{
    if (rows->count > 0) {
        rows->count =
            hs_array_merge(rows->rows, rows->count, sizeof(rows->rows[0]), compare_rows, add_up);
    }
}

static bool has_figure(const struct hs_amount *amount)
{
    return isfinite(amount->bytes) && isfinite(amount->count) &&
           (amount->bytes != 0 || amount->count != 0);
}

/* Adds a row for each type that a sample's parts have, and takes them off *rest. */
static void add_parts(struct hs_infra_rows *rows, struct hs_infra_maps *maps,
                      const struct hs_profile_dump *dump, enum hs_part_view view,
                      const struct hs_profile_sample *sample, struct hs_infra_row *rest)
{
    const struct hs_profile *p = maps->profile;
    const struct hs_part_range range = hs_dump_parts_of(p, dump, view, sample);
    for (uint64_t i = range.first; i < range.end && maps->err == 0; i++) {
        const struct hs_profile_part *part = &p->parts[i];
        struct hs_infra_row row = *rest;
        if (!has_figure(&part->amount) || (part->type == 0 && !part->is_others)) {
            continue;
        }
        row.type = hs_infra_type(maps, hs_infra_part_type(p, part));
        row.bytes = part->amount.bytes;
        row.count = part->amount.count;
        add(rows, maps, &row);
        rest->bytes -= row.bytes;
        rest->count -= row.count;
    }
}

static void add_sample(struct hs_infra_rows *rows, struct hs_infra_maps *maps,
                       const struct hs_profile_dump *dump, enum hs_view view,
                       const struct hs_profile_sample *sample)
{
    enum hs_quantity quantity = hs_views[view].quantity;
    const struct hs_amount *amount = hs_infra_amount(sample, view);
    if (!has_figure(amount)) {
        return;
    }
    struct hs_infra_row row = { .heap = sample->heap,
                                .type = HS_INFRA_TYPE_UNKNOWN,
                                .node = hs_infra_stack(maps, sample->node),
                                .bytes = amount->bytes,
                                .count = amount->count };
    if (quantity != HS_QUANTITY_ALLOC && dump->has_types) {
        bool is_peak = quantity == HS_QUANTITY_PEAK;
        add_parts(rows, maps, dump, is_peak ? HS_PARTS_PEAK : HS_PARTS_LIVE, sample, &row);
    }
    if (fabs(row.bytes) > fabs(amount->bytes) * ROUNDING ||
        fabs(row.count) > fabs(amount->count) * ROUNDING) {
        add(rows, maps, &row);
    }
}

void hs_infra_rows_collect(struct hs_infra_rows *rows, struct hs_infra_maps *maps,
                           const struct hs_profile_dump *dump, enum hs_view view)
{
    const struct hs_profile *p = maps->profile;
    rows->count = 0;
    memset(rows->has_heap, 0, p->heap_count * sizeof(rows->has_heap[0]));
    for (uint32_t i = 0; i < dump->heaps_n; i++) {
        const struct hs_profile_dump_heap *heap = &p->dump_heaps[dump->heap_first + i];
        rows->has_heap[heap->heap] |= heap->is_counted;
    }
    for (uint64_t i = 0; i < dump->samples_n && maps->err == 0; i++) {
        add_sample(rows, maps, dump, view, &p->samples[dump->sample_first + i]);
    }
    merge(rows);
    (void)hs_infra_type(maps, HS_INFRA_TYPE_UNKNOWN_NAME); /* each process has it */
}
