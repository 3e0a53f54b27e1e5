/*
 * Writes one dump of one process: finds what is new and what has changed, and writes it in this
 * order:
 *
 *   1. the process, if it was not introduced yet; blocks left over by an earlier image of its pid
 *   2. InternedData: what the file does not have yet
 *   3. our own packets (complete by themselves: writer_rows.c)
 *   4. ProfilePackets (complete by themselves: writer_samples.c)
 *
 * Several stacks of a snapshot may be one callstack of the file: stacks that differ by type, or
 * code that was unloaded and loaded again. So figures are first added up by callstack.
 *
 * A process that executes another program keeps its pid but not its memory, and Perfetto keeps
 * totals per pid. So when a pid gets its second image, the blocks that the first image left are
 * written as freed at that moment. For this the writer keeps the live callstacks of ended
 * processes: 24 bytes each, at most LEFTOVER_STACKS_MAX; the oldest are dropped first.
 *
 * See       writer_state.h
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt/check.h"
#include "trace/writer_heaps.h"
#include "trace/writer_state.h"
#include "util/array.h"

#define LEFTOVER_STACKS_MAX (512U * 1024U)

static void process_deinit(struct hs_written_process *process)
{
    hs_intern_deinit(&process->stacks);
    free(process->written);
    free(process->thread_hashes);
    free(process->is_type_named);
}

void hs_writer_dump_deinit(struct hs_trace_writer *writer)
{
    for (uint32_t i = 0; i < writer->running_count; i++) {
        process_deinit(&writer->running[i]);
    }
    for (uint32_t i = 0; i < writer->leftover_count; i++) {
        free(writer->leftovers[i].stacks);
    }
    free(writer->running);
    free(writer->leftovers);
    free(writer->heap_names);
    free(writer->pid_states);
    hs_intern_deinit(&writer->pids);
}

/* --- blocks that an image left --- */

static void leftover_remove(struct hs_trace_writer *writer, uint32_t idx)
{
    writer->leftover_stack_count -= writer->leftovers[idx].stack_count;
    free(writer->leftovers[idx].stacks);
    writer->leftover_count--;
    memmove(&writer->leftovers[idx], &writer->leftovers[idx + 1],
            (writer->leftover_count - idx) * sizeof(writer->leftovers[0]));
}

/* A failure is ignored: when memory runs out here, only the record of these blocks' release is
 * lost. */
static void leftover_keep(struct hs_trace_writer *writer, const struct hs_written_process *process)
{
    struct hs_leftover leftover = { .pid = process->pid, .last_time_ns = process->last_time_ns };
    uint32_t count = process->stacks.count;
    leftover.stacks = malloc(((size_t)count + 1) * sizeof(leftover.stacks[0]));
    if (!leftover.stacks ||
        hs_array_reserve(&writer->leftovers, &writer->leftover_capacity,
                         (size_t)writer->leftover_count + 1, sizeof(writer->leftovers[0])) < 0) {
        free(leftover.stacks);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct hs_written_stack *stack = &process->written[i];
        if (stack->alloc_bytes != stack->freed_bytes || stack->alloc_count != stack->freed_count) {
            leftover.stacks[leftover.stack_count++] = (struct hs_leftover_stack){
                .callstack_iid = (uint32_t)process->stacks.keys[i].lo,
                .heap = stack->heap,
                .alloc_bytes = stack->alloc_bytes,
                .alloc_count = stack->alloc_count,
            };
        }
    }
    struct hs_leftover_stack *trimmed =
        realloc(leftover.stacks, ((size_t)leftover.stack_count + 1) * sizeof(leftover.stacks[0]));
    leftover.stacks = trimmed ? trimmed : leftover.stacks;
    writer->leftovers[writer->leftover_count++] = leftover;
    writer->leftover_stack_count += leftover.stack_count;
    while (writer->leftover_stack_count > LEFTOVER_STACKS_MAX && writer->leftover_count > 1) {
        leftover_remove(writer, 0);
    }
}

/* Ends the previous image of this pid, if there was one. */
static void leftover_release(struct hs_trace_writer *writer, struct hs_written_process *process)
{
    for (uint32_t i = writer->leftover_count; i-- > 0;) {
        const struct hs_leftover *leftover = &writer->leftovers[i];
        if (leftover->pid == process->pid) {
            uint64_t time_ns = process->start_mono_ns;
            time_ns = time_ns > leftover->last_time_ns ? time_ns : leftover->last_time_ns + 1;
            int err = hs_writer_release(writer, leftover, time_ns);
            if (err < 0) {
                hs_writer_fail(writer, err);
            }
            process->last_time_ns = time_ns;
            leftover_remove(writer, i);
            return;
        }
    }
}

/* --- processes --- */

static void announce(struct hs_trace_writer *writer, const struct hs_snapshot *snap, int64_t uid)
{
    struct hs_trace_process process = {
        .pid = snap->pid,
        .ppid = snap->ppid,
        .uid = uid,
        .cmdline = snap->cmdline_bytes ? snap->cmdline : snap->exe,
        .cmdline_bytes =
            snap->cmdline_bytes ? snap->cmdline_bytes : (snap->exe ? strlen(snap->exe) : 0),
        .start_mono_ns = snap->is_from_startup ? snap->start_mono_ns : 0,
    };
    hs_trace_writer_process(writer, &process);
}

static void process_remove(struct hs_trace_writer *writer, struct hs_written_process *process)
{
    leftover_keep(writer, process);
    process_deinit(process);
    *process = writer->running[--writer->running_count];
}

/* Announces a process again if its title has changed since it was announced. The worker processes
 * of servers set titles. */
static void announce_title(struct hs_trace_writer *writer, const struct hs_snapshot *snap)
{
    struct hs_pid_state *state = hs_writer_pid(writer, snap->pid);
    if (state && snap->cmdline_bytes > 0 &&
        hs_intern_hash(snap->cmdline, snap->cmdline_bytes).lo != state->cmdline_hash) {
        bool is_announced = state->is_announced;
        announce(writer, snap, state->uid);
        state = hs_writer_pid(writer, snap->pid);
        if (state) {
            state->is_announced = is_announced;
        }
    }
}

static struct hs_written_process *process_start(struct hs_trace_writer *writer,
                                                const struct hs_snapshot *snap)
{
    struct hs_pid_state *state = hs_writer_pid(writer, snap->pid);
    if (!state) {
        return NULL;
    }
    if (!state->is_announced) {
        announce(writer, snap, -1);
        state = hs_writer_pid(writer, snap->pid);
    }
    if (!state || writer->err != 0) {
        return NULL;
    }
    state->is_announced = false;
    int err = hs_array_reserve(&writer->running, &writer->running_capacity,
                               (size_t)writer->running_count + 1, sizeof(writer->running[0]));
    if (err < 0) {
        hs_writer_fail(writer, err);
        return NULL;
    }
    struct hs_written_process *process = &writer->running[writer->running_count++];
    *process = (struct hs_written_process){
        .pid = snap->pid,
        .start_mono_ns = snap->start_mono_ns,
        .process_idx = writer->process_count++,
        .image = state->image_count++,
        .last_time_ns = snap->start_mono_ns,
    };
    leftover_release(writer, process);
    process->first_time_ns = process->last_time_ns;
    return process;
}

static struct hs_written_process *process_find(struct hs_trace_writer *writer,
                                               const struct hs_snapshot *snap)
{
    for (uint32_t i = 0; i < writer->running_count; i++) {
        struct hs_written_process *process = &writer->running[i];
        if (process->pid == snap->pid && process->start_mono_ns == snap->start_mono_ns) {
            return process;
        }
    }
    /* Ends an earlier image of this pid whose end was not reported. */
    for (uint32_t i = 0; i < writer->running_count; i++) {
        if (writer->running[i].pid == snap->pid) {
            process_remove(writer, &writer->running[i]);
            break;
        }
    }
    return process_start(writer, snap);
}

/* --- the dump --- */

static void dump_deinit(struct hs_writer_dump *dump)
{
    free(dump->heaps);
    free(dump->mapping_iids);
    free(dump->frame_iids);
    free(dump->stack_idx);
    free(dump->rows);
}

static int dump_init(struct hs_trace_writer *writer, struct hs_writer_dump *dump)
{
    const struct hs_snapshot *snap = dump->snap;
    dump->heaps = calloc((size_t)snap->heap_count + 1, sizeof(uint32_t));
    dump->mapping_iids = calloc((size_t)snap->module_count + 1, sizeof(uint32_t));
    dump->frame_iids = calloc((size_t)snap->frame_count + 1, sizeof(uint32_t));
    dump->stack_idx = calloc((size_t)snap->stack_count + 1, sizeof(uint32_t));
    if (!dump->heaps || !dump->mapping_iids || !dump->frame_iids || !dump->stack_idx) {
        return -ENOMEM;
    }
    return hs_writer_heaps_find(writer, dump);
}

static int dump_add_up(struct hs_writer_dump *dump)
{
    dump->rows = calloc((size_t)dump->process->stacks.count + 1, sizeof(dump->rows[0]));
    if (!dump->rows) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < dump->snap->stack_count; i++) {
        if (dump->stack_idx[i] != UINT32_MAX) {
            const struct hs_snap_stack *stack = &dump->snap->stacks[i];
            struct hs_dump_row *row = &dump->rows[dump->stack_idx[i]];
            hs_estimate_add(&row->alloc, &stack->alloc);
            hs_estimate_add(&row->live, &stack->live);
            hs_estimate_add(&row->peak, &stack->peak);
            row->inherited.bytes_var += stack->inherited.bytes_var;
            row->inherited.count_var += stack->inherited.count_var;
        }
    }
    return 0;
}

int hs_trace_writer_dump(struct hs_trace_writer *writer, const struct hs_snapshot *snap)
{
    if (writer->err != 0 || !writer->has_begun) {
        return writer->err != 0 ? writer->err : -EINVAL;
    }
    HS_ASSERT_SLOW(hs_snapshot_is_valid(snap));
    hs_writer_refresh_clocks(writer);
    struct hs_writer_dump dump = { .snap = snap, .process = process_find(writer, snap) };
    if (!dump.process) {
        return writer->err;
    }
    announce_title(writer, snap);
    /* Perfetto distinguishes the dumps of a process by their time, and the heaps of a dump are one
     * nanosecond apart (writer_samples.c). */
    dump.window_start_ns = dump.process->last_time_ns;
    dump.time_ns =
        snap->time_mono_ns > dump.window_start_ns ? snap->time_mono_ns : dump.window_start_ns + 1;
    int err = dump_init(writer, &dump);
    if (err == 0) {
        err = hs_writer_intern_dump(writer, &dump);
    }
    if (err == 0) {
        err = dump_add_up(&dump);
    }
    if (err == 0) {
        err = hs_writer_rows(writer, &dump);
    }
    if (err == 0) {
        err = hs_writer_samples(writer, &dump);
    }
    if (err < 0) {
        hs_writer_fail(writer, err);
    }
    dump.process->dump_count++;
    dump.process->last_time_ns = dump.time_ns + writer->heap_count;
    if (snap->is_final) {
        process_remove(writer, dump.process);
    }
    dump_deinit(&dump);
    return writer->err;
}
