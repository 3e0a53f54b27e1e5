/*
 * See svg.h. The file is written from top to bottom: style, boxes, head, script. The head is drawn
 * after the boxes, so that it stays on top of them when the page is scrolled.
 */
#include "view/svg.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/analyse/heap_sums.h"
#include "profile/model/describe.h"
#include "profile/model/frame_class.h"
#include "util/buf.h"
#include "util/cxx_name.h"
#include "util/human.h"
#include "util/saturate.h"
#include "util/utf8.h"
#include "util/xml.h"
#include "view/format_interval.h"
#include "view/svg_boxes.h"
#include "view/svg_page.h"

#define LEGEND_MAX 6

/*
 * Hues for modules, the largest first. For readers who see few colours, their order distinguishes
 * them.
 */
static const unsigned char palette[][3] = {
    { 0xf6, 0xa8, 0x6a }, { 0x8c, 0xb9, 0xec }, { 0x9b, 0xd3, 0x8d }, { 0xd9, 0xa7, 0xe6 },
    { 0xf2, 0xd0, 0x5c }, { 0x7f, 0xd0, 0xcb }, { 0xf0, 0x9a, 0xa8 }, { 0xb8, 0xb5, 0xf2 },
};
#define PALETTE_COUNT ((uint32_t)(sizeof(palette) / sizeof(palette[0])))
#define NO_COLOUR     UINT32_MAX

struct svg {
    const struct hs_profile *profile;
    struct hs_selection selection;
    struct hs_agg agg;
    enum hs_view view;
    struct hs_amount total;
    struct hs_boxes boxes;
    uint32_t *module_rank; /* by module: index in the palette, NO_COLOUR for grey */
    uint32_t *ranked;      /* modules by rank */
    uint32_t ranked_count;
    struct hs_buf *buf;
};

struct module_value {
    uint32_t module;
    double value;
};

static int compare_modules(const void *a, const void *b)
{
    const struct module_value *x = a;
    const struct module_value *y = b;
    if (x->value > y->value || x->value < y->value) {
        return x->value > y->value ? -1 : 1;
    }
    return x->module < y->module ? -1 : 1;
}

static bool is_grey(const struct hs_agg_function *f)
{
    return f->class_ != HS_FRAME_CLASS_USER;
}

/* The modules that fill most of the picture get colours. */
static int rank_modules(struct svg *svg)
{
    uint32_t n = svg->profile->module_count;
    struct module_value *values = calloc(n + 1u, sizeof(*values));
    svg->module_rank = calloc(n + 1u, sizeof(*svg->module_rank));
    svg->ranked = calloc(n + 1u, sizeof(*svg->ranked));
    if (!values || !svg->module_rank || !svg->ranked) {
        free(values);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < n; i++) {
        values[i].module = i;
    }
    for (uint32_t i = 0; i < svg->boxes.count; i++) {
        const struct hs_box *box = &svg->boxes.boxes[i];
        if (box->node < svg->agg.node_count) {
            const struct hs_agg_function *f =
                &svg->agg.functions[svg->agg.nodes[box->node].function];
            if (f->module < n && !is_grey(f)) {
                values[f->module].value += box->figure.value;
            }
        }
    }
    qsort(values, n, sizeof(*values), compare_modules);
    for (uint32_t i = 0; i < n; i++) {
        bool is_there = values[i].value > 0;
        svg->module_rank[values[i].module] = is_there ? i : NO_COLOUR;
        svg->ranked[i] = values[i].module;
        svg->ranked_count += is_there;
    }
    free(values);
    return 0;
}

/*
 * Boxes of one module differ slightly in lightness, which depends on the name, so that neighbours
 * stand apart.
 */
static void write_colour(struct svg *svg, const struct hs_box *box)
{
    unsigned char rgb[3] = { 0xd8, 0xdc, 0xe1 };
    uint32_t shade = 0;
    if (box->node < svg->agg.node_count) {
        uint32_t function = svg->agg.nodes[box->node].function;
        const struct hs_agg_function *f = &svg->agg.functions[function];
        shade = (uint32_t)((function * 2654435761u) >> 28);
        uint32_t rank = f->module < svg->profile->module_count ? svg->module_rank[f->module] : 0;
        if (!is_grey(f) && rank != NO_COLOUR) {
            memcpy(rgb, palette[rank % PALETTE_COUNT], sizeof(rgb));
        }
    }
    for (size_t i = 0; i < sizeof(rgb); i++) {
        rgb[i] = (unsigned char)(rgb[i] + (255u - rgb[i]) * shade / 36u);
    }
    hs_buf_printf(svg->buf, "#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
}

static void write_name(struct svg *svg, const struct hs_box *box, struct hs_buf *name)
{
    if (box->node == HS_BOX_ROOT) {
        hs_buf_str(name, "all");
    } else if (box->node == HS_BOX_MERGED) {
        hs_buf_printf(name, "%u small one%s", box->merged_count, box->merged_count == 1 ? "" : "s");
    } else {
        hs_agg_write_function(&svg->agg, svg->agg.nodes[box->node].function, name);
    }
}

/* Writes name and module, value and share, and what the function allocated itself. */
static void write_tooltip(struct svg *svg, const struct hs_box *box, const struct hs_buf *name)
{
    bool is_count = hs_views[svg->view].is_count;
    double total = hs_view_value(svg->view, &svg->total);
    char text[HS_FORMAT_INTERVAL_BYTES];
    struct hs_buf *buf = svg->buf;
    hs_buf_str(buf, "<title>");
    hs_xml_write(buf, name->data, name->bytes);
    if (box->node < svg->agg.node_count) {
        const struct hs_agg_function *f = &svg->agg.functions[svg->agg.nodes[box->node].function];
        const char *module = hs_describe_module(svg->profile, f->module);
        if (f->name != 0 && module[0]) {
            hs_buf_str(buf, "  [");
            hs_xml_write(buf, module, strlen(module));
            hs_buf_char(buf, ']');
        }
    }
    hs_buf_printf(buf, "\n%s", hs_format_interval(text, is_count, &box->figure));
    hs_buf_str(buf, is_count ? " objects, " : ", ");
    hs_human_share(text, box->figure.value, total);
    hs_xml_write(buf, text, strlen(text)); /* escaped, because it may be "<0.1 %" */
    if (box->self > 0 && box->self < box->figure.value) {
        hs_buf_printf(buf, "\n%s of it itself", hs_format_value(text, is_count, box->self));
    }
    hs_buf_str(buf, "</title>");
}

static void write_box(struct svg *svg, const struct hs_box *box, struct hs_buf *name,
                      struct hs_buf *label)
{
    double total = hs_view_value(svg->view, &svg->total);
    double scale = total > 0 ? (HS_SVG_WIDTH - 2 * HS_SVG_SIDE) / total : 0;
    double x = HS_SVG_SIDE + box->start * scale;
    double width = box->width * scale - HS_SVG_GAP;
    uint32_t y = HS_SVG_HEAD_HEIGHT + box->depth * HS_SVG_ROW_HEIGHT;
    struct hs_buf *buf = svg->buf;
    name->bytes = 0;
    write_name(svg, box, name);
    hs_buf_printf(buf, "<g data-v=\"%.0f %.0f %u\">", box->start, box->width, box->depth);
    write_tooltip(svg, box, name);
    hs_buf_printf(buf, "<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%u\" rx=\"1.5\" fill=\"",
                  x, y, width > 0.3 ? width : 0.3, HS_SVG_BOX_HEIGHT);
    write_colour(svg, box);
    hs_buf_str(buf, "\"/>");
    if (width >= HS_SVG_BOX_TEXT_MIN) {
        label->bytes = 0;
        hs_cxx_write_fit(label, hs_buf_text(name),
                         hs_saturate_round_unsigned(floor((width - 6) / HS_SVG_CHAR_WIDTH)));
        hs_buf_printf(buf, "<text x=\"%.2f\" y=\"%.1f\">", x + 3, y + 12.5);
        hs_xml_write(buf, hs_buf_text(label), label->bytes);
        hs_buf_str(buf, "</text>");
    }
    hs_buf_str(buf, "</g>\n");
}

static void write_title_text(struct svg *svg, struct hs_buf *text)
{
    const struct hs_selection *s = &svg->selection;
    const struct hs_profile_dump *dump = &svg->profile->dumps[s->dumps[0]];
    const struct hs_profile_process *process = &svg->profile->processes[dump->process];
    const struct hs_view_info *view = &hs_views[svg->view];
    char figure[HS_FORMAT_INTERVAL_BYTES];
    hs_buf_printf(text, "%s (pid %u", hs_profile_string(svg->profile, process->name), process->pid);
    if (s->dump_count > 1) {
        hs_buf_printf(text, " and %u more", s->dump_count - 1);
    }
    struct hs_figure total = hs_view_figure(svg->view, &svg->total);
    hs_format_interval(figure, view->is_count, &total);
    bool is_end = hs_selection_is_at_end(s) && view->quantity == HS_QUANTITY_LIVE;
    hs_buf_printf(text, "): %s%s, %s", hs_view_title(svg->view, s->is_peak_of_several),
                  is_end ? " at the end" : "", figure);
}

static void write_subtitle_text(struct svg *svg, struct hs_buf *text)
{
    const struct hs_selection *s = &svg->selection;
    char number[HS_HUMAN_BYTES];
    bool has_losses = false;
    for (uint32_t i = 0; i < svg->profile->loss_count; i++) {
        const struct hs_profile_loss *loss = &svg->profile->losses[i];
        has_losses |= loss->is_serious && loss->count > 0 && hs_selection_has_loss(s, loss);
    }
    hs_buf_printf(text, "%s samples", hs_human_exact(number, s->sample_count));
    if (s->interval_max_bytes > 1) {
        hs_buf_printf(text, " at a mean interval of %s",
                      hs_human_bytes(number, (double)s->interval_max_bytes));
    }
    if (s->is_sampled) {
        hs_buf_str(text, s->is_lossy || s->interval_min_bytes == 0 ? "" : "; " HS_MARGINS_LEGEND);
    }
    struct hs_buf heaps = HS_BUF_INIT;
    if (hs_heap_sums_describe(s, &heaps) > 1) {
        hs_buf_printf(text, "; %s", hs_buf_text(&heaps));
    }
    hs_buf_deinit(&heaps);
    if (has_losses) {
        hs_buf_str(text, "; DATA IS MISSING: see heapscope report --health");
    }
    hs_buf_printf(text, "; boxes below %s are merged",
                  hs_views[svg->view].is_count ? hs_human_count(number, svg->boxes.least)
                                               : hs_human_bytes(number, svg->boxes.least));
}

static void write_legend(struct svg *svg)
{
    double x = HS_SVG_SIDE;
    struct hs_buf *buf = svg->buf;
    for (uint32_t i = 0; i <= svg->ranked_count && i <= LEGEND_MAX; i++) {
        bool is_grey_one = i == svg->ranked_count || i == LEGEND_MAX;
        static const unsigned char grey[3] = { 0xd8, 0xdc, 0xe1 };
        const unsigned char *rgb = is_grey_one ? grey : palette[i % PALETTE_COUNT];
        const char *name = is_grey_one ? "standard libraries, merged boxes"
                                       : hs_describe_module(svg->profile, svg->ranked[i]);
        size_t fit = hs_utf8_fit(name, strlen(name), 32);
        hs_buf_printf(buf,
                      "<rect x=\"%.1f\" y=\"68\" width=\"11\" height=\"11\" rx=\"2\" "
                      "fill=\"#%02x%02x%02x\"/><text class=\"legend\" x=\"%.1f\" y=\"78\">",
                      x, rgb[0], rgb[1], rgb[2], x + 16);
        hs_xml_write(buf, name, fit);
        hs_buf_str(buf, fit < strlen(name) ? "…</text>\n" : "</text>\n");
        x += 34 + 6.6 * (double)hs_utf8_columns(name, fit);
    }
}

static void write_head(struct svg *svg)
{
    struct hs_buf title = HS_BUF_INIT;
    struct hs_buf details = HS_BUF_INIT;
    write_title_text(svg, &title);
    write_subtitle_text(svg, &details);
    hs_svg_page_head(svg->buf, hs_buf_text(&title), hs_buf_text(&details));
    write_legend(svg);
    hs_buf_deinit(&title);
    hs_buf_deinit(&details);
}

static int write_file(struct svg *svg)
{
    struct hs_buf *buf = svg->buf;
    struct hs_buf name = HS_BUF_INIT;
    struct hs_buf label = HS_BUF_INIT;
    write_title_text(svg, &name);
    hs_svg_page_begin(buf, svg->boxes.depth_max, hs_buf_text(&name));
    for (uint32_t i = 0; i < svg->boxes.count && buf->err == 0; i++) {
        write_box(svg, &svg->boxes.boxes[i], &name, &label);
    }
    write_head(svg);
    hs_svg_page_end(buf);
    int err = name.err ? name.err : label.err;
    hs_buf_deinit(&name);
    hs_buf_deinit(&label);
    return err ? err : buf->err;
}

int hs_svg_write(const struct hs_profile *profile, const struct hs_select_spec *select,
                 enum hs_view view, struct hs_buf *buf)
{
    struct svg svg = { .profile = profile, .buf = buf };
    const char *reason;
    int err = hs_select_dumps(profile, select, &svg.selection);
    if (err != 0) {
        return err;
    }
    err = hs_view_choose(&svg.selection, view, &svg.view, &reason);
    if (err == 0) {
        err = hs_agg_build(&svg.selection, false, &svg.agg);
    }
    if (err == 0) {
        svg.total = hs_agg_total(&svg.agg, &svg.selection, svg.view);
        err = hs_boxes_build(&svg.agg, svg.view, &svg.total, HS_SVG_BOXES_MAX, &svg.boxes);
    }
    if (err == 0) {
        err = rank_modules(&svg);
    }
    if (err == 0) {
        err = write_file(&svg);
    }
    free(svg.module_rank);
    free(svg.ranked);
    hs_boxes_deinit(&svg.boxes);
    hs_agg_deinit(&svg.agg);
    hs_selection_deinit(&svg.selection);
    return err;
}
