/*
 * One paragraph that answers the question: where did the memory go? See report_parts.h.
 *
 *     Where did the memory go?
 *       412 MiB were live at the peak. 61.2 % of it was allocated by createObject, 12.1 % by
 *       dictExpand and 5.3 % by sdsnewlen. 93.8 % was allocated under processCommand.
 *
 * Functions are named as long as each explains a considerable part. The last sentence names the
 * deepest function of the program under which at least three quarters of the memory was allocated.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/analyse/wrappers.h"
#include "profile/model/frame_class.h"
#include "util/cxx_name.h"
#include "util/utf8.h"
#include "view/report_parts.h"

#define NAMED_MAX       3
#define NAMED_SHARE_MIN 0.04
#define UNDER_SHARE_MIN 0.75
#define NAME_COLUMNS    60

/* If allocated blocks explain less than this share of the resident memory, the report says so. */
#define EXPLAINED_SHARE_MIN 0.5
/* A smaller process consists mostly of code and libraries. */
#define RESIDENT_BYTES_MIN (16.0 * 1024 * 1024)

static void add_name(const struct hs_report *report, uint32_t function, struct hs_buf *text)
{
    struct hs_buf name = HS_BUF_INIT;
    struct hs_buf bare = HS_BUF_INIT;
    hs_agg_write_function(&report->agg, function, &name);
    hs_cxx_write(&bare, hs_buf_text(&name), HS_CXX_BARE);
    bool is_jit = report->agg.functions[function].kind != HS_FRAME_KIND_NATIVE;
    hs_cxx_write_fit(text, is_jit ? hs_buf_text(&name) : hs_buf_text(&bare), NAME_COLUMNS);
    hs_buf_deinit(&name);
    hs_buf_deinit(&bare);
}

/*
 * Writes " (through x264_malloc)": the function that it called to allocate, if that is a wrapper of
 * the program that has a name. An address would tell the reader nothing.
 */
static void add_through(const struct hs_report *report, uint32_t function, struct hs_buf *text)
{
    uint32_t wrapper = hs_wrappers_through(&report->agg, function, report->view);
    if (wrapper != UINT32_MAX && report->agg.functions[wrapper].name != 0) {
        hs_buf_str(text, " (through ");
        add_name(report, wrapper, text);
        hs_buf_char(text, ')');
    }
}

/* What functions did with the memory, blocks or allocations of the view. */
static const char *verb_of(const struct hs_report *report)
{
    return !hs_views[report->view].is_count        ? "was allocated"
           : report->view == HS_VIEW_ALLOC_OBJECTS ? "were made"
                                                   : "were allocated";
}

/*
 * Writes "61.2 % of it was allocated by a, 12.1 % by b and 5.3 % by c." Returns the first function
 * named.
 */
static uint32_t add_allocators(struct hs_report *report, struct hs_buf *text)
{
    double total = hs_report_value(report, &report->total);
    const char *what = hs_views[report->view].is_count ? "them" : "it";
    uint32_t named = 0;
    hs_agg_sort_functions(report->rows, report->row_count, report->view, HS_AGG_BY_SELF);
    while (named < NAMED_MAX && named < report->row_count &&
           hs_report_value(report, &report->rows[named].self) >= NAMED_SHARE_MIN * total) {
        named++;
    }
    if (named == 0) {
        hs_buf_printf(text, " No single function %s 4 %% of %s.",
                      report->view == HS_VIEW_ALLOC_OBJECTS ? "made" : "allocated", what);
        return UINT32_MAX;
    }
    for (uint32_t i = 0; i < named; i++) {
        char share[HS_HUMAN_BYTES];
        hs_human_share(share, hs_report_value(report, &report->rows[i].self), total);
        const char *before = i == 0 ? " " : i + 1 == named ? " and " : ", ";
        hs_buf_printf(text, "%s%s ", before, share);
        if (i == 0) {
            hs_buf_printf(text, "of %s %s ", what, verb_of(report));
        }
        hs_buf_str(text, "by ");
        add_name(report, report->rows[i].function, text);
        add_through(report, report->rows[i].function, text);
    }
    hs_buf_char(text, '.');
    return report->rows[0].function;
}

/* Finds the deepest function of the program that allocated most of it, itself or in its callees. */
static uint32_t find_under(struct hs_report *report, const struct hs_amount *totals)
{
    double least = UNDER_SHARE_MIN * hs_report_value(report, &report->total);
    uint32_t deepest = HS_NODE_NONE;
    for (uint32_t i = 0; i < report->agg.node_count; i++) {
        const struct hs_agg_node *node = &report->agg.nodes[i];
        uint8_t class_ = report->agg.functions[node->function].class_;
        if (class_ == HS_FRAME_CLASS_USER && hs_report_value(report, &totals[i]) >= least &&
            (deepest == HS_NODE_NONE || node->depth > report->agg.nodes[deepest].depth)) {
            deepest = i;
        }
    }
    return deepest;
}

/* What the function and its callees allocated on all paths, as the table of functions has it. */
static double total_of(const struct hs_report *report, uint32_t function)
{
    for (uint32_t i = 0; i < report->row_count; i++) {
        if (report->rows[i].function == function) {
            return hs_report_value(report, &report->rows[i].total);
        }
    }
    return 0;
}

static void add_under(struct hs_report *report, uint32_t named, struct hs_buf *text)
{
    struct hs_amount *totals;
    int err = hs_agg_totals(&report->agg, hs_views[report->view].quantity, &totals);
    if (err < 0) {
        text->err = err;
        return;
    }
    uint32_t node = find_under(report, totals);
    /* The function that was just named, and main, would add nothing. */
    if (node != HS_NODE_NONE && report->agg.nodes[node].function != named &&
        report->agg.nodes[node].depth > 0) {
        uint32_t function = report->agg.nodes[node].function;
        const char *name = hs_profile_string(report->profile, report->agg.functions[function].name);
        if (strcmp(name, "main") != 0) {
            char share[HS_HUMAN_BYTES];
            hs_human_share(share, total_of(report, function),
                           hs_report_value(report, &report->total));
            hs_buf_printf(text, " %s %s by ", share, verb_of(report));
            add_name(report, function, text);
            hs_buf_str(text, " or by functions that it called.");
        }
    }
    free(totals);
}

static void add_what(struct hs_report *report, struct hs_buf *text)
{
    static const char *const words[HS_VIEW_N] = {
        [HS_VIEW_SPACE] = "are live",
        [HS_VIEW_OBJECTS] = "objects are live",
        [HS_VIEW_ALLOC_SPACE] = "were allocated in total",
        [HS_VIEW_ALLOC_OBJECTS] = "allocations were made in total",
        [HS_VIEW_PEAK] = "were live at the peak",
    };
    char value[HS_FORMAT_INTERVAL_BYTES];
    struct hs_figure total = hs_view_figure(report->view, &report->total);
    bool is_count = hs_views[report->view].is_count;
    if (report->selection.is_lossy) {
        hs_format_value(value, is_count, total.value);
        hs_buf_str(text, "At least ");
    } else {
        hs_format_interval(value, is_count, &total);
    }
    const struct hs_selection *s = &report->selection;
    bool is_live = hs_views[report->view].quantity == HS_QUANTITY_LIVE;
    if (report->view == HS_VIEW_PEAK && s->is_peak_of_several) {
        hs_buf_printf(text, "%s were live at the peaks of %sthe processes, in total.", value,
                      s->is_peak_of_all ? "all heaps of " : "");
    } else if (report->view == HS_VIEW_PEAK && s->is_peak_of_all) {
        hs_buf_printf(text, "%s were live at the peak of all heaps.", value);
    } else if (is_live && hs_selection_is_at_end(s)) {
        hs_buf_printf(text, "%s%s were live at the %s.", value,
                      hs_views[report->view].is_count ? " objects" : "",
                      s->is_peak_of_several ? "ends of the processes, in total" : "end");
    } else {
        hs_buf_printf(text, "%s %s.", value, words[report->view]);
    }
}

struct explained {
    uint32_t process_count; /* number of processes in the sums */
    double bytes, resident_bytes;
};

/* Adds a process if its size is known and it is more than code. */
static void add_explained(const struct hs_profile_dump *dump, struct explained *sum)
{
    bool is_now = dump->rss_bytes != 0;
    double resident = (double)(is_now ? dump->rss_bytes : dump->rss_peak_bytes);
    if (resident >= RESIDENT_BYTES_MIN && (is_now || dump->has_peak)) {
        sum->bytes += is_now ? dump->live.bytes : dump->peak.bytes;
        sum->resident_bytes += resident;
        sum->process_count++;
    }
}

/*
 * Writes "Allocated blocks account for only 12.0 % of the resident memory: ..." if that is so.
 * Memory that several processes share, such as the blocks with which a forked process began, counts
 * in each of them.
 */
static bool add_unexplained(const struct hs_report *report, struct hs_buf *text)
{
    const struct hs_selection *s = &report->selection;
    struct explained sum = { 0 };
    char size[HS_HUMAN_BYTES], part[HS_HUMAN_BYTES];
    for (uint32_t i = 0; i < s->dump_count; i++) {
        add_explained(&report->profile->dumps[s->dumps[i]], &sum);
    }
    /* Of some heaps, that is no wonder. */
    if (s->is_peak_of_all || sum.process_count == 0 ||
        sum.bytes > sum.resident_bytes * EXPLAINED_SHARE_MIN) {
        return false;
    }
    hs_buf_printf(text, "Allocated blocks account for only %s of the resident memory: ",
                  hs_human_share(part, sum.bytes, sum.resident_bytes));
    hs_human_bytes(size, sum.resident_bytes);
    if (sum.process_count == 1 && s->dump_count == 1) {
        hs_buf_printf(text, "%s were resident", size);
    } else if (sum.process_count == 1) {
        hs_buf_printf(text, "%s were resident in the one large process", size);
    } else {
        hs_buf_printf(text, "%s were resident in the %u large processes together", size,
                      sum.process_count);
    }
    hs_buf_str(text, ", and most of that is not in this profile. ");
    return true;
}

/* Writes the sentences of the answer. */
static void add_answer(struct hs_report *report, struct hs_buf *text)
{
    bool is_little = add_unexplained(report, text);
    add_what(report, text);
    uint32_t named = add_allocators(report, text);
    add_under(report, named, text);
    if (is_little && hs_report_is_incomplete(report)) {
        hs_buf_printf(
            text, " Much of the rest may be allocations that are missing from the profile: see %s.",
            report->words ? "the warnings" : "the lines above that begin with \"!\"");
    }
    if (is_little && !hs_report_has_ledger(report) && !hs_report_is_incomplete(report)) {
        hs_buf_str(text, " The rest of the resident memory is code, stacks, free memory that "
                         "the allocator has not returned, and memory that the program maps by "
                         "itself, as the runtimes of "
                         "Python, Java and JavaScript do for their objects.");
    }
}

void hs_report_write_answer_words(struct hs_report *report)
{
    if (hs_report_value(report, &report->total) <= 0) {
        char nowhere[128], unseen[HS_FORMAT_INTERVAL_BYTES];
        const struct hs_view_info *view = &hs_views[report->view];
        struct hs_figure total = hs_view_figure(report->view, &report->total);
        double above = hs_margin_of(&total).above;
        snprintf(nowhere, sizeof(nowhere),
                 above > 0
                     ? "No sample was taken for this view: with 95 %% confidence, the true value "
                       "is at most %s."
                     : "This profile has no %s.",
                 above > 0 ? hs_format_value(unseen, view->is_count, above) : view->title);
        hs_report_write_wrapped(report, "  ", nowhere);
        return;
    }
    if (report->agg.self_count == 0) {
        hs_report_write_wrapped(report, "  ",
                                "Only the totals of this snapshot are known, not its stacks.");
        return;
    }
    struct hs_buf text = HS_BUF_INIT;
    add_answer(report, &text);
    hs_report_write_wrapped(report, "  ", hs_buf_text(&text));
    if (text.err) {
        report->buf->err = report->buf->err ? report->buf->err : text.err;
    }
    hs_buf_deinit(&text);
}

void hs_report_write_answer(struct hs_report *report)
{
    char remark[128] = "";
    if (report->view_reason) {
        snprintf(remark, sizeof(remark), "(view: %s, because %s)", hs_views[report->view].name,
                 report->view_reason);
    } else {
        snprintf(remark, sizeof(remark), "(view: %s)", hs_views[report->view].name);
    }
    hs_report_heading(report, "Where did the memory go?", remark);
    hs_report_write_answer_words(report);
    hs_report_write_ledger_words(report);
}
