/*
 * See stack_sample.h.
 */
#include "sql/import/stack_sample.h"

#include <stdio.h>
#include <string.h>

static const struct hs_stack_counter no_descriptor = { HS_ROWS_NULL, HS_ROWS_NULL, HS_ROWS_NULL };

bool hs_stack_next(struct hs_stack_fields *fields, struct hs_trace_field *ret_field)
{
    size_t taken =
        fields->bytes > 0 ? hs_trace_scan_field(fields->data, fields->bytes, ret_field) : 0;
    if (taken == 0) {
        /* without bytes `data` may be NULL, and adding even 0 to NULL is not allowed */
        return false;
    }
    fields->data += taken;
    fields->bytes -= taken;
    return true;
}

static bool is_number(const struct hs_trace_field *field)
{
    return field->wire == HS_TRACE_WIRE_VARINT;
}

static int64_t number(const struct hs_trace_field *field)
{
    return is_number(field) ? (int64_t)field->value : HS_ROWS_NULL;
}

/* A number becomes its digits. */
int64_t hs_stack_text(struct hs_sql_store *store, const struct hs_trace_field *field)
{
    char digits[24];
    if (field->wire == HS_TRACE_WIRE_BYTES) {
        return hs_sql_store_put(store, field->data, field->bytes);
    }
    if (!is_number(field)) {
        return HS_ROWS_NULL;
    }
    int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)field->value);
    return hs_sql_store_put(store, digits, (size_t)length);
}

uint64_t hs_stack_iid(struct hs_stack_fields fields)
{
    struct hs_trace_field field;
    uint64_t iid = 0;
    while (hs_stack_next(&fields, &field)) {
        iid = field.number == 1 && is_number(&field) ? field.value : iid;
    }
    return iid;
}

struct hs_stack_task hs_stack_task(struct hs_stack_fields fields)
{
    struct hs_stack_task task = { HS_ROWS_NULL, HS_ROWS_NULL, HS_ROWS_NULL };
    struct hs_trace_field field;
    while (hs_stack_next(&fields, &field)) {
        int64_t *cells[] = { [2] = &task.pid, [3] = &task.tid, [4] = &task.async_id };
        if (field.number >= 2 && field.number <= 4) {
            *cells[field.number] = number(&field);
        }
    }
    return task;
}

struct hs_stack_execution hs_stack_execution(struct hs_stack_fields fields)
{
    struct hs_stack_execution execution = { HS_ROWS_NULL, HS_ROWS_NULL };
    struct hs_trace_field field;
    while (hs_stack_next(&fields, &field)) {
        if (field.number == 2) {
            execution.cpu = number(&field);
        } else if (field.number == 3) {
            execution.mode = number(&field);
        }
    }
    return execution;
}

static int64_t unit_text(struct hs_sql_store *store, const struct hs_trace_field *field)
{
    enum { UNIT_BYTES = 4, UNIT_COUNT = 9 };
    if (is_number(field) && field->value == UNIT_BYTES) {
        return hs_sql_store_str(store, "bytes");
    }
    if (is_number(field) && field->value == UNIT_COUNT) {
        return hs_sql_store_str(store, "count");
    }
    return hs_stack_text(store, field);
}

struct hs_stack_counter hs_stack_descriptor(struct hs_sql_store *store,
                                            struct hs_stack_fields fields)
{
    struct hs_stack_counter counter = no_descriptor;
    struct hs_trace_field field;
    while (hs_stack_next(&fields, &field)) {
        switch (field.number) {
        case 2:
            counter.name = hs_stack_text(store, &field);
            break;
        case 3:
            counter.unit = counter.unit == HS_ROWS_NULL ? unit_text(store, &field) : counter.unit;
            break;
        case 4: /* the unit as a text; the number is then "other" */
            counter.unit = hs_stack_text(store, &field);
            break;
        case 5:
            counter.multiplier = number(&field);
            break;
        default:
            break;
        }
    }
    return counter;
}

/* --- counters --- */

/* Bytes that are well-formed fields of a descriptor are a descriptor; other bytes are packed
 * iids. */
static bool is_descriptor(struct hs_stack_fields fields)
{
    struct hs_trace_field field;
    bool is_one = fields.bytes > 0;
    while (is_one && fields.bytes > 0) {
        is_one = hs_stack_next(&fields, &field) && field.number <= 5;
    }
    return is_one;
}

struct hs_stack_counter_ref hs_stack_counter(struct hs_sql_store *store,
                                             const struct hs_trace_field *field)
{
    struct hs_stack_counter_ref ref = { .is_there = true, .counter = no_descriptor };
    if (is_number(field)) {
        ref.is_iid = true;
        ref.iid = field->value;
    } else {
        ref.counter = hs_stack_descriptor(store, hs_stack_within(field));
    }
    return ref;
}

/* A descriptor, one iid, or a packed list of iids. */
void hs_stack_add_followers(struct hs_sql_store *store, const struct hs_trace_field *field,
                            struct hs_stack_counter_refs *refs)
{
    struct hs_stack_fields fields = hs_stack_within(field);
    if (is_number(field) || is_descriptor(fields)) {
        if (refs->follower_count < HS_STACK_FOLLOWERS_MAX) {
            refs->followers[refs->follower_count++] = hs_stack_counter(store, field);
        }
        return;
    }
    uint64_t iid;
    for (size_t taken; refs->follower_count < HS_STACK_FOLLOWERS_MAX &&
                       (taken = hs_trace_scan_varint(fields.data, fields.bytes, &iid)) > 0;) {
        refs->followers[refs->follower_count++] =
            (struct hs_stack_counter_ref){ .is_there = true, .is_iid = true, .iid = iid };
        fields.data += taken;
        fields.bytes -= taken;
    }
}

/* --- a sample --- */

static double weight_of(const struct hs_trace_field *field)
{
    double weight = 0;
    if (field->wire == HS_TRACE_WIRE_64) {
        memcpy(&weight, field->data, sizeof(weight));
        return weight;
    }
    return is_number(field) ? (double)(int64_t)field->value : 0;
}

static void add_weights(const struct hs_trace_field *field, struct hs_stack_sample *sample)
{
    struct hs_stack_fields fields = hs_stack_within(field);
    uint64_t value;
    if (field->wire != HS_TRACE_WIRE_BYTES &&
        sample->follower_weight_count < HS_STACK_FOLLOWERS_MAX) {
        sample->follower_weights[sample->follower_weight_count++] = weight_of(field);
    }
    for (size_t taken; sample->follower_weight_count < HS_STACK_FOLLOWERS_MAX &&
                       (taken = hs_trace_scan_varint(fields.data, fields.bytes, &value)) > 0;) {
        sample->follower_weights[sample->follower_weight_count++] = (double)(int64_t)value;
        fields.data += taken;
        fields.bytes -= taken;
    }
}

/* Fields 1 to 8: where the sample was taken, and what it is. */
static void note_context(struct hs_sql_store *store, const struct hs_trace_field *field,
                         struct hs_stack_sample *sample)
{
    switch (field->number) {
    case 1:
        sample->task = hs_stack_task(hs_stack_within(field));
        sample->has_task = true;
        break;
    case 2:
        sample->task_iid = field->value;
        break;
    case 3:
        sample->execution = hs_stack_execution(hs_stack_within(field));
        sample->has_execution = true;
        break;
    case 4:
        sample->execution_iid = field->value;
        break;
    case 5:
        sample->callstack = hs_stack_within(field);
        break;
    case 6:
        sample->callstack_iid = field->value;
        break;
    default: /* 7 is the unwinder's error as a number, 8 as a text; the text says more */
        if (sample->unwind_error == HS_ROWS_NULL || field->number == 8) {
            sample->unwind_error = hs_stack_text(store, field);
        }
        break;
    }
}

void hs_stack_sample_read(struct hs_sql_store *store, struct hs_stack_fields fields,
                          struct hs_stack_sample *ret_sample)
{
    *ret_sample = (struct hs_stack_sample){ .unwind_error = HS_ROWS_NULL };
    struct hs_trace_field field;
    while (hs_stack_next(&fields, &field)) {
        if (field.number <= 8) {
            note_context(store, &field, ret_sample);
        } else if (field.number == 9 || field.number == 10) {
            ret_sample->counters.primary = hs_stack_counter(store, &field);
        } else if (field.number == 11) {
            ret_sample->weight = weight_of(&field);
        } else if (field.number == 12 || field.number == 13) {
            hs_stack_add_followers(store, &field, &ret_sample->counters);
        } else if (field.number == 14) {
            add_weights(&field, ret_sample);
        }
    }
}

bool hs_stack_next_frame(struct hs_sql_store *store, struct hs_stack_fields *callstack,
                         struct hs_stack_frame *ret_frame)
{
    struct hs_trace_field frame, field;
    do {
        if (!hs_stack_next(callstack, &frame)) {
            return false;
        }
    } while (frame.number != 1);
    *ret_frame =
        (struct hs_stack_frame){ hs_sql_store_put(store, "", 0), HS_ROWS_NULL, HS_ROWS_NULL };
    struct hs_stack_fields fields = hs_stack_within(&frame);
    while (hs_stack_next(&fields, &field)) {
        if (field.number == 1) {
            ret_frame->name = hs_stack_text(store, &field);
        } else if (field.number == 2) {
            ret_frame->file = hs_stack_text(store, &field);
        } else if (field.number == 3) {
            ret_frame->line = number(&field);
        }
    }
    return true;
}
