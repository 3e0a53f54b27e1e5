/* Frees and checks snapshots. See snapshot.h. */
#include "trace/snapshot.h"

#include <math.h>
#include <stdlib.h>

#include "rt/check.h"
#include "trace/heap_births.h"

void hs_snapshot_free(struct hs_snapshot *snap)
{
    if (!snap) {
        return;
    }
    for (uint32_t i = 0; snap->modules && i < snap->module_count; i++) {
        free(snap->modules[i].path);
    }
    for (uint32_t i = 0; snap->scopes && i < snap->scope_count; i++) {
        free(snap->scopes[i].name);
    }
    free(snap->exe);
    free(snap->cmdline);
    free(snap->changes);
    free(snap->loss_times);
    hs_ledger_free(snap->ledger);
    hs_ledger_free(snap->rss_peak_ledger);
    hs_pinned_pages_free(snap->pins);
    free(snap->heaps);
    free(snap->modules);
    free(snap->frames);
    free(snap->code_names);
    free(snap->code_texts);
    free(snap->frame_ids);
    free(snap->stacks);
    free(snap->scopes);
    free(snap->threads);
    free(snap->lifetimes);
    for (unsigned view = 0; view < HS_PART_VIEWS; view++) {
        free(snap->parts[view]);
    }
    for (uint32_t i = 0; i < snap->type_count; i++) {
        free(snap->types[i].name);
    }
    free(snap->births);
    free(snap->types);
    free(snap->blocks);
    free(snap);
}

const char *hs_snap_language_module(uint32_t language)
{
    static const char *const modules[HS_LANGUAGE_N] = {
        [HS_LANGUAGE_OTHER] = "[script]", [HS_LANGUAGE_PYTHON] = "[python]",
        [HS_LANGUAGE_JAVA] = "[java]",    [HS_LANGUAGE_JAVASCRIPT] = "[javascript]",
        [HS_LANGUAGE_RUBY] = "[ruby]",    [HS_LANGUAGE_PHP] = "[php]",
        [HS_LANGUAGE_PERL] = "[perl]",
    };
    HS_ASSERT(language < HS_LANGUAGE_N);
    return modules[language];
}

#if HS_HAS_CHECKS

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

/* Do the parts follow the stacks, and add up to each one's figures? */
static bool are_parts_valid(const struct hs_snapshot *snap, enum hs_part_view view)
{
    size_t at = 0;
    for (uint32_t i = 0; i < snap->stack_count && snap->parts[view]; i++) {
        const struct hs_snap_stack *stack = &snap->stacks[i];
        const struct hs_estimate *whole = view == HS_PARTS_LIVE ? &stack->live : &stack->peak;
        struct hs_estimate sum = { 0 };
        for (; at < snap->part_count[view] && snap->parts[view][at].key.stack_id == i; at++) {
            hs_estimate_add(&sum, &snap->parts[view][at].amount);
        }
        if (!is_near(sum.bytes, whole->bytes) || !is_near(sum.count, whole->count)) {
            return false;
        }
    }
    return !snap->parts[view] || at == snap->part_count[view];
}

/* The same for births, whose windows ascend. */
static bool are_births_valid(const struct hs_snapshot *snap)
{
    size_t at = 0;
    for (uint32_t i = 0; i < snap->stack_count && snap->births; i++) {
        const struct hs_estimate *live = &snap->stacks[i].live;
        struct hs_estimate sum = { 0 };
        uint32_t next = 0;
        for (; at < snap->birth_count && snap->births[at].stack_id == i; at++) {
            if (snap->births[at].window < next || snap->births[at].window > HS_BIRTH_WINDOWS) {
                return false;
            }
            next = snap->births[at].window + 1;
            hs_estimate_add(&sum, &snap->births[at].amount);
        }
        if (!is_near(sum.bytes, live->bytes) || !is_near(sum.count, live->count)) {
            return false;
        }
    }
    return !snap->births || at == snap->birth_count;
}

bool hs_snapshot_is_valid(const struct hs_snapshot *snap)
{
    for (uint32_t i = 0; i < snap->stack_count; i++) {
        const struct hs_snap_stack *stack = &snap->stacks[i];
        if (stack->live.bytes > stack->alloc.bytes || stack->live.count > stack->alloc.count) {
            return false;
        }
        if (stack->scope_id != 0 && stack->scope_id >= snap->scope_count) {
            return false;
        }
        for (uint32_t k = 0; k < stack->frame_count; k++) {
            if (stack->frame_ids[k] >= snap->frame_count) {
                return false;
            }
        }
    }
    for (uint32_t i = 0; i < snap->frame_count; i++) {
        const struct hs_snap_frame *frame = &snap->frames[i];
        bool is_named = (frame->flags & HS_FRAME_NAMED) != 0;
        if (frame->module_id >= snap->module_count ||
            (is_named && frame->pc >= snap->code_name_count)) {
            return false;
        }
    }
    return are_parts_valid(snap, HS_PARTS_LIVE) && are_parts_valid(snap, HS_PARTS_PEAK) &&
           are_births_valid(snap);
}

#endif
