/*
 * Our own packets of the lifetimes of a dump: how long the freed blocks of callstacks lived.
 *
 * Several stacks of a snapshot may be one callstack of the file, so what they have is first added
 * up by callstack. A sum that is 0 is left out, and so is a callstack that is as it was.
 *
 * See       writer_state.h, fmt/lifetime_layout.h, proto/heapscope.proto
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt/bits.h"
#include "trace/freed_sums.h"
#include "trace/writer_state.h"

#define STACKS_PER_PACKET 1000U

struct columns {
    int64_t iid_delta[STACKS_PER_PACKET];
    uint32_t heap[STACKS_PER_PACKET], sum_count[STACKS_PER_PACKET];
    double byte_ms[STACKS_PER_PACKET], count_ms[STACKS_PER_PACKET];
    double count_ms_cov[STACKS_PER_PACKET], count_ms_var[STACKS_PER_PACKET];
    uint32_t what[STACKS_PER_PACKET * HS_LIFETIME_SUMS_N];
    uint64_t bytes[STACKS_PER_PACKET * HS_LIFETIME_SUMS_N];
    uint64_t count_fx[STACKS_PER_PACKET * HS_LIFETIME_SUMS_N];
    uint32_t bytes_var[STACKS_PER_PACKET * HS_LIFETIME_SUMS_N];
    uint32_t count_var[STACKS_PER_PACKET * HS_LIFETIME_SUMS_N];
    size_t stack_count, count;
    uint32_t last_iid;
};

struct writing {
    struct hs_trace_writer *writer;
    const struct hs_writer_dump *dump;
    struct columns *columns;
    struct hs_intern_key hash; /* of the callstack that is being added */
};

static void flush(struct writing *writing)
{
    struct columns *columns = writing->columns;
    Hs__Pb__HsLifetimes lifetimes = HS__PB__HS_LIFETIMES__INIT;
    Hs__Pb__HeapscopePacket heapscope = HS__PB__HEAPSCOPE_PACKET__INIT;
    if (columns->stack_count == 0) {
        return;
    }
    HS_SET_FIELD(&lifetimes, process_idx, writing->dump->process->process_idx);
    lifetimes.n_callstack_iid_delta = lifetimes.n_heap = lifetimes.n_sum_count =
        lifetimes.n_byte_ms = lifetimes.n_count_ms = lifetimes.n_count_ms_cov =
            lifetimes.n_count_ms_var = columns->stack_count;
    lifetimes.callstack_iid_delta = columns->iid_delta;
    lifetimes.heap = columns->heap;
    lifetimes.sum_count = columns->sum_count;
    lifetimes.byte_ms = columns->byte_ms;
    lifetimes.count_ms = columns->count_ms;
    lifetimes.count_ms_cov = columns->count_ms_cov;
    lifetimes.count_ms_var = columns->count_ms_var;
    lifetimes.n_what = lifetimes.n_bytes = lifetimes.n_count_fx = lifetimes.n_bytes_var =
        lifetimes.n_count_var = columns->count;
    lifetimes.what = columns->what;
    lifetimes.bytes = columns->bytes;
    lifetimes.count_fx = columns->count_fx;
    lifetimes.bytes_var = columns->bytes_var;
    lifetimes.count_var = columns->count_var;
    heapscope.lifetimes = &lifetimes;
    hs_writer_ours(writing->writer, writing->dump->time_ns, &heapscope);
    columns->stack_count = columns->count = 0;
    columns->last_iid = 0;
}

/* Adds a sum to the columns, unless it is 0. */
static void put_sum(struct writing *writing, uint32_t what, const struct hs_estimate *sum)
{
    struct columns *columns = writing->columns;
    size_t at = columns->count;
    columns->what[at] = what;
    columns->bytes[at] = hs_writer_round(sum->bytes);
    columns->count_fx[at] = hs_writer_round(sum->count * (1U << HS_COUNT_SHIFT));
    columns->bytes_var[at] = hs_writer_pack_var(sum->bytes_var);
    columns->count_var[at] = hs_writer_pack_var(sum->count_var);
    if (columns->bytes[at] != 0 || columns->count_fx[at] != 0) {
        writing->hash = hs_intern_mix(hs_intern_mix(writing->hash, what), columns->bytes[at]);
        writing->hash = hs_intern_mix(writing->hash, columns->count_fx[at]);
        columns->count++;
    }
}

/* Adds the callstack `idx` to the columns, if it has changed. */
static void put_stack(struct writing *writing, uint32_t idx, const struct hs_snap_lifetimes *sums)
{
    struct hs_written_process *process = writing->dump->process;
    struct hs_written_stack *written = &process->written[idx];
    struct columns *columns = writing->columns;
    size_t first = columns->count, at = columns->stack_count;
    writing->hash = (struct hs_intern_key){ .lo = hs_double_bits(sums->byte_ms) };
    for (unsigned i = 0; i < HS_LIFETIME_CLASSES; i++) {
        put_sum(writing, i, &sums->by_lifetime[i]);
    }
    for (unsigned i = 0; i < HS_TEMPORARY_CLASSES; i++) {
        put_sum(writing, HS_LIFETIME_SUM_TEMPORARY + i, &sums->temporary[i]);
    }
    writing->hash = hs_intern_mix(writing->hash, hs_double_bits(sums->count_ms));
    uint64_t hash = writing->hash.lo | 1U;
    if (hash == written->lifetimes_hash) {
        columns->count = first;
        return;
    }
    written->lifetimes_hash = hash;
    uint32_t iid = (uint32_t)process->stacks.keys[idx].lo;
    columns->iid_delta[at] = (int64_t)iid - columns->last_iid;
    columns->heap[at] = written->heap;
    columns->sum_count[at] = (uint32_t)(columns->count - first);
    columns->byte_ms[at] = sums->byte_ms;
    columns->count_ms[at] = sums->count_ms;
    columns->count_ms_cov[at] = sums->count_ms_cov;
    columns->count_ms_var[at] = sums->count_ms_var;
    columns->stack_count++;
    columns->last_iid = iid;
    if (columns->stack_count == STACKS_PER_PACKET) {
        flush(writing);
    }
}

static void add_sums(struct hs_snap_lifetimes *to, const struct hs_snap_lifetimes *more)
{
    for (unsigned i = 0; i < HS_LIFETIME_CLASSES; i++) {
        hs_estimate_add(&to->by_lifetime[i], &more->by_lifetime[i]);
    }
    for (unsigned i = 0; i < HS_TEMPORARY_CLASSES; i++) {
        hs_estimate_add(&to->temporary[i], &more->temporary[i]);
    }
    to->byte_ms += more->byte_ms;
    to->count_ms += more->count_ms;
    to->count_ms_cov += more->count_ms_cov;
    to->count_ms_var += more->count_ms_var;
}

int hs_writer_lifetimes(struct hs_trace_writer *writer, const struct hs_writer_dump *dump)
{
    const struct hs_snapshot *snap = dump->snap;
    size_t count = 0;
    if (snap->lifetime_count == 0) {
        return 0;
    }
    struct hs_pair *order = malloc(snap->lifetime_count * sizeof(order[0]));
    struct writing writing = { .writer = writer,
                               .dump = dump,
                               .columns = calloc(1, sizeof(*writing.columns)) };
    int r = order && writing.columns
                ? hs_writer_order(dump, &snap->lifetimes[0].stack_id, sizeof(snap->lifetimes[0]),
                                  snap->lifetime_count, order, &count)
                : -ENOMEM;
    for (size_t i = 0; i < count && r == 0;) {
        struct hs_snap_lifetimes sums = snap->lifetimes[order[i].value];
        uint32_t idx = (uint32_t)order[i++].key;
        for (; i < count && order[i].key == idx; i++) {
            add_sums(&sums, &snap->lifetimes[order[i].value]);
        }
        put_stack(&writing, idx, &sums);
    }
    if (r == 0) {
        flush(&writing);
    }
    free(writing.columns);
    free(order);
    return r;
}
