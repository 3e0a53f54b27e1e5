/*
 * The parts of the report, for its own files: what they share, and who writes what.
 */
#pragma once

#include "profile/aggregate.h"
#include "profile/select.h"
#include "util/buf.h"
#include "util/human.h"
#include "util/table.h"
#include "view/format_interval.h"
#include "view/report.h"

struct hs_json;

struct hs_report {
    const struct hs_profile *profile;
    const struct hs_report_options *options;
    struct hs_buf *buf;
    struct hs_selection selection;
    enum hs_view view;
    const char *view_reason; /* NULL: it was asked for */
    struct hs_amount total;  /* of the view's quantity */
    struct hs_agg agg;       /* by line */
    uint32_t main_module;    /* the program itself: goes without saying; UINT32_MAX: several */
    struct hs_agg_row *rows;
    uint32_t row_count;
};

/* report.c: is a line of so many columns short enough? */
bool hs_report_fits(const struct hs_report *report, size_t columns);

/* report_head.c */
void hs_report_write_head(struct hs_report *report);
/* The first `bytes` of a text that may be a script, on one line. */
void hs_report_write_on_line(struct hs_buf *buf, const char *text, size_t bytes);
/* report_processes.c: nothing for a single one */
void hs_report_write_processes(struct hs_report *report);

/* report_losses.c */
void hs_report_write_losses(struct hs_report *report);
/* A figure's margin, as hs_format_margin writes it; "" where data is missing: then none holds. Returns `out`. */
char *hs_report_margin(const struct hs_report *report, char *out, bool is_count,
                       const struct hs_figure *figure);
/* Is data known to be missing: will there be a line that begins with "!"? */
bool hs_report_is_incomplete(const struct hs_report *report);
/* Was every process of the selection recorded from its first allocation on? */
bool hs_report_is_from_start(const struct hs_report *report);
void hs_report_write_health(struct hs_report *report);
/* A line that stands out; with ": COUNT" unless that is 0. */
void hs_report_warn(struct hs_report *report, const char *text, uint64_t count);

/* report_refused.c: false: there are more than were listed */
bool hs_report_write_refused(struct hs_report *report);
/* the field "not_profiled" of the open object */
void hs_report_json_refused(struct hs_report *report, struct hs_json *json);

/* report_answer.c */
void hs_report_write_answer(struct hs_report *report);

/* report_changes.c: nothing when the interval stayed as it was */
void hs_report_write_changes(struct hs_report *report);
void hs_report_json_changes(const struct hs_report *report, struct hs_json *json,
                            const struct hs_profile_dump *dump);

/* report_counters.c: how the resident memory moved; nothing when nobody looked */
void hs_report_write_counters(struct hs_report *report);
/* the field "counters" of the open object: of a process, or of the machine (HS_PROFILE_NO_PROCESS) */
void hs_report_json_counters(const struct hs_report *report, struct hs_json *json, uint32_t process,
                             uint64_t start_ns);

/* report_tables.c */
void hs_report_write_functions(struct hs_report *report);
int hs_report_write_stacks(struct hs_report *report);

/* report_tree.c */
int hs_report_write_tree(struct hs_report *report);

/* report_json.c */
int hs_report_write_json(struct hs_report *report);
void hs_report_json_amount(struct hs_json *json, const char *key, const struct hs_amount *amount);
/* The field "heaps" of the open object, for all who add them up: what each has by itself. */
int hs_report_json_heaps(const struct hs_selection *selection, struct hs_json *json);
/* Its name and module, as fields of the open object. */
void hs_report_json_function(struct hs_report *report, struct hs_json *json,
                             const struct hs_agg *agg, uint32_t function);
/* report_json_tree.c: the field "tree" of the open object */
int hs_report_write_json_tree(struct hs_report *report, struct hs_json *json);

/* Title of a section, with an empty line before it. */
void hs_report_heading(struct hs_report *report, const char *title, const char *remark);

/* A paragraph: no line longer than the terminal is wide, each beginning with `indent`. */
void hs_report_write_wrapped(struct hs_report *report, const char *indent, const char *text);

/* The value of the view, of an amount. */
static inline double hs_report_value(const struct hs_report *report, const struct hs_amount *amount)
{
    return hs_view_value(report->view, amount);
}

/*
 * Where a node is: "file.c:88", or the module's name in brackets when that is all that is known and
 * it is not the program's own. Written to `buf`, which may stay empty.
 */
void hs_report_write_place(const struct hs_report *report, uint32_t node, struct hs_buf *buf);

/* "[libfoo.so]" for a named function outside the program itself; nothing otherwise. */
void hs_report_write_module(const struct hs_report *report, const struct hs_agg_function *function,
                            struct hs_buf *buf);
