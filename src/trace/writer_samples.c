/*
 * Perfetto's packets of a dump: the samples that changed, cumulative and never falling.
 *
 * Our figures are estimates with fractions. Perfetto's figures are whole numbers, of which it takes
 * differences. So the figures are rounded, and never written lower than before: freed = allocated -
 * live.
 *
 * All packets of a dump form one chain (continued, continued, ..., last). The heaps of a process
 * follow each other in it. Each heap has its own header, one nanosecond after the previous one,
 * because Perfetto's interval tables join dumps by process and time alone. Counters of the process
 * are in the first header only, because readers add them up over all headers.
 *
 * With is_at_max set, a process has only one such dump, written with its last dump: what was live
 * at the peak, as self_max. Perfetto takes differences of these values as of all totals, so the
 * values of two different peaks would corrupt each other.
 *
 * See       writer_state.h, docs/FORMAT.md "Rules kept"
 */
#include <errno.h>
#include <stdlib.h>

#include "rt/check.h"
#include "trace/writer_state.h"

typedef Hs__Pb__ProfilePacket__HeapSample pb_sample;
typedef Hs__Pb__ProfilePacket__ProcessHeapSamples pb_heap;

/* The chain of ProfilePackets that is being filled. One packet holds samples of one heap. */
struct chain {
    struct hs_trace_writer *writer;
    uint64_t time_ns;
    pb_heap heap;          /* header of the current packet */
    uint64_t peak_time_ns; /* of the current heap; 0: unknown */
    bool is_peak_now;      /* no peak is known, or the moment of the dump is the peak */
    Hs__Pb__ProfilePacket__ProcessStats stats;
    pb_sample samples[HS_SAMPLES_PER_PACKET];
    pb_sample *pointers[HS_SAMPLES_PER_PACKET];
    size_t count;
};

/* Sends the gathered samples. The packet that is_last marks ends the chain. */
static void chain_flush(struct chain *chain, bool is_last)
{
    pb_heap *heaps[1] = { &chain->heap };
    Hs__Pb__ProfilePacket profile = HS__PB__PROFILE_PACKET__INIT;
    chain->heap.n_samples = chain->count;
    chain->heap.samples = chain->pointers;
    profile.n_process_dumps = 1;
    profile.process_dumps = heaps;
    profile.has_index = true;
    profile.index = chain->writer->profile_packet_idx++;
    profile.has_continued = !is_last;
    profile.continued = true;
    Hs__Pb__TracePacket packet;
    hs_writer_packet_init(chain->writer, &packet, chain->time_ns);
    packet.profile_packet = &profile;
    hs_writer_packet(chain->writer, &packet);
    chain->count = 0;
    chain->heap.stats = NULL;
    chain->heap.has_disconnected = false;
}

static pb_sample *chain_next(struct chain *chain, uint32_t iid)
{
    if (chain->count == HS_SAMPLES_PER_PACKET) {
        chain_flush(chain, false);
    }
    pb_sample *sample = chain->pointers[chain->count] = &chain->samples[chain->count];
    chain->count++;
    hs__pb__profile_packet__heap_sample__init(sample);
    sample->has_callstack_id = true;
    sample->callstack_id = iid;
    return sample;
}

static void chain_add(struct chain *chain, uint32_t iid, uint64_t alloc_bytes, uint64_t alloc_count,
                      uint64_t freed_bytes, uint64_t freed_count)
{
    pb_sample *sample = chain_next(chain, iid);
    sample->has_self_allocated = sample->has_alloc_count = true;
    sample->self_allocated = alloc_bytes;
    sample->alloc_count = alloc_count;
    sample->has_self_freed = freed_bytes != 0;
    sample->self_freed = freed_bytes;
    sample->has_free_count = freed_count != 0;
    sample->free_count = freed_count;
}

static struct chain *chain_new(struct hs_trace_writer *writer, uint32_t pid, uint64_t time_ns)
{
    struct chain *chain = malloc(sizeof(*chain));
    if (chain) {
        chain->writer = writer;
        chain->time_ns = time_ns;
        chain->count = 0;
        hs__pb__profile_packet__process_heap_samples__init(&chain->heap);
        chain->heap.has_pid = chain->heap.has_timestamp = chain->heap.has_start_timestamp = true;
        chain->heap.pid = pid;
    }
    return chain;
}

/* --- the dump --- */

/* Updates what was written. Returns true if it has changed. */
static bool update(struct hs_written_stack *written, const struct hs_dump_row *row)
{
    struct hs_written_stack was = *written;
    uint64_t alloc_bytes = hs_writer_round(row->alloc.bytes);
    uint64_t alloc_count = hs_writer_round(row->alloc.count);
    uint64_t live_bytes = hs_writer_round(row->live.bytes);
    uint64_t live_count = hs_writer_round(row->live.count);
#define RAISE(field, value) written->field = (value) > written->field ? (value) : written->field
    RAISE(alloc_bytes, alloc_bytes);
    RAISE(alloc_count, alloc_count);
    RAISE(freed_bytes, written->alloc_bytes > live_bytes ? written->alloc_bytes - live_bytes : 0);
    RAISE(freed_count, written->alloc_count > live_count ? written->alloc_count - live_count : 0);
#undef RAISE
    HS_ASSERT(written->freed_bytes <= written->alloc_bytes &&
              written->freed_count <= written->alloc_count);
    return was.alloc_bytes != written->alloc_bytes || was.alloc_count != written->alloc_count ||
           was.freed_bytes != written->freed_bytes || was.freed_count != written->freed_count;
}

static void start_header(struct chain *chain, const struct hs_snapshot *snap)
{
    uint64_t bad_stacks = 0;
    for (int end = 0; end < HS_STACK_END_N; end++) {
        bad_stacks += end != HS_STACK_END ? snap->stack_end_count[end] : 0;
    }
    hs__pb__profile_packet__process_stats__init(&chain->stats);
    chain->stats.has_unwinding_errors = chain->stats.has_heap_samples = true;
    chain->stats.unwinding_errors = bad_stacks;
    chain->stats.heap_samples = snap->sample_count;

    pb_heap *heap = &chain->heap;
    heap->stats = &chain->stats;
    heap->has_from_startup = snap->is_from_startup;
    heap->from_startup = true;
    heap->has_rejected_concurrent = snap->refusal == HS_REFUSAL_CONCURRENT;
    heap->rejected_concurrent = true;
    heap->has_disconnected = snap->is_final && snap->exit_kind != HS_EXIT_RUNNING;
    heap->disconnected = true;
    heap->has_sampling_interval_bytes = heap->has_orig_sampling_interval_bytes = true;
}

/* Sets what belongs to one heap of the process. A carved heap has its own peak, others have the
 * peak of the process. */
static void start_heap(struct chain *chain, const struct hs_writer_dump *dump, uint32_t id)
{
    const struct hs_snapshot *snap = dump->snap;
    const struct hs_snap_heap *from = &snap->heaps[id];
    bool has_own_peak = from->is_carved;
    chain->peak_time_ns = has_own_peak ? from->peak_time_mono_ns : snap->peak_time_mono_ns;
    chain->is_peak_now =
        chain->peak_time_ns == 0 || (has_own_peak ? from->live.bytes >= from->peak.bytes
                                                  : snap->live.bytes >= snap->peak.bytes);
    pb_heap *heap = &chain->heap;
    heap->heap_name = chain->writer->heap_names[dump->heaps[id]];
    heap->sampling_interval_bytes =
        from->interval_bytes ? from->interval_bytes : snap->interval_bytes;
    heap->orig_sampling_interval_bytes =
        from->interval_bytes ? from->interval_bytes : snap->orig_interval_bytes;
}

static uint64_t max_time_ns(const struct chain *chain, const struct hs_writer_dump *dump)
{
    uint64_t time_ns = chain->peak_time_ns;
    bool is_inside = time_ns > dump->process->first_time_ns && time_ns < dump->time_ns;
    return is_inside && !chain->is_peak_now ? time_ns : dump->time_ns;
}

/* Adds a stack as it was at the peak, also if nothing of it was live then: Perfetto reports symbols
 * of frames that no sample refers to as an error. */
static void add_max(struct chain *chain, uint32_t iid, struct hs_written_stack *written,
                    const struct hs_dump_row *row)
{
    const struct hs_estimate *peak = chain->is_peak_now ? &row->live : &row->peak;
    written->alloc_bytes = hs_writer_round(peak->bytes);
    written->alloc_count = hs_writer_round(peak->count);
    pb_sample *sample = chain_next(chain, iid);
    sample->has_self_max = sample->has_self_max_count = true;
    sample->self_max = written->alloc_bytes;
    sample->self_max_count = written->alloc_count;
}

static void add_stacks(struct chain *chain, const struct hs_writer_dump *dump, uint32_t heap)
{
    struct hs_written_process *process = dump->process;
    for (uint32_t k = 0; k < process->stacks.count; k++) {
        struct hs_written_stack *written = &process->written[k];
        uint32_t iid = (uint32_t)process->stacks.keys[k].lo;
        if (written->heap != heap) {
            continue;
        }
        if (chain->writer->config.is_at_max) {
            add_max(chain, iid, written, &dump->rows[k]);
        } else if (update(written, &dump->rows[k])) {
            chain_add(chain, iid, written->alloc_bytes, written->alloc_count, written->freed_bytes,
                      written->freed_count);
        }
    }
}

/* Was this heap of the file written already, for an earlier heap with the same name? */
static bool is_written(const struct hs_writer_dump *dump, uint32_t id)
{
    for (uint32_t i = 0; i < id; i++) {
        if (dump->heaps[i] == dump->heaps[id]) {
            return true;
        }
    }
    return false;
}

int hs_writer_samples(struct hs_trace_writer *writer, struct hs_writer_dump *dump)
{
    struct hs_written_process *process = dump->process;
    bool is_at_max = writer->config.is_at_max;
    if (is_at_max && !dump->snap->is_final) {
        return 0;
    }
    struct chain *chain = chain_new(writer, process->pid, dump->time_ns);
    if (!chain) {
        return -ENOMEM;
    }
    start_header(chain, dump->snap);
    bool has_header = false;
    for (uint32_t i = 0; i < dump->snap->heap_count; i++) {
        uint32_t heap = dump->heaps[i];
        if (heap == UINT32_MAX || is_written(dump, i)) {
            continue;
        }
        if (has_header) {
            chain_flush(chain, false);
        }
        has_header = true;
        start_heap(chain, dump, i);
        chain->heap.timestamp = (is_at_max ? max_time_ns(chain, dump) : dump->time_ns) + i;
        chain->heap.start_timestamp = is_at_max ? process->first_time_ns : dump->window_start_ns;
        add_stacks(chain, dump, heap);
    }
    if (has_header) {
        chain_flush(chain, true);
    }
    free(chain);
    return 0;
}

int hs_writer_release(struct hs_trace_writer *writer, const struct hs_leftover *leftover,
                      uint64_t time_ns)
{
    if (leftover->stack_count == 0) {
        return 0;
    }
    struct chain *chain = chain_new(writer, leftover->pid, time_ns);
    if (!chain) {
        return -ENOMEM;
    }
    bool has_header = false;
    for (uint32_t heap = 0; heap < writer->heap_count; heap++) {
        bool has_samples = false;
        for (uint32_t i = 0; i < leftover->stack_count; i++) {
            const struct hs_leftover_stack *stack = &leftover->stacks[i];
            if (stack->heap != heap) {
                continue;
            }
            if (!has_samples) {
                if (has_header) {
                    chain_flush(chain, false);
                }
                has_header = has_samples = true;
                chain->heap.heap_name = writer->heap_names[heap];
                chain->heap.timestamp = time_ns + heap;
                chain->heap.start_timestamp = leftover->last_time_ns;
            }
            chain_add(chain, stack->callstack_iid, stack->alloc_bytes, stack->alloc_count,
                      stack->alloc_bytes, stack->alloc_count);
        }
    }
    chain_flush(chain, true);
    free(chain);
    return 0;
}
