/*
 * See judge_resident.h.
 */
#include "check/judge_resident.h"

#include <errno.h>
#include <math.h>

#include "check/judge_rows.h"
#include "profile/analyse/ledger_sums.h"
#include "util/buf.h"
#include "util/human.h"
#include "view/format_interval.h"

/*
 * The limit on resident memory. Of several processes it is not known what was resident at one
 * moment: at least what one of them had, and at most the sum.
 */
static struct hs_check_row *judge_rss(struct hs_check *check)
{
    const struct hs_selection *s = &check->selection;
    const char *name = hs_limit_names[HS_LIMIT_RSS];
    double largest = 0, sum = 0;
    uint32_t known_count = 0;
    for (uint32_t i = 0; i < s->dump_count; i++) {
        double bytes = (double)s->profile->dumps[s->dumps[i]].rss_peak_bytes;
        known_count += bytes > 0;
        largest = bytes > largest ? bytes : largest;
        sum += bytes;
    }
    if (known_count < s->dump_count || known_count == 0) {
        return hs_check_put_without(check, name, "resident memory",
                                    "the file does not say how much was resident");
    }
    char low[HS_FORMAT_INTERVAL_BYTES], high[HS_FORMAT_INTERVAL_BYTES];
    struct hs_buf figure = HS_BUF_INIT;
    hs_format_value(low, false, largest);
    hs_format_value(high, false, sum);
    hs_buf_printf(&figure, known_count > 1 ? "%s to %s" : "%s", low, high);
    const struct hs_measured measured = {
        .what = "most resident memory",
        .figure = hs_buf_text(&figure),
        .value = largest,
        .low = largest,
        .high = sum,
        .limit = check->limits->by[HS_LIMIT_RSS].value,
        .doubt = "which contains the limit: what was resident in several processes at one moment "
                 "is only known to lie in this range",
    };
    struct hs_check_row *row = figure.err ? NULL : hs_check_put(check, name, &measured);
    hs_buf_deinit(&figure);
    return row;
}

/* At most all memory of the processes whose memory was not read is not explained, too. */
static struct hs_check_row *put_unexplained(struct hs_check *check,
                                            const struct hs_ledger_sums *sums)
{
    const struct hs_limit *limit = &check->limits->by[HS_LIMIT_UNEXPLAINED];
    const char *name = hs_limit_names[HS_LIMIT_UNEXPLAINED];
    double bytes = (double)sums->unexplained.rss_bytes, all = (double)sums->all.rss_bytes;
    double high = sums->is_missing_known ? bytes + (double)sums->missing_bytes : (double)INFINITY;
    char size[HS_HUMAN_BYTES], of[HS_HUMAN_BYTES], share[HS_HUMAN_BYTES];
    struct hs_buf figure = HS_BUF_INIT;
    hs_buf_printf(&figure, "%s of %s (%s)", hs_human_bytes(size, bytes), hs_human_bytes(of, all),
                  hs_human_share(share, bytes, all));
    if (sums->missing_count > 0) {
        hs_buf_printf(&figure, " in %u of %u processes", sums->process_count,
                      sums->process_count + sums->missing_count);
    }
    const struct hs_measured measured = {
        .what = "resident memory that is not explained",
        .figure = hs_buf_text(&figure),
        .value = bytes,
        .low = bytes,
        .high = high,
        .limit = limit->is_share ? limit->value * all : limit->value,
        .doubt = "and the memory of the other processes, which ended too soon, was not read",
    };
    struct hs_check_row *row = figure.err ? NULL : hs_check_put(check, name, &measured);
    if (row && limit->is_share) {
        row->limit_share = limit->value;
    }
    hs_buf_deinit(&figure);
    return row;
}

static struct hs_check_row *judge_unexplained(struct hs_check *check)
{
    struct hs_ledger_sums sums;
    struct hs_check_row *row;
    if (hs_ledger_sums_of(&check->selection, false, &sums) < 0) {
        return NULL;
    }
    if (sums.process_count == 0) {
        row = hs_check_put_without(check, hs_limit_names[HS_LIMIT_UNEXPLAINED],
                                   "resident memory that is not explained",
                                   "the file does not say what the resident memory consists of");
    } else {
        row = put_unexplained(check, &sums);
    }
    hs_ledger_sums_deinit(&sums);
    return row;
}

int hs_check_resident(struct hs_check *check)
{
    const struct hs_limit *limits = check->limits->by;
    if (limits[HS_LIMIT_RSS].is_set && !judge_rss(check)) {
        return -ENOMEM;
    }
    return limits[HS_LIMIT_UNEXPLAINED].is_set && !judge_unexplained(check) ? -ENOMEM : 0;
}
