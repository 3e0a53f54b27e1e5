/*
 * The report: where did the memory go, as text.
 *
 * The reader wants an answer first, then the evidence. The report therefore opens with what was
 * measured and one sentence that names the functions that hold the memory. Tables of functions
 * follow, then whole stacks. All of it is about one view; the report says which one, and why.
 *
 * Ensures   writes text only through the buffer; names are sanitized.
 * Threads   no state.
 * Fails     -ENOMEM or as the buffer does; HS_SELECT_E_* when the profile has no such dump.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/analyse/aggregate.h"
#include "profile/analyse/part_sums.h"
#include "profile/analyse/select.h"
#include "view/filter_words.h"

struct hs_buf;

enum hs_report_form {
    HS_REPORT_TEXT,
    HS_REPORT_TREE,
    HS_REPORT_HEALTH,
    HS_REPORT_RSS, /* what the resident memory consisted of */
    HS_REPORT_BY,  /* parts, grouped */
    HS_REPORT_LEAKS,
    HS_REPORT_LIFETIMES,
    HS_REPORT_JSON,
    HS_REPORT_JSON_TREE,
};

#define HS_REPORT_ALL UINT32_MAX

struct hs_report_options {
    enum hs_report_form form;
    enum hs_view view;    /* or HS_VIEW_AUTO */
    uint32_t top_count;   /* how many functions to list; HS_REPORT_ALL */
    uint32_t stack_count; /* how many stacks to list; HS_REPORT_ALL */
    uint32_t frame_count; /* how many frames of a stack to show; HS_REPORT_ALL */
    struct hs_select_spec select;
    unsigned columns; /* of the terminal; 0: nothing is shortened */
    bool has_colour;
    const char *file;               /* its name, for the head */
    struct hs_filter_texts filters; /* by which stacks were kept and changed, to be named */
    /* How parts are grouped: by, by_count. by_count 0: they are not shown. */
    struct hs_part_groups by;
    bool has_leaks;         /* JSON contains the leaks */
    uint32_t leak_count;    /* how many stacks of these; 0: as stack_count */
    bool has_lifetimes;     /* in JSON: they are shown */
    uint32_t between_count; /* which blocks are temporary: hs_between_is_known() */
};

/* Writes the report. Returns 0, -errno or HS_SELECT_E_*; -ENODATA: parts or lifetimes are to be
 * shown, and the profile has none. */
int hs_report_write(const struct hs_profile *profile, const struct hs_report_options *options,
                    struct hs_buf *buf);

/*
 * Writes what the resident memory of a process consisted of at a dump, as the field "ledger" of the
 * report's JSON. 0 or -errno.
 */
int hs_report_write_ledger_json(const struct hs_profile *profile, uint32_t dump_idx,
                                struct hs_buf *buf);

/*
 * The summary that `run` prints at the end: totals, the largest stacks by name, losses. A few
 * lines, without tables of functions.
 */
int hs_report_write_summary(const struct hs_profile *profile,
                            const struct hs_report_options *options, struct hs_buf *buf);
