/*
 * Checks that a profile satisfies the invariants of profile.h, whatever file it came from. A
 * violation is a crash.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "profile/model/profile.h"
#include "symbol/symbol_table.h"

static void check(bool is_true)
{
    if (!is_true) {
        abort();
    }
}

static void check_amount(const struct hs_amount *amount)
{
    check(!isnan(amount->bytes) && !isnan(amount->count));
    check(amount->bytes_var >= 0 && amount->count_var >= 0);
}

static void check_tree(const struct hs_profile *p)
{
    check(p->string_count > 0 && p->strings[0][0] == '\0');
    for (uint32_t i = 0; i < p->module_count; i++) {
        check(p->modules[i].path < p->string_count);
        check(p->modules[i].build_id_hex < p->string_count);
        check(p->modules[i].build_id_bytes <= HS_BUILD_ID_MAX);
    }
    for (uint32_t i = 0; i < p->nameless_count; i++) {
        check(p->nameless[i].path < p->string_count && p->nameless[i].detail < p->string_count);
        check(p->nameless[i].build_id_hex < p->string_count);
        check(p->nameless[i].reason < HS_SYMBOL_REASON_N);
    }
    for (uint32_t i = 0; i < p->line_count; i++) {
        check(p->lines[i].function < p->string_count && p->lines[i].file < p->string_count);
        check(p->lines[i].system_name < p->string_count);
    }
    for (uint32_t i = 0; i < p->frame_count; i++) {
        const struct hs_profile_frame *frame = &p->frames[i];
        check(frame->module < p->module_count && frame->name < p->string_count);
        check((uint64_t)frame->line_first + frame->line_count <= p->line_count);
    }
    for (uint32_t i = 0; i < p->node_count; i++) {
        const struct hs_profile_node *node = &p->nodes[i];
        check(node->frame < p->frame_count);
        check(node->parent == HS_NODE_NONE || node->parent < i);
        check(node->depth == (node->parent == HS_NODE_NONE ? 0 : p->nodes[node->parent].depth + 1));
    }
    for (uint32_t i = 0; i < p->heap_count; i++) {
        check(p->heaps[i] < p->string_count);
    }
}

static void check_samples(const struct hs_profile *p, const struct hs_profile_sample *samples,
                          uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        const struct hs_profile_sample *sample = &samples[k];
        check(sample->node < p->node_count && sample->heap < p->heap_count);
        check(k == 0 || sample[-1].node < sample->node ||
              (sample[-1].node == sample->node && sample[-1].heap < sample->heap));
        check_amount(&sample->live);
        check_amount(&sample->alloc);
        check_amount(&sample->peak);
    }
}

static void check_heaps(const struct hs_profile *p, const struct hs_profile_dump *dump)
{
    check((uint64_t)dump->heap_first + dump->heaps_n <= p->dump_heap_count);
    for (uint32_t k = 0; k < dump->heaps_n; k++) {
        const struct hs_profile_dump_heap *heap = &p->dump_heaps[dump->heap_first + k];
        check(heap->heap < p->heap_count && (k == 0 || heap[-1].heap < heap->heap));
        check(heap->parent == HS_PROFILE_NO_HEAP ||
              (heap->is_carved && heap->parent < p->heap_count));
        check(!heap->is_counted || !heap->is_inside);
        check_amount(&heap->live);
        check_amount(&heap->alloc);
        check_amount(&heap->peak);
    }
}

static void check_parts(const struct hs_profile *p, const struct hs_profile_dump *dump)
{
    for (unsigned view = 0; view < HS_PART_VIEWS_ALL && dump->has_parts; view++) {
        check((uint64_t)dump->part_first[view] + dump->parts_n[view] <= p->part_count);
        for (uint32_t k = 0; k < dump->parts_n[view]; k++) {
            const struct hs_profile_part *part = &p->parts[dump->part_first[view] + k];
            check(part->node < p->node_count && part->heap < p->heap_count);
            check(k == 0 || part[-1].node < part->node ||
                  (part[-1].node == part->node && part[-1].heap <= part->heap));
            check(part->scope <= p->scope_count);
            check(part->thread_name < p->string_count && part->type < p->string_count);
            check(part->age_class < HS_AGE_CLASSES || part->age_class == HS_PART_OTHERS);
            check_amount(&part->amount);
        }
    }
}

static void check_dumps(const struct hs_profile *p)
{
    for (uint32_t i = 0; i < p->scope_count; i++) {
        check(p->scopes[i].name < p->string_count && p->scopes[i].parent <= i);
    }
    for (uint32_t i = 0; i < p->process_count; i++) {
        const struct hs_profile_process *process = &p->processes[i];
        check(process->name < p->string_count && process->exe < p->string_count);
        check(process->cmdline < p->string_count && process->malloc_path < p->string_count);
        check(process->last_dump == UINT32_MAX || process->last_dump < p->dump_count);
        check((process->last_dump == UINT32_MAX) == (process->dump_count == 0));
    }
    for (uint32_t i = 0; i < p->dump_count; i++) {
        const struct hs_profile_dump *dump = &p->dumps[i];
        check(dump->process < p->process_count);
        check((uint64_t)dump->sample_first + dump->samples_n + dump->aside_n <= p->sample_count);
        check_amount(&dump->live);
        check_amount(&dump->alloc);
        check_amount(&dump->peak);
        check_heaps(p, dump);
        check_parts(p, dump);
        if (p->sample_count > 0) {
            const struct hs_profile_sample *first = &p->samples[dump->sample_first];
            check_samples(p, first, dump->samples_n);
            check_samples(p, first + dump->samples_n, dump->aside_n);
        }
    }
    for (uint32_t i = 0; i < p->thread_count; i++) {
        check(p->threads[i].process < p->process_count && p->threads[i].name < p->string_count);
    }
    for (uint32_t i = 0; i < p->loss_count; i++) {
        const struct hs_profile_loss *loss = &p->losses[i];
        check(loss->process < p->process_count || loss->process == HS_PROFILE_NO_PROCESS);
        check(loss->name < p->string_count && loss->text < p->string_count && loss->count > 0);
    }
}

static void check_loss_times(const struct hs_profile *p)
{
    for (uint32_t i = 0; i < p->loss_time_count; i++) {
        const struct hs_profile_loss_time *time = &p->loss_times[i];
        check(time->loss.process < p->process_count && time->loss.count > 0);
        check(time->loss.name < p->string_count && time->loss.text < p->string_count);
        check(time->from_ns <= time->to_ns);
        if (i > 0) {
            const struct hs_profile_loss_time *before = &p->loss_times[i - 1];
            check(before->loss.process <= time->loss.process);
            check(before->loss.process < time->loss.process || before->from_ns <= time->from_ns);
        }
    }
}

static void check_profile(const struct hs_profile *p)
{
    check_tree(p);
    check_dumps(p);
    check_loss_times(p);
}
