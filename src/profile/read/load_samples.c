/*
 * Reads ProfilePackets: what heapprofd records, and what other readers see of heapscope's traces.
 *
 * A dump of one heap of a process is a chain of packets; its references may be followed only when
 * the last packet of the chain has come. Figures are cumulative. A stack that had one callstack id
 * may get another id, whose counts start from zero: the old totals are then added (the recorder
 * forgets stacks without live memory). All of this is as in Perfetto's own reader.
 *
 * Each heap of a process is dumped by itself. Successive dumps of different heaps become one dump
 * of the process; the next dump begins when a heap comes a second time.
 *
 * Bytes are estimates, of whose error only an upper bound is known: the variance of bytes that were
 * all sampled, interval * bytes. Counts are numbers of samples.
 *
 * See       load_state.h, docs/FORMAT.md
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/loss.h"
#include "profile/read/load_state.h"
#include "rt/base.h"
#include "trace/snapshot.h"
#include "util/array.h"
#include "util/saturate.h"

/* A value of ProcessHeapSamples.client_error that means the same as a buffer overrun. */
#define CLIENT_ERROR_TIMEOUT 1U

typedef Hs__Pb__ProfilePacket__ProcessHeapSamples pb_heap;

struct totals {
    uint64_t alloc_bytes, alloc_count, freed_bytes, freed_count;
};

/* The totals of one (node, heap). */
struct stack_totals {
    uint32_t node;
    uint32_t part; /* index in hs_load_heaps.parts: its heap */
    struct totals totals;
    uint64_t peak_bytes, peak_count;
};

/* A part of a chain that is not complete yet: one heap of one packet. */
struct hs_load_pending {
    uint64_t pid;
    uint32_t heap;
    uint64_t time_ns, start_ns;
    uint64_t interval_bytes, orig_interval_bytes;
    uint64_t sample_count, unwinding_errors;
    bool has_stats, is_from_startup, is_disconnected;
    bool is_overrun, is_corrupted, is_guarded, is_rejected, is_client_error;
    struct hs_load_held *samples;
    size_t sample_n;
};

struct hs_load_held {
    uint64_t callstack_iid;
    struct totals totals;
    uint64_t peak_bytes, peak_count;
};

/* A process of one sequence. */
struct hs_load_heaps {
    uint32_t process;                 /* in the profile */
    struct hs_intern_array stack_ids; /* (node, part) */
    struct stack_totals *stacks;
    struct hs_intern_array source_ids; /* (callstack iid, part) */
    struct totals *corrections;        /* totals that the stack had before it got this id */
    struct hs_intern_array part_ids;   /* heap of the profile */
    struct hs_profile_dump_heap *parts;
    bool has_peak;
    /* The open dump. */
    bool is_open;
    /* heaps that earlier chains added to it: a bit each, the 64th for all others */
    uint64_t heaps_done;
    uint64_t heaps_now; /* heaps that the current chain added */
    uint64_t chain;     /* number of the current chain */
    struct hs_profile_dump head;
    bool is_last_thinned;
    uint32_t last_dump;
    uint64_t overran_count, corrupted_count, guardrail_count, rejected_count, client_error_count;
    uint64_t sample_count, unwinding_errors;
};

/* --- dumps --- */

static struct hs_amount bytes_amount(uint64_t bytes, uint64_t count, uint64_t interval_bytes)
{
    struct hs_amount amount = { .bytes = (double)bytes, .count = (double)count };
    if (interval_bytes > 1) {
        amount.bytes_var = (double)interval_bytes * amount.bytes;
        amount.sampled_bytes = amount.bytes;
    }
    return amount;
}

/* Makes samples of all stacks of the process, and adds them up in the head and in their heaps. */
static struct hs_profile_sample *collect(struct hs_load_heaps *heaps, size_t *ret_count)
{
    uint32_t count = heaps->stack_ids.ids.count;
    struct hs_profile_sample *samples = malloc(((size_t)count + 1) * sizeof(*samples));
    struct hs_profile_dump *head = &heaps->head;
    head->live = head->alloc = head->peak = (struct hs_amount){ 0 };
    for (uint32_t i = 0; i < heaps->part_ids.ids.count; i++) {
        struct hs_profile_dump_heap *part = &heaps->parts[i];
        part->live = part->alloc = part->peak = (struct hs_amount){ 0 };
        part->has_peak = heaps->has_peak;
    }
    for (uint32_t i = 0; samples && i < count; i++) {
        const struct stack_totals *stack = &heaps->stacks[i];
        struct hs_profile_dump_heap *part = &heaps->parts[stack->part];
        const struct totals *t = &stack->totals;
        uint64_t live_bytes = t->alloc_bytes > t->freed_bytes ? t->alloc_bytes - t->freed_bytes : 0;
        uint64_t live_count = t->alloc_count > t->freed_count ? t->alloc_count - t->freed_count : 0;
        samples[i] = (struct hs_profile_sample){
            .node = stack->node,
            .heap = part->heap,
            .alloc = bytes_amount(t->alloc_bytes, t->alloc_count, part->interval_bytes),
            .live = bytes_amount(live_bytes, live_count, part->interval_bytes),
            .peak = bytes_amount(stack->peak_bytes, stack->peak_count, part->interval_bytes),
        };
        hs_amount_add(&part->alloc, &samples[i].alloc);
        hs_amount_add(&part->live, &samples[i].live);
        hs_amount_add(&part->peak, &samples[i].peak);
        hs_amount_add(&head->alloc, &samples[i].alloc);
        hs_amount_add(&head->live, &samples[i].live);
        hs_amount_add(&head->peak, &samples[i].peak);
    }
    /* Each count is a sample. If the recorder stated the number of samples, that number is used. */
    head->sample_count =
        heaps->sample_count ? heaps->sample_count : hs_saturate_round_unsigned(head->alloc.count);
    *ret_count = count;
    return samples;
}

static void close_dump(struct hs_load *load, struct hs_load_heaps *heaps)
{
    size_t count;
    struct hs_profile_sample *samples = collect(heaps, &count);
    heaps->is_open = false;
    if (!samples) {
        load->err = -ENOMEM;
        return;
    }
    heaps->is_last_thinned = !hs_builder_has_room(load->builder, count);
    load->thinned_count += heaps->is_last_thinned;
    heaps->head.has_peak = heaps->head.is_at_max = heaps->has_peak;
    heaps->last_dump = hs_builder_dump(load->builder, &heaps->head,
                                       heaps->is_last_thinned ? NULL : samples, count);
    hs_builder_dump_heaps(load->builder, heaps->last_dump, heaps->parts, heaps->part_ids.ids.count);
    free(samples);
}

static uint32_t foreign_process(struct hs_load *load, const struct hs_load_pending *part)
{
    bool is_new;
    uint32_t *process =
        hs_load_at(load, &load->foreign_ids, &load->foreign_processes, sizeof(*process),
                   (struct hs_intern_key){ .lo = part->pid }, &is_new);
    if (!process) {
        return UINT32_MAX;
    }
    if (is_new) {
        struct hs_profile_process out = {
            .pid = (uint32_t)part->pid,
            .start_ns = part->start_ns,
            .is_from_startup = part->is_from_startup,
            .exit_kind = HS_EXIT_RUNNING,
        };
        *process = hs_builder_process(load->builder, &out);
    }
    return *process;
}

/* Called at the end, because the process tree may come after the dumps. */
static void name_process(struct hs_load *load, uint32_t process_id)
{
    struct hs_profile_process *process = hs_builder_process_at(load->builder, process_id);
    const struct hs_load_pid *pid = process ? hs_load_pid(load, process->pid) : NULL;
    if (pid) {
        process->ppid = pid->ppid;
        process->name = hs_load_basename(load, pid->argv0);
        process->exe = pid->is_comm ? 0 : pid->argv0;
        process->cmdline = pid->is_comm ? 0 : pid->cmdline;
    }
}

static void open_dump(struct hs_load_heaps *heaps)
{
    uint64_t before_ns = heaps->head.time_ns;
    heaps->head = (struct hs_profile_dump){ .process = heaps->process, .start_ns = before_ns };
    heaps->heaps_done = heaps->heaps_now = 0;
    heaps->is_open = true;
}

/* Takes one heap's part into the head of the dump. */
static void note_part(struct hs_load *load, struct hs_load_heaps *heaps,
                      const struct hs_load_pending *part)
{
    struct hs_profile_dump *head = &heaps->head;
    bool is_first = (heaps->heaps_done | heaps->heaps_now) == 0;
    head->time_ns = part->time_ns > head->time_ns ? part->time_ns : head->time_ns;
    if (part->start_ns != 0 && (is_first || part->start_ns < head->start_ns)) {
        head->start_ns = part->start_ns;
    }
    if (is_first || part->interval_bytes < head->interval_bytes) {
        head->interval_bytes = part->interval_bytes;
        head->orig_interval_bytes = part->orig_interval_bytes;
    }
    head->is_final |= part->is_disconnected;
    if (part->has_stats) {
        /* These belong to the process, and are cumulative. */
        heaps->sample_count = part->sample_count;
        heaps->unwinding_errors = part->unwinding_errors;
    }
    heaps->overran_count |= part->is_overrun;
    heaps->corrupted_count |= part->is_corrupted;
    heaps->guardrail_count |= part->is_guarded;
    heaps->rejected_count |= part->is_rejected;
    heaps->client_error_count |= part->is_client_error;
    struct hs_profile_process *process = hs_builder_process_at(load->builder, heaps->process);
    if (process && part->is_disconnected) {
        process->exit_kind = HS_EXIT_UNKNOWN;
        process->end_ns = part->time_ns;
    }
}

/* --- samples --- */

static bool is_fall(const struct totals *was, const struct totals *now)
{
    return now->alloc_bytes < was->alloc_bytes || now->alloc_count < was->alloc_count ||
           now->freed_bytes < was->freed_bytes || now->freed_count < was->freed_count;
}

static void apply_sample(struct hs_load *load, const struct hs_interned *tables,
                         struct hs_load_heaps *heaps, uint32_t part,
                         const struct hs_load_held *sample)
{
    uint32_t node = hs_load_node(load, tables, sample->callstack_iid);
    bool is_new_stack, is_new_source;
    struct stack_totals *stack =
        hs_load_at(load, &heaps->stack_ids, &heaps->stacks, sizeof(*stack),
                   (struct hs_intern_key){ .hi = part, .lo = node }, &is_new_stack);
    struct totals *before = hs_load_at(
        load, &heaps->source_ids, &heaps->corrections, sizeof(*before),
        (struct hs_intern_key){ .hi = part, .lo = sample->callstack_iid }, &is_new_source);
    if (!stack || !before) {
        return;
    }
    if (is_new_stack) {
        stack->node = node;
        stack->part = part;
    }
    if (is_new_source) {
        *before = stack->totals;
    }
    struct totals now = {
        .alloc_bytes = before->alloc_bytes + sample->totals.alloc_bytes,
        .alloc_count = before->alloc_count + sample->totals.alloc_count,
        .freed_bytes = before->freed_bytes + sample->totals.freed_bytes,
        .freed_count = before->freed_count + sample->totals.freed_count,
    };
    if (is_fall(&stack->totals, &now)) {
        load->report.falling_sample_count++;
        return;
    }
    stack->totals = now;
    stack->peak_bytes = sample->peak_bytes;
    stack->peak_count = sample->peak_count;
    heaps->has_peak |= sample->peak_bytes != 0;
}

/* Starts the next dump when an earlier chain has already added this heap to the open one. */
static void turn_dump(struct hs_load *load, struct hs_load_sequence *sequence,
                      struct hs_load_heaps *heaps, uint32_t heap)
{
    uint64_t bit = UINT64_C(1) << (heap < 63 ? heap : 63);
    if (heaps->chain != sequence->chain_count) {
        heaps->chain = sequence->chain_count;
        heaps->heaps_done |= heaps->heaps_now;
        heaps->heaps_now = 0;
    }
    if (heaps->is_open && (heaps->heaps_done & bit) != 0) {
        close_dump(load, heaps);
    }
    if (!heaps->is_open) {
        open_dump(heaps);
    }
}

static void apply_part(struct hs_load *load, struct hs_load_sequence *sequence,
                       const struct hs_load_pending *part)
{
    bool is_new;
    struct hs_intern_key key = { .hi = (uint64_t)sequence->id << 32 | sequence->epoch,
                                 .lo = part->pid };
    struct hs_load_heaps *heaps =
        hs_load_at(load, &load->heaps_ids, &load->heaps, sizeof(*heaps), key, &is_new);
    if (!heaps) {
        return;
    }
    if (is_new) {
        heaps->process = foreign_process(load, part);
    }
    turn_dump(load, sequence, heaps, part->heap);
    note_part(load, heaps, part);
    struct hs_profile_dump_heap *heap =
        hs_load_at(load, &heaps->part_ids, &heaps->parts, sizeof(*heap),
                   (struct hs_intern_key){ .lo = part->heap }, &is_new);
    if (!heap) {
        return;
    }
    heap->heap = part->heap;
    heap->parent = HS_PROFILE_NO_HEAP;
    heap->interval_bytes = part->interval_bytes;
    uint32_t part_idx = (uint32_t)(heap - heaps->parts);
    heaps->heaps_now |= UINT64_C(1) << (part->heap < 63 ? part->heap : 63);
    for (size_t i = 0; i < part->sample_n && load->err == 0; i++) {
        apply_sample(load, &sequence->legacy, heaps, part_idx, &part->samples[i]);
    }
}

static void end_chain(struct hs_load *load, struct hs_load_sequence *sequence)
{
    sequence->chain_count++;
    sequence->legacy.behind = sequence->interned;
    for (uint32_t i = 0; i < sequence->pending_count; i++) {
        apply_part(load, sequence, &sequence->pending[i]);
    }
    hs_load_pending_deinit(sequence);
    hs_interned_deinit(&sequence->legacy);
}

/* --- packets --- */

void hs_load_pending_deinit(struct hs_load_sequence *sequence)
{
    for (uint32_t i = 0; i < sequence->pending_count; i++) {
        free(sequence->pending[i].samples);
    }
    free(sequence->pending);
    sequence->pending = NULL;
    sequence->pending_count = 0;
    sequence->pending_capacity = 0;
}

static struct hs_load_held *hold_samples(const pb_heap *from)
{
    struct hs_load_held *samples = calloc(from->n_samples + 1, sizeof(*samples));
    for (size_t i = 0; samples && i < from->n_samples; i++) {
        const Hs__Pb__ProfilePacket__HeapSample *sample = from->samples[i];
        samples[i] = (struct hs_load_held){
            .callstack_iid = sample->callstack_id,
            .totals = { .alloc_bytes = sample->self_allocated,
                        .alloc_count = sample->alloc_count,
                        .freed_bytes = sample->self_freed,
                        .freed_count = sample->free_count },
            .peak_bytes = sample->self_max,
            /*
             * Recorders that do not state the interval they were asked for did not count this
             * correctly.
             */
            .peak_count = from->orig_sampling_interval_bytes ? sample->self_max_count : 0,
        };
    }
    return samples;
}

static int hold(struct hs_load *load, struct hs_load_sequence *sequence, const pb_heap *from)
{
    int err = hs_array_reserve(&sequence->pending, &sequence->pending_capacity,
                               (size_t)sequence->pending_count + 1, sizeof(sequence->pending[0]));
    if (err < 0) {
        return err;
    }
    struct hs_load_pending *part = &sequence->pending[sequence->pending_count];
    *part = (struct hs_load_pending){
        .pid = from->pid,
        .heap = hs_builder_heap(
            load->builder, from->heap_name && from->heap_name[0] ? from->heap_name : "unknown"),
        .time_ns = from->timestamp,
        .start_ns = from->start_timestamp,
        .interval_bytes = from->sampling_interval_bytes,
        .orig_interval_bytes = from->orig_sampling_interval_bytes,
        .sample_count = from->stats ? from->stats->heap_samples : 0,
        .unwinding_errors = from->stats ? from->stats->unwinding_errors : 0,
        .has_stats = from->stats != NULL,
        .is_from_startup = from->from_startup,
        .is_disconnected = from->disconnected,
        .is_overrun = from->buffer_overran || from->client_error == CLIENT_ERROR_TIMEOUT,
        .is_corrupted = from->buffer_corrupted,
        .is_guarded = from->hit_guardrail,
        .is_rejected = from->rejected_concurrent,
        .is_client_error = from->client_error > CLIENT_ERROR_TIMEOUT,
        .samples = hold_samples(from),
        .sample_n = from->n_samples,
    };
    if (!part->samples) {
        return -ENOMEM;
    }
    sequence->pending_count++;
    return 0;
}

void hs_load_profile_packet(struct hs_load *load, struct hs_load_sequence *sequence,
                            const Hs__Pb__ProfilePacket *packet)
{
    if (sequence->is_ours) {
        return;
    }
    if (sequence->has_packet_idx && packet->index > sequence->next_packet_idx) {
        load->report.missing_packet_count += packet->index - sequence->next_packet_idx;
    } else if (!sequence->has_packet_idx && packet->index != sequence->next_packet_idx) {
        /* Concatenated files count from 0 again; a file that another writer continued does not. */
        load->report.missing_packet_count += packet->index;
    }
    sequence->has_packet_idx = true;
    sequence->next_packet_idx = packet->index + 1;
    load->err = load->err ? load->err : hs_interned_add_legacy(&sequence->legacy, packet);
    for (size_t i = 0; i < packet->n_process_dumps && load->err == 0; i++) {
        int err = hold(load, sequence, packet->process_dumps[i]);
        if (err < 0) {
            load->err = err;
        }
    }
    if (!packet->continued && load->err == 0) {
        end_chain(load, sequence);
    }
}

/* --- the end --- */

static void finish_heaps(struct hs_load *load, struct hs_load_heaps *heaps)
{
    if (heaps->is_open) {
        close_dump(load, heaps);
    }
    if (heaps->is_last_thinned && load->err == 0) {
        size_t count;
        struct hs_profile_sample *samples = collect(heaps, &count);
        if (samples) {
            hs_builder_dump_samples(load->builder, heaps->last_dump, samples, count);
            load->thinned_count--;
        }
        free(samples);
    }
    const struct {
        enum hs_load_loss loss;
        uint64_t count;
    } losses[] = {
        { HS_LOAD_LOSS_OVERRUN, heaps->overran_count },
        { HS_LOAD_LOSS_CORRUPTED, heaps->corrupted_count },
        { HS_LOAD_LOSS_GUARDRAIL, heaps->guardrail_count },
        { HS_LOAD_LOSS_REJECTED, heaps->rejected_count },
        { HS_LOAD_LOSS_CLIENT_ERROR, heaps->client_error_count },
        { HS_LOAD_LOSS_UNWINDING, heaps->unwinding_errors },
    };
    for (size_t i = 0; i < HS_COUNT_OF(losses); i++) {
        hs_loss_add(load->builder, heaps->process, hs_loss_of_load(losses[i].loss),
                    losses[i].count);
    }
}

void hs_load_samples_finish(struct hs_load *load)
{
    for (uint32_t i = 0; i < load->sequence_ids.ids.count && load->err == 0; i++) {
        struct hs_load_sequence *sequence = &load->sequences[i];
        /* The file ends before the last dump does. The part that is there is still true. */
        if (sequence->pending_count > 0 && !sequence->is_ours) {
            load->report.incomplete_dump_count++;
            end_chain(load, sequence);
        }
    }
    for (uint32_t i = 0; i < load->heaps_ids.ids.count && load->err == 0; i++) {
        finish_heaps(load, &load->heaps[i]);
    }
    for (uint32_t i = 0; i < load->foreign_ids.ids.count; i++) {
        name_process(load, load->foreign_processes[i]);
    }
}

void hs_load_samples_deinit(struct hs_load *load)
{
    for (uint32_t i = 0; i < load->heaps_ids.ids.count; i++) {
        hs_intern_deinit(&load->heaps[i].stack_ids.ids);
        hs_intern_deinit(&load->heaps[i].source_ids.ids);
        free(load->heaps[i].stacks);
        free(load->heaps[i].corrections);
        hs_intern_deinit(&load->heaps[i].part_ids.ids);
        free(load->heaps[i].parts);
    }
    hs_intern_deinit(&load->heaps_ids.ids);
    hs_intern_deinit(&load->foreign_ids.ids);
    free(load->heaps);
    free(load->foreign_processes);
}
