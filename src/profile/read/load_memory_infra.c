/*
 * Reads MemoryInfra traces: the JSON in which Chrome's heap profiler, and heapscope, write dumps.
 *
 *     {"traceEvents":[{"ph":"v","pid":1,"ts":5,"args":{"dumps":{"heaps_v2":{...}}}},...]}
 *
 * An event refers to tables that may be in others, before or behind it. So the events that matter
 * are found first, then their tables are read, and their rows last. Values of heaps_v2 are those of
 * a stack itself. In the older form, "heaps", a value contains those of the stacks that begin with
 * it; these are subtracted. Types are not read: rows that differ only in the type are added up.
 *
 * See       load_foreign.h, infra_tables.h, docs/FORMAT.md
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/read/infra_tables.h"
#include "profile/read/infra_totals.h"
#include "profile/read/load_foreign.h"
#include "trace/snapshot.h"
#include "util/array.h"
#include "util/buf.h"

/* heapscope gives this and more to a pid that occurs again, and tells the real one in a label. */
#define PID_STEP    (UINT64_C(1) << 22)
#define LABEL_PID   "pid "
#define US_MAX      9e15
#define HEAP_MALLOC "malloc"

enum event_kind {
    EVENT_OTHER,
    EVENT_DUMP,
    EVENT_NAME,
    EVENT_LABELS,
    EVENT_FRAMES,
};

struct event {
    enum event_kind kind;
    uint64_t pid;
    double us;
    struct hs_json_reader args; /* at the value */
};

struct reader {
    const struct hs_load_source *source;
    struct hs_infra_tables tables;
    struct hs_buf scratch;
    struct event *events;
    size_t event_count, event_capacity;
    struct hs_profile_sample *samples; /* of the current dump */
    size_t sample_count, sample_capacity;
    struct hs_amount sum;
    uint64_t start_ns; /* time of the first dump with heaps */
    int err;
};

/* --- events --- */

static enum event_kind kind_of(char phase, const struct hs_json_text *name)
{
    return phase == 'v'                              ? EVENT_DUMP
           : phase != 'M'                            ? EVENT_OTHER
           : hs_json_text_is(name, "process_name")   ? EVENT_NAME
           : hs_json_text_is(name, "process_labels") ? EVENT_LABELS
           : hs_json_text_is(name, "stackFrames")    ? EVENT_FRAMES
                                                     : EVENT_OTHER;
}

static void read_event(struct reader *r, struct hs_json_reader *json)
{
    struct event event = { 0 };
    struct hs_json_text key, phase = { "", 0 }, name = { "", 0 };
    double pid = -1;
    hs_json_enter(json, '{');
    while (hs_json_next_key(json, &key)) {
        if (hs_json_text_is(&key, "ph")) {
            (void)hs_json_read_text(json, &phase);
            phase.bytes = phase.bytes == 1 ? 1 : 0;
            phase.text = phase.bytes == 1 && phase.text[0] == 'v'   ? "v"
                         : phase.bytes == 1 && phase.text[0] == 'M' ? "M"
                                                                    : "-";
        } else if (hs_json_text_is(&key, "pid")) {
            (void)hs_json_read_number(json, &pid);
        } else if (hs_json_text_is(&key, "ts")) {
            (void)hs_json_read_number(json, &event.us);
        } else if (hs_json_text_is(&key, "name")) {
            /* Names with escape sequences are none of those that matter. */
            bool is_text = hs_json_peek(json) == '"';
            const char *from = json->at + 1;
            hs_json_skip(json);
            if (is_text && !json->is_bad) {
                name = (struct hs_json_text){ from, (size_t)(json->at - from) - 1 };
            }
        } else {
            event.args = hs_json_text_is(&key, "args") ? *json : event.args;
            hs_json_skip(json);
        }
    }
    event.kind = kind_of(phase.bytes ? phase.text[0] : '-', &name);
    if (event.kind == EVENT_OTHER || !event.args.at || r->err != 0) {
        return;
    }
    event.pid = pid >= 0 && pid < 0x1p53 ? (uint64_t)pid : 0;
    event.us = event.us > 0 && event.us < US_MAX ? event.us : 0;
    r->err =
        hs_array_reserve(&r->events, &r->event_capacity, r->event_count + 1, sizeof(r->events[0]));
    if (r->err == 0) {
        r->events[r->event_count++] = event;
    }
}

static void find_events(struct reader *r)
{
    struct hs_load_report *report = r->source->report;
    struct hs_json_text key;
    struct hs_json_reader json = {
        .at = (const char *)r->source->data,
        .end = (const char *)r->source->data + r->source->bytes,
        .scratch = &r->scratch,
    };
    bool is_array = hs_json_peek(&json) == '[';
    if (!is_array) {
        hs_json_enter(&json, '{');
    }
    while (is_array || hs_json_next_key(&json, &key)) {
        if (!is_array && !hs_json_text_is(&key, "traceEvents")) {
            hs_json_skip(&json);
            continue;
        }
        hs_json_enter(&json, '[');
        while (hs_json_next_element(&json)) {
            read_event(r, &json);
        }
        if (is_array) {
            break;
        }
    }
    report->damage.is_truncated |= json.is_cut;
    report->bad_record_count += json.is_bad && !json.is_cut;
}

/* The value of a key in an object; `at` is NULL when there is none. */
static struct hs_json_reader value_of(struct hs_json_reader json, const char *name)
{
    struct hs_json_text key;
    struct hs_json_reader value = { 0 };
    if (json.at && hs_json_enter(&json, '{')) {
        while (hs_json_next_key(&json, &key)) {
            if (hs_json_text_is(&key, name)) {
                return json;
            }
            hs_json_skip(&json);
        }
    }
    return value;
}

static void read_name(struct reader *r, const struct event *event)
{
    uint32_t idx = hs_infra_process_of(&r->tables, event->pid);
    struct hs_json_reader value =
        value_of(event->args, event->kind == EVENT_NAME ? "name" : "labels");
    struct hs_json_text text;
    if (idx == HS_INFRA_NO_ID || !value.at || !hs_json_read_text(&value, &text)) {
        return;
    }
    struct hs_infra_in_process *process = &r->tables.processes[idx];
    if (event->kind == EVENT_NAME) {
        process->name = hs_builder_string_n(r->source->builder, text.text, text.bytes);
    } else if (event->pid >= PID_STEP && text.bytes > strlen(LABEL_PID) &&
               memcmp(text.text, LABEL_PID, strlen(LABEL_PID)) == 0) {
        process->real_pid = (uint32_t)(event->pid % PID_STEP);
    }
}

static void read_tables(struct reader *r, const struct event *event)
{
    uint32_t process = hs_infra_process_of(&r->tables, event->pid);
    if (process == HS_INFRA_NO_ID || event->kind == EVENT_OTHER) {
        return;
    }
    if (event->kind == EVENT_NAME || event->kind == EVENT_LABELS) {
        read_name(r, event);
        return;
    }
    if (event->kind == EVENT_FRAMES) {
        struct hs_json_reader frames = value_of(event->args, "stackFrames");
        if (frames.at) {
            hs_infra_read_frames(&r->tables, process, &frames);
        }
        return;
    }
    struct hs_json_reader dumps = value_of(event->args, "dumps");
    struct hs_json_reader maps = value_of(value_of(dumps, "heaps_v2"), "maps");
    struct hs_json_reader regions = value_of(value_of(dumps, "process_mmaps"), "vm_regions");
    if (maps.at) {
        hs_infra_read_maps(&r->tables, process, &maps);
    }
    if (regions.at) {
        hs_infra_read_regions(&r->tables, process, &regions);
    }
}

/* --- rows --- */

static void add_sample(struct reader *r, uint32_t heap, uint32_t node, double bytes, double count)
{
    r->err = r->err ? r->err
                    : hs_array_reserve(&r->samples, &r->sample_capacity, r->sample_count + 1,
                                       sizeof(r->samples[0]));
    if (r->err == 0) {
        const struct hs_amount amount = { .bytes = bytes, .count = count };
        r->samples[r->sample_count++] = (struct hs_profile_sample){
            .node = node, .heap = heap, .live = amount, .alloc = amount
        };
        hs_amount_add(&r->sum, &amount);
    }
}

/* Reads {"counts":[1],"sizes":[64],"types":[0],"nodes":[10]}. */
static void read_columns(struct reader *r, uint32_t process, uint32_t heap,
                         struct hs_json_reader json)
{
    struct hs_json_reader counts = value_of(json, "counts");
    struct hs_json_reader sizes = value_of(json, "sizes");
    struct hs_json_reader nodes = value_of(json, "nodes");
    if (!counts.at || !sizes.at || !nodes.at) {
        return; /* no rows */
    }
    hs_json_enter(&counts, '[');
    hs_json_enter(&sizes, '[');
    hs_json_enter(&nodes, '[');
    for (;;) {
        double count, bytes;
        uint64_t node;
        int more = hs_json_next_element(&nodes) + hs_json_next_element(&sizes) +
                   hs_json_next_element(&counts);
        if (more < 3 || r->err != 0) {
            r->source->report->bad_record_count += more > 0;
            return;
        }
        bool has_count = hs_json_read_number(&counts, &count);
        bool has_bytes = hs_json_read_number(&sizes, &bytes);
        bool has_node = hs_infra_read_id(&nodes, &node);
        if (has_count && has_bytes && has_node) {
            add_sample(r, heap, hs_infra_make_node(&r->tables, process, node), bytes, count);
        } else {
            r->source->report->bad_record_count++;
        }
    }
}

static void add_total(void *ctx, uint32_t heap, uint32_t node, double bytes, double count)
{
    add_sample(ctx, heap, node, bytes, count);
}

static uint32_t heap_of(struct reader *r, const struct hs_json_text *name)
{
    struct hs_buf text = HS_BUF_INIT;
    hs_buf_add(&text, name->text, name->bytes);
    const char *shown = hs_buf_text(&text);
    shown = strcmp(shown, HEAP_MALLOC) == 0 ? HS_PROFILE_HEAP_MALLOC : shown;
    uint32_t heap = hs_builder_heap(r->source->builder, shown);
    r->err = r->err ? r->err : text.err;
    hs_buf_deinit(&text);
    return heap;
}

/* Reads the heaps of a dump, of the newer or the older form. */
static void read_heaps(struct reader *r, uint32_t process, struct hs_json_reader heaps,
                       bool is_older)
{
    struct hs_json_text key;
    hs_json_enter(&heaps, '{');
    while (hs_json_next_key(&heaps, &key) && r->err == 0) {
        uint32_t heap = heap_of(r, &key);
        struct hs_json_reader value = heaps;
        if (is_older) {
            struct hs_json_reader entries = value_of(value, "entries");
            if (entries.at) {
                hs_infra_read_totals(&r->tables, process, heap, &entries, add_total, r);
            }
        } else {
            read_columns(r, process, heap, value);
        }
        hs_json_skip(&heaps);
    }
}

static void begin_process(struct reader *r, uint32_t idx)
{
    struct hs_infra_in_process *in = &r->tables.processes[idx];
    if (in->builder_idx == HS_INFRA_NO_ID) {
        struct hs_profile_process process = {
            .pid = in->real_pid ? in->real_pid : (uint32_t)in->pid,
            .name = in->name,
            .exit_kind = HS_EXIT_RUNNING,
            .start_ns = r->start_ns,
        };
        in->builder_idx = hs_builder_process(r->source->builder, &process);
    }
}

static void read_dump(struct reader *r, const struct event *event)
{
    uint32_t idx = hs_infra_process_of(&r->tables, event->pid);
    struct hs_json_reader dumps = value_of(event->args, "dumps");
    struct hs_json_reader newer = value_of(value_of(dumps, "heaps_v2"), "allocators");
    struct hs_json_reader older = value_of(dumps, "heaps");
    if (idx == HS_INFRA_NO_ID || (!newer.at && !older.at)) {
        return; /* a dump without heaps */
    }
    uint64_t time_ns = (uint64_t)(event->us * 1000);
    r->start_ns = r->start_ns ? r->start_ns : time_ns;
    begin_process(r, idx);
    r->sample_count = 0;
    r->sum = (struct hs_amount){ 0 };
    if (newer.at) {
        read_heaps(r, idx, newer, false);
    } else {
        read_heaps(r, idx, older, true);
    }
    struct hs_json_reader totals = value_of(dumps, "process_totals");
    struct hs_json_reader rss = value_of(totals, "resident_set_bytes");
    struct hs_json_reader rss_peak = value_of(totals, "peak_resident_set_bytes");
    struct hs_profile_dump dump = {
        .process = r->tables.processes[idx].builder_idx,
        .start_ns = r->start_ns,
        .time_ns = time_ns,
        .has_scaled_counts = true,
        .live = r->sum,
        .alloc = r->sum,
        .rss_bytes = rss.at ? hs_infra_read_hex(&rss) : 0,
        .rss_peak_bytes = rss_peak.at ? hs_infra_read_hex(&rss_peak) : 0,
    };
    if (r->err == 0 && r->tables.err == 0) {
        hs_builder_dump(r->source->builder, &dump, r->samples, r->sample_count);
    }
}

static int compare_times(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->us != y->us) {
        return x->us < y->us ? -1 : 1;
    }
    return x->args.at < y->args.at ? -1 : x->args.at > y->args.at;
}

int hs_load_memory_infra(const struct hs_load_source *source)
{
    struct reader r = { .source = source };
    hs_infra_tables_init(&r.tables, source);
    find_events(&r);
    if (r.event_count > 0) {
        qsort(r.events, r.event_count, sizeof(r.events[0]), compare_times);
    }
    for (size_t i = 0; i < r.event_count && r.err == 0 && r.tables.err == 0; i++) {
        read_tables(&r, &r.events[i]);
    }
    for (size_t i = 0; i < r.event_count && r.err == 0 && r.tables.err == 0; i++) {
        if (r.events[i].kind == EVENT_DUMP) {
            read_dump(&r, &r.events[i]);
        }
    }
    source->report->has_no_alloc = true;
    int err = r.err ? r.err : r.tables.err ? r.tables.err : hs_builder_error(source->builder);
    hs_infra_tables_deinit(&r.tables);
    hs_buf_deinit(&r.scratch);
    free(r.events);
    free(r.samples);
    return err;
}
