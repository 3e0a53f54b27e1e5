/*
 * Our own packets of the births of a dump: when what lives was allocated.
 *
 * As with parts, several stacks of a snapshot may be one callstack of the file, the births of a
 * callstack are only written when they have changed, and the last window of a callstack has no
 * figures: it is what the others leave of the row. So a callstack is not written again while only
 * its last window changes.
 *
 * See       writer_state.h, heap_births.h, proto/heapscope.proto
 */
#include <errno.h>
#include <stdlib.h>

#include "trace/writer_state.h"
#include "util/array.h"

#define BIRTHS_PER_PACKET 6000U

struct writing {
    struct hs_trace_writer *writer;
    const struct hs_writer_dump *dump;
    struct hs_pair *order; /* index in process->written, and index in the snapshot's births */
    struct hs_snap_birth *births; /* of one callstack */
    size_t birth_capacity;
    /* one element for each callstack */
    int64_t *iid_delta;
    uint32_t *heap, *window_count;
    size_t stack_count;
    uint32_t last_iid;
    /* one for each window of a callstack */
    uint32_t *window_delta, *bytes_var;
    uint64_t *bytes, *count_fx;
    size_t count;
    bool is_any_written;
};

static bool init(struct writing *writing)
{
    size_t stacks_max = writing->dump->process->stacks.count + (size_t)1;
    size_t births_max = writing->dump->snap->birth_count + 1;
    writing->order = malloc(births_max * sizeof(writing->order[0]));
    writing->iid_delta = calloc(stacks_max, sizeof(writing->iid_delta[0]));
    writing->heap = calloc(stacks_max, sizeof(writing->heap[0]));
    writing->window_count = calloc(stacks_max, sizeof(writing->window_count[0]));
    writing->window_delta = calloc(births_max, sizeof(writing->window_delta[0]));
    writing->bytes_var = calloc(births_max, sizeof(writing->bytes_var[0]));
    writing->bytes = calloc(births_max, sizeof(writing->bytes[0]));
    writing->count_fx = calloc(births_max, sizeof(writing->count_fx[0]));
    return writing->order && writing->iid_delta && writing->heap && writing->window_count &&
           writing->window_delta && writing->bytes_var && writing->bytes && writing->count_fx;
}

static void deinit(struct writing *writing)
{
    free(writing->order);
    free(writing->births);
    free(writing->iid_delta);
    free(writing->heap);
    free(writing->window_count);
    free(writing->window_delta);
    free(writing->bytes_var);
    free(writing->bytes);
    free(writing->count_fx);
}

static void flush(struct writing *writing)
{
    const struct hs_snapshot *snap = writing->dump->snap;
    Hs__Pb__HsBirths births = HS__PB__HS_BIRTHS__INIT;
    HS_SET_FIELD(&births, process_idx, writing->dump->process->process_idx);
    HS_SET_FIELD(&births, window_ms, snap->birth_window_ms);
    HS_SET_FIELD(&births, span_ms, snap->birth_span_ms);
    births.n_callstack_iid_delta = births.n_heap = births.n_window_count = writing->stack_count;
    births.callstack_iid_delta = writing->iid_delta;
    births.heap = writing->heap;
    births.window_count = writing->window_count;
    births.n_window_delta = births.n_bytes = births.n_count_fx = births.n_bytes_var =
        writing->count;
    births.window_delta = writing->window_delta;
    births.bytes = writing->bytes;
    births.count_fx = writing->count_fx;
    births.bytes_var = writing->bytes_var;
    Hs__Pb__HeapscopePacket heapscope = HS__PB__HEAPSCOPE_PACKET__INIT;
    heapscope.births = &births;
    hs_writer_ours(writing->writer, writing->dump->time_ns, &heapscope);
    writing->stack_count = writing->count = 0;
    writing->last_iid = 0;
    writing->is_any_written = true;
}

static int compare_windows(const void *a, const void *b)
{
    uint32_t left = ((const struct hs_snap_birth *)a)->window;
    uint32_t right = ((const struct hs_snap_birth *)b)->window;
    return (left > right) - (left < right);
}

static void add_birth(void *sum, void *item)
{
    struct hs_snap_birth *to = sum;
    hs_estimate_add(&to->amount, &((const struct hs_snap_birth *)item)->amount);
}

/* Adds a callstack's windows to the columns. Returns the hash of what was added. */
static uint64_t put_windows(struct writing *writing, size_t count)
{
    struct hs_intern_key key = { .lo = count };
    key = hs_intern_mix(key, writing->dump->snap->birth_window_ms);
    for (size_t i = 0; i < count; i++) {
        const struct hs_snap_birth *birth = &writing->births[i];
        size_t at = writing->count++;
        bool is_rest = i + 1 == count;
        writing->window_delta[at] = birth->window - (i > 0 ? birth[-1].window : 0);
        writing->bytes[at] = is_rest ? 0 : hs_writer_round(birth->amount.bytes);
        writing->count_fx[at] =
            is_rest ? 0 : hs_writer_round(birth->amount.count * (1U << HS_COUNT_SHIFT));
        writing->bytes_var[at] = is_rest ? 0 : hs_writer_pack_var(birth->amount.bytes_var);
        key = hs_intern_mix(hs_intern_mix(key, birth->window), writing->bytes[at]);
        key = hs_intern_mix(key, writing->count_fx[at]);
    }
    return count > 0 ? key.lo | 1U : 0;
}

/* Writes the births of the callstack `idx`, if they have changed. */
static void put_stack(struct writing *writing, uint32_t idx, size_t count)
{
    struct hs_written_process *process = writing->dump->process;
    struct hs_written_stack *written = &process->written[idx];
    size_t first = writing->count;
    count = hs_array_merge(writing->births, count, sizeof(writing->births[0]), compare_windows,
                           add_birth);
    uint64_t hash = put_windows(writing, count);
    if (hash == written->births_hash) {
        writing->count = first;
        return;
    }
    written->births_hash = hash;
    uint32_t iid = (uint32_t)process->stacks.keys[idx].lo;
    writing->iid_delta[writing->stack_count] = (int64_t)iid - writing->last_iid;
    writing->heap[writing->stack_count] = written->heap;
    writing->window_count[writing->stack_count++] = (uint32_t)count;
    writing->last_iid = iid;
    if (writing->count >= BIRTHS_PER_PACKET) {
        flush(writing);
    }
}

static int put_all(struct writing *writing, size_t count)
{
    size_t at = 0;
    int r = 0;
    for (uint32_t idx = 0; idx < writing->dump->process->stacks.count && r == 0; idx++) {
        size_t n = 0;
        for (; at + n < count && writing->order[at + n].key == idx; n++) {
        }
        r = hs_array_reserve(&writing->births, &writing->birth_capacity, n + 1,
                             sizeof(writing->births[0]));
        for (size_t i = 0; i < n && r == 0; i++) {
            writing->births[i] = writing->dump->snap->births[writing->order[at + i].value];
        }
        at += n;
        if (r == 0) {
            put_stack(writing, idx, n);
        }
    }
    /* At least one packet says how long the recording has lasted. */
    if (r == 0 && (writing->stack_count > 0 || !writing->is_any_written)) {
        flush(writing);
    }
    return r;
}

int hs_writer_births(struct hs_trace_writer *writer, const struct hs_writer_dump *dump)
{
    struct writing writing = { .writer = writer, .dump = dump };
    size_t count = 0;
    if (!dump->snap->births) {
        return 0;
    }
    int r = init(&writing) ? 0 : -ENOMEM;
    r = r == 0
            ? hs_writer_order(dump, &dump->snap->births[0].stack_id, sizeof(dump->snap->births[0]),
                              dump->snap->birth_count, writing.order, &count)
            : r;
    r = r == 0 ? put_all(&writing, count) : r;
    deinit(&writing);
    return r;
}
