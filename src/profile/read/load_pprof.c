/*
 * Reads a pprof profile: the walk over its fields, and the samples.
 *
 * A profile is one message of small messages. It is walked field by field, twice: first for the
 * tables, then for the samples, which may come before the tables. A broken record therefore costs
 * only that record, and of a file that ends early everything before its end is read. Each record is
 * decoded in an arena, which is then reset.
 *
 * The samples of a process form one dump. The label `pid` distinguishes processes, `heap`
 * distinguishes heaps; a sample with an `address` is a block. Negative numbers, as in a difference
 * of two profiles, are kept.
 *
 * See       load_foreign.h, pprof_tables.h, pprof_values.h, docs/FORMAT.md
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/read/load_foreign.h"
#include "profile/read/pprof_labels.h"
#include "profile/read/pprof_tables.h"
#include "profile/read/pprof_values.h"
#include "profile/read/unbias.h"
#include "rt/cursor.h"
#include "rt/text.h"
#include "trace/snapshot.h"
#include "trace/trace_arena.h"
#include "util/array.h"
#include "util/saturate.h"

#define WIRE_VARINT   0U
#define WIRE_FIXED64  1U
#define WIRE_BYTES    2U
#define WIRE_FIXED32  5U
#define PROCESSES_MAX 4096U
/* A record decodes to at most this many times its size. */
#define DECODED_FACTOR    64U
#define DECODED_BYTES_MIN ((size_t)1 << 16)

enum field_number {
    FIELD_SAMPLE_TYPE = 1,
    FIELD_SAMPLE = 2,
    FIELD_MAPPING = 3,
    FIELD_LOCATION = 4,
    FIELD_FUNCTION = 5,
    FIELD_STRING = 6,
    FIELD_TIME = 9,
    FIELD_DURATION = 10,
    FIELD_PERIOD_TYPE = 11,
    FIELD_PERIOD = 12,
    FIELD_DEFAULT_TYPE = 14,
};

struct field {
    uint64_t number, wire, value;
    const uint8_t *data;
};

struct process {
    uint64_t pid;
    uint32_t id;
    struct hs_profile_sample *samples;
    size_t count, capacity;
    struct hs_profile_block *blocks; /* of the samples that are one block */
    size_t block_count, block_capacity;
    uint32_t name; /* string id; 0: that of the program */
    struct hs_amount alloc, live, peak;
};

struct reader {
    const struct hs_load_source *source;
    struct hs_pprof_tables tables;
    struct hs_trace_arena arena;
    struct {
        int64_t name, unit;
    } types[HS_PPROF_TYPES_MAX];
    size_t type_count;
    struct hs_pprof_roles roles;
    int64_t time_ns, duration_ns, period, default_type, period_unit;
    uint64_t interval_bytes;
    struct hs_intern pids;
    struct process *processes;
    size_t process_capacity;
    int err;
};

/* --- fields --- */

/* Reads the next field. False at the end, and where the chain of lengths breaks. */
static bool next_field(struct hs_cursor *c, struct field *ret_field)
{
    if (hs_cursor_left(c) == 0) {
        return false;
    }
    uint64_t tag = hs_cursor_uleb(c);
    *ret_field = (struct field){ .number = tag >> 3, .wire = tag & 7 };
    switch (ret_field->wire) {
    case WIRE_VARINT:
        ret_field->value = hs_cursor_uleb(c);
        break;
    case WIRE_FIXED64:
        ret_field->value = hs_cursor_uint(c, 8);
        break;
    case WIRE_FIXED32:
        ret_field->value = hs_cursor_uint(c, 4);
        break;
    case WIRE_BYTES:
        ret_field->value = hs_cursor_uleb(c);
        ret_field->data = c->at;
        hs_cursor_skip(c, ret_field->value);
        break;
    default:
        c->is_bad = true;
        break;
    }
    return !c->is_bad && ret_field->number != 0;
}

/* Decodes a record. NULL, and counted, when that fails. */
static void *decode(struct reader *r, const ProtobufCMessageDescriptor *type,
                    const struct field *field)
{
    size_t limit = (size_t)field->value * DECODED_FACTOR;
    hs_trace_arena_reset(&r->arena, limit > DECODED_BYTES_MIN ? limit : DECODED_BYTES_MIN);
    void *message = field->wire == WIRE_BYTES
                        ? protobuf_c_message_unpack(type, &r->arena.allocator, (size_t)field->value,
                                                    field->data)
                        : NULL;
    r->source->report->bad_record_count += message == NULL;
    return message;
}

static void on_value_type(struct reader *r, const struct field *field)
{
    const Hs__Pprof__PprofValueType *type =
        decode(r, &hs__pprof__pprof_value_type__descriptor, field);
    if (!type) {
        return;
    }
    if (field->number == FIELD_PERIOD_TYPE) {
        r->period_unit = type->unit;
    } else if (r->type_count < HS_PPROF_TYPES_MAX) {
        r->types[r->type_count].name = type->type;
        r->types[r->type_count++].unit = type->unit;
    }
}

static void on_table(struct reader *r, const struct field *field)
{
    if (field->number == FIELD_STRING) {
        if (field->wire == WIRE_BYTES) {
            hs_pprof_add_string(&r->tables, field->data, (size_t)field->value);
        }
        return;
    }
    const ProtobufCMessageDescriptor *type =
        field->number == FIELD_MAPPING    ? &hs__pprof__pprof_mapping__descriptor
        : field->number == FIELD_LOCATION ? &hs__pprof__pprof_location__descriptor
                                          : &hs__pprof__pprof_function__descriptor;
    void *message = decode(r, type, field);
    if (message && field->number == FIELD_MAPPING) {
        hs_pprof_add_mapping(&r->tables, message);
    } else if (message && field->number == FIELD_LOCATION) {
        hs_pprof_add_location(&r->tables, message);
    } else if (message) {
        hs_pprof_add_function(&r->tables, message);
    }
}

static void on_head(struct reader *r, const struct field *field)
{
    switch (field->number) {
    case FIELD_SAMPLE_TYPE:
    case FIELD_PERIOD_TYPE:
        on_value_type(r, field);
        break;
    case FIELD_MAPPING:
    case FIELD_LOCATION:
    case FIELD_FUNCTION:
    case FIELD_STRING:
        on_table(r, field);
        break;
    case FIELD_TIME:
        r->time_ns = (int64_t)field->value;
        break;
    case FIELD_DURATION:
        r->duration_ns = (int64_t)field->value;
        break;
    case FIELD_PERIOD:
        r->period = (int64_t)field->value;
        break;
    case FIELD_DEFAULT_TYPE:
        r->default_type = (int64_t)field->value;
        break;
    default:
        break;
    }
}

/* --- samples --- */

static struct process *process_of(struct reader *r, uint64_t pid)
{
    uint32_t idx;
    bool is_new = false;
    struct hs_intern_key key = { .lo = pid };
    if (r->pids.count >= PROCESSES_MAX && !hs_intern_find(&r->pids, key, &idx)) {
        key = r->pids.keys[0]; /* no real file has so many processes */
    }
    r->err = hs_array_reserve(&r->processes, &r->process_capacity, (size_t)r->pids.count + 1,
                              sizeof(r->processes[0]));
    if (r->err == 0) {
        r->err = hs_intern_put(&r->pids, key, &idx, &is_new);
    }
    if (r->err != 0) {
        return NULL;
    }
    if (is_new) {
        struct hs_profile_process out = {
            .pid = (uint32_t)pid,
            .exit_kind = HS_EXIT_RUNNING,
        };
        r->processes[idx] =
            (struct process){ .pid = pid, .id = hs_builder_process(r->source->builder, &out) };
    }
    return &r->processes[idx];
}

static double value_of(const struct reader *r, const Hs__Pprof__PprofSample *sample,
                       enum hs_pprof_role role)
{
    int type = r->roles.type[role];
    return type >= 0 && (size_t)type < sample->n_value
               ? (double)sample->value[type] * r->roles.factor[role]
               : 0;
}

static struct hs_amount amount_of(const struct reader *r, const Hs__Pprof__PprofSample *sample,
                                  enum hs_pprof_role of_bytes)
{
    struct hs_amount amount = { .bytes = value_of(r, sample, of_bytes),
                                .count = value_of(r, sample, of_bytes + 1) };
    if (r->roles.has_sample_counts) {
        /* Only an upper bound of the error is known. */
        if (r->interval_bytes > 1 && amount.bytes > 0) {
            amount.bytes_var = (double)r->interval_bytes * amount.bytes;
            amount.sampled_bytes = amount.bytes;
        }
    } else {
        hs_unbias_vary(&amount, r->interval_bytes);
    }
    return amount;
}

static void add_block(struct reader *r, struct process *process,
                      const struct hs_profile_sample *sample,
                      const struct hs_pprof_labels_read *labels)
{
    if (!labels->is_block || process->block_count >= HS_BUILDER_BLOCKS_MAX) {
        return;
    }
    r->err = hs_array_reserve(&process->blocks, &process->block_capacity, process->block_count + 1,
                              sizeof(process->blocks[0]));
    if (r->err == 0) {
        struct hs_profile_block *block = &process->blocks[process->block_count++];
        *block = labels->block;
        block->node = sample->node;
        block->heap = sample->heap;
        block->bytes = sample->live.bytes;
        block->count = sample->live.count;
    }
}

static void on_sample(struct reader *r, const struct field *field)
{
    const Hs__Pprof__PprofSample *sample = decode(r, &hs__pprof__pprof_sample__descriptor, field);
    if (!sample) {
        return;
    }
    r->source->report->bad_record_count += sample->n_value != r->type_count;
    struct hs_pprof_labels_read labels = hs_pprof_read_labels(&r->tables, sample);
    struct process *process = process_of(r, labels.pid);
    if (!process) {
        return;
    }
    r->err = hs_array_reserve(&process->samples, &process->capacity, process->count + 1,
                              sizeof(process->samples[0]));
    if (r->err != 0) {
        return;
    }
    uint32_t node = HS_NODE_NONE;
    for (size_t i = sample->n_location_id; i > 0; i--) {
        node = hs_pprof_node(&r->tables, node, sample->location_id[i - 1]);
    }
    if (node == HS_NODE_NONE) {
        /* an unknown location, which becomes a marker */
        node = hs_pprof_node(&r->tables, node, UINT64_MAX);
    }
    struct hs_builder *builder = r->source->builder;
    struct hs_profile_sample *out = &process->samples[process->count++];
    *out = (struct hs_profile_sample){
        .node = node,
        .heap = hs_builder_heap(builder,
                                labels.heap ? hs_builder_text(builder, labels.heap) : "unknown"),
        .alloc = amount_of(r, sample, HS_PPROF_ALLOC_BYTES),
        .live = amount_of(r, sample, HS_PPROF_LIVE_BYTES),
        .peak = amount_of(r, sample, HS_PPROF_PEAK_BYTES),
    };
    if (r->source->report->has_no_alloc) {
        out->alloc = out->live;
    }
    process->name = labels.process_name ? labels.process_name : process->name;
    add_block(r, process, out, &labels);
    hs_amount_add(&process->alloc, &out->alloc);
    hs_amount_add(&process->live, &out->live);
    hs_amount_add(&process->peak, &out->peak);
}

/* --- the whole file --- */

/*
 * Walks over all fields, for the tables or for the samples. Reports where the chain of lengths
 * breaks.
 */
static void walk(struct reader *r, bool is_samples)
{
    const struct hs_load_source *source = r->source;
    struct hs_cursor c = { .at = source->data, .end = source->data + source->bytes };
    struct field field;
    const uint8_t *whole = c.at;
    while (r->err == 0 && next_field(&c, &field)) {
        whole = c.at;
        if (is_samples && field.number == FIELD_SAMPLE) {
            on_sample(r, &field);
        } else if (!is_samples) {
            on_head(r, &field);
        }
        r->err = r->err ? r->err : r->tables.err;
        r->err = r->err ? r->err : hs_builder_error(source->builder);
    }
    if (!is_samples && r->err == 0 && whole < c.end) {
        source->report->damage.is_truncated = true;
    }
}

static int find_roles(struct reader *r)
{
    struct hs_builder *builder = r->source->builder;
    struct hs_load_report *report = r->source->report;
    struct hs_pprof_type types[HS_PPROF_TYPES_MAX];
    for (size_t i = 0; i < r->type_count; i++) {
        types[i].name = hs_builder_text(builder, hs_pprof_string(&r->tables, r->types[i].name));
        types[i].unit = hs_builder_text(builder, hs_pprof_string(&r->tables, r->types[i].unit));
    }
    const char *first = hs_builder_text(builder, hs_pprof_string(&r->tables, r->default_type));
    if (!hs_pprof_find_roles(types, r->type_count, first, &r->roles)) {
        if (r->type_count > 0) {
            const struct hs_pprof_type *last = &types[r->type_count - 1];
            snprintf(report->type_name, sizeof(report->type_name), "%s in %s", last->name,
                     last->unit);
        }
        return HS_LOAD_E_NOT_MEMORY;
    }
    report->has_no_alloc =
        r->roles.type[HS_PPROF_ALLOC_BYTES] < 0 && r->roles.type[HS_PPROF_ALLOC_COUNT] < 0;
    report->has_no_live =
        r->roles.type[HS_PPROF_LIVE_BYTES] < 0 && r->roles.type[HS_PPROF_LIVE_COUNT] < 0;
    double unit =
        hs_pprof_unit_bytes(hs_builder_text(builder, hs_pprof_string(&r->tables, r->period_unit)));
    if (unit > 0 && r->period > 0) {
        r->interval_bytes = hs_saturate_round_unsigned((double)r->period * unit);
    }
    return 0;
}

static uint32_t base_name(struct hs_builder *builder, uint32_t path)
{
    return hs_builder_string(builder, hs_text_base_name(hs_builder_text(builder, path)));
}

static void put_dumps(struct reader *r)
{
    struct hs_builder *builder = r->source->builder;
    uint64_t duration_ns = r->duration_ns > 0 ? (uint64_t)r->duration_ns : 0;
    if (r->time_ns > 0) {
        hs_builder_set_realtime(builder, (uint64_t)r->time_ns);
    }
    if (r->pids.count == 0) {
        process_of(r, 0);
    }
    for (uint32_t i = 0; i < r->pids.count && r->err == 0; i++) {
        struct process *process = &r->processes[i];
        struct hs_profile_process *out = hs_builder_process_at(builder, process->id);
        if (out && r->tables.program != 0) {
            out->exe = r->tables.program;
            out->name = process->name ? process->name : base_name(builder, out->exe);
        }
        struct hs_profile_dump dump = {
            .process = process->id,
            .time_ns = duration_ns,
            .interval_bytes = r->interval_bytes,
            .orig_interval_bytes = r->interval_bytes,
            .has_peak =
                r->roles.type[HS_PPROF_PEAK_BYTES] >= 0 || r->roles.type[HS_PPROF_PEAK_COUNT] >= 0,
            .has_scaled_counts = !r->roles.has_sample_counts,
            .live = process->live,
            .alloc = process->alloc,
            .peak = process->peak,
        };
        uint32_t id = hs_builder_dump(builder, &dump, process->samples, process->count);
        if (process->block_count > 0) {
            hs_builder_dump_blocks(builder, id, process->blocks, process->block_count);
        }
    }
}

int hs_load_pprof(const struct hs_load_source *source)
{
    struct reader r = { .source = source, .tables = { .source = source } };
    hs_trace_arena_init(&r.arena);
    walk(&r, false);
    if (r.err == 0) {
        hs_pprof_find_program(&r.tables);
        r.err = find_roles(&r);
    }
    if (r.err == 0) {
        walk(&r, true);
    }
    if (r.err == 0) {
        put_dumps(&r);
    }
    for (uint32_t i = 0; i < r.pids.count; i++) {
        free(r.processes[i].samples);
        free(r.processes[i].blocks);
    }
    free(r.processes);
    hs_intern_deinit(&r.pids);
    hs_pprof_tables_deinit(&r.tables);
    hs_trace_arena_deinit(&r.arena);
    return r.err;
}
