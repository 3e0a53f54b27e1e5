/*
 * See trend.h. This file folds all snapshots into one tree; trend_line.c computes the lines.
 */
#include "profile/analyse/trend.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/analyse/leak_score.h"
#include "profile/analyse/rank.h"
#include "rt/check.h"
#include "util/array.h"
#include "util/intern.h"

struct series {
    struct hs_trend_series sums;
    struct hs_amount now; /* in the current snapshot */
};

/* Rows of functions, or of stacks, with their series. */
struct rows {
    struct hs_intern ids;
    struct hs_trend_row *rows;
    struct series *series;
    size_t row_capacity, series_capacity;
    uint32_t count;
};

struct folder {
    struct hs_trend *trend;
    const struct hs_profile *profile;
    struct hs_trend_axis axis;
    struct rows functions, stacks;
    struct hs_trend_series total;
    uint32_t *function_of, *stack_of; /* for the ids of the snapshot's own tree */
};

static bool is_dump_with_samples(const struct hs_profile *profile, uint32_t dump, uint32_t process)
{
    return profile->dumps[dump].process == process && profile->dumps[dump].has_samples;
}

uint32_t hs_trend_dump_count(const struct hs_profile *profile, uint32_t process)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < profile->dump_count; i++) {
        count += is_dump_with_samples(profile, i, process);
    }
    return count;
}

static int put_row(struct rows *rows, struct hs_intern_key key, const struct hs_trend_row *row,
                   uint32_t *ret_id)
{
    bool is_new = false;
    int err = hs_intern_put(&rows->ids, key, ret_id, &is_new);
    if (err < 0 || !is_new) {
        return err;
    }
    err = hs_array_reserve(&rows->rows, &rows->row_capacity, (size_t)rows->count + 1,
                           sizeof(*rows->rows));
    if (err == 0) {
        err = hs_array_reserve(&rows->series, &rows->series_capacity, (size_t)rows->count + 1,
                               sizeof(*rows->series));
    }
    if (err == 0) {
        rows->series[rows->count] = (struct series){ 0 };
        rows->rows[rows->count++] = *row;
    }
    return err;
}

static int put_function(struct folder *folder, const struct hs_agg *agg, uint32_t function)
{
    const struct hs_agg_function *f = &agg->functions[function];
    struct hs_buf *text = &folder->trend->text;
    const uint64_t facts[] = { f->name, f->module, f->name ? 0 : f->rel_pc, f->is_heap };
    struct hs_trend_row row = { .name_off = text->bytes };
    uint32_t known = folder->functions.count;
    int err = put_row(&folder->functions, hs_intern_hash(facts, sizeof(facts)), &row,
                      &folder->function_of[function]);
    if (err == 0 && folder->functions.count > known) {
        hs_agg_write_function(agg, function, text);
        hs_buf_char(text, '\0');
        err = text->err;
    }
    return err;
}

static int put_stack(struct folder *folder, const struct hs_agg *agg, uint32_t node)
{
    const struct hs_agg_node *at = &agg->nodes[node];
    struct hs_trend_row row = {
        .parent = at->parent == HS_NODE_NONE ? HS_NODE_NONE : folder->stack_of[at->parent],
        .function = folder->function_of[at->function],
    };
    HS_ASSERT(row.parent == HS_NODE_NONE || row.parent < folder->stacks.count);
    struct hs_intern_key key = { .hi = (uint64_t)row.parent << 32 | row.function };
    return put_row(&folder->stacks, key, &row, &folder->stack_of[node]);
}

static void end_dump(const struct folder *folder, struct rows *rows, uint32_t k)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        struct hs_figure figure = hs_view_figure(folder->trend->view, &rows->series[i].now);
        hs_trend_series_put(&rows->series[i].sums, &folder->axis, k, &figure);
        rows->series[i].now = (struct hs_amount){ 0 };
    }
}

static int fold_tree(struct folder *folder, const struct hs_agg *agg)
{
    enum hs_quantity quantity = hs_views[folder->trend->view].quantity;
    int err = 0;
    for (uint32_t i = 0; i < agg->function_count && err == 0; i++) {
        err = put_function(folder, agg, i);
    }
    for (uint32_t i = 0; i < agg->node_count && err == 0; i++) {
        err = put_stack(folder, agg, i);
    }
    for (uint32_t i = 0; i < agg->self_count && err == 0; i++) {
        const struct hs_agg_self *self = &agg->selves[i];
        uint32_t headline = agg->nodes[hs_agg_headline(agg, self->node)].function;
        hs_amount_add(&folder->stacks.series[folder->stack_of[self->node]].now,
                      &self->by[quantity]);
        hs_amount_add(&folder->functions.series[folder->function_of[headline]].now,
                      &self->by[quantity]);
    }
    return err;
}

static void raise_to(double *confidence, double more)
{
    *confidence = more > *confidence ? more : *confidence;
}

/* Sets which rows leak, from the last snapshot. */
static int find_leaks(struct folder *folder, const struct hs_selection *selection,
                      const struct hs_agg *agg)
{
    struct hs_leaks leaks;
    int err = hs_leaks_find(selection, agg, &leaks);
    if (err < 0) {
        return err == -ENODATA ? 0 : err;
    }
    for (uint32_t i = 0; i < leaks.count && leaks.rows[i].verdict == HS_LEAK_LEAKS; i++) {
        uint32_t node = leaks.rows[i].node;
        uint32_t headline = agg->nodes[hs_agg_headline(agg, node)].function;
        double confidence = leaks.rows[i].confidence;
        raise_to(&folder->stacks.rows[folder->stack_of[node]].leak_confidence, confidence);
        raise_to(&folder->functions.rows[folder->function_of[headline]].leak_confidence,
                 confidence);
    }
    hs_leaks_deinit(&leaks);
    return 0;
}

static int fold_dump(struct folder *folder, uint32_t dump, uint32_t k)
{
    struct hs_selection selection;
    struct hs_agg agg = { 0 };
    int err = hs_select_dump(folder->profile, dump, &selection);
    if (err < 0) {
        return err;
    }
    err = hs_agg_build(&selection, false, &agg);
    if (err == 0) {
        folder->function_of = calloc(agg.function_count + 1u, sizeof(*folder->function_of));
        folder->stack_of = calloc(agg.node_count + 1u, sizeof(*folder->stack_of));
        err = folder->function_of && folder->stack_of ? fold_tree(folder, &agg) : -ENOMEM;
    }
    if (err == 0) {
        struct hs_amount total = hs_agg_total(&agg, &selection, folder->trend->view);
        struct hs_figure figure = hs_view_figure(folder->trend->view, &total);
        hs_trend_series_put(&folder->total, &folder->axis, k, &figure);
        end_dump(folder, &folder->functions, k);
        end_dump(folder, &folder->stacks, k);
    }
    if (err == 0 && k + 1 == folder->trend->dump_count &&
        hs_views[folder->trend->view].quantity == HS_QUANTITY_LIVE) {
        err = find_leaks(folder, &selection, &agg);
    }
    free(folder->function_of);
    free(folder->stack_of);
    folder->function_of = folder->stack_of = NULL;
    hs_agg_deinit(&agg);
    hs_selection_deinit(&selection);
    return err;
}

static void draw_lines(struct rows *rows, const struct hs_trend_axis *axis)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        rows->rows[i].line = hs_trend_series_line(&rows->series[i].sums, axis);
    }
    free(rows->series);
    rows->series = NULL;
    hs_intern_deinit(&rows->ids);
}

/* Finds the indices of the snapshots, and the axis of their times. */
static int find_dumps(struct folder *folder, uint32_t process, uint32_t **ret_dumps)
{
    const struct hs_profile *p = folder->profile;
    struct hs_trend *trend = folder->trend;
    uint32_t count = hs_trend_dump_count(p, process);
    uint32_t *dumps = calloc(count + 1u, sizeof(*dumps));
    double *seconds = calloc(count + 1u, sizeof(*seconds));
    int err = dumps && seconds ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < p->dump_count && err == 0; i++) {
        if (is_dump_with_samples(p, i, process)) {
            dumps[trend->dump_count] = i;
            seconds[trend->dump_count++] =
                ((double)p->dumps[i].time_ns - (double)p->dumps[dumps[0]].time_ns) / 1e9;
        } else {
            trend->dump_left_out_count += p->dumps[i].process == process;
        }
    }
    if (err == 0) {
        err = hs_trend_axis_init(seconds, count, &folder->axis);
        trend->seconds = count > 0 ? seconds[count - 1] : 0;
    }
    free(seconds);
    *ret_dumps = dumps;
    return err;
}

int hs_trend_build(const struct hs_profile *profile, uint32_t process, enum hs_view view,
                   struct hs_trend *ret_trend)
{
    struct hs_trend trend = { .view = view, .process = process };
    struct folder folder = { .trend = &trend, .profile = profile };
    uint32_t *dumps = NULL;
    int err = find_dumps(&folder, process, &dumps);
    for (uint32_t k = 0; k < trend.dump_count && err == 0; k++) {
        err = fold_dump(&folder, dumps[k], k);
    }
    free(dumps);
    draw_lines(&folder.functions, &folder.axis);
    draw_lines(&folder.stacks, &folder.axis);
    trend.functions = folder.functions.rows;
    trend.function_count = folder.functions.count;
    trend.stacks = folder.stacks.rows;
    trend.stack_count = folder.stacks.count;
    if (err == 0) {
        trend.total = hs_trend_series_line(&folder.total, &folder.axis);
    }
    free(folder.axis.weights);
    if (err < 0) {
        hs_trend_deinit(&trend);
        return err;
    }
    *ret_trend = trend;
    return 0;
}

void hs_trend_deinit(struct hs_trend *trend)
{
    hs_buf_deinit(&trend->text);
    free(trend->functions);
    free(trend->stacks);
    *trend = (struct hs_trend){ 0 };
}

int hs_trend_sort(const struct hs_trend_row *rows, uint32_t count, uint32_t **ret_order,
                  uint32_t *ret_count)
{
    struct hs_rank *ranks = calloc(count + 1u, sizeof(*ranks));
    uint32_t *order = calloc(count + 1u, sizeof(*order));
    uint32_t used = 0;
    if (!ranks || !order) {
        free(ranks);
        free(order);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct hs_trend_line *line = &rows[i].line;
        if (line->last > 0 || line->steps_up + line->steps_down > 0) {
            ranks[used++] = (struct hs_rank){ fabs(line->slope), line->last, i };
        }
    }
    hs_rank_sort(ranks, used, order);
    free(ranks);
    *ret_order = order;
    *ret_count = used;
    return 0;
}
