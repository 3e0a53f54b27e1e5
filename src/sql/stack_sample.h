/*
 * What a StackSample says, and the messages around it: from bytes to values.
 *
 * Fields are read by the type they have in the file, not by a declaration: the message is young, and a file whose
 * recorder writes a text where another writes a number still says it. A field that makes no sense is left out.
 *
 * Holds     texts are kept in the store; a value that is not said is HS_ROWS_NULL.
 * Threads   no state.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sql/sql_store.h"
#include "trace/trace_scan.h"

/* Beside the counter that was sampled by. More are left out. */
#define HS_STACK_FOLLOWERS_MAX 64U

/* Fields of a message that were not looked at yet. */
struct hs_stack_fields {
    const uint8_t *data;
    size_t bytes;
};

struct hs_stack_task {
    int64_t pid, tid, async_id;
};

struct hs_stack_execution {
    int64_t cpu, mode;
};

struct hs_stack_counter {
    int64_t name, unit, multiplier;
};

/* A counter in place, or by its number. */
struct hs_stack_counter_ref {
    bool is_there, is_iid;
    uint64_t iid;
    struct hs_stack_counter counter;
};

struct hs_stack_counter_refs {
    struct hs_stack_counter_ref primary, followers[HS_STACK_FOLLOWERS_MAX];
    uint32_t follower_count;
};

struct hs_stack_sample {
    bool has_task, has_execution; /* in place */
    struct hs_stack_task task;
    struct hs_stack_execution execution;
    uint64_t task_iid, execution_iid, callstack_iid; /* 0: not said */
    struct hs_stack_fields callstack;                /* in place */
    int64_t unwind_error;                            /* text */
    struct hs_stack_counter_refs counters;
    double weight;
    double follower_weights[HS_STACK_FOLLOWERS_MAX];
    uint32_t follower_weight_count;
};

struct hs_stack_frame {
    int64_t name, file, line; /* text, text, number */
};

/* The next field; false at the end, or before what is none. */
bool hs_stack_next(struct hs_stack_fields *fields, struct hs_trace_field *ret_field);
/* The text of a field; of a number its digits. */
int64_t hs_stack_text(struct hs_sql_store *store, const struct hs_trace_field *field);
/* Field 1 of what was interned. */
uint64_t hs_stack_iid(struct hs_stack_fields fields);
struct hs_stack_task hs_stack_task(struct hs_stack_fields fields);
struct hs_stack_execution hs_stack_execution(struct hs_stack_fields fields);
struct hs_stack_counter hs_stack_descriptor(struct hs_sql_store *store,
                                            struct hs_stack_fields fields);
/* A descriptor in place, or the number of one. */
struct hs_stack_counter_ref hs_stack_counter(struct hs_sql_store *store,
                                             const struct hs_trace_field *field);
/* One in place, one number, or numbers in a row. */
void hs_stack_add_followers(struct hs_sql_store *store, const struct hs_trace_field *field,
                            struct hs_stack_counter_refs *refs);
void hs_stack_sample_read(struct hs_sql_store *store, struct hs_stack_fields fields,
                          struct hs_stack_sample *ret_sample);
/* The next frame of a callstack in place, the outermost first. False at its end. */
bool hs_stack_next_frame(struct hs_sql_store *store, struct hs_stack_fields *callstack,
                         struct hs_stack_frame *ret_frame);

static inline struct hs_stack_fields hs_stack_within(const struct hs_trace_field *field)
{
    return (struct hs_stack_fields){
        .data = field->data,
        .bytes = field->wire == HS_TRACE_WIRE_BYTES ? field->bytes : 0,
    };
}
