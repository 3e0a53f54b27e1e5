/*
 * The resident memory in a few sentences: its parts, and when it was largest. See report_parts.h.
 *
 *     78.7 MiB were resident 2.94 s after the start: 29.9 MiB other anonymous mappings, 26.6 MiB
 *     memory that malloc keeps free, 22.2 MiB of other kinds. Not explained are 29.9 MiB. RSS was
 *     highest 895 ms after the start (78.9 MiB), live blocks 647 ms after the start (46.0 MiB).
 */
#include <stdlib.h>

#include "profile/analyse/ledger_parts.h"
#include "view/report_parts.h"

/* Parts smaller than this share of the whole are named together. */
#define PART_SHARE_MIN 0.02
/* If no line explains at least this share, the sentence says how much that is. */
#define UNEXPLAINED_SHARE_MIN 0.01
/* PSS is worth a sentence if it is less than this share of RSS. */
#define PSS_SHARE_MAX 0.9

static uint64_t measure_of(const struct hs_ledger_sums *sums, const struct hs_ledger_part *part)
{
    return sums->process_count > 1 ? part->pss_bytes : part->rss_bytes;
}

static int compare_parts(const void *a, const void *b, void *ctx)
{
    uint64_t x = measure_of(ctx, a), y = measure_of(ctx, b);
    return x > y ? -1 : x < y;
}

static void add_parts(struct hs_ledger_sums *sums, struct hs_buf *text)
{
    struct hs_ledger_part parts[HS_LEDGER_PARTS];
    char size[HS_HUMAN_BYTES];
    uint64_t rest_bytes = hs_ledger_sums_measure(sums, &sums->all);
    double least = PART_SHARE_MIN * (double)rest_bytes;
    hs_ledger_parts_of(sums, parts);
    qsort_r(parts, HS_LEDGER_PARTS, sizeof(parts[0]), compare_parts, sums);
    for (size_t i = 0; i < HS_LEDGER_PARTS; i++) {
        uint64_t bytes = measure_of(sums, &parts[i]);
        if (bytes == 0 || (double)bytes < least) {
            break;
        }
        rest_bytes -= bytes < rest_bytes ? bytes : rest_bytes;
        hs_buf_printf(text, "%s %s %s", i > 0 ? "," : "", hs_human_bytes(size, (double)bytes),
                      parts[i].words);
    }
    if (rest_bytes > 0) {
        hs_buf_printf(text, ", %s of other kinds", hs_human_bytes(size, (double)rest_bytes));
    }
    hs_buf_char(text, '.');
}

static void add_unexplained(const struct hs_ledger_sums *sums, struct hs_buf *text)
{
    double bytes = (double)hs_ledger_sums_measure(sums, &sums->unexplained);
    char size[HS_HUMAN_BYTES];
    if (bytes >= UNEXPLAINED_SHARE_MIN * (double)hs_ledger_sums_measure(sums, &sums->all)) {
        hs_buf_printf(text, " %s of it are not explained.", hs_human_bytes(size, bytes));
    }
}

/* --- the moments ------------------------------------------------------------------------------ */

uint64_t hs_report_after_ns(uint64_t time_ns, uint64_t start_ns)
{
    return time_ns > start_ns ? time_ns - start_ns : 0;
}

struct moment {
    uint64_t bytes;
    uint64_t time_ns; /* 0: not known */
};

/*
 * When was the most resident? Counters are read more often than ledgers; the kernel's own figure
 * has no time.
 */
static struct moment rss_peak_of(const struct hs_report *report, const struct hs_profile_dump *dump,
                                 const struct hs_ledger_sums *peak)
{
    struct moment moment = { peak->all.rss_bytes, peak->time_first_ns };
    const struct hs_profile_counter *counted = hs_report_highest_rss(report, dump->process);
    if (counted && counted->value > (int64_t)moment.bytes && counted->time_ns <= dump->time_ns) {
        moment = (struct moment){ (uint64_t)counted->value, counted->time_ns };
    }
    /* The counters are rounded in the kernel, for each thread of the process. */
    if (dump->rss_peak_bytes > moment.bytes + moment.bytes / 20) {
        moment = (struct moment){ dump->rss_peak_bytes, 0 };
    }
    return moment;
}

static void add_moments(const struct hs_report *report, const struct hs_ledger_sums *now,
                        const struct hs_ledger_sums *peak, struct hs_buf *text)
{
    const struct hs_selection *s = &report->selection;
    const struct hs_profile_dump *dump = &s->profile->dumps[s->dumps[0]];
    char size[HS_HUMAN_BYTES], age[HS_HUMAN_BYTES];
    struct moment rss = rss_peak_of(report, dump, peak);
    hs_buf_printf(text, " RSS was highest %s",
                  rss.time_ns > 0
                      ? hs_human_duration(age, hs_report_after_ns(rss.time_ns, s->start_ns))
                      : "at a moment between two readings");
    hs_buf_printf(text, "%s (%s)", rss.time_ns > 0 ? " after the start" : "",
                  hs_human_bytes(size, (double)rss.bytes));
    if (dump->has_peak && !s->is_peak_of_all && dump->peak_time_ns > 0 && s->peak.bytes > 0) {
        hs_human_duration(age, hs_report_after_ns(dump->peak_time_ns, s->start_ns));
        hs_buf_printf(text, ", live blocks %s after the start (%s)", age,
                      hs_human_bytes(size, s->peak.bytes));
    }
    hs_buf_char(text, '.');
    if ((double)now->all.pss_bytes < PSS_SHARE_MAX * (double)now->all.rss_bytes) {
        hs_buf_printf(text,
                      " Of %s, %s remain if pages that processes share are divided among them "
                      "(PSS).",
                      hs_human_bytes(size, (double)now->all.rss_bytes),
                      hs_human_bytes(age, (double)now->all.pss_bytes));
    }
    if (now->all.swap_bytes > 0) {
        hs_buf_printf(text, " %s more were swapped out.",
                      hs_human_bytes(size, (double)now->all.swap_bytes));
    }
}

void hs_report_write_rss_moments(struct hs_report *report, const struct hs_ledger_sums *now,
                                 const struct hs_ledger_sums *peak)
{
    struct hs_buf text = HS_BUF_INIT;
    if (report->selection.dump_count == 1) {
        add_moments(report, now, peak, &text);
        hs_report_write_wrapped(report, "  ", hs_buf_text(&text));
    }
    hs_buf_deinit(&text);
}

/* --- the answer ------------------------------------------------------------------------------- */

static void add_one(const struct hs_report *report, struct hs_ledger_sums *sums,
                    struct hs_buf *text)
{
    char size[HS_HUMAN_BYTES], age[HS_HUMAN_BYTES];
    uint64_t age_ns = hs_report_after_ns(sums->time_first_ns, report->selection.start_ns);
    hs_buf_printf(text, "%s were resident %s after the start:",
                  hs_human_bytes(size, (double)sums->all.rss_bytes),
                  hs_human_duration(age, age_ns));
    add_parts(sums, text);
    add_unexplained(sums, text);
    add_moments(report, sums, sums, text);
}

/*
 * Of several processes, each has its newest reading here. The readings of the largest resident sets
 * would be further apart in time, and count memory that was shared later more than once.
 */
static void add_several(struct hs_ledger_sums *sums, struct hs_buf *text)
{
    char size[HS_HUMAN_BYTES], rss[HS_HUMAN_BYTES];
    hs_human_bytes(size, (double)sums->all.pss_bytes);
    hs_human_bytes(rss, (double)sums->all.rss_bytes);
    if (sums->process_count == 1) {
        hs_buf_printf(text,
                      "%s were resident in one process at its last reading, with shared memory "
                      "divided among the processes that share it (PSS; RSS is %s):",
                      size, rss);
    } else {
        hs_buf_printf(text,
                      "%s were resident in %u processes, each at its last reading, with shared "
                      "memory divided among them (PSS; the sum of RSS is %s):",
                      size, sums->process_count, rss);
    }
    add_parts(sums, text);
    add_unexplained(sums, text);
    if (sums->all.swap_bytes > 0) {
        hs_buf_printf(text, " %s more were swapped out.",
                      hs_human_bytes(size, (double)sums->all.swap_bytes));
    }
    if (sums->missing_count > 0) {
        hs_buf_printf(text, " The memory of %u more process%s was not read.", sums->missing_count,
                      sums->missing_count == 1 ? "" : "es");
    }
}

bool hs_report_has_ledger(const struct hs_report *report)
{
    const struct hs_selection *s = &report->selection;
    for (uint32_t i = 0; i < s->dump_count; i++) {
        if (s->profile->dumps[s->dumps[i]].ledger != 0) {
            return true;
        }
    }
    return false;
}

void hs_report_write_ledger_words(struct hs_report *report)
{
    struct hs_ledger_sums sums;
    struct hs_buf text = HS_BUF_INIT;
    int err = hs_ledger_sums_of(&report->selection, report->selection.dump_count == 1, &sums);
    if (err < 0) {
        report->buf->err = report->buf->err ? report->buf->err : err;
        return;
    }
    if (sums.process_count > 0) {
        if (report->selection.dump_count == 1) {
            add_one(report, &sums, &text);
        } else {
            add_several(&sums, &text);
        }
        hs_buf_str(&text, report->words ? "" : " report --rss has the details.");
        hs_report_write_wrapped(report, "  ", hs_buf_text(&text));
    }
    hs_buf_deinit(&text);
    hs_ledger_sums_deinit(&sums);
}
