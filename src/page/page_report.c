/*
 * The documents of the page that other views have as well: the report, the ledger of a snapshot,
 * and the trend of a process. See page_parts.h.
 */
#include <errno.h>

#include "page/page_parts.h"
#include "profile/analyse/leak_score.h"
#include "profile/analyse/lifetime_sums.h"
#include "profile/analyse/rss_trend.h"
#include "profile/analyse/trend.h"
#include "view/report.h"
#include "view/trend_view.h"

/* How much the report lists: the page finds most of it in the rows. */
#define FUNCTIONS_LISTED 50
#define STACKS_LISTED    10
#define LEAKS_LISTED     200
/* How many functions and stacks a trend lists. */
#define TREND_LISTED 200

int hs_page_report_write(const struct hs_page_source *source, struct hs_buf *buf)
{
    struct hs_report_options options = *source->options;
    bool is_changed = hs_filter_words_is_any(&options.filters);
    options.form = HS_REPORT_JSON;
    options.view = source->view;
    options.top_count = FUNCTIONS_LISTED;
    options.stack_count = STACKS_LISTED;
    options.leak_count = LEAKS_LISTED;
    options.frame_count = HS_REPORT_ALL;
    options.columns = 0;
    options.has_colour = false;
    options.by = (struct hs_part_groups){ 0 };
    options.has_leaks = !is_changed && hs_leaks_is_known(source->profile, &options.select);
    options.has_lifetimes = !is_changed && hs_lifetimes_are_there(&source->selection);
    options.between_count = 0;
    return hs_report_write(source->profile, &options, buf);
}

int hs_page_ledger_write(const struct hs_page_source *source, uint32_t dump_idx, struct hs_buf *buf)
{
    return hs_report_write_ledger_json(source->profile, dump_idx, buf);
}

bool hs_page_has_trend(const struct hs_page_source *source, uint32_t process)
{
    const struct hs_profile *p = source->profile;
    uint64_t first_ns = UINT64_MAX, last_ns = 0;
    for (uint32_t i = 0; i < p->dump_count; i++) {
        if (p->dumps[i].process == process && p->dumps[i].has_samples) {
            uint64_t time_ns = p->dumps[i].time_ns;
            first_ns = time_ns < first_ns ? time_ns : first_ns;
            last_ns = time_ns > last_ns ? time_ns : last_ns;
        }
    }
    return source->has_live && first_ns < last_ns &&
           hs_trend_dump_count(p, process) >= HS_TREND_DUMPS_MIN;
}

int hs_page_trend_write(const struct hs_page_source *source, uint32_t process, struct hs_buf *buf)
{
    const struct hs_profile *p = source->profile;
    struct hs_trend trend;
    struct hs_rss_trend rss = { 0 };
    int rss_err = hs_rss_trend_build(p, &process, 1, &rss);
    int err = rss_err < 0 && rss_err != -ENODATA
                  ? rss_err
                  : hs_trend_build(p, process, HS_VIEW_SPACE, &trend);
    if (err == 0) {
        const struct hs_trend_options options = {
            .name = source->options->file ? source->options->file : "",
            .profile = p,
            .rss = rss_err == 0 ? &rss : NULL,
            .json_count = TREND_LISTED,
            .filters = source->options->filters,
        };
        err = hs_trend_write_json(&trend, &options, buf);
        hs_trend_deinit(&trend);
    }
    hs_rss_trend_deinit(&rss);
    return err;
}
