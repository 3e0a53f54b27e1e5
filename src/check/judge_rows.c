/*
 * See judge.h and judge_rows.h.
 */
#include "check/judge_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rt/clock.h"
#include "util/array.h"
#include "util/buf.h"
#include "view/format_interval.h"

const char *const hs_verdict_names[HS_VERDICT_N] = {
    [HS_VERDICT_PASS] = "pass",
    [HS_VERDICT_UNCERTAIN] = "uncertain",
    [HS_VERDICT_FAIL] = "fail",
    [HS_VERDICT_UNKNOWN] = "unknown",
};

void hs_check_init(struct hs_check *check, const char *path, const struct hs_limits *limits,
                   struct hs_suppressions *suppressions)
{
    *check = (struct hs_check){
        .path = path,
        .limits = limits,
        .suppressions = suppressions,
        .select = { .snapshot = HS_SELECT_LAST },
        .base_select = { .snapshot = HS_SELECT_LAST },
        .is_kept = true,
        .is_readable = true,
        .mark_ns = hs_clock_ns(CLOCK_MONOTONIC),
    };
}

void hs_check_deinit(struct hs_check *check)
{
    for (size_t i = 0; i < check->row_count; i++) {
        free(check->rows[i].subject);
        free(check->rows[i].text);
        free(check->rows[i].stacks);
    }
    free(check->rows);
    hs_agg_deinit(&check->lines);
    if (check->selection.profile) {
        hs_selection_deinit(&check->selection);
    }
    *check = (struct hs_check){ 0 };
}

static struct hs_check_row *put_row(struct hs_check *check, const struct hs_check_row *row,
                                    const char *text)
{
    char *copy = strdup(text);
    if (!copy || hs_array_reserve(&check->rows, &check->row_capacity, check->row_count + 1,
                                  sizeof(*check->rows)) < 0) {
        free(copy);
        return NULL;
    }
    uint64_t time_ns = hs_clock_ns(CLOCK_MONOTONIC);
    struct hs_check_row *out = &check->rows[check->row_count++];
    *out = *row;
    out->text = copy;
    out->seconds = (double)(time_ns - check->mark_ns) / 1e9;
    check->mark_ns = time_ns;
    check->is_kept = check->is_kept && row->is_kept;
    return out;
}

struct hs_check_row *hs_check_put(struct hs_check *check, const char *name,
                                  const struct hs_measured *measured)
{
    char limit[HS_FORMAT_INTERVAL_BYTES], unseen[HS_FORMAT_INTERVAL_BYTES],
        beyond[HS_FORMAT_INTERVAL_BYTES];
    struct hs_buf text = HS_BUF_INIT;
    /* A figure of a forged file that is not a number keeps no limit. */
    enum hs_verdict verdict = !(measured->low <= measured->limit)    ? HS_VERDICT_FAIL
                              : !(measured->high <= measured->limit) ? HS_VERDICT_UNCERTAIN
                                                                     : HS_VERDICT_PASS;
    struct hs_check_row row = {
        .name = name,
        .verdict = verdict,
        .is_kept = verdict == HS_VERDICT_PASS ||
                   (verdict == HS_VERDICT_UNCERTAIN && !check->limits->is_strict),
        .is_count = measured->is_count,
        .value = measured->value,
        .low = measured->low,
        .high = measured->high,
        .limit = measured->limit,
    };
    hs_buf_printf(&text, "%s: %s, limit %s%s", measured->what, measured->figure,
                  hs_format_value(limit, measured->is_count, measured->limit),
                  measured->per ? measured->per : "");
    if (verdict == HS_VERDICT_FAIL && strcmp(measured->figure, limit) == 0) {
        /* Both figures are rounded. */
        hs_buf_printf(
            &text, ", %s above it",
            hs_format_value(beyond, measured->is_count, measured->value - measured->limit));
    }
    if (verdict == HS_VERDICT_UNCERTAIN) {
        hs_buf_printf(&text, ", %s",
                      measured->doubt ? measured->doubt
                                      : "and the limit is within the 95 % interval");
    }
    if (verdict == HS_VERDICT_UNCERTAIN && measured->unseen > 0) {
        hs_buf_printf(&text, "; sampling may have missed up to %s (-i 1 records everything)",
                      hs_format_value(unseen, measured->is_count, measured->unseen));
    }
    struct hs_check_row *out = text.err == 0 ? put_row(check, &row, hs_buf_text(&text)) : NULL;
    hs_buf_deinit(&text);
    return out;
}

struct hs_check_row *hs_check_put_unknown(struct hs_check *check, const char *name,
                                          const char *text)
{
    const struct hs_check_row row = { .name = name, .verdict = HS_VERDICT_UNKNOWN };
    return put_row(check, &row, text);
}

struct hs_check_row *hs_check_put_without(struct hs_check *check, const char *name,
                                          const char *what, const char *why)
{
    struct hs_buf text = HS_BUF_INIT;
    hs_buf_printf(&text, "%s: cannot be judged: %s", what, why);
    struct hs_check_row *row =
        text.err ? NULL : hs_check_put_unknown(check, name, hs_buf_text(&text));
    hs_buf_deinit(&text);
    return row;
}

struct hs_figure hs_check_nothing(const struct hs_check *check, bool is_count)
{
    const struct hs_amount nothing = { .interval_bytes =
                                           (float)check->selection.sample_most_bytes };
    return hs_figure_of(&nothing, is_count);
}

struct hs_check_row *hs_check_put_figure(struct hs_check *check, const char *name, const char *what,
                                         const struct hs_figure *figure, double limit,
                                         bool is_count)
{
    char text[HS_FORMAT_INTERVAL_BYTES];
    struct hs_margin margin = hs_margin_of(figure);
    const struct hs_measured measured = {
        .what = what,
        .figure = hs_format_interval(text, is_count, figure),
        .value = figure->value,
        .limit = limit,
        .low = figure->value - margin.below,
        .high = figure->value + margin.above,
        .unseen = figure->var > 0 ? 0 : margin.above,
        .is_count = is_count,
    };
    return hs_check_put(check, name, &measured);
}

int hs_check_put_unreadable(struct hs_check *check, const char *why)
{
    check->is_readable = false;
    return hs_check_put_unknown(check, "file", why) ? 0 : -ENOMEM;
}
