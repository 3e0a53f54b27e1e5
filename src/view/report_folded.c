/*
 * Which functions of the report are folded code: several functions share it, and the stack does not
 * tell which one was called. See report_parts.h.
 *
 *     Folded code   several functions share it, and stacks do not tell which one was called
 *       Shape::area() const [DEDUPED] is one of: Circle::area() const | Shape::area() const
 */
#include <string.h>

#include "view/report_parts.h"

/* So many functions are listed in the text; JSON has them all. */
#define LISTED_MAX 5

const char *hs_report_folded(const struct hs_report *report, uint32_t function)
{
    const struct hs_profile *p = report->profile;
    uint32_t name = report->agg.functions[function].name;
    for (uint32_t i = 0; i < p->line_count && name != 0; i++) {
        if (p->lines[i].folded != 0 && p->lines[i].function == name) {
            return hs_profile_string(p, p->lines[i].folded);
        }
    }
    return NULL;
}

void hs_report_write_folded(struct hs_report *report)
{
    uint32_t listed = 0;
    hs_agg_sort_functions(report->rows, report->row_count, report->view, HS_AGG_BY_TOTAL);
    for (uint32_t i = 0; i < report->row_count && i < HS_REPORT_FOLDED_ROWS; i++) {
        const char *names = hs_report_folded(report, report->rows[i].function);
        struct hs_buf text = HS_BUF_INIT;
        if (!names || listed == LISTED_MAX) {
            continue;
        }
        if (listed++ == 0) {
            hs_report_heading(report, "Folded code",
                              "several functions share it; stacks do not tell which was called");
        }
        hs_agg_write_function(&report->agg, report->rows[i].function, &text);
        hs_buf_printf(&text, " is one of: %s", names);
        hs_report_write_wrapped(report, "  ", hs_buf_text(&text));
        hs_buf_deinit(&text);
    }
    if (listed > 0) {
        hs_report_write_wrapped(
            report, "  ",
            "A stack that looks impossible may have called another one of them. To tell them "
            "apart, link with -Wl,--icf=none and compile with -fno-ipa-icf.");
    }
}
