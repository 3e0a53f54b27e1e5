/*
 * Leaks: what ended processes did not free, in total and by stack, and how fast leaks grow; without
 * what is suppressed.
 *
 * The total of what was not freed is that of the dumps, from which suppressed stacks are
 * subtracted. Blocks whose stacks were lost therefore still count.
 */
#include "check/judge_leak.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/judge_rows.h"
#include "profile/analyse/leak_score.h"
#include "util/buf.h"
#include "view/format_interval.h"

struct leaks {
    struct hs_amount total;
    struct hs_check_stack *stacks; /* the largest first */
    uint32_t count;
};

static void take_off(struct hs_amount *from, const struct hs_amount *part)
{
    from->bytes = fmax(from->bytes - part->bytes, 0);
    from->count = fmax(from->count - part->count, 0);
    from->bytes_var = fmax(from->bytes_var - part->bytes_var, 0);
    from->count_var = fmax(from->count_var - part->count_var, 0);
    from->sampled_bytes = fmax(from->sampled_bytes - part->sampled_bytes, 0);
    from->sampled_count = fmax(from->sampled_count - part->sampled_count, 0);
}

static bool is_seen_whole(const struct hs_selection *s)
{
    const struct hs_profile *p = s->profile;
    for (uint32_t i = 0; i < s->dump_count; i++) {
        const struct hs_profile_dump *dump = &p->dumps[s->dumps[i]];
        const struct hs_profile_process *process = &p->processes[dump->process];
        if (process->end_ns == 0 || !process->is_from_startup || !dump->is_final) {
            return false;
        }
    }
    return true;
}

static int compare_stacks(const void *a, const void *b)
{
    const struct hs_check_stack *x = a;
    const struct hs_check_stack *y = b;
    if (x->live.bytes > y->live.bytes || x->live.bytes < y->live.bytes) {
        return x->live.bytes > y->live.bytes ? -1 : 1;
    }
    return x->node < y->node ? -1 : x->node > y->node;
}

static int find_leaks(struct hs_check *check, struct leaks *leaks)
{
    struct hs_suppressions *suppressions = check->suppressions;
    const struct hs_agg *agg = &check->lines;
    uint32_t *by_node;
    int err = hs_suppressions_of_nodes(suppressions, agg, &by_node);
    if (err < 0) {
        return err;
    }
    leaks->total = check->selection.live;
    leaks->stacks = calloc(agg->self_count + 1u, sizeof(*leaks->stacks));
    for (uint32_t i = 0; i < agg->self_count && leaks->stacks; i++) {
        const struct hs_amount *live = &agg->selves[i].by[HS_QUANTITY_LIVE];
        uint32_t suppression = by_node[agg->selves[i].node];
        if (suppression != HS_SUPPRESSION_NONE) {
            suppressions->items[suppression].bytes += live->bytes;
            suppressions->items[suppression].count += live->count;
            take_off(&leaks->total, live);
        } else if (live->bytes > 0) {
            leaks->stacks[leaks->count++] =
                (struct hs_check_stack){ .node = agg->selves[i].node, .live = *live };
        }
    }
    free(by_node);
    if (!leaks->stacks) {
        return -ENOMEM;
    }
    qsort(leaks->stacks, leaks->count, sizeof(*leaks->stacks), compare_stacks);
    return 0;
}

/* Lists the first of `count` stacks, all of which break the limit. `stacks` has at least those that
 * are listed. */
static int list_stacks(struct hs_check_row *row, const struct hs_check_stack *stacks,
                       uint32_t count)
{
    uint32_t listed = count < HS_CHECK_STACKS_MAX ? count : HS_CHECK_STACKS_MAX;
    row->stacks = calloc(listed + 1u, sizeof(*row->stacks));
    if (!row->stacks) {
        return -ENOMEM;
    }
    if (listed > 0) {
        memcpy(row->stacks, stacks, listed * sizeof(*stacks));
    }
    row->stack_count = listed;
    row->more_count = count - listed;
    return 0;
}

static int judge_leak(struct hs_check *check, const struct leaks *leaks)
{
    struct hs_figure leak = hs_figure_of(&leaks->total, false);
    struct hs_check_row *row =
        hs_check_put_figure(check, hs_limit_names[HS_LIMIT_LEAK], "leak", &leak,
                            check->limits->by[HS_LIMIT_LEAK].value, false);
    if (!row) {
        return -ENOMEM;
    }
    return row->is_kept ? 0 : list_stacks(row, leaks->stacks, leaks->count);
}

/* The row is about the stack that is nearest to the limit, or furthest beyond it. */
static int judge_leak_stack(struct hs_check *check, const struct leaks *leaks)
{
    double limit = check->limits->by[HS_LIMIT_LEAK_STACK].value;
    bool is_strict = check->limits->is_strict;
    struct hs_check_stack *beyond = calloc(leaks->count + 1u, sizeof(*beyond));
    struct hs_figure worst = hs_check_nothing(check, false);
    double worst_low = -1, worst_high = -1;
    uint32_t beyond_count = 0;
    if (!beyond) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < leaks->count; i++) {
        struct hs_figure figure = hs_figure_of(&leaks->stacks[i].live, false);
        struct hs_margin margin = hs_margin_of(&figure);
        double low = figure.value - margin.below, high = figure.value + margin.above;
        /*
         * A stack that is surely beyond the limit matters more than one that may be further beyond
         * it.
         */
        bool is_worse = low > limit || worst_low > limit ? low > worst_low : high > worst_high;
        if (is_worse) {
            worst = figure;
            worst_low = low;
            worst_high = high;
        }
        if (!((is_strict ? high : low) <= limit)) {
            beyond[beyond_count++] = leaks->stacks[i];
        }
    }
    struct hs_check_row *row = hs_check_put_figure(check, hs_limit_names[HS_LIMIT_LEAK_STACK],
                                                   "leak of one stack", &worst, limit, false);
    int err = !row ? -ENOMEM : row->is_kept ? 0 : list_stacks(row, beyond, beyond_count);
    free(beyond);
    return err;
}

int hs_check_leaks(struct hs_check *check)
{
    const struct hs_limit *limits = check->limits->by;
    struct leaks leaks = { 0 };
    int err = 0;
    if (!limits[HS_LIMIT_LEAK].is_set && !limits[HS_LIMIT_LEAK_STACK].is_set) {
        return 0;
    }
    if (!is_seen_whole(&check->selection)) {
        static const enum hs_limit_kind kinds[] = { HS_LIMIT_LEAK, HS_LIMIT_LEAK_STACK };
        for (size_t i = 0; i < HS_COUNT_OF(kinds) && err == 0; i++) {
            if (limits[kinds[i]].is_set &&
                !hs_check_put_unknown(check, hs_limit_names[kinds[i]],
                                      "leak: cannot be judged: a process was not seen from its "
                                      "start to its end")) {
                err = -ENOMEM;
            }
        }
        return err;
    }
    err = hs_agg_build(&check->selection, true, &check->lines);
    err = err ? err : find_leaks(check, &leaks);
    if (err == 0 && limits[HS_LIMIT_LEAK].is_set) {
        err = judge_leak(check, &leaks);
    }
    if (err == 0 && limits[HS_LIMIT_LEAK_STACK].is_set) {
        err = judge_leak_stack(check, &leaks);
    }
    free(leaks.stacks);
    return err;
}

/* --- growth ----------------------------------------------------------------------------------- */

/* The sum of the growth of all stacks that leak for sure. Growth of stacks that are only likely to
 * leak is above it: it counts for the upper end if limits are strict. */
struct growth_sums {
    double growth, margin_square, unsure_high;
    struct hs_check_stack stacks[HS_CHECK_STACKS_MAX]; /* the first of them */
    uint32_t all_count;
};

static void add_growth(struct growth_sums *sums, const struct hs_leak_row *row)
{
    if (row->verdict == HS_LEAK_UNSURE) {
        sums->unsure_high += fmax(row->growth + row->growth_margin, 0);
        return;
    }
    sums->growth += row->growth;
    sums->margin_square += row->growth_margin * row->growth_margin;
    if (sums->all_count < HS_CHECK_STACKS_MAX) {
        sums->stacks[sums->all_count] =
            (struct hs_check_stack){ .node = row->node, .live = row->live };
    }
    sums->all_count++;
}

static int add_growths(struct hs_check *check, const struct hs_leaks *leaks,
                       struct growth_sums *sums)
{
    struct hs_suppressions *suppressions = check->suppressions;
    /* Otherwise max-leak has counted what is suppressed. */
    bool has_other_limits =
        check->limits->by[HS_LIMIT_LEAK].is_set || check->limits->by[HS_LIMIT_LEAK_STACK].is_set;
    uint32_t *by_node;
    int err = hs_suppressions_of_nodes(suppressions, &check->lines, &by_node);
    if (err < 0) {
        return err;
    }
    for (uint32_t i = 0; i < leaks->count; i++) {
        const struct hs_leak_row *row = &leaks->rows[i];
        if (row->verdict != HS_LEAK_LEAKS && row->verdict != HS_LEAK_UNSURE) {
            continue;
        }
        uint32_t suppression = by_node[row->node];
        if (suppression == HS_SUPPRESSION_NONE) {
            add_growth(sums, row);
        } else if (!has_other_limits) {
            suppressions->items[suppression].bytes += row->live.bytes;
            suppressions->items[suppression].count += row->live.count;
        }
    }
    free(by_node);
    return 0;
}

static int put_growth(struct hs_check *check, const struct growth_sums *sums)
{
    char value[HS_FORMAT_INTERVAL_BYTES], margin[HS_FORMAT_INTERVAL_BYTES];
    double around = sqrt(sums->margin_square);
    struct hs_buf figure = HS_BUF_INIT;
    hs_buf_printf(&figure, "%s/h", hs_format_value(value, false, sums->growth));
    if (around > 0) {
        hs_buf_printf(&figure, " ± %s/h", hs_format_value(margin, false, around));
    }
    const struct hs_measured measured = {
        .what = "growth of leaks",
        .figure = hs_buf_text(&figure),
        .per = "/h",
        .value = sums->growth,
        .low = sums->growth - around,
        .high = sums->growth + around + (check->limits->is_strict ? sums->unsure_high : 0),
        .limit = check->limits->by[HS_LIMIT_LEAK_GROWTH].value,
    };
    struct hs_check_row *row =
        figure.err ? NULL : hs_check_put(check, hs_limit_names[HS_LIMIT_LEAK_GROWTH], &measured);
    hs_buf_deinit(&figure);
    return !row                              ? -ENOMEM
           : row->verdict == HS_VERDICT_PASS ? 0
                                             : list_stacks(row, sums->stacks, sums->all_count);
}

static int put_no_growth(struct hs_check *check, const char *why)
{
    return hs_check_put_without(check, hs_limit_names[HS_LIMIT_LEAK_GROWTH], "growth of leaks", why)
               ? 0
               : -ENOMEM;
}

int hs_check_leak_growth(struct hs_check *check)
{
    struct hs_leaks leaks;
    struct growth_sums sums = { 0 };
    if (!check->limits->by[HS_LIMIT_LEAK_GROWTH].is_set) {
        return 0;
    }
    int err = check->lines.nodes ? 0 : hs_agg_build(&check->selection, true, &check->lines);
    err = err ? err : hs_leaks_find(&check->selection, &check->lines, &leaks);
    if (err != 0) {
        return err == -ENODATA
                   ? put_no_growth(check, "the file does not say when blocks were allocated")
                   : err;
    }
    if (leaks.is_short && leaks.count > 0) {
        err = put_no_growth(check, "the recording is too short");
    } else {
        err = add_growths(check, &leaks, &sums);
        err = err ? err : put_growth(check, &sums);
    }
    hs_leaks_deinit(&leaks);
    return err;
}
