/*
 * Draws a comparison as a flame graph. See diff_view.h and svg_page.h.
 *
 * The width of a stack is the larger of its two values, so that stacks that are gone have a place
 * too. The colour says which side is larger. It is deeper, the larger the change is in proportion
 * to the box. Changes that may be chance are grey.
 *
 *     before      after       width             colour
 *     load 40     load 90     90                red, by 50 of 90
 *     init 10     -           10                blue, wholly
 *
 * Holds     a box comes before its children and is followed by everything below it; there are at
 *           most HS_SVG_BOXES_MAX boxes.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/analyse/heap_sums.h"
#include "rt/base.h"
#include "rt/check.h"
#include "util/cxx_name.h"
#include "util/human.h"
#include "util/saturate.h"
#include "util/xml.h"
#include "view/diff_view.h"
#include "view/format_interval.h"
#include "view/svg.h"
#include "view/svg_boxes.h"
#include "view/svg_page.h"

/* A quarter of a pixel in a wide window. */
#define LEAST_SHARE (1.0 / 6000)
/* Intensity of the smallest change that is not chance. */
#define COLOUR_LEAST 0.25

struct graph_box {
    uint32_t parent; /* node_count: it is an outermost function */
    uint32_t node;
    double width, start;
};

struct graph {
    const struct hs_diff *diff;
    double *widths;          /* by node; the last entry is their sum */
    struct graph_box *boxes; /* by parent, the widest first */
    uint32_t *first;         /* by parent: index in boxes; node_count + 2 entries */
    struct graph_box *todo;
    struct graph_box *shown;
    uint32_t shown_count, depth_max;
    double least;
};

static int compare_boxes(const void *a, const void *b)
{
    const struct graph_box *x = a, *y = b;
    if (x->parent != y->parent) {
        return x->parent < y->parent ? -1 : 1;
    }
    if (x->width != y->width) {
        return x->width > y->width ? -1 : 1;
    }
    return x->node < y->node ? -1 : x->node > y->node;
}

static int prepare(struct graph *g)
{
    const struct hs_diff *diff = g->diff;
    size_t count = diff->node_count + 2u;
    g->widths = calloc(count, sizeof(*g->widths));
    g->boxes = calloc(count, sizeof(*g->boxes));
    g->first = calloc(count, sizeof(*g->first));
    g->todo = calloc(count, sizeof(*g->todo));
    g->shown = calloc(count, sizeof(*g->shown));
    if (!g->widths || !g->boxes || !g->first || !g->todo || !g->shown) {
        return -ENOMEM;
    }
    for (uint32_t i = diff->node_count; i > 0; i--) {
        const struct hs_diff_node *node = &diff->nodes[i - 1];
        uint32_t parent = node->parent == HS_NODE_NONE ? diff->node_count : node->parent;
        g->widths[i - 1] += fmax(hs_view_value(diff->view, &node->self.by[HS_DIFF_BEFORE]),
                                 hs_view_value(diff->view, &node->self.by[HS_DIFF_AFTER]));
        g->widths[parent] += g->widths[i - 1];
        g->boxes[i - 1] =
            (struct graph_box){ .parent = parent, .node = i - 1, .width = g->widths[i - 1] };
        g->first[parent + 1]++;
    }
    for (uint32_t i = 1; i < count; i++) {
        g->first[i] += g->first[i - 1];
    }
    qsort(g->boxes, diff->node_count, sizeof(*g->boxes), compare_boxes);
    g->least = g->widths[diff->node_count] * LEAST_SHARE;
    return 0;
}

/* Depth first, with an explicit stack: a tree from a file may be deep. */
static void lay_out(struct graph *g)
{
    uint32_t all = g->diff->node_count;
    uint32_t depth = 0;
    g->shown_count = g->depth_max = 0;
    g->todo[depth++] = (struct graph_box){ .node = all, .width = g->widths[all] };
    while (depth > 0 && g->shown_count <= HS_SVG_BOXES_MAX) {
        struct graph_box box = g->todo[--depth];
        uint32_t row = box.node == all ? 0 : g->diff->nodes[box.node].depth + 1;
        HS_ASSERT(g->shown_count == 0 || row > 0); /* the root is the first box */
        g->shown[g->shown_count++] = box;
        g->depth_max = row > g->depth_max ? row : g->depth_max;
        double start = box.start;
        uint32_t end = row < HS_SVG_DEPTH_MAX ? g->first[box.node + 1] : g->first[box.node];
        uint32_t from = depth;
        for (uint32_t i = g->first[box.node];
             i < end && g->boxes[i].width > 0 && g->boxes[i].width >= g->least; i++) {
            g->todo[depth] = g->boxes[i];
            g->todo[depth++].start = start;
            start += g->boxes[i].width;
        }
        for (uint32_t i = from, k = depth; i + 1 < k; i++, k--) { /* reversed, so that the first
                                                                   * child is drawn next */
            struct graph_box swapped = g->todo[i];
            g->todo[i] = g->todo[k - 1];
            g->todo[k - 1] = swapped;
        }
    }
}

static void write_colour(const struct hs_diff_change *change, struct hs_buf *buf)
{
    static const unsigned char red[] = { 0xe2, 0x3d, 0x32 }, blue[] = { 0x34, 0x74, 0xd4 };
    static const unsigned char noise[] = { 0xd8, 0xdc, 0xe1 }, same[] = { 0xf0, 0xf2, 0xf4 };
    double most = fmax(change->before, change->after);
    double share = most > 0 ? fabs(change->delta) / most : 0;
    double depth = COLOUR_LEAST + (1 - COLOUR_LEAST) * fmin(share, 1);
    const unsigned char *hue = change->delta > 0 ? red : blue;
    if (change->verdict == HS_DIFF_NOISE || change->verdict == HS_DIFF_SAME) {
        hue = change->verdict == HS_DIFF_NOISE ? noise : same;
        depth = 1;
    }
    hs_buf_char(buf, '#');
    for (size_t i = 0; i < sizeof(red); i++) {
        hs_buf_printf(buf, "%02x", (unsigned)(255 - depth * (255 - hue[i])));
    }
}

/*
 * Writes name and module, both values, the change with its margin, and whether it is significant.
 */
static void write_tooltip(const struct hs_diff *diff, const struct graph_box *box,
                          const struct hs_diff_change *change, struct hs_buf *buf)
{
    bool is_count = hs_views[diff->view].is_count;
    char text[HS_DIFF_CELL_BYTES], figure[HS_FORMAT_INTERVAL_BYTES];
    hs_buf_str(buf, "<title>");
    if (box->node == diff->node_count) {
        hs_buf_str(buf, "all");
    } else {
        const char *name = hs_diff_name(diff, diff->nodes[box->node].function);
        const char *module = hs_diff_module(diff, diff->nodes[box->node].function);
        hs_xml_write(buf, name, strlen(name));
        if (module[0]) {
            hs_buf_str(buf, "  [");
            hs_xml_write(buf, module, strlen(module));
            hs_buf_char(buf, ']');
        }
    }
    hs_buf_printf(buf, "\nbefore %s", hs_format_value(figure, is_count, change->before));
    hs_buf_printf(buf, ", after %s", hs_format_value(figure, is_count, change->after));
    hs_buf_printf(buf, ": %s", hs_diff_signed(text, is_count, change->delta));
    hs_diff_percent(text, change);
    hs_buf_printf(buf, "%s%s", text[0] ? ", " : "", text);
    hs_diff_interval(text, is_count, change);
    hs_buf_printf(buf, "%s%s%s\n%s</title>", text[0] ? " (95 %: " : "", text, text[0] ? ")" : "",
                  change->verdict == HS_DIFF_NOISE ? "within noise"
                                                   : hs_diff_verdict_names[change->verdict]);
}

static void write_box(const struct graph *g, const struct graph_box *box, struct hs_buf *label,
                      struct hs_buf *buf)
{
    const struct hs_diff *diff = g->diff;
    bool is_all = box->node == diff->node_count;
    double all = g->widths[diff->node_count];
    double scale = all > 0 ? (HS_SVG_WIDTH - 2 * HS_SVG_SIDE) / all : 0;
    double x = HS_SVG_SIDE + box->start * scale;
    double width = box->width * scale - HS_SVG_GAP;
    uint32_t row = is_all ? 0 : diff->nodes[box->node].depth + 1;
    uint32_t y = HS_SVG_HEAD_HEIGHT + row * HS_SVG_ROW_HEIGHT;
    struct hs_diff_change change =
        hs_diff_change_of(diff, is_all ? &diff->stacks : &diff->nodes[box->node].total);
    hs_buf_printf(buf, "<g data-v=\"%.0f %.0f %u\">", box->start, box->width, row);
    write_tooltip(diff, box, &change, buf);
    hs_buf_printf(buf, "<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%u\" rx=\"1.5\" fill=\"",
                  x, y, width > 0.3 ? width : 0.3, HS_SVG_BOX_HEIGHT);
    write_colour(&change, buf);
    hs_buf_str(buf, "\"/>");
    if (width >= HS_SVG_BOX_TEXT_MIN) {
        label->bytes = 0;
        hs_cxx_write_fit(label,
                         is_all ? "all" : hs_diff_name(diff, diff->nodes[box->node].function),
                         hs_saturate_round_unsigned(floor((width - 6) / HS_SVG_CHAR_WIDTH)));
        hs_buf_printf(buf, "<text x=\"%.2f\" y=\"%.1f\">", x + 3, y + 12.5);
        hs_xml_write(buf, hs_buf_text(label), label->bytes);
        hs_buf_str(buf, "</text>");
    }
    hs_buf_str(buf, "</g>\n");
}

static void write_legend(struct hs_buf *buf)
{
    static const struct {
        const char *colour, *text;
        uint32_t x;
    } parts[] = {
        { "#e23d32", "grew, new", HS_SVG_SIDE },
        { "#3474d4", "shrank, gone", 120 },
        { "#d8dce1", "within noise", 250 },
        { "#f0f2f4", "the same", 380 },
    };
    for (size_t i = 0; i < HS_COUNT_OF(parts); i++) {
        hs_buf_printf(buf,
                      "<rect x=\"%u\" y=\"68\" width=\"11\" height=\"11\" rx=\"2\" fill=\"%s\"/>"
                      "<text class=\"legend\" x=\"%u\" y=\"78\">%s</text>\n",
                      parts[i].x, parts[i].colour, parts[i].x + 16, parts[i].text);
    }
}

static void write_words(const struct graph *g, const struct hs_diff_options *options,
                        struct hs_buf *title, struct hs_buf *details)
{
    const struct hs_diff *diff = g->diff;
    bool is_count = hs_views[diff->view].is_count;
    struct hs_diff_change change = hs_diff_change_of(diff, &diff->total);
    char text[HS_DIFF_CELL_BYTES], before[HS_FORMAT_INTERVAL_BYTES],
        after[HS_FORMAT_INTERVAL_BYTES];
    hs_buf_printf(title, "Difference in %s: %s",
                  hs_view_title(diff->view, diff->is_peak_of_several),
                  hs_diff_signed(text, is_count, change.delta));
    hs_buf_printf(details, "%s in %s, before; %s in %s, after",
                  hs_format_value(before, is_count, change.before), options->names[HS_DIFF_BEFORE],
                  hs_format_value(after, is_count, change.after), options->names[HS_DIFF_AFTER]);
    for (int side = 0; side < HS_DIFF_SIDE_N; side++) {
        struct hs_buf heaps = HS_BUF_INIT;
        if (hs_heap_sums_describe(options->selections[side], &heaps) > 1) {
            hs_buf_printf(details, "; %s: %s", side == HS_DIFF_BEFORE ? "before" : "after",
                          hs_buf_text(&heaps));
        }
        details->err = details->err ? details->err : heaps.err;
        hs_buf_deinit(&heaps);
    }
    if (diff->is_normalized) {
        hs_buf_printf(details, "; the figures of \"before\" are multiplied by %.4g", diff->scale);
    }
    hs_buf_printf(
        details,
        "; the width of a box is the larger of its two values; boxes below %s are left out",
        hs_format_value(before, is_count, g->least));
}

int hs_diff_write_svg(const struct hs_diff *diff, const struct hs_diff_options *options,
                      struct hs_buf *buf)
{
    struct graph g = { .diff = diff };
    struct hs_buf title = HS_BUF_INIT, details = HS_BUF_INIT, label = HS_BUF_INIT;
    int err = prepare(&g);
    if (err == 0) {
        for (lay_out(&g); g.shown_count > HS_SVG_BOXES_MAX; lay_out(&g)) {
            g.least *= 1.5;
        }
        write_words(&g, options, &title, &details);
        hs_svg_page_begin(buf, g.depth_max, hs_buf_text(&title));
        for (uint32_t i = 0; i < g.shown_count && buf->err == 0; i++) {
            write_box(&g, &g.shown[i], &label, buf);
        }
        hs_svg_page_head(buf, hs_buf_text(&title), hs_buf_text(&details));
        write_legend(buf);
        hs_svg_page_end(buf);
        err = title.err ? title.err : details.err ? details.err : label.err;
    }
    hs_buf_deinit(&title);
    hs_buf_deinit(&details);
    hs_buf_deinit(&label);
    free(g.widths);
    free(g.boxes);
    free(g.first);
    free(g.todo);
    free(g.shown);
    return err ? err : buf->err;
}
