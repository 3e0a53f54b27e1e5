/*
 * The parts of the rows of a snapshot: by thread, type, scope and age. See page_parts.h.
 *
 * The amount of the last part of a row is not written, because it is the rest of the row: most rows
 * have one part.
 */
#include <errno.h>
#include <stdlib.h>

#include "page/page_column.h"
#include "page/page_parts.h"
#include "trace/heap_parts.h"
#include "util/json.h"
#include "util/sort_pairs.h"

/* The parts of one view: the key is the row, the value is the index among the parts of the dump. */
struct row_parts {
    const struct hs_page_rows *rows;
    const struct hs_profile_part *parts; /* the first one of the dump */
    struct hs_pair *pairs;
    uint32_t count;
};

static const struct hs_profile_part *part_at(const struct row_parts *it, uint32_t i)
{
    return &it->parts[it->pairs[i].value];
}

static uint64_t key_of(const struct hs_page_rows *rows, uint32_t node, uint32_t heap)
{
    return (uint64_t)hs_page_branch_node(&rows->source->branch, node) << 32 |
           rows->source->heap_of[heap];
}

/* The row of a part; its count if there is none, in a forged file. */
static uint32_t find_row(const struct hs_page_rows *rows, const struct hs_profile_part *part)
{
    /* A stack without samples is not in the tree. */
    if (rows->count == 0 || rows->source->branch.agg.malloc_nodes[part->node] == HS_NODE_NONE) {
        return rows->count;
    }
    const struct hs_profile_sample *samples =
        &rows->source->profile->samples[rows->dump->sample_first];
    uint64_t key = key_of(rows, part->node, part->heap);
    uint32_t low = 0, high = rows->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct hs_profile_sample *sample = &samples[rows->order[rows->first[middle]]];
        bool is_before = key_of(rows, sample->node, sample->heap) < key;
        low = is_before ? middle + 1 : low;
        high = is_before ? high : middle;
    }
    if (low < rows->count) {
        const struct hs_profile_sample *sample = &samples[rows->order[rows->first[low]]];
        low = key_of(rows, sample->node, sample->heap) == key ? low : rows->count;
    }
    return low;
}

static double value_row(const void *ctx, uint32_t i)
{
    return (double)((const struct row_parts *)ctx)->pairs[i].key;
}

static double value_thread(const void *ctx, uint32_t i)
{
    const struct row_parts *it = ctx;
    return hs_page_thread_of(it->rows->page, it->rows->source, it->rows->dump->process,
                             part_at(it, i));
}

static double value_type(const void *ctx, uint32_t i)
{
    const struct row_parts *it = ctx;
    return hs_page_type_of(it->rows->page, it->rows->source, part_at(it, i));
}

static double value_scope(const void *ctx, uint32_t i)
{
    const struct row_parts *it = ctx;
    const struct hs_profile_part *part = part_at(it, i);
    return part->is_others    ? HS_PAGE_SCOPE_OTHERS
           : part->scope == 0 ? HS_PAGE_SCOPE_NONE
                              : it->rows->source->scope_first + (double)part->scope - 1;
}

static double value_age(const void *ctx, uint32_t i)
{
    const struct hs_profile_part *part = part_at(ctx, i);
    return part->is_others || part->age_class >= HS_AGE_CLASSES ? HS_PAGE_OTHERS : part->age_class;
}

static bool is_last(const struct row_parts *it, uint32_t i)
{
    return i + 1 == it->count || it->pairs[i + 1].key != it->pairs[i].key;
}

static double value_bytes(const void *ctx, uint32_t i)
{
    return is_last(ctx, i) ? 0 : part_at(ctx, i)->amount.bytes;
}

static double value_count(const void *ctx, uint32_t i)
{
    return is_last(ctx, i) ? 0 : part_at(ctx, i)->amount.count;
}

static bool has_types(const struct row_parts *it)
{
    bool has_any = it->rows->dump->has_types;
    for (uint32_t i = 0; i < it->count && !has_any; i++) {
        has_any = part_at(it, i)->type != 0;
    }
    return has_any;
}

static void write_column(const struct row_parts *it, struct hs_json *json, const char *key,
                         bool is_known, hs_page_value_fn *value)
{
    if (is_known) {
        hs_page_column(json, key, it->count, value, it);
    } else {
        hs_page_column_unknown(json, key);
    }
}

static void write_parts(const struct row_parts *it, struct hs_json *json, bool is_alloc)
{
    bool has_all = !is_alloc && !it->rows->dump->has_only_types;
    hs_json_open(json, '{');
    hs_json_kv_uint(json, "length", it->count);
    hs_page_column_steps(json, "row", it->count, value_row, it);
    write_column(it, json, "thread", has_all, value_thread);
    write_column(it, json, "type", !is_alloc && has_types(it), value_type);
    write_column(it, json, "scope", is_alloc || has_all, value_scope);
    write_column(it, json, "age", has_all, value_age);
    hs_page_column(json, "bytes", it->count, value_bytes, it);
    hs_page_column(json, "count", it->count, value_count, it);
    hs_json_close(json, '}');
}

/* Brings the parts of a view into the order of rows. */
static int sort(struct row_parts *it, unsigned view)
{
    uint32_t count = it->rows->dump->parts_n[view];
    it->pairs = malloc((count + 1u) * sizeof(*it->pairs));
    if (!it->pairs) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = find_row(it->rows, &it->parts[i]);
        if (row < it->rows->count) {
            it->pairs[it->count++] = (struct hs_pair){ .key = row, .value = i };
        }
    }
    return hs_sort_pairs(it->pairs, it->count);
}

int hs_page_row_parts_write(const struct hs_page_rows *rows, struct hs_json *json)
{
    static const char *const keys[HS_PART_VIEWS_ALL] = {
        [HS_PARTS_LIVE] = "live",
        [HS_PARTS_PEAK] = "peak",
        [HS_PARTS_ALLOC] = "alloc",
    };
    int err = 0;
    hs_json_key(json, "parts");
    hs_json_open(json, '{');
    for (unsigned view = 0; view < HS_PART_VIEWS_ALL && err == 0; view++) {
        struct row_parts it = { .rows = rows };
        bool is_known = rows->dump->parts_n[view] > 0 &&
                        (view != HS_PARTS_ALLOC || rows->dump->has_alloc_scopes);
        if (is_known) {
            it.parts = &rows->source->profile->parts[rows->dump->part_first[view]];
        }
        err = is_known ? sort(&it, view) : 0;
        if (is_known && err == 0) {
            hs_json_key(json, keys[view]);
            write_parts(&it, json, view == HS_PARTS_ALLOC);
        } else {
            hs_page_column_unknown(json, keys[view]);
        }
        free(it.pairs);
    }
    hs_json_close(json, '}');
    return err;
}
