/*
 * Decodes a StackSample and the messages around it, from bytes to values.
 *
 * Fields are read by the type that they have in the file, not by a declaration. The message is new,
 * and a value is read even if one recorder writes a text where another writes a number. Fields with
 * invalid content are left out.
 *
 * Ensures   texts are stored in the store; a value that is absent is HS_ROWS_NULL.
 * Threads   no state.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sql/store/sql_store.h"
#include "trace/trace_scan.h"

/* Counters beside the primary one, which triggered the sample. Additional ones are left out. */
#define HS_STACK_FOLLOWERS_MAX 64U

/* Fields of a message that have not been read yet. */
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

/* A counter that the message contains, or the iid of one. */
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
    bool has_task, has_execution; /* the message contains them */
    struct hs_stack_task task;
    struct hs_stack_execution execution;
    uint64_t task_iid, execution_iid, callstack_iid; /* 0: absent */
    struct hs_stack_fields callstack;                /* the message contains it */
    int64_t unwind_error;                            /* number of the text */
    struct hs_stack_counter_refs counters;
    double weight;
    double follower_weights[HS_STACK_FOLLOWERS_MAX];
    uint32_t follower_weight_count;
};

struct hs_stack_frame {
    int64_t name, file, line; /* text, text, number */
};

/* Reads the next field. Returns false at the end, or if the bytes are not a field. */
bool hs_stack_next(struct hs_stack_fields *fields, struct hs_trace_field *ret_field);
/* The number of a field's text; a field that is a number becomes its digits. */
int64_t hs_stack_text(struct hs_sql_store *store, const struct hs_trace_field *field);
/* The iid of an interned message, which is its field 1. */
uint64_t hs_stack_iid(struct hs_stack_fields fields);
/* Decodes a task context. */
struct hs_stack_task hs_stack_task(struct hs_stack_fields fields);
/* Decodes an execution context. */
struct hs_stack_execution hs_stack_execution(struct hs_stack_fields fields);
/* Decodes a counter's descriptor. */
struct hs_stack_counter hs_stack_descriptor(struct hs_sql_store *store,
                                            struct hs_stack_fields fields);
/* Reads a descriptor, or the iid of one. */
struct hs_stack_counter_ref hs_stack_counter(struct hs_sql_store *store,
                                             const struct hs_trace_field *field);
/* Appends a descriptor, one iid, or a packed list of iids. */
void hs_stack_add_followers(struct hs_sql_store *store, const struct hs_trace_field *field,
                            struct hs_stack_counter_refs *refs);
/* Decodes a whole sample. */
void hs_stack_sample_read(struct hs_sql_store *store, struct hs_stack_fields fields,
                          struct hs_stack_sample *ret_sample);
/* Reads the next frame of a callstack that the message contains, outermost first. Returns false at
 * its end. */
bool hs_stack_next_frame(struct hs_sql_store *store, struct hs_stack_fields *callstack,
                         struct hs_stack_frame *ret_frame);

/* The fields of the message in a field; none if the field is not a message. */
static inline struct hs_stack_fields hs_stack_within(const struct hs_trace_field *field)
{
    return (struct hs_stack_fields){
        .data = field->data,
        .bytes = field->wire == HS_TRACE_WIRE_BYTES ? field->bytes : 0,
    };
}
