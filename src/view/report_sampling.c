/* How precise the figures of the report are. See report_parts.h. */
#include <stdio.h>
#include <string.h>

#include "view/report_parts.h"

static bool has_other_heaps(const struct hs_selection *s)
{
    bool has_others = false;
    for (uint32_t i = 0; i < s->dump_count; i++) {
        has_others |= s->profile->dumps[s->dumps[i]].aside_n > 0;
    }
    return has_others;
}

/* In an exact profile, the allocations in the heaps that are counted; else the samples. */
static uint64_t count_recorded(const struct hs_selection *s)
{
    bool is_exact = s->interval_max_bytes == 1 && !s->is_sampled && !s->alloc.has_sample_counts;
    return has_other_heaps(s) && is_exact ? (uint64_t)(s->alloc.count + 0.5) : s->sample_count;
}

/* Says "all" only where no allocation is known to be missing or invisible to the recorder. */
static void describe_exact(const struct hs_report *report, const char *count, struct hs_buf *text)
{
    const char *verb = strcmp(count, "1") == 0 ? "allocation was" : "allocations were";
    const char *whose = report->selection.dump_count == 1 ? "this process" : "these processes";
    const char *of = hs_report_has_left_out(report) ? "the selected heaps of " : "";
    if (hs_report_is_incomplete(report)) {
        hs_buf_printf(text, "%s %s recorded with the exact size; others are missing; %s say which",
                      count, verb, hs_report_where_missing(report));
    } else if (report->profile->origin) {
        hs_buf_str(text, "exact: all allocations were recorded");
    } else if (!hs_report_is_from_start(report)) {
        hs_buf_printf(text,
                      "%s %s recorded with the exact size; calls through pointers to malloc that "
                      "the program had stored before the recording began are missing",
                      count, verb);
    } else if (has_other_heaps(&report->selection)) {
        hs_buf_printf(text, "exact: all %s allocations in %s were recorded", count,
                      report->selection.dump_count == 1 ? "the heaps that are counted"
                                                        : "the counted heaps of these processes");
    } else {
        /* Statically linked children, for example, are not included, and may be unknown. */
        hs_buf_printf(text, "exact: all %s allocations of %s%s were recorded", count, of, whose);
    }
}

/* How precise the sampled figures are. */
static void describe_margins(const struct hs_report *report, struct hs_buf *text)
{
    if (report->selection.is_lossy) {
        hs_buf_printf(text, "; data is missing, so the figures are too low: see %s",
                      hs_report_where_missing(report));
        return;
    }
    hs_buf_str(text, report->profile->origin
                         ? "; " HS_MARGINS_LEGEND
                           " only if all blocks of a stack have the same size; a figure of "
                           "allocated memory without a margin is an estimate, too"
                         : "; " HS_MARGINS_LEGEND
                           ", and a figure of allocated memory without a margin is an "
                           "estimate, too");
}

void hs_report_write_sampling(struct hs_report *report)
{
    const struct hs_selection *s = &report->selection;
    const struct hs_profile_dump *dump = &report->profile->dumps[s->dumps[0]];
    struct hs_buf text = HS_BUF_INIT;
    struct hs_buf others = HS_BUF_INIT;
    char interval[HS_HUMAN_BYTES];
    char count[HS_HUMAN_BYTES];
    struct hs_report_intervals all = hs_report_intervals_of(report, &others);
    hs_human_exact(count, count_recorded(s));
    hs_human_bytes(interval, (double)all.least_bytes);
    if (s->interval_min_bytes == 0) {
        hs_buf_str(
            &text,
            s->interval_max_bytes <= 1
                ? "the sampling interval is not known, so there are no margins"
                : "the sampling interval of some figures is not known, so there are no margins");
    } else if (s->interval_max_bytes <= 1 && !s->is_sampled) {
        describe_exact(report, count, &text);
    } else if (report->profile->origin) {
        hs_buf_printf(&text, "from samples at a mean interval of %s", interval);
        describe_margins(report, &text);
    } else {
        bool is_known = s->sample_count > 0 || !(s->alloc.bytes > 0);
        hs_buf_printf(&text, "from %s%ssample%s at a mean interval of %s", is_known ? count : "",
                      is_known ? " " : "", s->sample_count == 1 ? "" : "s", interval);
        if (all.most_bytes != all.least_bytes) {
            hs_buf_printf(&text, " to %s", hs_human_bytes(interval, (double)all.most_bytes));
        }
        if (hs_buf_text(&others)[0]) {
            hs_buf_printf(&text, " (%s)", hs_buf_text(&others));
        }
        describe_margins(report, &text);
    }
    if (s->dump_count == 1 && dump->orig_interval_bytes != 0 &&
        dump->orig_interval_bytes != dump->interval_bytes) {
        hs_human_bytes(interval, (double)dump->orig_interval_bytes);
        hs_buf_printf(&text, " (it was %s when the recording began)", interval);
    }
    if (!dump->has_scaled_counts && s->interval_max_bytes > 1) {
        hs_buf_str(&text, "; the file does not say how many objects the samples stand for");
    }
    if (s->peak.peak_short_bytes > 0 && s->has_peak && !s->is_peak_of_all) {
        hs_buf_printf(&text,
                      "; at another time than the peak shown, up to %s more%s may have been live",
                      hs_human_bytes(interval, (double)s->peak.peak_short_bytes),
                      s->is_sampled ? " of the sampled memory" : "");
    }
    hs_text_style(report->buf, report->options->has_colour, HS_TEXT_DIM);
    hs_report_write_wrapped(report, "  ", hs_buf_text(&text));
    hs_text_style(report->buf, report->options->has_colour, HS_TEXT_PLAIN);
    hs_buf_deinit(&text);
    hs_buf_deinit(&others);
}
