/*
 * Reads MemoryInfra traces: the JSON in which Chrome's heap profiler, and heapscope, write dumps.
 *
 *     {"traceEvents":[{"ph":"v","pid":1,"ts":5,"args":{"dumps":{"heaps_v2":{...}}}},...]}
 *
 * An event refers to tables that may be in others, before or behind it. So the events that matter
 * are found first, then their tables are read, and their rows last. Values of heaps_v2 are those of
 * a stack itself. In the older form, "heaps", a value contains those of the stacks that begin with
 * it; these are subtracted, and types are not read. Rows of heaps_v2 that differ in their type are
 * the parts of a stack.
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
#define PID_STEP  (UINT64_C(1) << 22)
#define LABEL_PID "pid "
#define US_MAX    9e15
/* Longer names of events are none of those that matter. */
#define NAME_BYTES_MAX 32
#define HEAP_MALLOC    "malloc"

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
    const char *args; /* the value; NULL: none */
};

struct reader {
    const struct hs_load_source *source;
    struct hs_infra_tables tables;
    struct event *events;
    size_t event_count, event_capacity;
    struct hs_profile_sample *samples; /* of the current dump */
    size_t sample_count, sample_capacity;
    struct hs_profile_part *parts; /* of the current dump, one for each sample */
    size_t part_capacity;
    bool has_types; /* one of them has a type */
    struct hs_amount sum;
    uint64_t start_ns; /* time of the first dump with heaps */
    int err;
};

static const char *end_of(const struct reader *r)
{
    return (const char *)r->source->data + r->source->bytes;
}

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
    char name_bytes[NAME_BYTES_MAX];
    struct hs_json_text key, phase = { "", 0 }, name = { name_bytes, 0 };
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
            struct hs_json_text text;
            name.bytes = 0;
            if (hs_json_read_text(json, &text) && text.bytes <= sizeof(name_bytes)) {
                memcpy(name_bytes, text.text, text.bytes);
                name.bytes = text.bytes;
            }
        } else {
            event.args = hs_json_text_is(&key, "args") ? hs_json_place(json) : event.args;
            hs_json_skip(json);
        }
    }
    event.kind = kind_of(phase.bytes ? phase.text[0] : '-', &name);
    if (event.kind == EVENT_OTHER || !event.args || r->err != 0) {
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
    struct hs_json_reader json;
    hs_json_begin(&json, (const char *)r->source->data, end_of(r));
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
    r->err = r->err ? r->err : json.err;
    hs_json_end(&json);
}

static const char *value_of(struct reader *r, const char *place, const char *name)
{
    return hs_json_find(place, end_of(r), name, &r->err);
}

static uint64_t hex_of(struct reader *r, const char *place, const char *name)
{
    const char *value = value_of(r, place, name);
    uint64_t number = 0;
    if (value) {
        struct hs_json_reader json;
        hs_json_begin(&json, value, end_of(r));
        number = hs_infra_read_hex(&json);
        hs_json_end(&json);
    }
    return number;
}

static void read_name(struct reader *r, const struct event *event)
{
    uint32_t idx = hs_infra_process_of(&r->tables, event->pid);
    const char *value = value_of(r, event->args, event->kind == EVENT_NAME ? "name" : "labels");
    struct hs_json_reader json;
    struct hs_json_text text;
    if (idx == HS_INFRA_NO_ID || !value) {
        return;
    }
    struct hs_infra_in_process *process = &r->tables.processes[idx];
    hs_json_begin(&json, value, end_of(r));
    if (!hs_json_read_text(&json, &text)) {
        text.bytes = 0;
    } else if (event->kind == EVENT_NAME) {
        process->name = hs_builder_string_n(r->source->builder, text.text, text.bytes);
    } else if (event->pid >= PID_STEP && text.bytes > strlen(LABEL_PID) &&
               memcmp(text.text, LABEL_PID, strlen(LABEL_PID)) == 0) {
        process->real_pid = (uint32_t)(event->pid % PID_STEP);
    }
    hs_json_end(&json);
}

static void read_table(struct reader *r, const char *place, uint32_t process,
                       void (*read)(struct hs_infra_tables *, uint32_t, struct hs_json_reader *))
{
    if (place) {
        struct hs_json_reader json;
        hs_json_begin(&json, place, end_of(r));
        read(&r->tables, process, &json);
        r->err = r->err ? r->err : json.err;
        hs_json_end(&json);
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
        read_table(r, value_of(r, event->args, "stackFrames"), process, hs_infra_read_frames);
        return;
    }
    const char *dumps = value_of(r, event->args, "dumps");
    const char *heaps = value_of(r, dumps, "heaps_v2");
    const char *mmaps = value_of(r, dumps, "process_mmaps");
    read_table(r, value_of(r, heaps, "maps"), process, hs_infra_read_maps);
    read_table(r, value_of(r, mmaps, "vm_regions"), process, hs_infra_read_regions);
}

/* --- rows --- */

/* `type`: string id; 0: unknown. */
static void add_sample(struct reader *r, uint32_t heap, uint32_t node, uint32_t type, double bytes,
                       double count)
{
    size_t need = r->sample_count + 1;
    r->err = r->err
                 ? r->err
                 : hs_array_reserve(&r->samples, &r->sample_capacity, need, sizeof(r->samples[0]));
    r->err =
        r->err ? r->err : hs_array_reserve(&r->parts, &r->part_capacity, need, sizeof(r->parts[0]));
    if (r->err == 0) {
        const struct hs_amount amount = { .bytes = bytes, .count = count };
        r->parts[r->sample_count] = (struct hs_profile_part){
            .node = node, .heap = heap, .type = type, .age_class = HS_PART_OTHERS, .amount = amount
        };
        r->has_types |= type != 0;
        r->samples[r->sample_count++] = (struct hs_profile_sample){
            .node = node, .heap = heap, .live = amount, .alloc = amount
        };
        hs_amount_add(&r->sum, &amount);
    }
}

enum column {
    COLUMN_COUNTS,
    COLUMN_SIZES,
    COLUMN_NODES,
    COLUMN_TYPES, /* may be absent */
    COLUMN_N,
};

static void read_rows(struct reader *r, uint32_t process, uint32_t heap,
                      struct hs_json_reader *columns)
{
    for (;;) {
        double count, bytes;
        uint64_t node, type;
        int more = 0;
        for (enum column i = 0; i < COLUMN_TYPES; i++) {
            more += hs_json_next_element(&columns[i]);
        }
        bool has_type = columns[COLUMN_TYPES].at && hs_json_next_element(&columns[COLUMN_TYPES]) &&
                        hs_infra_read_id(&columns[COLUMN_TYPES], &type);
        if (more < COLUMN_TYPES || r->err != 0) {
            r->source->report->bad_record_count += more > 0;
            return;
        }
        bool has_count = hs_json_read_number(&columns[COLUMN_COUNTS], &count);
        bool has_bytes = hs_json_read_number(&columns[COLUMN_SIZES], &bytes);
        bool has_node = hs_infra_read_id(&columns[COLUMN_NODES], &node);
        if (has_count && has_bytes && has_node) {
            add_sample(r, heap, hs_infra_make_node(&r->tables, process, node),
                       has_type ? hs_infra_type_name(&r->tables, process, type) : 0, bytes, count);
        } else {
            r->source->report->bad_record_count++;
        }
    }
}

/* Reads {"counts":[1],"sizes":[64],"types":[0],"nodes":[10]}. */
static void read_columns(struct reader *r, uint32_t process, uint32_t heap, const char *place)
{
    static const char *const names[COLUMN_N] = { "counts", "sizes", "nodes", "types" };
    struct hs_json_reader columns[COLUMN_N] = { 0 };
    const char *values[COLUMN_N];
    bool is_whole = true;
    for (enum column i = 0; i < COLUMN_N; i++) {
        values[i] = value_of(r, place, names[i]);
        is_whole &= values[i] != NULL || i == COLUMN_TYPES;
    }
    for (enum column i = 0; i < COLUMN_N && is_whole; i++) {
        if (values[i]) {
            hs_json_begin(&columns[i], values[i], end_of(r));
            is_whole = hs_json_enter(&columns[i], '[') || i == COLUMN_TYPES;
        }
    }
    if (is_whole) {
        read_rows(r, process, heap, columns);
    }
    for (enum column i = 0; i < COLUMN_N; i++) {
        r->err = r->err ? r->err : columns[i].err;
        hs_json_end(&columns[i]);
    }
}

static void add_total(void *ctx, uint32_t heap, uint32_t node, double bytes, double count)
{
    add_sample(ctx, heap, node, 0, bytes, count);
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

static void read_totals(struct reader *r, uint32_t process, uint32_t heap, const char *place)
{
    const char *entries = value_of(r, place, "entries");
    if (entries) {
        struct hs_json_reader json;
        hs_json_begin(&json, entries, end_of(r));
        hs_infra_read_totals(&r->tables, process, heap, &json, add_total, r);
        r->err = r->err ? r->err : json.err;
        hs_json_end(&json);
    }
}

/* Reads the heaps of a dump, of the newer or the older form. */
static void read_heaps(struct reader *r, uint32_t process, const char *place, bool is_older)
{
    struct hs_json_text key;
    struct hs_json_reader heaps;
    hs_json_begin(&heaps, place, end_of(r));
    hs_json_enter(&heaps, '{');
    while (hs_json_next_key(&heaps, &key) && r->err == 0) {
        uint32_t heap = heap_of(r, &key);
        const char *value = hs_json_place(&heaps);
        if (is_older) {
            read_totals(r, process, heap, value);
        } else {
            read_columns(r, process, heap, value);
        }
        hs_json_skip(&heaps);
    }
    r->err = r->err ? r->err : heaps.err;
    hs_json_end(&heaps);
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
    const char *dumps = value_of(r, event->args, "dumps");
    const char *newer = value_of(r, value_of(r, dumps, "heaps_v2"), "allocators");
    const char *older = newer ? NULL : value_of(r, dumps, "heaps");
    if (idx == HS_INFRA_NO_ID || (!newer && !older)) {
        return; /* a dump without heaps */
    }
    uint64_t time_ns = (uint64_t)(event->us * 1000);
    r->start_ns = r->start_ns ? r->start_ns : time_ns;
    begin_process(r, idx);
    r->sample_count = 0;
    r->has_types = false;
    r->sum = (struct hs_amount){ 0 };
    if (newer) {
        read_heaps(r, idx, newer, false);
    } else {
        read_heaps(r, idx, older, true);
    }
    const char *totals = value_of(r, dumps, "process_totals");
    struct hs_profile_dump dump = {
        .process = r->tables.processes[idx].builder_idx,
        .start_ns = r->start_ns,
        .time_ns = time_ns,
        .has_scaled_counts = true,
        .has_types = r->has_types,
        .has_only_types = true,
        .live = r->sum,
        .alloc = r->sum,
        .rss_bytes = hex_of(r, totals, "resident_set_bytes"),
        .rss_peak_bytes = hex_of(r, totals, "peak_resident_set_bytes"),
    };
    if (r->err == 0 && r->tables.err == 0) {
        uint32_t made = hs_builder_dump(r->source->builder, &dump, r->samples, r->sample_count);
        if (r->has_types) {
            hs_builder_dump_parts(r->source->builder, made, HS_PARTS_LIVE, r->parts,
                                  r->sample_count);
        }
    }
}

static int compare_times(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->us != y->us) {
        return x->us < y->us ? -1 : 1;
    }
    return x->args < y->args ? -1 : x->args > y->args;
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
    free(r.events);
    free(r.samples);
    free(r.parts);
    return err;
}
