/*
 * Says which heaps a recording left out, and which of those that it asked for there were not.
 */
#include <stdlib.h>

#include "profile/analyse/heap_sums.h"
#include "profile/model/missing_heaps.h"
#include "util/json.h"
#include "view/report_parts.h"

static bool is_without_malloc(const struct hs_report *report)
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

bool hs_report_has_left_out(const struct hs_report *report)
{
    uint32_t *heaps, count = 0;
    int err = hs_heap_sums_left_out(&report->selection, &heaps, &count);
    if (err < 0) {
        report->buf->err = report->buf->err ? report->buf->err : err;
    } else {
        free(heaps);
    }
    return count > 0 || is_without_malloc(report);
}

void hs_report_write_left_out(struct hs_report *report)
{
    if (is_without_malloc(report)) {
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

int hs_report_json_left_out(const struct hs_selection *selection, struct hs_json *json)
{
    const struct hs_profile *p = selection->profile;
    uint32_t *heaps, count;
    int err = hs_heap_sums_left_out(selection, &heaps, &count);
    if (err < 0) {
        return err;
    }
    if (count > 0) {
        hs_json_key(json, "left_out_heaps");
        hs_json_open_inline(json, '[');
        for (uint32_t i = 0; i < count; i++) {
            hs_json_string(json, hs_profile_string(p, p->heaps[heaps[i]]));
        }
        hs_json_close(json, ']');
    }
    free(heaps);
    return 0;
}
