/*
 * The call tree, main first. See report_parts.h.
 *
 *      412 MiB  100.0 %  main
 *      390 MiB   94.6 %  ├ run
 *                        │ loop
 *      300 MiB   72.8 %  │ ├ set_command
 *       90 MiB   21.8 %  │ └ 3 others
 *       22 MiB    5.4 %  └ init
 *
 * If a function has only one child that matters, the child is not indented and has no figures,
 * because they would be the same. Otherwise long chains would make such trees unreadable.
 */
#include <stdlib.h>
#include <string.h>

#include "util/cxx_name.h"
#include "util/utf8.h"
#include "view/report_parts.h"

/* Nodes below this share are summed up as "others", unless everything was requested. */
#define SHARE_MIN 0.01
/* Limits the levels of branches that are shown: a forged tree is cut off there. */
#define PREFIX_BYTES_MAX 2000
/* A child with at least this share of its parent is written without indentation. */
#define CHAIN_SHARE     0.995

#define FIGURES_COLUMNS 23
#define BRANCH_COLUMNS  2
#define PREFIX_MIN      2
#define NAME_MIN        12
#define PLACE_ROOM_MIN  40

/*
 * The prefix has "│ " for each level whose line continues below; it grows and shrinks during the
 * walk.
 */
struct walker {
    struct hs_report *report;
    struct hs_agg agg; /* by function; it belongs to the caller */
    struct hs_amount *totals;
    struct hs_agg_children tree;
    struct hs_buf prefix;
    double total;
    double least;
    bool has_chain; /* was a function written without figures? */
};

static double value_of(const struct walker *w, uint32_t node)
{
    return hs_report_value(w->report, &w->totals[node]);
}

static void write_figures(struct walker *w, double value, bool is_blank)
{
    char text[HS_FORMAT_INTERVAL_BYTES];
    struct hs_buf *buf = w->report->buf;
    hs_buf_str(buf, "  ");
    hs_format_value(text, hs_views[w->report->view].is_count, value);
    hs_text_pad(buf, is_blank ? "" : text, 9, true);
    hs_human_share(text, value, w->total);
    hs_text_pad(buf, is_blank ? "" : text, 9, true);
    hs_buf_str(buf, "   ");
}

/*
 * Writes the lines of the outer levels. If they are very deep, writes only the innermost ones,
 * which fit in half of the terminal or less where it is narrow. Returns the columns used.
 */
static size_t write_prefix(struct walker *w)
{
    struct hs_buf *buf = w->report->buf;
    size_t columns = w->report->options->columns;
    size_t wanted = hs_utf8_columns(w->prefix.data, w->prefix.bytes);
    size_t others = FIGURES_COLUMNS + BRANCH_COLUMNS + NAME_MIN;
    size_t left = columns > others + PREFIX_MIN ? columns - others : PREFIX_MIN;
    size_t limit = (left < columns / 2 ? left : columns / 2) / 2 * 2;
    if (columns == 0 || wanted <= limit) {
        hs_buf_add(buf, w->prefix.data, w->prefix.bytes);
        return wanted;
    }
    size_t from = hs_utf8_fit_end(w->prefix.data, w->prefix.bytes, limit - 2);
    hs_buf_str(buf, "… ");
    hs_buf_add(buf, w->prefix.data + from, w->prefix.bytes - from);
    return limit;
}

static void write_line(struct walker *w, const char *branch, const char *name, const char *place)
{
    struct hs_buf *buf = w->report->buf;
    bool has_colour = w->report->options->has_colour;
    size_t columns = w->report->options->columns;
    hs_text_style(buf, has_colour, HS_TEXT_DIM);
    size_t taken = FIGURES_COLUMNS + write_prefix(w) + hs_utf8_columns(branch, strlen(branch));
    hs_buf_str(buf, branch);
    hs_text_style(buf, has_colour, HS_TEXT_PLAIN);
    size_t room = columns == 0 ? SIZE_MAX : columns > taken + NAME_MIN ? columns - taken : NAME_MIN;
    size_t place_columns = place[0] ? hs_utf8_columns(place, strlen(place)) + 2 : 0;
    /* Leaves out the module if the name would otherwise be cut. */
    bool has_place = place[0] && (columns == 0 || room >= place_columns + PLACE_ROOM_MIN);
    hs_cxx_write_fit(buf, name, has_place && columns != 0 ? room - place_columns : room);
    if (has_place) {
        hs_buf_str(buf, "  ");
        hs_text_style(buf, has_colour, HS_TEXT_DIM);
        hs_utf8_write(buf, place, strlen(place));
        hs_text_style(buf, has_colour, HS_TEXT_PLAIN);
    }
    hs_buf_char(buf, '\n');
}

static void write_node(struct walker *w, uint32_t node, const char *branch)
{
    struct hs_buf name = HS_BUF_INIT;
    struct hs_buf place = HS_BUF_INIT;
    const struct hs_agg_function *f = &w->agg.functions[w->agg.nodes[node].function];
    hs_agg_write_function(&w->agg, w->agg.nodes[node].function, &name);
    hs_report_write_module(w->report, f, &place);
    write_line(w, branch, hs_buf_text(&name), hs_buf_text(&place));
    hs_buf_deinit(&name);
    hs_buf_deinit(&place);
}

/* Returns the only child that continues the line of `node`, or HS_NODE_NONE. */
static uint32_t chain_child(const struct walker *w, uint32_t node)
{
    uint32_t first = w->tree.first[node];
    if (first == w->tree.first[node + 1]) {
        return HS_NODE_NONE;
    }
    uint32_t child = w->tree.children[first];
    return value_of(w, child) >= CHAIN_SHARE * value_of(w, node) ? child : HS_NODE_NONE;
}

static void walk_children(struct walker *w, uint32_t node);

static void walk_child(struct walker *w, uint32_t node, bool is_last, bool is_top)
{
    write_figures(w, value_of(w, node), false);
    write_node(w, node, is_top ? "" : is_last ? "└ " : "├ ");
    size_t prefix_bytes = w->prefix.bytes;
    if (!is_top) {
        hs_buf_str(&w->prefix, is_last ? "  " : "│ ");
    }
    uint32_t next;
    while ((next = chain_child(w, node)) != HS_NODE_NONE) {
        node = next;
        w->has_chain = true;
        write_figures(w, 0, true);
        write_node(w, node, "");
    }
    walk_children(w, node);
    w->prefix.bytes = prefix_bytes;
}

static void write_others(struct walker *w, uint32_t count, double value)
{
    struct hs_buf text = HS_BUF_INIT;
    write_figures(w, value, false);
    hs_buf_printf(&text, "%u other%s", count, count == 1 ? "" : "s");
    write_line(w, "└ ", hs_buf_text(&text), "");
    hs_buf_deinit(&text);
}

/* `node` may be node_count: then the outermost functions. */
static void walk_children(struct walker *w, uint32_t node)
{
    uint32_t first = w->tree.first[node];
    uint32_t end = w->tree.first[node + 1];
    uint32_t shown = first;
    double others = 0;
    uint32_t others_count = 0;
    bool is_top = node == w->agg.node_count;
    if (w->prefix.bytes > PREFIX_BYTES_MAX) {
        write_figures(w, 0, true);
        write_line(w, "└ ", "…", "");
        return;
    }
    while (shown < end && value_of(w, w->tree.children[shown]) > 0 &&
           value_of(w, w->tree.children[shown]) >= w->least) {
        shown++;
    }
    for (uint32_t i = shown; i < end; i++) {
        double value = value_of(w, w->tree.children[i]);
        others += value;
        others_count += value > 0;
    }
    for (uint32_t i = first; i < shown; i++) {
        walk_child(w, w->tree.children[i], i + 1 == shown && others_count == 0, is_top);
    }
    if (others_count > 0) {
        write_others(w, others_count, others);
    }
}

int hs_report_write_tree_of(struct hs_report *report, const struct hs_agg *agg, double total,
                            bool *has_chain)
{
    struct walker w = { .report = report, .agg = *agg, .total = total };
    w.least = report->options->top_count == HS_REPORT_ALL ? 0 : SHARE_MIN * total;
    int err = hs_agg_totals(&w.agg, hs_views[report->view].quantity, &w.totals);
    if (err == 0) {
        err = hs_agg_children_build(&w.agg, w.totals, report->view, &w.tree);
    }
    if (err == 0 && w.tree.first) {
        walk_children(&w, w.agg.node_count);
        err = w.prefix.err;
        *has_chain |= w.has_chain;
    }
    hs_agg_children_deinit(&w.tree);
    free(w.totals);
    hs_buf_deinit(&w.prefix);
    return err;
}

void hs_report_write_chain_words(struct hs_report *report, bool has_chain)
{
    if (has_chain) {
        hs_buf_char(report->buf, '\n');
        hs_report_write_wrapped(report, "  ",
                                "A function without figures has at least 99.5 % of the figure of "
                                "its caller, on the line above.");
    }
}

int hs_report_write_tree(struct hs_report *report)
{
    double total = hs_report_value(report, &report->total);
    bool is_all = report->options->top_count == HS_REPORT_ALL, has_chain = false;
    struct hs_agg agg;
    int err = total > 0 ? hs_agg_build(&report->selection, false, &agg) : 0;
    if (err == 0 && total > 0) {
        hs_report_heading(
            report, "Call tree",
            is_all ? "" : "functions below 1 % are added up as \"others\"; --top all shows each");
        err = hs_report_write_tree_of(report, &agg, total, &has_chain);
        hs_agg_deinit(&agg);
        hs_report_write_chain_words(report, has_chain);
    }
    return err;
}
