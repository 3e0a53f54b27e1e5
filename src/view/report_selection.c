/*
 * Says which heaps a recording left out, and which of those that it asked for there were not.
 */
#include "profile/model/missing_heaps.h"
#include "view/report_parts.h"

bool hs_report_is_without_malloc(const struct hs_report *report)
{
    const struct hs_profile *p = report->profile;
    const struct hs_selection *s = &report->selection;
    for (uint32_t i = 0; i < s->dump_count; i++) {
        if (p->processes[p->dumps[s->dumps[i]].process].is_without_malloc) {
            return true;
        }
    }
    return false;
}

void hs_report_write_left_out(struct hs_report *report)
{
    if (hs_report_is_without_malloc(report)) {
        hs_report_write_wrapped(report, "  ",
                                "libc.malloc was left out, as asked: nothing that malloc and "
                                "operator new allocated was recorded");
    }
}

void hs_report_warn_unregistered(struct hs_report *report)
{
    struct hs_buf text = HS_BUF_INIT;
    hs_missing_heaps_words_of(report->profile, &text);
    if (text.bytes > 0) {
        hs_report_warn(report, hs_buf_text(&text), 0);
    }
    report->buf->err = report->buf->err ? report->buf->err : text.err;
    hs_buf_deinit(&text);
}
