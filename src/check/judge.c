/*
 * See judge.h.
 */
#include "check/judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check/judge_leak.h"
#include "check/judge_resident.h"
#include "check/judge_rows.h"
#include "profile/analyse/diff.h"
#include "profile/analyse/peak_overlap.h"
#include "profile/model/loss.h"
#include "util/buf.h"
#include "view/format_interval.h"

/*
 * True when the profile has no figures. The number of samples does not count: most foreign files,
 * and collapsed stacks, do not contain it.
 */
static bool is_empty(const struct hs_selection *s)
{
    return s->sample_count == 0 && s->alloc.bytes + s->live.bytes + s->peak.bytes <= 0 &&
           s->alloc.count + s->live.count + s->peak.count <= 0;
}

/* Adds rows for losses that make figures wrong, and for profiles without data. */
static int judge_whole(struct hs_check *check)
{
    const struct hs_profile *p = check->selection.profile;
    struct hs_buf text = HS_BUF_INIT;
    bool is_put = true;
    for (uint32_t i = 0; i < p->loss_count && is_put; i++) {
        const struct hs_profile_loss *loss = &p->losses[i];
        if (loss->is_serious && loss->count > 0 && hs_selection_has_loss(&check->selection, loss)) {
            hs_buf_clear(&text);
            hs_buf_str(&text, "cannot be judged, data is missing: ");
            hs_loss_describe(p, loss, NULL, &text);
            is_put = hs_check_put_unknown(check, "data", hs_buf_text(&text)) != NULL;
        }
    }
    if (is_empty(&check->selection) && is_put) {
        is_put = hs_check_put_unknown(check, "data", "cannot be judged: nothing was recorded");
    }
    hs_buf_deinit(&text);
    return is_put ? 0 : -ENOMEM;
}

/* The limit on the peak: of several processes, what they held at one moment; of one, its peak. */
static struct hs_check_row *judge_peak(struct hs_check *check)
{
    const struct hs_selection *s = &check->selection;
    const char *name = hs_limit_names[HS_LIMIT_PEAK];
    double limit = check->limits->by[HS_LIMIT_PEAK].value;
    struct hs_figure peak = hs_figure_of(&s->peak, false);
    struct hs_peak_overlap overlap = { 0 };
    if (!s->has_peak) {
        return hs_check_put_unknown(check, name, "peak: cannot be judged: it was not recorded");
    }
    if (hs_peak_overlap_of(s, &overlap) < 0) {
        return NULL;
    }
    if (overlap.process_count < 2) {
        return hs_check_put_figure(check, name, "peak", &peak, limit, false);
    }
    char low[HS_FORMAT_INTERVAL_BYTES], high[HS_FORMAT_INTERVAL_BYTES];
    struct hs_buf what = HS_BUF_INIT, figure = HS_BUF_INIT;
    hs_format_value(low, false, overlap.low_bytes);
    hs_format_value(high, false, overlap.high_bytes);
    hs_buf_printf(&what, "peak of %u processes together", overlap.process_count);
    hs_buf_printf(&figure, strcmp(low, high) == 0 ? "%s" : "%s to %s", low, high);
    const struct hs_measured measured = {
        .what = hs_buf_text(&what),
        .figure = hs_buf_text(&figure),
        .value = overlap.low_bytes,
        .low = overlap.low_bytes,
        .high = overlap.high_bytes,
        .limit = limit,
        .doubt = "which contains the limit: the peak of the processes together is only known to "
                 "lie in this range",
    };
    struct hs_check_row *row = what.err || figure.err ? NULL : hs_check_put(check, name, &measured);
    hs_buf_deinit(&what);
    hs_buf_deinit(&figure);
    return row;
}

/* Why a limit on live memory cannot be judged; NULL: it can. */
static const char *why_no_live(const struct hs_selection *s)
{
    if (hs_loss_is_of_file(s->profile, HS_LOAD_LOSS_NO_LIVE)) {
        return "the file does not say what is live";
    }
    bool has_size = !s->profile->origin || s->live.bytes != 0 || s->live.count == 0;
    return has_size ? NULL : "the file does not say how large the live blocks are";
}

/* The same for a limit on the number of allocations. */
static const char *why_no_allocs(const struct hs_selection *s)
{
    if (hs_loss_is_of_file(s->profile, HS_LOAD_LOSS_NO_ALLOC)) {
        return "the file does not say what was allocated since the start";
    }
    bool has_count = !s->profile->origin || s->alloc.count != 0 || s->alloc.bytes == 0;
    return has_count ? NULL : "the file does not say how many allocations there were";
}

/* A row for a limit on a total, or, when there is a reason `why` not to judge it, for that. */
static struct hs_check_row *judge_total(struct hs_check *check, enum hs_limit_kind kind,
                                        const char *what, const struct hs_amount *amount,
                                        const char *why)
{
    bool is_count = kind == HS_LIMIT_ALLOCS;
    struct hs_figure figure = hs_figure_of(amount, is_count);
    return why ? hs_check_put_without(check, hs_limit_names[kind], what, why)
               : hs_check_put_figure(check, hs_limit_names[kind], what, &figure,
                                     check->limits->by[kind].value, is_count);
}

static int judge_totals(struct hs_check *check)
{
    const struct hs_limit *limits = check->limits->by;
    const struct hs_selection *s = &check->selection;
    bool is_put = true;
    if (limits[HS_LIMIT_LIVE].is_set) {
        is_put = judge_total(check, HS_LIMIT_LIVE, "live", &s->live, why_no_live(s)) != NULL;
    }
    if (limits[HS_LIMIT_PEAK].is_set && is_put) {
        is_put = judge_peak(check) != NULL;
    }
    if (is_put) {
        is_put = hs_check_resident(check) == 0;
    }
    if (limits[HS_LIMIT_ALLOCS].is_set && is_put) {
        is_put =
            judge_total(check, HS_LIMIT_ALLOCS, "allocations", &s->alloc, why_no_allocs(s)) != NULL;
    }
    return is_put ? 0 : -ENOMEM;
}

static int sum_matching(const struct hs_agg *agg, const regex_t *regex, struct hs_figure *sum)
{
    bool *is_match = calloc(agg->function_count + 1u, sizeof(*is_match));
    struct hs_buf name = HS_BUF_INIT;
    if (!is_match) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < agg->function_count; i++) {
        hs_buf_clear(&name);
        hs_agg_write_function(agg, i, &name);
        is_match[i] = regexec(regex, hs_buf_text(&name), 0, NULL, 0) == 0;
    }
    for (uint32_t i = 0; i < agg->self_count; i++) {
        bool is_in = false;
        for (uint32_t n = agg->selves[i].node; n != HS_NODE_NONE && !is_in;
             n = agg->nodes[n].parent) {
            is_in = is_match[agg->nodes[n].function];
        }
        if (is_in) {
            struct hs_figure live = hs_figure_of(&agg->selves[i].by[HS_QUANTITY_LIVE], false);
            hs_figure_add(sum, &live);
        }
    }
    int err = name.err;
    hs_buf_deinit(&name);
    free(is_match);
    return err;
}

static int judge_stack(struct hs_check *check, const struct hs_agg *agg,
                       const struct hs_stack_limit *limit)
{
    struct hs_figure sum = hs_check_nothing(check, false);
    struct hs_buf what = HS_BUF_INIT;
    struct hs_check_row *row = NULL;
    int err = sum_matching(agg, &limit->regex, &sum);
    hs_buf_printf(&what, "live in stacks with %s", limit->pattern);
    if (err == 0) {
        const char *why = why_no_live(&check->selection);
        row = why ? hs_check_put_without(check, "stack", hs_buf_text(&what), why)
                  : hs_check_put_figure(check, "stack", hs_buf_text(&what), &sum, limit->bytes,
                                        false);
        err = row ? 0 : -ENOMEM;
    }
    if (row) {
        row->subject = strdup(limit->pattern);
        err = row->subject ? 0 : -ENOMEM;
    }
    hs_buf_deinit(&what);
    return err;
}

static int judge_stacks(struct hs_check *check)
{
    const struct hs_limits *limits = check->limits;
    struct hs_agg agg = { 0 };
    int err = limits->stack_count > 0 ? hs_agg_build(&check->selection, false, &agg) : 0;
    for (size_t i = 0; i < limits->stack_count && err == 0; i++) {
        err = judge_stack(check, &agg, &limits->stacks[i]);
    }
    hs_agg_deinit(&agg);
    return err;
}

static struct hs_check_row *put_growth(struct hs_check *check, const struct hs_diff_change *change)
{
    char delta[HS_FORMAT_INTERVAL_BYTES], before[HS_FORMAT_INTERVAL_BYTES];
    const struct hs_limit *limit = &check->limits->by[HS_LIMIT_GROWTH];
    struct hs_buf text = HS_BUF_INIT;
    bool is_growth = change->delta >= 0;
    hs_format_value(delta, false, is_growth ? change->delta : -change->delta);
    hs_format_value(before, false, change->before);
    hs_buf_printf(&text, "%s%s, from %s", is_growth ? "+" : "-", delta, before);
    const struct hs_measured measured = {
        .what = "growth",
        .figure = hs_buf_text(&text),
        .value = change->delta,
        .low = change->low,
        .high = change->high,
        .limit = limit->is_share ? limit->value * change->before : limit->value,
    };
    struct hs_check_row *row = hs_check_put(check, hs_limit_names[HS_LIMIT_GROWTH], &measured);
    if (row && limit->is_share) {
        row->limit_share = limit->value;
    }
    hs_buf_deinit(&text);
    return row;
}

static int judge_growth(struct hs_check *check, const struct hs_profile *base_profile)
{
    struct hs_selection base;
    struct hs_diff diff;
    if (!check->limits->by[HS_LIMIT_GROWTH].is_set || !base_profile) {
        return 0;
    }
    int err = hs_select_dumps(base_profile, &check->base_select, &base);
    if (err > 0) {
        return hs_check_put_unknown(check, hs_limit_names[HS_LIMIT_GROWTH],
                                    "growth: cannot be judged: the file to compare with is empty")
                   ? 0
                   : -ENOMEM;
    }
    if (err < 0) {
        return err;
    }
    const char *why = why_no_live(&base);
    why = why ? why : why_no_live(&check->selection);
    if (why) {
        err = hs_check_put_without(check, hs_limit_names[HS_LIMIT_GROWTH], "growth", why) ? 0
                                                                                          : -ENOMEM;
        hs_selection_deinit(&base);
        return err;
    }
    err = hs_diff_build(&base, &check->selection, HS_VIEW_SPACE, &diff);
    if (err == 0) {
        struct hs_diff_change change = hs_diff_change_of(&diff, &diff.total);
        err = put_growth(check, &change) ? 0 : -ENOMEM;
        hs_diff_deinit(&diff);
    }
    hs_selection_deinit(&base);
    return err;
}

int hs_check_judge(struct hs_check *check, const struct hs_profile *profile,
                   const struct hs_profile *base)
{
    int err = hs_select_dumps(profile, &check->select, &check->selection);
    if (err != 0) {
        check->selection = (struct hs_selection){ 0 };
        return err < 0 ? err : -EINVAL;
    }
    err = judge_whole(check);
    err = err ? err : judge_totals(check);
    err = err ? err : hs_check_leaks(check);
    err = err ? err : hs_check_leak_growth(check);
    err = err ? err : judge_stacks(check);
    return err ? err : judge_growth(check, base);
}
