/*
 * The report: where did the memory go, in text.
 *
 * Its reader wants an answer, then the evidence: so it opens with what was measured and one
 * sentence that says which functions hold the memory, then tables of functions, then whole stacks.
 * All of it about one view; which one, and why, is said.
 *
 * Holds     writes text only through the buffer; names are made harmless.
 * Threads   none.
 * Fails     -ENOMEM or as the buffer does; HS_SELECT_E_* when the profile has no such dump.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/aggregate.h"
#include "profile/select.h"

struct hs_buf;

enum hs_report_form {
    HS_REPORT_TEXT,
    HS_REPORT_TREE,
    HS_REPORT_HEALTH,
    HS_REPORT_JSON,
    HS_REPORT_JSON_TREE,
};

#define HS_REPORT_ALL UINT32_MAX

struct hs_report_options {
    enum hs_report_form form;
    enum hs_view view;    /* or HS_VIEW_AUTO */
    uint32_t top_count;   /* functions listed; HS_REPORT_ALL */
    uint32_t stack_count; /* stacks listed; HS_REPORT_ALL */
    uint32_t frame_count; /* frames shown of a stack; HS_REPORT_ALL */
    struct hs_select_spec select;
    unsigned columns; /* of the terminal; 0: nothing is shortened */
    bool has_colour;
    const char *file; /* its name, for the header */
};

int hs_report_write(const struct hs_profile *profile, const struct hs_report_options *options,
                    struct hs_buf *buf);

/*
 * The summary that `run` prints at the end: totals, the largest stacks by name, losses. Some lines,
 * no tables of functions.
 */
int hs_report_write_summary(const struct hs_profile *profile,
                            const struct hs_report_options *options, struct hs_buf *buf);
