/*
 * See json_lines.h.
 */
#include "view/json_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "profile/model/describe.h"
#include "profile/model/margin.h"
#include "profile/model/nameless_reason.h"
#include "util/array.h"
#include "util/buf.h"
#include "util/json.h"

#define FORMAT_VERSION 1

struct writer {
    const struct hs_profile *profile;
    const struct hs_selection *selection;
    struct hs_buf *buf;
    struct hs_json json;
    uint32_t *path; /* nodes of the current stack */
    size_t path_capacity;
};

static void open_line(struct writer *w, const char *type)
{
    hs_json_init(&w->json, w->buf, 0);
    hs_json_open_inline(&w->json, '{');
    hs_json_kv_string(&w->json, "type", type);
}

static void close_line(struct writer *w)
{
    hs_json_close(&w->json, '}'); /* hs_json_close() also writes a line break */
}

static void put_string(struct writer *w, const char *key, uint32_t string)
{
    hs_json_kv_string(&w->json, key, hs_profile_string(w->profile, string));
}

/* Writes nothing for an exact figure. */
static void put_range(struct writer *w, const char *name, const char *unit, struct hs_figure figure)
{
    char key[40];
    struct hs_margin margin = hs_margin_of(&figure);
    if (figure.var > 0) {
        snprintf(key, sizeof(key), "%s_%s_variance", name, unit);
        hs_json_kv_double(&w->json, key, figure.var);
    }
    if (figure.var > 0 || figure.weight > 0) {
        snprintf(key, sizeof(key), "%s_%s_low", name, unit);
        hs_json_kv_double(&w->json, key, figure.value - margin.below);
        snprintf(key, sizeof(key), "%s_%s_high", name, unit);
        hs_json_kv_double(&w->json, key, figure.value + margin.above);
    }
}

static void put_amount(struct writer *w, const char *name, const struct hs_amount *amount)
{
    char key[40];
    snprintf(key, sizeof(key), "%s_bytes", name);
    hs_json_kv_double(&w->json, key, amount->bytes);
    snprintf(key, sizeof(key), "%s_count", name);
    hs_json_kv_double(&w->json, key, amount->count);
    put_range(w, name, "bytes", hs_figure_of(amount, false));
    put_range(w, name, "count", hs_figure_of(amount, true));
}

static void write_head(struct writer *w)
{
    const struct hs_profile *p = w->profile;
    open_line(w, "profile");
    hs_json_kv_uint(&w->json, "format", FORMAT_VERSION);
    hs_json_kv_string(&w->json, "producer", "heapscope " HS_VERSION);
    if (p->origin) {
        hs_json_kv_string(&w->json, "origin", p->origin);
    }
    if (p->real_minus_mono_ns != 0) {
        hs_json_kv_uint(&w->json, "real_minus_mono_ns", p->real_minus_mono_ns);
    }
    close_line(w);
}

static void write_process(struct writer *w, uint32_t idx)
{
    const struct hs_profile_process *process = &w->profile->processes[idx];
    open_line(w, "process");
    hs_json_kv_uint(&w->json, "process", idx);
    hs_json_kv_uint(&w->json, "pid", process->pid);
    if (process->ppid != 0) {
        hs_json_kv_uint(&w->json, "ppid", process->ppid);
    }
    put_string(w, "name", process->name);
    put_string(w, "exe", process->exe);
    put_string(w, "cmdline", process->cmdline);
    hs_json_kv_uint(&w->json, "start_ns", process->start_ns);
    hs_json_kv_uint(&w->json, "end_ns", process->end_ns);
    hs_json_kv_bool(&w->json, "is_from_startup", process->is_from_startup);
    if (!w->profile->origin && process->refusal == 0) {
        struct hs_buf end = HS_BUF_INIT;
        hs_describe_end(w->profile, idx, &end);
        hs_json_kv_string(&w->json, "end", hs_buf_text(&end));
        hs_buf_deinit(&end);
    }
    if (process->refusal != 0) {
        put_string(w, "refused", process->refusal_text);
    }
    close_line(w);
}

static void write_dump(struct writer *w, uint32_t idx)
{
    const struct hs_profile_dump *dump = &w->profile->dumps[idx];
    open_line(w, "dump");
    hs_json_kv_uint(&w->json, "dump", idx);
    hs_json_kv_uint(&w->json, "process", dump->process);
    hs_json_kv_uint(&w->json, "snapshot", dump->index);
    if (dump->name != 0) {
        put_string(w, "name", dump->name);
    }
    hs_json_kv_bool(&w->json, "is_final", dump->is_final);
    hs_json_kv_uint(&w->json, "start_ns", dump->start_ns);
    hs_json_kv_uint(&w->json, "time_ns", dump->time_ns);
    hs_json_kv_uint(&w->json, "interval_bytes", dump->interval_bytes);
    hs_json_kv_bool(&w->json, "has_scaled_counts", dump->has_scaled_counts);
    put_amount(w, "live", &dump->live);
    put_amount(w, "alloc", &dump->alloc);
    if (dump->has_peak) {
        put_amount(w, "peak", &dump->peak);
        hs_json_kv_uint(&w->json, "peak_time_ns", dump->peak_time_ns);
        if (dump->peak.peak_short_bytes > 0) {
            hs_json_kv_double(&w->json, "peak_short_bytes", (double)dump->peak.peak_short_bytes);
        }
    }
    if (dump->rss_bytes != 0) {
        hs_json_kv_uint(&w->json, "rss_bytes", dump->rss_bytes);
    }
    if (dump->rss_peak_bytes != 0) {
        hs_json_kv_uint(&w->json, "rss_peak_bytes", dump->rss_peak_bytes);
    }
    if (dump->client_cpu_ns != 0) {
        hs_json_kv_uint(&w->json, "client_cpu_ns", dump->client_cpu_ns);
    }
    close_line(w);
}

/* The heaps of a dump: also those that its figures do not contain. */
static void write_heaps(struct writer *w, uint32_t idx)
{
    const struct hs_profile *p = w->profile;
    const struct hs_profile_dump *dump = &p->dumps[idx];
    for (uint32_t i = 0; i < dump->heaps_n; i++) {
        const struct hs_profile_dump_heap *heap = &p->dump_heaps[dump->heap_first + i];
        open_line(w, "heap");
        hs_json_kv_uint(&w->json, "dump", idx);
        put_string(w, "heap", p->heaps[heap->heap]);
        hs_json_kv_bool(&w->json, "is_counted", heap->is_counted);
        hs_json_kv_bool(&w->json, "is_carved", heap->is_carved);
        if (heap->parent != HS_PROFILE_NO_HEAP) {
            put_string(w, "parent", p->heaps[heap->parent]);
        }
        hs_json_kv_bool(&w->json, "has_own_samples", heap->has_own_samples);
        if (heap->is_left_out) {
            hs_json_kv_bool(&w->json, "is_left_out", true);
        }
        hs_json_kv_uint(&w->json, "interval_bytes", heap->interval_bytes);
        put_amount(w, "live", &heap->live);
        put_amount(w, "alloc", &heap->alloc);
        if (heap->has_peak) {
            put_amount(w, "peak", &heap->peak);
            hs_json_kv_uint(&w->json, "peak_time_ns", heap->peak_time_ns);
        }
        close_line(w);
    }
}

static void write_line(struct writer *w, const struct hs_profile_frame *frame,
                       const struct hs_profile_line *line, bool is_inlined)
{
    const struct hs_profile *p = w->profile;
    hs_json_open_inline(&w->json, '{');
    uint32_t name = line ? line->function : frame->name;
    if (name != 0) {
        put_string(w, "function", name);
    }
    if (line && line->file != 0) {
        put_string(w, "file", line->file);
    }
    if (line && line->line != 0) {
        hs_json_kv_uint(&w->json, "line", line->line);
    }
    if (is_inlined) {
        hs_json_kv_bool(&w->json, "is_inlined", true);
    }
    if (line && line->folded != 0) {
        put_string(w, "folded_functions", line->folded);
    }
    if (frame->module < p->module_count && p->modules[frame->module].path != 0) {
        put_string(w, "module", p->modules[frame->module].path);
    }
    if (frame->rel_pc != 0) {
        char address[32];
        snprintf(address, sizeof(address), "0x%" PRIx64, frame->rel_pc);
        hs_json_kv_string(&w->json, "rel_pc", address);
    }
    hs_json_close(&w->json, '}');
}

/* Writes the frames, the outermost first. */
static int write_frames(struct writer *w, uint32_t node)
{
    const struct hs_profile *p = w->profile;
    size_t depth = p->nodes[node].depth + (size_t)1;
    int err = hs_array_reserve(&w->path, &w->path_capacity, depth, sizeof(w->path[0]));
    if (err < 0) {
        return err;
    }
    size_t at = depth;
    for (uint32_t n = node; n != HS_NODE_NONE; n = p->nodes[n].parent) {
        w->path[--at] = p->nodes[n].frame;
    }
    hs_json_key(&w->json, "frames");
    hs_json_open_inline(&w->json, '[');
    for (size_t i = at; i < depth; i++) {
        const struct hs_profile_frame *frame = &p->frames[w->path[i]];
        if (frame->line_count == 0) {
            write_line(w, frame, NULL, false);
        }
        for (uint32_t k = frame->line_count; k > 0; k--) {
            write_line(w, frame, &p->lines[frame->line_first + k - 1], k < frame->line_count);
        }
    }
    hs_json_close(&w->json, ']');
    return 0;
}

static int write_stacks(struct writer *w, uint32_t idx)
{
    const struct hs_profile *p = w->profile;
    const struct hs_profile_dump *dump = &p->dumps[idx];
    int err = 0;
    for (uint32_t i = 0; i < dump->samples_n && err == 0 && w->buf->err == 0; i++) {
        const struct hs_profile_sample *sample = &p->samples[dump->sample_first + i];
        open_line(w, "stack");
        hs_json_kv_uint(&w->json, "dump", idx);
        put_string(w, "heap", p->heaps[sample->heap]);
        put_amount(w, "live", &sample->live);
        put_amount(w, "alloc", &sample->alloc);
        if (dump->has_peak) {
            put_amount(w, "peak", &sample->peak);
        }
        err = write_frames(w, sample->node);
        close_line(w);
    }
    return err;
}

static void write_nameless(struct writer *w)
{
    const struct hs_profile *p = w->profile;
    for (uint32_t i = 0; i < p->nameless_count; i++) {
        const struct hs_profile_nameless *one = &p->nameless[i];
        open_line(w, "missing_names");
        put_string(w, "module", one->path);
        if (one->build_id_hex != 0) {
            put_string(w, "build_id", one->build_id_hex);
        }
        hs_json_kv_string(&w->json, "reason", hs_nameless_reason_name(one->reason));
        if (one->detail != 0) {
            put_string(w, "detail", one->detail);
        }
        hs_json_kv_uint(&w->json, "nameless_count", one->nameless_count);
        hs_json_kv_uint(&w->json, "address_count", one->address_count);
        close_line(w);
    }
}

/* When it was lost; nothing where that is not known. */
static void write_loss_times(struct writer *w, const struct hs_profile_loss *loss)
{
    const struct hs_profile *p = w->profile;
    bool is_open = false;
    for (uint32_t i = 0; i < p->loss_time_count; i++) {
        const struct hs_profile_loss_time *time = &p->loss_times[i];
        if (time->loss.process != loss->process || time->loss.name != loss->name) {
            continue;
        }
        if (!is_open) {
            hs_json_key(&w->json, "times");
            hs_json_open_inline(&w->json, '[');
            is_open = true;
        }
        hs_json_open_inline(&w->json, '{');
        hs_json_kv_uint(&w->json, "from_ns", time->from_ns);
        hs_json_kv_uint(&w->json, "to_ns", time->to_ns);
        hs_json_kv_uint(&w->json, "count", time->loss.count);
        hs_json_close(&w->json, '}');
    }
    if (is_open) {
        hs_json_close(&w->json, ']');
    }
}

static void write_cost(struct writer *w)
{
    const struct hs_profile_cost *cost = &w->profile->cost;
    if (!w->profile->has_cost) {
        return;
    }
    open_line(w, "cost");
    hs_json_kv_uint(&w->json, "recording_cpu_ns", cost->recording_cpu_ns);
    hs_json_kv_uint(&w->json, "names_cpu_ns", cost->names_cpu_ns);
    if (cost->collector_cpu_ns != 0) {
        hs_json_kv_uint(&w->json, "collector_cpu_ns", cost->collector_cpu_ns);
    }
    if (cost->collector_rss_peak_bytes != 0) {
        hs_json_kv_uint(&w->json, "collector_peak_rss_bytes", cost->collector_rss_peak_bytes);
    }
    close_line(w);
}

static void write_losses(struct writer *w)
{
    const struct hs_profile *p = w->profile;
    for (uint32_t i = 0; i < p->loss_count; i++) {
        const struct hs_profile_loss *loss = &p->losses[i];
        if (!hs_selection_has_loss(w->selection, loss)) {
            continue;
        }
        open_line(w, "loss");
        if (loss->process != HS_PROFILE_NO_PROCESS) {
            hs_json_kv_uint(&w->json, "process", loss->process);
        }
        put_string(w, "name", loss->name);
        put_string(w, "text", loss->text);
        hs_json_kv_uint(&w->json, "count", loss->count);
        if (loss->alloc_count > 0) {
            hs_json_kv_double(&w->json, "allocations", loss->alloc_count);
            hs_json_kv_double(&w->json, "bytes", loss->bytes);
        }
        hs_json_kv_bool(&w->json, "is_serious", loss->is_serious);
        write_loss_times(w, loss);
        close_line(w);
    }
}

int hs_json_lines_write(const struct hs_profile *profile, const struct hs_select_spec *select,
                        struct hs_buf *buf)
{
    struct hs_selection selection;
    int err = hs_select_dumps(profile, select, &selection);
    if (err != 0) {
        return err;
    }
    struct writer w = { .profile = profile, .selection = &selection, .buf = buf };
    write_head(&w);
    for (uint32_t i = 0; i < profile->process_count; i++) {
        if (selection.has_process[i]) {
            write_process(&w, i);
        }
    }
    for (uint32_t i = 0; i < profile->dump_count; i++) {
        if (selection.has_process[profile->dumps[i].process]) {
            write_dump(&w, i);
            write_heaps(&w, i);
        }
    }
    for (uint32_t i = 0; i < selection.dump_count && err == 0; i++) {
        err = write_stacks(&w, selection.dumps[i]);
    }
    write_losses(&w);
    write_nameless(&w);
    write_cost(&w);
    free(w.path);
    hs_selection_deinit(&selection);
    return err ? err : buf->err;
}
