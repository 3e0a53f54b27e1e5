/*
 * When something was lost, as words behind the loss.
 *
 * The counters of losses are read several times a second, so a file has spans of time. Spans of
 * several processes that overlap become one.
 *
 * See       report_parts.h, collect/loss_watch.h
 */
#include <stdlib.h>
#include <string.h>

#include "profile/model/loss.h"
#include "util/buf.h"
#include "util/human.h"
#include "util/saturate.h"
#include "view/report_parts.h"

/* Of more spans, only their number, the first begin and the last end are shown. */
#define SPANS_TOLD 2U

struct span {
    uint64_t from_ns, to_ns, count;
};

static int by_begin(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

/* The spans of the selected processes that lost this, each in room for all of the profile. */
static size_t collect(const struct hs_report *report, const struct hs_profile_loss *loss,
                      struct span *spans)
{
    const struct hs_profile *p = report->profile;
    size_t count = 0;
    for (uint32_t i = 0; i < p->loss_time_count; i++) {
        const struct hs_profile_loss_time *time = &p->loss_times[i];
        if (time->loss.name == loss->name &&
            hs_selection_has_loss(&report->selection, &time->loss)) {
            spans[count++] = (struct span){ time->from_ns, time->to_ns, time->loss.count };
        }
    }
    return count;
}

/* Sorts the spans and makes those that overlap or touch one. Returns how many remain. */
static size_t join(struct span *spans, size_t count)
{
    size_t joined = 0;
    qsort(spans, count, sizeof(*spans), by_begin);
    for (size_t i = 0; i < count; i++) {
        if (joined > 0 && spans[i].from_ns <= spans[joined - 1].to_ns) {
            struct span *last = &spans[joined - 1];
            last->to_ns = spans[i].to_ns > last->to_ns ? spans[i].to_ns : last->to_ns;
            last->count = hs_saturate_add_unsigned(last->count, spans[i].count);
        } else {
            spans[joined++] = spans[i];
        }
    }
    return joined;
}

static void write_span(uint64_t start_ns, uint64_t from_ns, uint64_t to_ns, struct hs_buf *buf)
{
    char from[HS_HUMAN_BYTES], to[HS_HUMAN_BYTES];
    hs_human_duration(from, from_ns > start_ns ? from_ns - start_ns : 0);
    hs_human_duration(to, to_ns > start_ns ? to_ns - start_ns : 0);
    if (strcmp(from, to) == 0) {
        hs_buf_printf(buf, "at about %s", from);
    } else {
        hs_buf_printf(buf, "between %s and %s", from, to);
    }
}

void hs_report_describe_loss(const struct hs_report *report, const struct hs_profile_loss *loss,
                             struct hs_buf *buf)
{
    const struct hs_selection *s = &report->selection;
    struct span *spans = calloc(report->profile->loss_time_count + 1u, sizeof(*spans));
    size_t count = spans ? join(spans, collect(report, loss, spans)) : 0;
    uint64_t known = 0, end_ns = 0;
    for (size_t i = 0; i < count; i++) {
        known = hs_saturate_add_unsigned(known, spans[i].count);
        end_ns = spans[i].to_ns > end_ns ? spans[i].to_ns : end_ns;
    }
    hs_loss_describe(report->profile, loss, NULL, buf);
    if (count > 0) {
        char number[HS_HUMAN_BYTES];
        hs_buf_str(buf, known < loss->count ? ", part of it counted " : ", counted ");
        if (count > SPANS_TOLD) {
            hs_buf_printf(buf, "in %s spans ", hs_human_exact(number, count));
            write_span(s->start_ns, spans[0].from_ns, end_ns, buf);
        }
        for (size_t i = 0; i < count && count <= SPANS_TOLD; i++) {
            hs_buf_str(buf, i > 0 ? " and " : "");
            write_span(s->start_ns, spans[i].from_ns, spans[i].to_ns, buf);
        }
        hs_buf_str(buf, s->dump_count > 1 ? " after the first start" : " after the start");
    }
    free(spans);
}
