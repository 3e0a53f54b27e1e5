/*
 * PerfSample packets, from Perfetto's CPU profiler: a thread's stack at one moment.
 *
 * They become rows of the same table as StackSamples, with the source "linux.perf", and of the view
 * perf_sample. Packets that report missing samples become statistics.
 *
 * See       import_state.h, docs/SQL.md
 */
#include "sql/import/import_state.h"
#include "sql/import/stack_sample.h"
#include "util/saturate.h"

enum field {
    FIELD_CPU = 1,
    FIELD_PID = 2,
    FIELD_TID = 3,
    FIELD_CALLSTACK = 4,
    FIELD_MODE = 5,
    FIELD_UNWIND_ERROR = 16,
    FIELD_RECORDS_LOST = 17,
    FIELD_SKIPPED = 18,
    FIELD_PRODUCER_EVENT = 19,
    FIELD_N,
};

enum skipped {
    SKIPPED_READ = 1,
    SKIPPED_UNWIND = 2,
    SKIPPED_ENQUEUE = 3,
};

struct perf_sample {
    bool is_there[FIELD_N];
    uint64_t values[FIELD_N];
};

static struct perf_sample read_sample(struct hs_stack_fields fields)
{
    struct perf_sample sample = { 0 };
    struct hs_trace_field field;
    while (hs_stack_next(&fields, &field)) {
        bool is_number = field.wire == HS_TRACE_WIRE_VARINT;
        if (field.number < FIELD_N && (is_number || field.number == FIELD_PRODUCER_EVENT)) {
            sample.is_there[field.number] = true;
            sample.values[field.number] = is_number ? field.value : 0;
        }
    }
    return sample;
}

static int64_t unwind_error(struct hs_import *import, const struct perf_sample *sample)
{
    static const char *const names[] = {
        "unknown",     "none",        "memory_invalid",      "unwind_info",
        "unsupported", "invalid_map", "max_frames_exceeded", "repeated_frame",
        "invalid_elf", "system_call", "thread_timeout",      "thread_does_not_exist",
        "bad_arch",    "maps_parse",  "invalid_parameter",   "ptrace_call",
    };
    uint64_t value = sample->values[FIELD_UNWIND_ERROR];
    bool is_known = value < sizeof(names) / sizeof(names[0]);
    return sample->is_there[FIELD_UNWIND_ERROR]
               ? hs_sql_store_str(import->store, names[is_known ? value : 0])
               : HS_ROWS_NULL;
}

static void note_skipped(struct hs_import *import, uint64_t reason)
{
    if (reason == SKIPPED_READ || reason == SKIPPED_UNWIND) {
        hs_stat_count(import, HS_STAT_PERF_SKIPPED);
    } else if (reason == SKIPPED_ENQUEUE) {
        hs_stat_count(import, HS_STAT_PERF_SKIPPED_LOSS);
    }
}

static int64_t cell(const struct perf_sample *sample, enum field field)
{
    return sample->is_there[field] ? (int64_t)sample->values[field] : HS_ROWS_NULL;
}

static void add_row(struct hs_import *import, struct hs_import_sequence *sequence,
                    const struct perf_sample *sample)
{
    const struct hs_stack_task task = {
        .pid = (int64_t)(uint32_t)sample->values[FIELD_PID],
        .tid = (int64_t)(uint32_t)sample->values[FIELD_TID],
        .async_id = HS_ROWS_NULL,
    };
    const struct hs_stack_execution execution = { cell(sample, FIELD_CPU),
                                                  cell(sample, FIELD_MODE) };
    bool has_execution = sample->is_there[FIELD_CPU] || sample->values[FIELD_MODE] != 0;
    uint32_t session = 0, site = HS_IMPORT_NONE;
    bool is_new;
    if (import->store->err == 0) {
        import->store->err =
            hs_intern_put(&import->perf_session_ids, HS_IMPORT_KEY(sequence ? sequence->id : 0),
                          &session, &is_new);
    }
    if (sample->is_there[FIELD_CALLSTACK] && sequence) {
        site = hs_import_site(import, sequence, hs_import_upid(import, (uint32_t)task.pid),
                              sample->values[FIELD_CALLSTACK]);
    }
    int64_t task_row = hs_import_stack_task(import, &task);
    int64_t execution_row =
        has_execution ? hs_import_stack_execution(import, &execution) : HS_ROWS_NULL;
    HS_SQL_ADD(import->store, HS_SQL_STACK_SAMPLE, import->now_ns,
               hs_sql_store_str(import->store, "linux.perf"), task_row, execution_row,
               site == HS_IMPORT_NONE ? HS_ROWS_NULL : (int64_t)site, unwind_error(import, sample),
               session, HS_ROWS_NULL);
}

void hs_import_perf_sample(struct hs_import *import, struct hs_import_sequence *sequence,
                           const struct hs_trace_part *part)
{
    struct hs_stack_fields whole = { .data = part->data, .bytes = part->bytes };
    struct hs_trace_field field;
    if (!hs_stack_next(&whole, &field)) {
        return;
    }
    struct perf_sample sample = read_sample(hs_stack_within(&field));
    if (sample.values[FIELD_RECORDS_LOST] > 0) {
        hs_stat_add_at(import, HS_STAT_PERF_LOST, sample.values[FIELD_CPU],
                       hs_saturate_signed(sample.values[FIELD_RECORDS_LOST]));
    } else if (!sample.is_there[FIELD_PRODUCER_EVENT]) {
        note_skipped(import, sample.values[FIELD_SKIPPED]);
        add_row(import, sequence, &sample);
    }
}
