/*
 * The rows of a snapshot, column after column.
 *
 * Stacks that differ only in return addresses on one source line are one node of the page, so that
 * samples are brought into the order of nodes and heaps, and equal ones are added up. Nothing but
 * that order is kept: each column looks at the samples again.
 *
 * See       page_parts.h
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "page/page_column.h"
#include "page/page_parts.h"
#include "rt/base.h"
#include "util/json.h"
#include "util/sort_pairs.h"

/* Variances and exact parts of counts are estimates, or follow from rounded figures. */
#define VAR_DIGITS   4U
#define EXACT_DIGITS 6U
/* Files round variances to 1 in 4096; a whole number of samples is restored. */
#define WHOLE_SHARE (1.0 / 2048)
/* In place of an exact part: all of it. Most rows are wholly sampled or wholly exact. */
#define ALL_EXACT (-1.0)

static const struct hs_profile_sample *sample_at(const struct hs_page_rows *rows, uint32_t i)
{
    return &rows->source->profile->samples[rows->dump->sample_first + rows->order[i]];
}

static double value_node(const void *ctx, uint32_t row)
{
    const struct hs_page_rows *rows = ctx;
    return hs_page_branch_node(&rows->source->branch, sample_at(rows, rows->first[row])->node);
}

static double value_heap(const void *ctx, uint32_t row)
{
    const struct hs_page_rows *rows = ctx;
    return rows->source->heap_of[sample_at(rows, rows->first[row])->heap];
}

/* How many frames the function that the row is accounted to stands above the innermost frame. */
static double value_headline(const void *ctx, uint32_t row)
{
    const struct hs_page_rows *rows = ctx;
    const struct hs_agg *agg = &rows->source->branch.agg;
    uint32_t node = agg->malloc_nodes[sample_at(rows, rows->first[row])->node];
    return agg->nodes[node].depth - agg->nodes[hs_agg_headline(agg, node)].depth;
}

enum field {
    FIELD_BYTES,
    FIELD_COUNT,
    FIELD_EXACT_BYTES,
    FIELD_EXACT_COUNT,
    FIELD_BYTES_VAR,
    FIELD_COUNT_VAR,
    FIELD_N,
};

struct amount_column {
    const struct hs_page_rows *rows;
    enum hs_quantity quantity;
    enum field field;
    double unit;         /* of variances of bytes */
    bool is_beside_live; /* the difference to what lives */
};

static struct hs_amount amount_of(const struct hs_page_rows *rows, uint32_t row,
                                  enum hs_quantity quantity)
{
    struct hs_amount sum = { 0 };
    for (uint32_t i = rows->first[row]; i < rows->first[row + 1]; i++) {
        const struct hs_profile_sample *sample = sample_at(rows, i);
        hs_amount_add(&sum, quantity == HS_QUANTITY_LIVE    ? &sample->live
                            : quantity == HS_QUANTITY_ALLOC ? &sample->alloc
                                                            : &sample->peak);
    }
    return sum;
}

static double in_units(double var, double unit)
{
    double number = var / unit;
    double whole = round(number);
    return fabs(number - whole) <= number * WHOLE_SHARE ? whole : hs_page_round(number, VAR_DIGITS);
}

/* The part that does not rest on samples; ALL_EXACT: nothing does. */
static double exact_part(double whole, double sampled)
{
    return sampled > 0 || !(whole > 0) ? fmax(whole - sampled, 0) : ALL_EXACT;
}

static double value_of(const struct amount_column *column, uint32_t row, enum hs_quantity quantity)
{
    struct hs_amount amount = amount_of(column->rows, row, quantity);
    switch (column->field) {
    case FIELD_BYTES:
        return amount.bytes;
    case FIELD_COUNT:
        return amount.count;
    case FIELD_EXACT_BYTES:
        return round(exact_part(amount.bytes, amount.sampled_bytes));
    case FIELD_EXACT_COUNT:
        return hs_page_round(exact_part(amount.count, amount.sampled_count), EXACT_DIGITS);
    case FIELD_BYTES_VAR:
        return in_units(amount.bytes_var, column->unit);
    case FIELD_COUNT_VAR:
        return hs_page_round(amount.count_var, VAR_DIGITS);
    case FIELD_N:
        break;
    }
    return 0;
}

static double value_amount(const void *ctx, uint32_t row)
{
    const struct amount_column *column = ctx;
    double value = value_of(column, row, column->quantity);
    return column->is_beside_live ? value - value_of(column, row, HS_QUANTITY_LIVE) : value;
}

static void write_amount(const struct hs_page_rows *rows, struct hs_json *json, const char *key,
                         enum hs_quantity quantity, double unit)
{
    static const char *const keys[FIELD_N] = {
        [FIELD_BYTES] = "bytes",
        [FIELD_COUNT] = "count",
        [FIELD_EXACT_BYTES] = "exact_bytes",
        [FIELD_EXACT_COUNT] = "exact_count",
        [FIELD_BYTES_VAR] = "bytes_var",
        [FIELD_COUNT_VAR] = "count_var",
    };
    bool is_known = quantity == HS_QUANTITY_LIVE    ? rows->source->has_live
                    : quantity == HS_QUANTITY_ALLOC ? rows->source->has_alloc
                                                    : rows->dump->has_peak;
    if (!is_known) {
        hs_page_column_unknown(json, key);
        return;
    }
    bool is_beside_live = quantity != HS_QUANTITY_LIVE && rows->source->has_live;
    hs_json_key(json, key);
    hs_json_open(json, '{');
    if (is_beside_live) {
        hs_json_kv_string(json, "base", "live");
    }
    for (unsigned field = 0; field < FIELD_N; field++) {
        bool is_exact = field == FIELD_EXACT_BYTES || field == FIELD_EXACT_COUNT;
        const struct amount_column column = { rows, quantity, (enum field)field, unit,
                                              is_beside_live && !is_exact };
        hs_page_column(json, keys[field], rows->count, value_amount, &column);
    }
    hs_json_close(json, '}');
}

static double value_inherited_bytes(const void *ctx, uint32_t row)
{
    const struct hs_page_rows *rows = ctx;
    double sum = 0;
    for (uint32_t i = rows->first[row]; i < rows->first[row + 1]; i++) {
        sum += (double)sample_at(rows, i)->inherited.bytes;
    }
    return hs_page_round(sum, VAR_DIGITS);
}

static double value_inherited_count(const void *ctx, uint32_t row)
{
    const struct hs_page_rows *rows = ctx;
    double sum = 0;
    for (uint32_t i = rows->first[row]; i < rows->first[row + 1]; i++) {
        sum += (double)sample_at(rows, i)->inherited.count;
    }
    return hs_page_round(sum, VAR_DIGITS);
}

/* Brings the samples into the order of rows. */
static int sort(struct hs_page_rows *rows)
{
    const struct hs_profile *p = rows->source->profile;
    uint32_t count = rows->dump->samples_n + rows->dump->aside_n;
    struct hs_pair *pairs = malloc((count + 1u) * sizeof(*pairs));
    rows->order = malloc((count + 1u) * sizeof(*rows->order));
    rows->first = malloc((count + 2u) * sizeof(*rows->first));
    int err = pairs && rows->order && rows->first ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < count && err == 0; i++) {
        const struct hs_profile_sample *sample = &p->samples[rows->dump->sample_first + i];
        uint32_t node = hs_page_branch_node(&rows->source->branch, sample->node);
        pairs[i] =
            (struct hs_pair){ .key = (uint64_t)node << 32 | rows->source->heap_of[sample->heap],
                              .value = i };
    }
    err = err ? err : hs_sort_pairs(pairs, count);
    for (uint32_t i = 0; i < count && err == 0; i++) {
        rows->order[i] = (uint32_t)pairs[i].value;
        if (i == 0 || pairs[i].key != pairs[i - 1].key) {
            rows->first[rows->count++] = i;
        }
    }
    if (err == 0) {
        rows->first[rows->count] = count;
    }
    free(pairs);
    return err;
}

static double unit_of(const struct hs_profile_dump *dump)
{
    double interval = (double)dump->interval_bytes;
    return interval > 1 && interval < 1e9 ? interval * interval : 1;
}

static int write_rows(const struct hs_page_rows *rows, struct hs_json *json)
{
    static const char *const keys[HS_QUANTITY_N] = {
        [HS_QUANTITY_LIVE] = "live",
        [HS_QUANTITY_ALLOC] = "alloc",
        [HS_QUANTITY_PEAK] = "peak",
    };
    double unit = unit_of(rows->dump);
    hs_json_open(json, '{');
    hs_json_kv_uint(json, "count", rows->count);
    hs_page_column_steps(json, "node", rows->count, value_node, rows);
    hs_page_column(json, "heap", rows->count, value_heap, rows);
    hs_page_column(json, "headline", rows->count, value_headline, rows);
    hs_json_kv_double(json, "bytes_var_unit", unit);
    for (unsigned i = 0; i < HS_QUANTITY_N; i++) {
        write_amount(rows, json, keys[i], (enum hs_quantity)i, unit);
    }
    if (rows->dump->has_inherited) {
        hs_page_column(json, "inherited_bytes_var", rows->count, value_inherited_bytes, rows);
        hs_page_column(json, "inherited_count_var", rows->count, value_inherited_count, rows);
    } else {
        hs_page_column_unknown(json, "inherited_bytes_var");
        hs_page_column_unknown(json, "inherited_count_var");
    }
    int err = hs_page_row_parts_write(rows, json);
    hs_json_close(json, '}');
    return err;
}

int hs_page_rows_write(const struct hs_page *page, const struct hs_page_source *source,
                       uint32_t dump_idx, struct hs_json *json)
{
    struct hs_page_rows rows = {
        .page = page,
        .source = source,
        .dump = &source->profile->dumps[dump_idx],
    };
    int err = sort(&rows);
    err = err ? err : write_rows(&rows, json);
    free(rows.order);
    free(rows.first);
    return err;
}
