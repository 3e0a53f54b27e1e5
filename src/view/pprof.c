/*
 * See pprof.h.
 *
 * A serialized message may be split at field borders: its parts, concatenated, are the message.
 * Each sample, location, function and string is therefore packed as a profile that contains nothing
 * else. Only the numbers that were already assigned are kept in memory.
 */
#include "view/pprof.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/analyse/aggregate.h"
#include "profile/analyse/heap_sums.h"
#include "profile/model/describe.h"
#include "profile/model/loss.h"
#include "rt/base.h"
#include "util/array.h"
#include "util/buf.h"
#include "util/intern.h"
#include "util/saturate.h"
#include "view/format_interval.h"
#include "view/gzip.h"
#include "view/pprof_layout.h"
#include "view/pprof_parts.h"
#include "view/pprof_split.h"
#include "view/pprof_writer.h"

#define VALUES_MAX HS_PPROF_VALUES_MAX

enum module_has {
    HAS_ANY = 1, /* a frame that is used */
    HAS_FUNCTIONS = 2,
    HAS_FILES = 4,
    HAS_LINES = 8,
};

static int64_t string_id(struct hs_pprof_writer *w, uint32_t string)
{
    return hs_pprof_text(&w->parts, hs_profile_string(w->profile, string));
}

static const char *annotation(const struct hs_pprof_writer *w, const struct hs_profile_frame *frame)
{
    return !w->layout->is_annotated                   ? ""
           : frame->kind == HS_FRAME_KIND_JIT         ? " [jit]"
           : frame->kind == HS_FRAME_KIND_INTERPRETED ? " [interp]"
                                                      : "";
}

/* The id of a function's name, with the kind of its code. */
static int64_t name_id(struct hs_pprof_writer *w, const struct hs_profile_frame *frame,
                       uint32_t name)
{
    struct hs_buf text = HS_BUF_INIT;
    hs_buf_str(&text, hs_profile_string(w->profile, name));
    hs_buf_str(&text, annotation(w, frame));
    w->parts.err = w->parts.err ? w->parts.err : text.err;
    int64_t id = hs_pprof_text(&w->parts, hs_buf_text(&text));
    hs_buf_deinit(&text);
    return id;
}

static uint64_t function_id(struct hs_pprof_writer *w, const struct hs_profile_frame *frame,
                            uint32_t name, uint32_t system_name, uint32_t file)
{
    uint64_t kind = w->layout->is_annotated ? frame->kind : 0;
    struct hs_intern_key key = { .hi = (uint64_t)name << 32 | system_name,
                                 .lo = kind << 32 | file };
    uint32_t id = 0;
    bool is_new = false;
    if (w->parts.err == 0) {
        w->parts.err = hs_intern_put(&w->functions, key, &id, &is_new);
    }
    if (is_new) {
        Hs__Pprof__PprofFunction function = HS__PPROF__PPROF_FUNCTION__INIT;
        Hs__Pprof__PprofFunction *functions[1] = { &function };
        function.id = id + 1u;
        function.name = name_id(w, frame, name);
        function.system_name = string_id(w, system_name);
        function.filename = string_id(w, file);
        Hs__Pprof__PprofProfile part = HS__PPROF__PPROF_PROFILE__INIT;
        part.n_function = 1;
        part.function = functions;
        hs_pprof_put(&w->parts, &part);
    }
    return id + 1u;
}

/* The process whose addresses are written: pprof has room for those of one process. */
static uint32_t first_process(const struct hs_pprof_writer *w)
{
    return w->selection->dump_count > 0 ? w->profile->dumps[w->selection->dumps[0]].process : 0;
}

static void put_location(struct hs_pprof_writer *w, uint32_t frame_idx)
{
    const struct hs_profile *p = w->profile;
    const struct hs_profile_frame *frame = &p->frames[frame_idx];
    uint32_t line_count = frame->line_count > 0 ? frame->line_count : frame->name != 0;
    Hs__Pprof__PprofLine *lines = calloc(line_count + 1u, sizeof(*lines));
    Hs__Pprof__PprofLine **list = calloc(line_count + 1u, sizeof(Hs__Pprof__PprofLine *));
    if (!lines || !list) {
        w->parts.err = -ENOMEM;
        free(lines);
        free(list);
        return;
    }
    uint8_t has = HAS_ANY;
    for (uint32_t i = 0; i < line_count; i++) {
        hs__pprof__pprof_line__init(&lines[i]);
        list[i] = &lines[i];
        has |= HAS_FUNCTIONS;
        if (frame->line_count == 0) {
            lines[i].function_id = function_id(w, frame, frame->name, frame->name, 0);
            continue;
        }
        const struct hs_profile_line *line = &p->lines[frame->line_first + i];
        lines[i].function_id = function_id(w, frame, line->function, line->system_name, line->file);
        lines[i].line = line->line;
        has |= (uint8_t)((line->file ? HAS_FILES : 0) | (line->line ? HAS_LINES : 0));
    }
    Hs__Pprof__PprofLocation location = HS__PPROF__PPROF_LOCATION__INIT;
    Hs__Pprof__PprofLocation *locations[1] = { &location };
    location.id = frame_idx + 1u;
    location.address = frame->rel_pc;
    if (frame->module < p->module_count && p->modules[frame->module].path != 0 &&
        frame->kind != HS_FRAME_KIND_MARKER) {
        location.mapping_id = frame->module + 1u;
        location.address += hs_profile_bias_of(p, first_process(w), frame->module);
        w->module_has[frame->module] |= has;
    }
    location.n_line = line_count;
    location.line = list;
    Hs__Pprof__PprofProfile part = HS__PPROF__PPROF_PROFILE__INIT;
    part.n_location = 1;
    part.location = locations;
    hs_pprof_put(&w->parts, &part);
    free(lines);
    free(list);
}

static void put_mapping(struct hs_pprof_writer *w, uint32_t idx)
{
    const struct hs_profile_module *m = &w->profile->modules[idx];
    uint8_t has = w->module_has[idx];
    if (has == 0) {
        return;
    }
    w->module_has[idx] = 0; /* written only once */
    Hs__Pprof__PprofMapping mapping = HS__PPROF__PPROF_MAPPING__INIT;
    Hs__Pprof__PprofMapping *mappings[1] = { &mapping };
    mapping.id = idx + 1u;
    if (m->end_va != 0) {
        uint64_t moved = hs_profile_bias_of(w->profile, first_process(w), idx) - m->bias_va;
        mapping.memory_start = m->start_va + moved;
        mapping.memory_limit = m->end_va + moved;
        mapping.file_offset = m->exec_off;
    }
    mapping.filename = string_id(w, m->path);
    mapping.build_id = string_id(w, m->build_id_hex);
    mapping.has_functions = (has & HAS_FUNCTIONS) != 0;
    mapping.has_filenames = (has & HAS_FILES) != 0;
    mapping.has_line_numbers = (has & HAS_LINES) != 0;
    /* With debug information, inlined calls are present too. */
    mapping.has_inline_frames = m->is_symbolized && (has & HAS_LINES) != 0;
    Hs__Pprof__PprofProfile part = HS__PPROF__PPROF_PROFILE__INIT;
    part.n_mapping = 1;
    part.mapping = mappings;
    hs_pprof_put(&w->parts, &part);
}

/* The program's executable comes first, because pprof takes the first mapping as the program. */
static void put_mappings(struct hs_pprof_writer *w)
{
    const struct hs_profile *p = w->profile;
    uint32_t exe = p->processes[p->dumps[w->selection->dumps[0]].process].exe;
    for (uint32_t i = 0; i < p->module_count; i++) {
        if (p->modules[i].path == exe) {
            put_mapping(w, i);
        }
    }
    for (uint32_t i = 0; i < p->module_count; i++) {
        put_mapping(w, i);
    }
}

/*
 * Estimates have fractions, and the format has none. The rounding error of one sample is added to
 * the next one, so that sums over many stacks stay right. Whole numbers are not changed.
 */
static int64_t rounded(double *carry, double value)
{
    if (isnan(value) || isinf(value) || value == floor(value)) {
        return hs_saturate_round(value);
    }
    double out = fmax(floor(value), fmin(ceil(value), round(value + *carry)));
    *carry += value - out;
    return hs_saturate_round(out);
}

static size_t collect_locations(struct hs_pprof_writer *w, uint32_t node)
{
    size_t count = 0;
    for (uint32_t n = node; n != HS_NODE_NONE; n = w->profile->nodes[n].parent) {
        int err = hs_array_reserve(&w->locations, &w->location_capacity, count + 1,
                                   sizeof(w->locations[0]));
        if (err < 0) {
            w->parts.err = err;
            return 0;
        }
        uint32_t frame = w->profile->nodes[n].frame;
        w->is_frame_used[frame] = true;
        w->locations[count++] = frame + 1u;
    }
    return count;
}

void hs_pprof_put_sample(struct hs_pprof_writer *w, const struct hs_pprof_place *place,
                         const int64_t *values, struct hs_pprof_labels *labels)
{
    const struct hs_profile *p = w->profile;
    const struct hs_profile_process *process = &p->processes[place->dump->process];
    Hs__Pprof__PprofLabel *label_list[HS_PPROF_LABELS_MAX];
    Hs__Pprof__PprofSample out = HS__PPROF__PPROF_SAMPLE__INIT;
    Hs__Pprof__PprofSample *samples[1] = { &out };
    if (w->selection->dump_count > 1) {
        hs_pprof_number_label(w, labels, "pid", process->pid, NULL);
    }
    if (w->selection->dump_count > 1 && w->options.with_tags) {
        hs_pprof_text_label(w, labels, "process_name", hs_profile_string(p, process->name));
    }
    if (w->layout->heap == HS_PPROF_HEAP_ALL && p->heap_count > 1 &&
        place->sample->heap < p->heap_count) {
        hs_pprof_text_label(w, labels, "heap", hs_profile_string(p, p->heaps[place->sample->heap]));
    }
    for (size_t i = 0; i < labels->count; i++) {
        label_list[i] = &labels->items[i];
    }
    out.n_label = labels->count;
    out.label = label_list;
    out.n_value = w->value_count;
    out.value = (int64_t *)(uintptr_t)values;
    out.n_location_id = collect_locations(w, place->sample->node);
    out.location_id = w->locations;
    Hs__Pprof__PprofProfile part = HS__PPROF__PPROF_PROFILE__INIT;
    part.n_sample = 1;
    part.sample = samples;
    hs_pprof_put(&w->parts, &part);
}

static void put_sample(struct hs_pprof_writer *w, const struct hs_pprof_place *place)
{
    const struct hs_profile_sample *sample = place->sample;
    const double exact[VALUES_MAX] = {
        sample->alloc.count, sample->alloc.bytes, sample->live.count,
        sample->live.bytes,  sample->peak.count,  sample->peak.bytes,
    };
    int64_t values[VALUES_MAX];
    struct hs_pprof_labels labels = { .count = 0 };
    bool is_empty = true;
    if (w->layout->heap != HS_PPROF_HEAP_ALL && sample->heap != w->layout->heap) {
        return;
    }
    for (size_t i = 0; i < w->value_count; i++) {
        values[i] = rounded(&w->carries[i], exact[w->layout->values[i]]);
        is_empty = is_empty && values[i] == 0;
    }
    if (is_empty) {
        return;
    }
    if (w->options.with_tags) {
        hs_pprof_put_blocks(w, place, values);
    } else if (w->options.labels != 0) {
        hs_pprof_put_labelled(w, place, values);
    } else {
        hs_pprof_put_sample(w, place, values, &labels);
    }
}

static void put_samples(struct hs_pprof_writer *w)
{
    const struct hs_profile *p = w->profile;
    for (uint32_t d = 0; d < w->selection->dump_count; d++) {
        const struct hs_profile_dump *dump = &p->dumps[w->selection->dumps[d]];
        /* The file of one heap has its samples also if it lies in another one. */
        uint32_t count = w->layout->heap == HS_PPROF_HEAP_ALL ? dump->samples_n
                                                              : dump->samples_n + dump->aside_n;
        for (uint32_t i = 0; i < count && w->parts.err == 0; i++) {
            const struct hs_pprof_place place = { dump, &p->samples[dump->sample_first + i] };
            put_sample(w, &place);
        }
    }
    for (uint32_t i = 0; i < p->frame_count && w->parts.err == 0; i++) {
        if (w->is_frame_used[i]) {
            put_location(w, i);
        }
    }
}

static void put_comment(struct hs_pprof_writer *w, const char *text)
{
    int64_t id = hs_pprof_text(&w->parts, text);
    Hs__Pprof__PprofProfile part = HS__PPROF__PPROF_PROFILE__INIT;
    part.n_comment = 1;
    part.comment = &id;
    hs_pprof_put(&w->parts, &part);
}

static void put_total_comment(struct hs_pprof_writer *w, const char *name,
                              const struct hs_amount *amount, bool is_lossy)
{
    char bytes[HS_FORMAT_INTERVAL_BYTES];
    char count[HS_FORMAT_INTERVAL_BYTES];
    char text[3 * HS_FORMAT_INTERVAL_BYTES];
    struct hs_figure figure = hs_figure_of(amount, false);
    hs_format_interval(bytes, false, &figure);
    figure = hs_figure_of(amount, true);
    hs_format_interval(count, true, &figure);
    snprintf(text, sizeof(text), "%s: %s in %s %s%s", name, bytes, count,
             amount->has_sample_counts ? "samples" : "objects",
             is_lossy                     ? " at least: data is missing"
             : amount->interval_bytes > 1 ? " (95 % confidence)"
                                          : "");
    put_comment(w, text);
}

static void put_comments(struct hs_pprof_writer *w)
{
    const struct hs_profile *p = w->profile;
    const struct hs_selection *s = w->selection;
    struct hs_buf text = HS_BUF_INIT;
    put_comment(w, "heapscope " HS_VERSION);
    for (uint32_t i = 0; i < s->dump_count && !p->origin; i++) {
        uint32_t process = p->dumps[s->dumps[i]].process;
        text.bytes = 0;
        hs_buf_printf(&text, "pid %u ", p->processes[process].pid);
        hs_describe_end(p, process, &text);
        hs_buf_printf(&text, ": %s", hs_profile_string(p, p->processes[process].cmdline));
        put_comment(w, hs_buf_text(&text));
    }
    /* The sum of the heaps that are counted. */
    if (w->layout->heap == HS_PPROF_HEAP_ALL || p->heap_count == 1) {
        text.bytes = 0;
        if (hs_heap_sums_describe(s, &text) > 1) {
            put_comment(w, hs_buf_text(&text));
        }
        put_total_comment(w, "inuse", &s->live, s->is_lossy);
        put_total_comment(w, "alloc", &s->alloc, s->is_lossy);
        if (s->has_peak) {
            put_total_comment(w,
                              s->is_peak_of_several ? "peaks of the processes, added up" : "peak",
                              &s->peak, s->is_lossy);
        }
    }
    for (uint32_t i = 0; i < p->loss_count; i++) {
        const struct hs_profile_loss *loss = &p->losses[i];
        if (loss->count > 0 && hs_selection_has_loss(s, loss)) {
            text.bytes = 0;
            hs_buf_str(&text, loss->is_serious ? "LOST" : "lost");
            if (loss->process < p->process_count) {
                hs_buf_printf(&text, " (pid %u)", p->processes[loss->process].pid);
            }
            hs_buf_str(&text, ": ");
            hs_loss_describe(p, loss, &s->alloc, &text);
            put_comment(w, hs_buf_text(&text));
        }
    }
    w->parts.err = w->parts.err ? w->parts.err : text.err;
    hs_buf_deinit(&text);
}

static void put_head(struct hs_pprof_writer *w)
{
    const struct hs_selection *s = w->selection;
    Hs__Pprof__PprofValueType values[VALUES_MAX];
    Hs__Pprof__PprofValueType *list[VALUES_MAX];
    hs_pprof_text(&w->parts, ""); /* entry 0 of the string table */
    for (size_t i = 0; i < w->value_count; i++) {
        hs__pprof__pprof_value_type__init(&values[i]);
        values[i].type = hs_pprof_text(&w->parts, w->layout->types[i].name);
        values[i].unit = hs_pprof_text(&w->parts, w->layout->types[i].unit);
        list[i] = &values[i];
    }
    Hs__Pprof__PprofValueType period_type = HS__PPROF__PPROF_VALUE_TYPE__INIT;
    period_type.type = hs_pprof_text(&w->parts, "space");
    period_type.unit = hs_pprof_text(&w->parts, "bytes");
    Hs__Pprof__PprofProfile part = HS__PPROF__PPROF_PROFILE__INIT;
    part.n_sample_type = w->value_count;
    part.sample_type = list;
    part.period_type = &period_type;
    part.period = hs_saturate_round((double)s->interval_max_bytes);
    part.default_sample_type = hs_pprof_text(&w->parts, w->layout->default_type);
    uint64_t real_ns = w->profile->real_minus_mono_ns;
    part.time_nanos = real_ns ? (int64_t)(s->start_ns + real_ns) : 0;
    part.duration_nanos = s->end_ns > s->start_ns ? (int64_t)(s->end_ns - s->start_ns) : 0;
    hs_pprof_put(&w->parts, &part);
}

static int write_profile(const struct hs_selection *selection, const struct hs_pprof_layout *layout,
                         const struct hs_pprof_options *options, struct hs_buf *out)
{
    const struct hs_profile *p = selection->profile;
    struct hs_pprof_writer w = { .profile = p,
                                 .selection = selection,
                                 .layout = layout,
                                 .options = *options,
                                 .parts.out = out };
    w.value_count =
        layout->count == VALUES_MAX && !selection->has_peak ? VALUES_MAX - 2 : layout->count;
    w.is_frame_used = calloc(p->frame_count + 1u, sizeof(*w.is_frame_used));
    w.module_has = calloc(p->module_count + 1u, sizeof(*w.module_has));
    w.parts.err = w.is_frame_used && w.module_has ? 0 : -ENOMEM;
    if (w.parts.err == 0) {
        put_head(&w);
        put_comments(&w);
        put_samples(&w);
        put_mappings(&w);
    }
    hs_pprof_parts_deinit(&w.parts);
    hs_intern_deinit(&w.functions);
    free(w.split);
    free(w.is_frame_used);
    free(w.module_has);
    free(w.locations);
    return w.parts.err;
}

int hs_pprof_write_dump(const struct hs_profile *profile, const struct hs_pprof_dump *dump,
                        struct hs_buf *buf)
{
    struct hs_selection selection;
    struct hs_pprof_layout layout =
        *hs_pprof_layout_of_heap(hs_profile_string(profile, profile->heaps[dump->heap_idx]));
    layout.heap = dump->heap_idx;
    layout.is_annotated = dump->is_annotated;
    if (profile->dumps[dump->dump_idx].is_at_max) {
        hs_pprof_layout_at_max(&layout, profile->dumps[dump->dump_idx].alloc.bytes > 0);
    }
    int err = hs_select_dump(profile, dump->dump_idx, &selection);
    if (err == 0) {
        const struct hs_pprof_options plain = { .labels = 0 };
        err = write_profile(&selection, &layout, &plain, buf);
        hs_selection_deinit(&selection);
    }
    return err;
}

int hs_pprof_write(const struct hs_profile *profile, const struct hs_select_spec *select,
                   const struct hs_pprof_options *options, struct hs_buf *buf)
{
    struct hs_selection selection;
    int err = hs_select_dumps(profile, select, &selection);
    if (err != 0) {
        return err;
    }
    struct hs_gzip *gzip = hs_gzip_new(buf);
    err = gzip ? 0 : -ENOMEM;
    if (err == 0) {
        struct hs_buf plain;
        hs_buf_init(&plain, hs_gzip_sink, gzip);
        err = write_profile(&selection,
                            options->with_tags ? &hs_pprof_layout_blocks : &hs_pprof_layout_go,
                            options, &plain);
        int late_err = hs_buf_finish(&plain);
        err = err ? err : late_err;
        hs_buf_deinit(&plain);
        late_err = hs_gzip_finish(gzip);
        err = err ? err : late_err;
    }
    hs_gzip_free(gzip);
    hs_selection_deinit(&selection);
    return err;
}
