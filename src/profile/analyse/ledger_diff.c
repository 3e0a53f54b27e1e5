/*
 * Compares ledgers: see ledger_diff.h.
 */
#include "profile/analyse/ledger_diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

static uint64_t measure(const struct hs_ledger_diff *diff, const struct hs_ledger_sum *sum)
{
    return diff->is_pss ? sum->pss_bytes : sum->rss_bytes;
}

static void set_delta(struct hs_ledger_change *change)
{
    change->delta_bytes =
        (double)change->bytes[HS_DIFF_AFTER] - (double)change->bytes[HS_DIFF_BEFORE];
}

static int compare_names(const void *a, const void *b)
{
    const struct hs_ledger_change *x = a, *y = b;
    return x->kind != y->kind ? (x->kind < y->kind ? -1 : 1) : strcmp(x->name, y->name);
}

static int compare_changes(const void *a, const void *b)
{
    const struct hs_ledger_change *x = a, *y = b;
    enum hs_ledger_part_kind part_x = hs_ledger_part_of(x->kind);
    enum hs_ledger_part_kind part_y = hs_ledger_part_of(y->kind);
    double of_x = fabs(x->delta_bytes), of_y = fabs(y->delta_bytes);
    if (part_x != part_y) {
        return part_x < part_y ? -1 : 1;
    }
    return of_x > of_y ? -1 : of_x < of_y ? 1 : compare_names(a, b);
}

static void put_lines(struct hs_ledger_diff *diff, const struct hs_profile *p, int side)
{
    for (uint32_t i = 0; i < diff->sums[side].line_count; i++) {
        const struct hs_ledger_sum *line = &diff->sums[side].lines[i];
        struct hs_ledger_change change = { .kind = line->kind,
                                           .name = hs_profile_string(p, line->name) };
        change.bytes[side] = measure(diff, line);
        diff->lines[diff->line_count++] = change;
    }
}

static void add_line(void *to, void *from)
{
    struct hs_ledger_change *sum = to, *line = from;
    for (int side = 0; side < HS_DIFF_SIDE_N; side++) {
        sum->bytes[side] += line->bytes[side];
    }
}

static void merge_lines(struct hs_ledger_diff *diff)
{
    diff->line_count = hs_array_merge(diff->lines, diff->line_count, sizeof(diff->lines[0]),
                                      compare_names, add_line);
    for (size_t i = 0; i < diff->line_count; i++) {
        set_delta(&diff->lines[i]);
    }
    qsort(diff->lines, diff->line_count, sizeof(diff->lines[0]), compare_changes);
}

static void sum_up(struct hs_ledger_diff *diff)
{
    for (int side = 0; side < HS_DIFF_SIDE_N; side++) {
        const struct hs_ledger_sums *sums = &diff->sums[side];
        diff->all.bytes[side] = measure(diff, &sums->all);
        diff->unexplained.bytes[side] = measure(diff, &sums->unexplained);
        for (uint32_t kind = 0; kind < HS_LEDGER_KIND_N; kind++) {
            uint64_t bytes = measure(diff, &sums->kinds[kind]);
            diff->kinds[kind].bytes[side] = bytes;
            diff->parts[hs_ledger_part_of(kind)].bytes[side] += bytes;
        }
    }
    set_delta(&diff->all);
    set_delta(&diff->unexplained);
    for (uint32_t kind = 0; kind < HS_LEDGER_KIND_N; kind++) {
        diff->kinds[kind].kind = kind;
        diff->kinds[kind].name = "";
        set_delta(&diff->kinds[kind]);
    }
    for (uint32_t part = 0; part < HS_LEDGER_PARTS; part++) {
        diff->parts[part].kind = part;
        diff->parts[part].name = "";
        set_delta(&diff->parts[part]);
    }
}

int hs_ledger_diff_build(const struct hs_selection *before, const struct hs_selection *after,
                         struct hs_ledger_diff *ret_diff)
{
    const struct hs_selection *selections[HS_DIFF_SIDE_N] = { before, after };
    struct hs_ledger_diff diff = { .is_known = true, .is_whole = true };
    size_t line_count = 0;
    for (int side = 0; side < HS_DIFF_SIDE_N; side++) {
        struct hs_ledger_sums *sums = &diff.sums[side];
        if (hs_ledger_sums_of(selections[side], false, sums) < 0) {
            hs_ledger_diff_deinit(&diff);
            return -ENOMEM;
        }
        diff.is_known &= sums->process_count > 0;
        diff.is_whole &= sums->process_count > 0 && sums->missing_count == 0;
        diff.is_pss |= sums->process_count > 1;
        line_count += sums->line_count;
    }
    diff.lines = calloc(line_count + 1, sizeof(diff.lines[0]));
    if (!diff.lines) {
        hs_ledger_diff_deinit(&diff);
        return -ENOMEM;
    }
    for (int side = 0; side < HS_DIFF_SIDE_N; side++) {
        put_lines(&diff, selections[side]->profile, side);
    }
    merge_lines(&diff);
    sum_up(&diff);
    *ret_diff = diff;
    return 0;
}

void hs_ledger_diff_deinit(struct hs_ledger_diff *diff)
{
    for (int side = 0; side < HS_DIFF_SIDE_N; side++) {
        hs_ledger_sums_deinit(&diff->sums[side]);
    }
    free(diff->lines);
    *diff = (struct hs_ledger_diff){ 0 };
}
