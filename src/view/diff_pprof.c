/*
 * Writes a comparison as a pprof profile. See diff_view.h.
 *
 * Each stack is one sample with its value after, and one with its value before. The latter is
 * negative and has the label that pprof itself gives to a diff base. All of pprof's views,
 * including -base and -diff_base arithmetic, therefore show the difference. Functions are those of
 * both builds; there are no addresses.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/intern.h"
#include "view/diff_view.h"
#include "view/gzip.h"
#include "view/pprof_parts.h"

#define VALUES 2

struct writer {
    const struct hs_diff *diff;
    struct hs_pprof_parts parts;
    double carries[HS_DIFF_SIDE_N][VALUES];
    uint64_t *locations;
    size_t location_capacity;
};

static void put_head(struct writer *w, const struct hs_diff_options *options)
{
    static const char *const types[HS_QUANTITY_N][VALUES] = {
        [HS_QUANTITY_LIVE] = { "inuse_objects", "inuse_space" },
        [HS_QUANTITY_ALLOC] = { "alloc_objects", "alloc_space" },
        [HS_QUANTITY_PEAK] = { "peak_objects", "peak_space" },
    };
    static const char *const units[VALUES] = { "count", "bytes" };
    const struct hs_view_info *view = &hs_views[w->diff->view];
    Hs__Pprof__PprofValueType values[VALUES];
    Hs__Pprof__PprofValueType *list[VALUES];
    hs_pprof_text(&w->parts, ""); /* entry 0 of the string table */
    for (size_t i = 0; i < VALUES; i++) {
        hs__pprof__pprof_value_type__init(&values[i]);
        values[i].type = hs_pprof_text(&w->parts, types[view->quantity][i]);
        values[i].unit = hs_pprof_text(&w->parts, units[i]);
        list[i] = &values[i];
    }
    struct hs_buf text = HS_BUF_INIT;
    hs_buf_printf(&text, "heapscope " HS_VERSION ": %s less %s", options->names[HS_DIFF_AFTER],
                  options->names[HS_DIFF_BEFORE]);
    int64_t comment = hs_pprof_text(&w->parts, hs_buf_text(&text));
    Hs__Pprof__PprofProfile part = HS__PPROF__PPROF_PROFILE__INIT;
    part.n_sample_type = VALUES;
    part.sample_type = list;
    part.default_sample_type =
        hs_pprof_text(&w->parts, types[view->quantity][view->is_count ? 0 : 1]);
    part.n_comment = 1;
    part.comment = &comment;
    hs_pprof_put(&w->parts, &part);
    w->parts.err = w->parts.err ? w->parts.err : text.err;
    hs_buf_deinit(&text);
}

static void put_function(struct writer *w, uint32_t idx)
{
    Hs__Pprof__PprofFunction function = HS__PPROF__PPROF_FUNCTION__INIT;
    Hs__Pprof__PprofFunction *functions[1] = { &function };
    Hs__Pprof__PprofLine line = HS__PPROF__PPROF_LINE__INIT;
    Hs__Pprof__PprofLine *lines[1] = { &line };
    Hs__Pprof__PprofLocation location = HS__PPROF__PPROF_LOCATION__INIT;
    Hs__Pprof__PprofLocation *locations[1] = { &location };
    function.id = line.function_id = location.id = idx + 1u;
    function.name = function.system_name = hs_pprof_text(&w->parts, hs_diff_name(w->diff, idx));
    location.n_line = 1;
    location.line = lines;
    Hs__Pprof__PprofProfile part = HS__PPROF__PPROF_PROFILE__INIT;
    part.n_function = part.n_location = 1;
    part.function = functions;
    part.location = locations;
    hs_pprof_put(&w->parts, &part);
}

/* The rounding error of one stack is added to the next one. */
static int64_t rounded(double *carry, double value)
{
    if (!(value > 0) || value >= 9e18) {
        return value > 0 ? (int64_t)9e18 : 0;
    }
    double out = round(value + *carry);
    *carry += value - out;
    return (int64_t)out;
}

static void put_side(struct writer *w, uint32_t node, size_t location_count, int side)
{
    const struct hs_amount *amount = &w->diff->nodes[node].self.by[side];
    int64_t values[VALUES] = { rounded(&w->carries[side][0], amount->count),
                               rounded(&w->carries[side][1], amount->bytes) };
    if (values[0] == 0 && values[1] == 0) {
        return;
    }
    Hs__Pprof__PprofLabel label = HS__PPROF__PPROF_LABEL__INIT;
    Hs__Pprof__PprofLabel *labels[1] = { &label };
    Hs__Pprof__PprofSample sample = HS__PPROF__PPROF_SAMPLE__INIT;
    Hs__Pprof__PprofSample *samples[1] = { &sample };
    if (side == HS_DIFF_BEFORE) {
        values[0] = -values[0];
        values[1] = -values[1];
        label.key = hs_pprof_text(&w->parts, "pprof::base");
        label.str = hs_pprof_text(&w->parts, "true");
        sample.n_label = 1;
        sample.label = labels;
    }
    sample.n_value = VALUES;
    sample.value = values;
    sample.n_location_id = location_count;
    sample.location_id = w->locations;
    Hs__Pprof__PprofProfile part = HS__PPROF__PPROF_PROFILE__INIT;
    part.n_sample = 1;
    part.sample = samples;
    hs_pprof_put(&w->parts, &part);
}

static void put_stack(struct writer *w, uint32_t node)
{
    size_t count = 0;
    for (uint32_t n = node; n != HS_NODE_NONE && w->parts.err == 0; n = w->diff->nodes[n].parent) {
        w->parts.err = hs_array_reserve(&w->locations, &w->location_capacity, count + 1,
                                        sizeof(w->locations[0]));
        if (w->parts.err == 0) {
            w->locations[count++] = w->diff->nodes[n].function + 1u;
        }
    }
    for (int side = HS_DIFF_SIDE_N - 1; side >= 0 && w->parts.err == 0; side--) {
        put_side(w, node, count, side);
    }
}

static int write_plain(const struct hs_diff *diff, const struct hs_diff_options *options,
                       struct hs_buf *out)
{
    struct writer w = { .diff = diff, .parts.out = out };
    put_head(&w, options);
    for (uint32_t i = 0; i < diff->node_count && w.parts.err == 0; i++) {
        const struct hs_diff_amounts *self = &diff->nodes[i].self;
        if (self->by[0].bytes > 0 || self->by[1].bytes > 0 || self->by[0].count > 0 ||
            self->by[1].count > 0) {
            put_stack(&w, i);
        }
    }
    for (uint32_t i = 0; i < diff->function_count && w.parts.err == 0; i++) {
        put_function(&w, i);
    }
    hs_pprof_parts_deinit(&w.parts);
    free(w.locations);
    return w.parts.err;
}

int hs_diff_write_pprof(const struct hs_diff *diff, const struct hs_diff_options *options,
                        struct hs_buf *buf)
{
    struct hs_gzip *gzip = hs_gzip_new(buf);
    struct hs_buf plain;
    if (!gzip) {
        return -ENOMEM;
    }
    hs_buf_init(&plain, hs_gzip_sink, gzip);
    int err = write_plain(diff, options, &plain);
    int late_err = hs_buf_finish(&plain);
    err = err ? err : late_err;
    hs_buf_deinit(&plain);
    late_err = hs_gzip_finish(gzip);
    hs_gzip_free(gzip);
    return err ? err : late_err;
}
