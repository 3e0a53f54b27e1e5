/*
 * Reads heapscope's own packets: the whole state of a process at each dump.
 *
 * A dump is a head, rows, and an end that states the number of rows. Rows are absolute figures, and
 * only those that changed are written. The state of a process is therefore kept, and converted to
 * samples when the end of a dump comes. A dump without its end is left out if the process has a
 * complete one; otherwise it is kept and marked as incomplete.
 *
 * See       load_state.h, trace/proto/heapscope.proto, docs/FORMAT.md
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/loss.h"
#include "profile/model/margin.h"
#include "profile/read/load_births.h"
#include "profile/read/load_blocks.h"
#include "profile/read/load_heaps.h"
#include "profile/read/load_intervals.h"
#include "profile/read/load_ledger.h"
#include "profile/read/load_lifetimes.h"
#include "profile/read/load_parts.h"
#include "profile/read/load_state.h"
#include "trace/snapshot.h"
#include "util/saturate.h"

struct hs_load_process {
    uint32_t process;               /* in the profile */
    struct hs_intern_array row_ids; /* (callstack iid, heap) */
    struct hs_load_row *rows;
    struct hs_load_parts *parts;   /* NULL: none so far */
    struct hs_load_births *births; /* NULL: none so far */
    struct hs_load_blocks blocks;  /* of the dump that is open */
    struct hs_load_lifetimes *lifetimes;
    struct hs_load_heap_list *heaps;
    bool has_head; /* a dump is open, with this head: */
    struct hs_profile_dump head;
    uint64_t row_count;
    bool has_dump;        /* it has a complete dump */
    uint32_t last_dump;   /* of the profile */
    bool is_last_thinned; /* the last dump was added without samples */
    /* Of the last dump: */
    struct hs_load_losses losses;
    struct hs_profile_thread *threads;
    uint32_t thread_count;
    /* time of the last dump in the part of the file before; 0: there was none */
    uint64_t continued_ns;
    uint64_t narrowest_bytes; /* of the intervals at which it was sampled */
    bool is_superseded;       /* a later part of the file continues it, and counts anew */
    struct hs_profile_change *changes;
    uint32_t change_count;
};

static struct hs_amount get_amount(const Hs__Pb__HsAmount *from, uint64_t interval_bytes)
{
    struct hs_amount amount = { 0 };
    if (from) {
        amount.bytes = hs_load_number(from->bytes);
        amount.count = hs_load_number(from->count);
        amount.bytes_var = hs_load_number(from->bytes_var);
        amount.count_var = hs_load_number(from->count_var);
        hs_margin_split(&amount, interval_bytes);
    }
    return amount;
}

/* --- the head --- */

static struct hs_intern_key process_key(const struct hs_load_sequence *sequence,
                                        uint32_t process_idx)
{
    return (struct hs_intern_key){ .hi = (uint64_t)sequence->id << 32 | sequence->epoch,
                                   .lo = process_idx };
}

static void set_threads(struct hs_load *load, struct hs_load_process *process,
                        const Hs__Pb__HsDump *dump)
{
    uint64_t narrowest_bytes = hs_load_intervals_of(dump).narrowest_bytes;
    free(process->threads);
    process->threads = calloc(dump->n_threads + 1, sizeof(process->threads[0]));
    process->thread_count = 0;
    for (size_t i = 0; process->threads && i < dump->n_threads; i++) {
        const Hs__Pb__HsThread *from = dump->threads[i];
        process->threads[process->thread_count++] = (struct hs_profile_thread){
            .process = process->process,
            .tid = from->tid,
            .name = from->name ? hs_builder_string(load->builder, from->name) : 0,
            .start_ns = hs_saturate_add_unsigned(
                dump->start_mono_ns, hs_saturate_multiply_unsigned(from->start_ms, 1000000)),
            .live = get_amount(from->live, narrowest_bytes),
        };
        if (from->has_id) {
            hs_load_parts_name(load, &process->parts, from->id, from->tid, from->name);
        }
    }
}

/* An intact client makes a hundred at most. */
#define CHANGES_MAX 1024U

static void set_changes(struct hs_load_process *process, const Hs__Pb__HsDump *dump)
{
    size_t count = dump->n_changes < CHANGES_MAX ? dump->n_changes : CHANGES_MAX;
    free(process->changes);
    process->changes = calloc(count + 1, sizeof(process->changes[0]));
    process->change_count = 0;
    for (size_t i = 0; process->changes && i < count; i++) {
        const Hs__Pb__HsChange *from = dump->changes[i];
        process->changes[process->change_count++] = (struct hs_profile_change){
            .process = process->process,
            .time_ns = from->time_ns,
            .from_bytes = from->from_interval_bytes,
            .to_bytes = from->to_interval_bytes,
            .limit = from->limit,
            .rarity = from->has_rarity ? from->rarity : 1,
            .reason = from->reason < HS_CHANGE_N ? (uint8_t)from->reason : HS_CHANGE_UNKNOWN,
        };
    }
}

static void set_head(struct hs_load *load, struct hs_load_process *process,
                     const Hs__Pb__HsDump *dump)
{
    struct hs_load_intervals intervals = hs_load_intervals_of(dump);
    process->narrowest_bytes = intervals.narrowest_bytes;
    process->head = (struct hs_profile_dump){
        .ledger = process->head.ledger,
        .rss_peak_ledger = process->head.rss_peak_ledger,
        .pins = process->head.pins,
        .process = process->process,
        .name = dump->name ? hs_builder_string(load->builder, dump->name) : 0,
        .is_final = dump->is_final,
        .start_ns = dump->window_start_ns > process->continued_ns ? dump->window_start_ns
                                                                  : process->continued_ns,
        .time_ns = dump->time_ns,
        .peak_time_ns = dump->peak_time_ns,
        .interval_bytes = dump->interval_bytes,
        .orig_interval_bytes = dump->orig_interval_bytes,
        .interval_widest_bytes = intervals.widest_bytes,
        .rss_bytes = dump->rss_bytes,
        .rss_peak_bytes = dump->rss_peak_bytes,
        .rss_start_bytes = dump->rss_start_bytes,
        .has_peak = dump->peak_time_ns != 0,
        .has_types = dump->has_types,
        .types_time_ns = dump->types_time_ns,
        .is_without_types = dump->is_without_types,
        .has_lifetimes = dump->has_lifetimes,
        .block_left_out_count = dump->has_blocks ? dump->block_left_out_count : 0,
        .is_at_max = dump->is_at_max && dump->peak_time_ns != 0,
        .has_scaled_counts = true,
        .live = get_amount(dump->live, intervals.narrowest_bytes),
        .alloc = get_amount(dump->alloc, intervals.narrowest_bytes),
        .peak = get_amount(dump->peak, intervals.narrowest_bytes),
        /* Older files do not say how many samples were inherited. */
        .has_inherited = dump->forked_from_pid != 0 &&
                         (!dump->has_inherited_sample_count || dump->inherited_sample_count > 0),
        .is_inherited_known = dump->has_inherited_bytes_var,
        .inherited = { (float)hs_load_number(dump->inherited_bytes_var),
                       (float)hs_load_number(dump->inherited_count_var) },
        .sample_count = dump->sample_count,
        .free_count = dump->free_count,
        .replay_count = dump->replay_count,
        .walk_count = dump->walk_count,
        .client_cpu_ns = dump->client_cpu_ns,
        .region_bytes = dump->region_bytes,
    };
    process->head.peak.peak_short_bytes = hs_load_float_above(dump->peak_short_bytes);
    process->has_head = true;
    process->row_count = 0;
}

/* --- from state to samples --- */

static bool is_zero(const struct hs_amount *amount)
{
    return amount->bytes <= 0 && amount->count <= 0;
}

static struct hs_profile_sample *collect(const struct hs_load_process *process, size_t *ret_count)
{
    uint32_t row_count = process->row_ids.ids.count;
    struct hs_profile_sample *samples = malloc(((size_t)row_count + 1) * sizeof(*samples));
    size_t count = 0;
    for (uint32_t i = 0; samples && i < row_count; i++) {
        const struct hs_load_row *row = &process->rows[i];
        if (!is_zero(&row->alloc) || !is_zero(&row->live) || !is_zero(&row->peak)) {
            samples[count] = (struct hs_profile_sample){
                .node = row->node,
                .heap = row->heap,
                .alloc = row->alloc,
                .live = row->live,
                .peak = row->peak,
                .inherited = row->inherited,
            };
            uint64_t narrowest_bytes =
                hs_load_heaps_narrowest(process->heaps, row->heap, process->narrowest_bytes);
            hs_margin_split(&samples[count].alloc, narrowest_bytes);
            hs_margin_split(&samples[count].live, narrowest_bytes);
            hs_margin_split(&samples[count++].peak, narrowest_bytes);
        }
    }
    *ret_count = count;
    return samples;
}

/* The heap of all rows; HS_PROFILE_NO_HEAP: they have several, or there is none. */
static uint32_t only_heap(const struct hs_load_process *process)
{
    uint32_t heap = process->row_ids.ids.count > 0 ? process->rows[0].heap : HS_PROFILE_NO_HEAP;
    for (uint32_t i = 0; i < process->row_ids.ids.count; i++) {
        heap = process->rows[i].heap == heap ? heap : HS_PROFILE_NO_HEAP;
    }
    return heap;
}

static void give_parts(struct hs_load *load, struct hs_load_process *process)
{
    const struct hs_load_row_table table = { &process->row_ids, process->rows };
    hs_load_parts_give(load, process->parts, &table, process->heaps, process->narrowest_bytes,
                       process->last_dump);
    hs_load_births_give(load, process->births, &table, process->heaps, process->narrowest_bytes,
                        process->last_dump);
    hs_load_lifetimes_give(load, process->lifetimes, &table, &process->head, process->last_dump);
}

static void close_dump(struct hs_load *load, struct hs_load_process *process, bool is_whole)
{
    size_t count;
    process->has_head = false;
    if (!is_whole && process->has_dump) {
        load->report.lost_dump_count++;
        return;
    }
    load->report.incomplete_dump_count += !is_whole;
    process->head.is_incomplete = !is_whole;
    struct hs_profile_sample *samples = NULL;
    process->is_last_thinned = !hs_builder_has_room(load->builder, process->row_ids.ids.count);
    if (process->is_last_thinned) {
        count = 0;
        load->thinned_count++;
    } else {
        samples = collect(process, &count);
        load->err = samples ? load->err : -ENOMEM;
    }
    process->last_dump = hs_builder_dump(load->builder, &process->head, samples, count);
    /* The profile has a copy, and the parts of a million stacks need as much memory again. */
    free(samples);
    give_parts(load, process);
    hs_load_blocks_give(load, &process->blocks, process->last_dump);
    hs_load_heaps_add(load, process->heaps, process->last_dump, &process->head, only_heap(process));
    process->has_dump |= is_whole;
}

/* --- rows --- */

static void add_rows(struct hs_load *load, struct hs_load_sequence *sequence,
                     struct hs_load_process *process, const Hs__Pb__HsRows *rows)
{
    int64_t iid = 0;
    for (size_t i = 0; i < rows->n_callstack_iid_delta && load->err == 0; i++) {
        iid = (int64_t)((uint64_t)iid + (uint64_t)rows->callstack_iid_delta[i]);
        uint32_t heap = i < rows->n_heap ? rows->heap[i] : 0;
        bool is_new;
        struct hs_load_row *row =
            hs_load_at(load, &process->row_ids, &process->rows, sizeof(*row),
                       (struct hs_intern_key){ .hi = heap, .lo = (uint64_t)iid }, &is_new);
        if (!row) {
            return;
        }
        if (is_new) {
            row->node = hs_load_node(load, sequence->interned, (uint64_t)iid);
            row->heap = hs_load_heaps_id(load, process->heaps, heap);
        }
        hs_load_row_set(row, rows, i);
        process->row_count++;
    }
}

/* --- packets --- */

/*
 * The same program image in an earlier part of the file, whose writer was killed. NULL: there is
 * none.
 */
static struct hs_load_process *find_earlier(struct hs_load *load,
                                            const struct hs_load_sequence *sequence,
                                            const struct hs_load_process *process,
                                            const Hs__Pb__HsDump *dump)
{
    const struct hs_intern_key key = { .hi = (uint64_t)sequence->id << 32 | dump->pid,
                                       .lo = dump->start_mono_ns };
    bool is_new;
    uint32_t *image =
        hs_load_at(load, &load->image_ids, &load->images, sizeof(load->images[0]), key, &is_new);
    if (!image) {
        return NULL;
    }
    uint32_t before = *image;
    *image = (uint32_t)(process - load->processes);
    return is_new || !sequence->is_continued ? NULL : &load->processes[before];
}

static void new_process(struct hs_load *load, const struct hs_load_sequence *sequence,
                        struct hs_load_process *process, const Hs__Pb__HsDump *dump)
{
    struct hs_load_process *earlier = find_earlier(load, sequence, process, dump);
    if (earlier && earlier != process) {
        if (earlier->has_head) {
            close_dump(load, earlier, false);
        }
        earlier->is_superseded = true;
        process->process = earlier->process;
        process->has_dump = earlier->has_dump;
        process->last_dump = earlier->last_dump;
        process->continued_ns = earlier->head.time_ns;
        return;
    }
    const struct hs_load_pid *pid = hs_load_pid(load, dump->pid);
    struct hs_profile_process out = {
        .pid = dump->pid,
        .ppid = dump->ppid,
        .forked_from_pid = dump->forked_from_pid,
        .cmdline = pid ? pid->cmdline : 0,
        .start_ns = dump->start_mono_ns,
        .is_from_startup = dump->is_from_startup,
        .exit_kind = HS_EXIT_RUNNING,
    };
    process->process = hs_builder_process(load->builder, &out);
    process->last_dump = UINT32_MAX;
}

static void on_dump(struct hs_load *load, struct hs_load_sequence *sequence,
                    const Hs__Pb__HsDump *dump)
{
    bool is_new;
    struct hs_load_process *process =
        hs_load_at(load, &load->process_ids, &load->processes, sizeof(*process),
                   process_key(sequence, dump->process_idx), &is_new);
    if (!process) {
        return;
    }
    if (is_new) {
        new_process(load, sequence, process, dump);
    }
    if (process->has_head) {
        close_dump(load, process, false);
    }
    hs_load_process_update(load, process->process, dump);
    set_head(load, process, dump);
    hs_load_blocks_begin(&process->blocks, dump);
    hs_load_ledgers(load, sequence->interned, dump, &process->head);
    hs_load_losses_set(load, &process->losses, dump, hs_load_refusal_of(dump));
    set_changes(process, dump);
    set_threads(load, process, dump);
    if (dump->modules) {
        hs_load_places(load, sequence->interned, process->process, dump->modules);
    }
    hs_load_heaps_set(load, &process->heaps, dump);
}

static void take_parts(struct hs_load *load, struct hs_load_process *process,
                       const Hs__Pb__HeapscopePacket *packet)
{
    const struct hs_load_row_table table = { &process->row_ids, process->rows };
    if (packet->parts) {
        hs_load_parts_set(load, &process->parts, &table, packet->parts, false);
    }
    if (packet->alloc_parts) {
        hs_load_parts_set(load, &process->parts, &table, packet->alloc_parts, true);
    }
    if (packet->births) {
        hs_load_births_set(load, &process->births, &table, packet->births);
    }
    hs_load_lifetimes_set(load, &process->lifetimes, &table, packet->lifetimes);
    if (packet->blocks) {
        hs_load_blocks_add(load, &process->blocks, &process->parts, &table, packet->blocks);
    }
}

/* The process that a packet is about, if its dump is open; otherwise NULL. */
static struct hs_load_process *find_open(struct hs_load *load,
                                         const struct hs_load_sequence *sequence,
                                         const Hs__Pb__HeapscopePacket *packet)
{
    uint32_t idx = packet->rows          ? packet->rows->process_idx
                   : packet->parts       ? packet->parts->process_idx
                   : packet->alloc_parts ? packet->alloc_parts->process_idx
                   : packet->births      ? packet->births->process_idx
                   : packet->lifetimes   ? packet->lifetimes->process_idx
                   : packet->blocks      ? packet->blocks->process_idx
                   : packet->dump_end    ? packet->dump_end->process_idx
                                         : UINT32_MAX;
    struct hs_load_process *process = hs_intern_elem(&load->process_ids, load->processes,
                                                     sizeof(*process), process_key(sequence, idx));
    return process && process->has_head ? process : NULL;
}

void hs_load_ours(struct hs_load *load, struct hs_load_sequence *sequence,
                  const Hs__Pb__HeapscopePacket *packet)
{
    sequence->is_ours = true;
    load->report.has_our_packets = true;
    if (packet->file) {
        load->report.format_version = packet->file->format_version;
        sequence->is_continued = packet->file->is_continuation;
    }
    for (size_t i = 1;
         packet->unlisted && i < packet->unlisted->n_refused_count && i <= HS_REFUSAL_N; i++) {
        hs_loss_add(load->builder, HS_PROFILE_NO_PROCESS, hs_loss_of_refusal((uint32_t)i),
                    packet->unlisted->refused_count[i]);
    }
    if (packet->dump) {
        on_dump(load, sequence, packet->dump);
    }
    struct hs_load_process *process = find_open(load, sequence, packet);
    if (process && packet->rows) {
        add_rows(load, sequence, process, packet->rows);
    }
    if (process) {
        take_parts(load, process, packet);
    }
    if (process && packet->dump_end) {
        close_dump(load, process, process->row_count == packet->dump_end->row_count);
    }
}

static void finish_process(struct hs_load *load, struct hs_load_process *process)
{
    if (process->has_head) {
        close_dump(load, process, false);
    }
    for (uint32_t i = 0; i < process->change_count; i++) {
        hs_builder_change(load->builder, &process->changes[i]);
    }
    if (process->is_superseded) {
        return;
    }
    if (process->is_last_thinned) {
        size_t count;
        struct hs_profile_sample *samples = collect(process, &count);
        if (samples) {
            hs_builder_dump_samples(load->builder, process->last_dump, samples, count);
            give_parts(load, process);
            load->thinned_count--;
        }
        free(samples);
    }
    for (uint32_t i = 0; i < process->thread_count; i++) {
        hs_builder_thread(load->builder, &process->threads[i]);
    }
    hs_load_losses_add(load, process->process, &process->losses);
}

void hs_load_ours_finish(struct hs_load *load)
{
    for (uint32_t i = 0; i < load->process_ids.ids.count; i++) {
        finish_process(load, &load->processes[i]);
    }
}

void hs_load_ours_deinit(struct hs_load *load)
{
    for (uint32_t i = 0; i < load->process_ids.ids.count; i++) {
        hs_intern_deinit(&load->processes[i].row_ids.ids);
        free(load->processes[i].rows);
        hs_load_parts_free(load->processes[i].parts);
        hs_load_births_free(load->processes[i].births);
        hs_load_lifetimes_free(load->processes[i].lifetimes);
        hs_load_blocks_deinit(&load->processes[i].blocks);
        free(load->processes[i].threads);
        free(load->processes[i].changes);
        hs_load_heaps_free(load->processes[i].heaps);
    }
    hs_intern_deinit(&load->process_ids.ids);
    hs_intern_deinit(&load->image_ids.ids);
    free(load->processes);
    free(load->images);
}
