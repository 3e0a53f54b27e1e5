/*
 * StackSample packets: a thread's stack and counters at one moment.
 *
 * The defaults of the sequence supply what a sample does not contain. Contexts and counters are
 * contained in the sample, or referred to by numbers that the sequence interned.
 *
 * See       import_state.h, stack_sample.h, docs/SQL.md
 */
#include <errno.h>
#include <stdlib.h>

#include "sql/import/import_state.h"
#include "sql/import/stack_sample.h"
#include "util/array.h"

struct defaults {
    int64_t source;
    struct hs_stack_counter_ref primary;
    uint32_t follower_first, follower_count; /* range in the state's followers */
};

/* The state of one sequence. */
struct hs_import_stack_state {
    struct hs_intern_array task_ids, execution_ids, counter_ids; /* keys: iid */
    struct hs_stack_task *tasks;
    struct hs_stack_execution *executions;
    struct hs_stack_counter *counters;
    /* one for each time they were set, because a deferred sample refers to those of its time */
    struct defaults *defaults;
    size_t default_capacity;
    uint32_t default_count;
    struct hs_stack_counter_ref *followers;
    size_t follower_capacity;
    uint32_t follower_count;
};

static const struct hs_stack_counter no_descriptor = { HS_ROWS_NULL, HS_ROWS_NULL, HS_ROWS_NULL };

/* --- the state of a sequence --- */

void hs_import_stack_deinit(struct hs_import_sequence *sequence)
{
    struct hs_import_stack_state *state = sequence->stack;
    if (state) {
        hs_intern_deinit(&state->task_ids.ids);
        hs_intern_deinit(&state->execution_ids.ids);
        hs_intern_deinit(&state->counter_ids.ids);
        free(state->tasks);
        free(state->executions);
        free(state->counters);
        free(state->defaults);
        free(state->followers);
        free(state);
    }
    sequence->stack = NULL;
}

static struct hs_import_stack_state *state_of(struct hs_import *import,
                                              struct hs_import_sequence *sequence)
{
    if (!sequence->stack) {
        sequence->stack = calloc(1, sizeof(*sequence->stack));
    }
    if (!sequence->stack && import->store->err == 0) {
        import->store->err = -ENOMEM;
    }
    return sequence->stack;
}

static struct hs_stack_fields fields_of(const ProtobufCBinaryData *data)
{
    return (struct hs_stack_fields){ .data = data->data, .bytes = data->len };
}

/* The first message with an iid is valid. */
void hs_import_stack_interned(struct hs_import *import, struct hs_import_sequence *sequence,
                              const Hs__Pb__InternedData *data)
{
    bool is_any = data->n_stack_sample_task_contexts > 0 ||
                  data->n_stack_sample_execution_contexts > 0 ||
                  data->n_stack_sample_counter_descriptors > 0;
    struct hs_import_stack_state *state = is_any ? state_of(import, sequence) : NULL;
    bool is_new;
    for (size_t i = 0; state && i < data->n_stack_sample_task_contexts; i++) {
        struct hs_stack_fields fields = fields_of(&data->stack_sample_task_contexts[i]);
        struct hs_stack_task *task =
            hs_import_at(import, &state->task_ids, &state->tasks, sizeof(*task),
                         HS_IMPORT_KEY(hs_stack_iid(fields)), &is_new);
        if (is_new) {
            *task = hs_stack_task(fields);
        }
    }
    for (size_t i = 0; state && i < data->n_stack_sample_execution_contexts; i++) {
        struct hs_stack_fields fields = fields_of(&data->stack_sample_execution_contexts[i]);
        struct hs_stack_execution *execution =
            hs_import_at(import, &state->execution_ids, &state->executions, sizeof(*execution),
                         HS_IMPORT_KEY(hs_stack_iid(fields)), &is_new);
        if (is_new) {
            *execution = hs_stack_execution(fields);
        }
    }
    for (size_t i = 0; state && i < data->n_stack_sample_counter_descriptors; i++) {
        struct hs_stack_fields fields = fields_of(&data->stack_sample_counter_descriptors[i]);
        struct hs_stack_counter *counter =
            hs_import_at(import, &state->counter_ids, &state->counters, sizeof(*counter),
                         HS_IMPORT_KEY(hs_stack_iid(fields)), &is_new);
        if (is_new) {
            *counter = hs_stack_descriptor(import->store, fields);
        }
    }
}

static struct hs_stack_counter counter_of(const struct hs_import_stack_state *state,
                                          const struct hs_stack_counter_ref *ref)
{
    const struct hs_stack_counter *counter =
        ref->is_iid && state ? hs_intern_elem(&state->counter_ids, state->counters,
                                              sizeof(*counter), HS_IMPORT_KEY(ref->iid))
                             : NULL;
    return counter ? *counter : ref->is_iid ? no_descriptor : ref->counter;
}

void hs_import_stack_defaults(struct hs_import *import, struct hs_import_sequence *sequence,
                              const Hs__Pb__TracePacketDefaults *packet)
{
    if (!packet->has_stack_sample_defaults && !sequence->stack) {
        return;
    }
    struct hs_import_stack_state *state = state_of(import, sequence);
    struct hs_stack_counter_refs refs = { .follower_count = 0 };
    struct defaults defaults = { .source = HS_ROWS_NULL };
    struct hs_stack_fields fields = fields_of(&packet->stack_sample_defaults);
    struct hs_trace_field field;
    while (hs_stack_next(&fields, &field)) {
        if (field.number == 1) {
            defaults.source = hs_stack_text(import->store, &field);
        } else if (field.number == 2) {
            defaults.primary = hs_stack_counter(import->store, &field);
        } else if (field.number == 3) {
            hs_stack_add_followers(import->store, &field, &refs);
        }
    }
    int err = !state ? -ENOMEM
                     : hs_array_reserve(&state->defaults, &state->default_capacity,
                                        (size_t)state->default_count + 1, sizeof(defaults));
    err = err ? err
              : hs_array_reserve(&state->followers, &state->follower_capacity,
                                 (size_t)state->follower_count + refs.follower_count,
                                 sizeof(state->followers[0]));
    if (err < 0) {
        import->store->err = import->store->err ? import->store->err : err;
        return;
    }
    defaults.follower_first = state->follower_count;
    defaults.follower_count = refs.follower_count;
    for (uint32_t i = 0; i < refs.follower_count; i++) {
        state->followers[state->follower_count++] = refs.followers[i];
    }
    state->defaults[state->default_count++] = defaults;
}

uint32_t hs_import_stack_default_count(const struct hs_import_sequence *sequence)
{
    return sequence && sequence->stack ? sequence->stack->default_count : 0;
}

/* --- rows --- */

/* The call site of a callstack that the sample contains; HS_IMPORT_NONE if it has no frames, or if
 * there is no room. */
static uint32_t site_in_place(struct hs_import *import, struct hs_stack_fields callstack)
{
    uint32_t site = HS_IMPORT_NONE;
    struct hs_stack_frame frame;
    while (hs_stack_next_frame(import->store, &callstack, &frame)) {
        uint32_t row = hs_import_named_frame(import, frame.name, frame.file, frame.line);
        site = row == HS_IMPORT_NONE ? row : hs_import_site_row(import, site, row);
        if (site == HS_IMPORT_NONE) {
            break;
        }
    }
    return site;
}

/* Resolves the contexts that the sample refers to by number, if they are known. */
static void resolve_contexts(const struct hs_import_stack_state *state,
                             struct hs_stack_sample *sample)
{
    const struct hs_stack_task *task =
        state ? hs_intern_elem(&state->task_ids, state->tasks, sizeof(*task),
                               HS_IMPORT_KEY(sample->task_iid))
              : NULL;
    if (!sample->has_task && task) {
        sample->task = *task;
        sample->has_task = true;
    }
    const struct hs_stack_execution *execution =
        state ? hs_intern_elem(&state->execution_ids, state->executions, sizeof(*execution),
                               HS_IMPORT_KEY(sample->execution_iid))
              : NULL;
    if (!sample->has_execution && execution) {
        sample->execution = *execution;
        sample->has_execution = true;
    }
}

int64_t hs_import_stack_task(struct hs_import *import, const struct hs_stack_task *task)
{
    bool is_new = false;
    struct hs_intern_key key =
        hs_intern_mix(HS_IMPORT_KEY((uint64_t)task->pid), (uint64_t)task->tid);
    uint32_t id = 0;
    if (import->store->err == 0) {
        import->store->err = hs_intern_put(
            &import->stack_task_ids, hs_intern_mix(key, (uint64_t)task->async_id), &id, &is_new);
    }
    if (is_new) {
        bool has_pid = task->pid != HS_ROWS_NULL, has_tid = task->tid != HS_ROWS_NULL;
        uint32_t pid = has_pid ? (uint32_t)task->pid : 0;
        int64_t upid = has_pid ? (int64_t)hs_import_upid(import, pid) : HS_ROWS_NULL;
        int64_t utid =
            has_tid ? (int64_t)hs_import_utid(import, (uint32_t)task->tid, upid) : HS_ROWS_NULL;
        HS_SQL_ADD(import->store, HS_SQL_STACK_TASK, upid, utid, task->pid, task->tid,
                   task->async_id);
    }
    return id;
}

int64_t hs_import_stack_execution(struct hs_import *import,
                                  const struct hs_stack_execution *execution)
{
    bool is_new = false;
    uint32_t id = 0;
    if (import->store->err == 0) {
        import->store->err = hs_intern_put(
            &import->stack_execution_ids,
            hs_intern_mix(HS_IMPORT_KEY((uint64_t)execution->cpu), (uint64_t)execution->mode), &id,
            &is_new);
    }
    if (is_new) {
        HS_SQL_ADD(import->store, HS_SQL_STACK_EXECUTION, execution->cpu, execution->mode);
    }
    return id;
}

static void add_counter(struct hs_import *import, int64_t set, bool is_primary,
                        struct hs_stack_counter counter, double weight)
{
    HS_SQL_ADD(import->store, HS_SQL_STACK_COUNTER, set, is_primary, counter.name, counter.unit,
               counter.multiplier, hs_rows_real(weight));
}

/* The number of the set of counters; HS_ROWS_NULL: nothing was counted. */
static int64_t add_counters(struct hs_import *import, const struct hs_import_stack_state *state,
                            const struct defaults *defaults, const struct hs_stack_sample *sample)
{
    const struct hs_stack_counter_refs *own = &sample->counters;
    const struct hs_stack_counter_ref *primary =
        own->primary.is_there || !defaults ? &own->primary : &defaults->primary;
    const struct hs_stack_counter_ref *followers = own->followers;
    uint32_t follower_count = own->follower_count;
    if (follower_count == 0 && defaults && defaults->follower_count > 0) {
        followers = state->followers + defaults->follower_first;
        follower_count = defaults->follower_count;
    }
    if (!primary->is_there && sample->weight == 0 && sample->follower_weight_count == 0) {
        return HS_ROWS_NULL;
    }
    int64_t set = import->stack_set_count++;
    add_counter(import, set, true, primary->is_there ? counter_of(state, primary) : no_descriptor,
                sample->weight);
    for (uint32_t i = 0; i < sample->follower_weight_count; i++) {
        add_counter(import, set, false,
                    i < follower_count ? counter_of(state, &followers[i]) : no_descriptor,
                    sample->follower_weights[i]);
    }
    return set;
}

void hs_import_stack_sample(struct hs_import *import, struct hs_import_sequence *sequence,
                            uint32_t default_count, const struct hs_trace_part *part)
{
    struct hs_stack_fields whole = { .data = part->data, .bytes = part->bytes };
    struct hs_import_stack_state *state = sequence ? sequence->stack : NULL;
    const struct defaults *defaults =
        state && default_count > 0 ? &state->defaults[default_count - 1] : NULL;
    struct hs_trace_field field;
    struct hs_stack_sample sample;
    if (!hs_stack_next(&whole, &field)) {
        return;
    }
    hs_stack_sample_read(import->store, hs_stack_within(&field), &sample);
    resolve_contexts(state, &sample);
    int64_t task = sample.has_task ? hs_import_stack_task(import, &sample.task) : HS_ROWS_NULL;
    int64_t execution =
        sample.has_execution ? hs_import_stack_execution(import, &sample.execution) : HS_ROWS_NULL;
    uint32_t pid =
        sample.has_task && sample.task.pid != HS_ROWS_NULL ? (uint32_t)sample.task.pid : 0;
    uint32_t site = HS_IMPORT_NONE;
    if (sample.callstack.bytes > 0) {
        site = site_in_place(import, sample.callstack);
    } else if (sample.callstack_iid != 0 && sequence) {
        site = hs_import_site(import, sequence, hs_import_upid(import, pid), sample.callstack_iid);
    }
    int64_t set = add_counters(import, state, defaults, &sample);
    HS_SQL_ADD(import->store, HS_SQL_STACK_SAMPLE, import->now_ns,
               defaults ? defaults->source : HS_ROWS_NULL, task, execution,
               site == HS_IMPORT_NONE ? HS_ROWS_NULL : (int64_t)site, sample.unwind_error,
               HS_ROWS_NULL, set);
}
