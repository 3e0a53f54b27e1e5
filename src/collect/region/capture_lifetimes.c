/*
 * Reads the section LIFETIMES: see capture_lifetimes.h.
 */
#include "collect/region/capture_lifetimes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collect/region/record_scan.h"
#include "collect/region/stack_totals.h"
#include "rt/atomic.h"
#include "rt/check.h"
#include "util/array.h"

#define ELEMENTS_AT_ONCE 64U
/* A bound for sums of times: a week of 2^63 bytes. */
#define SUM_MAX 1e30

bool hs_capture_has_lifetimes(const struct hs_region *region)
{
    const struct hs_section_v1 *section = hs_region_section_of(region, HS_SECTION_LIFETIMES);
    return section->max_count > 0 &&
           (section->count > 0 ||
            (hs_load_relaxed(&region->control->flags) & HS_CONTROL_LIFETIMES) != 0);
}

/* --- copies ----------------------------------------------------------------------------------- */

void hs_lifetime_copy_deinit(struct hs_lifetime_copy *copy)
{
    free(copy->stack_ids);
    free(copy->totals);
    *copy = (struct hs_lifetime_copy){ 0 };
}

static bool is_empty(const struct hs_lifetime_totals_v2 *totals)
{
    static const struct hs_lifetime_totals_v2 empty;
    return memcmp(totals, &empty, sizeof(empty)) == 0;
}

static int append(struct hs_lifetime_copy *copy, uint32_t stack_id,
                  const struct hs_lifetime_totals_v2 *totals)
{
    int r = hs_array_reserve(&copy->stack_ids, &copy->id_capacity, copy->count + 1,
                             sizeof(copy->stack_ids[0]));
    if (r == 0) {
        r = hs_array_reserve(&copy->totals, &copy->totals_capacity, copy->count + 1,
                             sizeof(copy->totals[0]));
    }
    if (r == 0) {
        copy->stack_ids[copy->count] = stack_id;
        copy->totals[copy->count++] = *totals;
    }
    return r;
}

int hs_lifetime_copy_read(const struct hs_region *region, unsigned parity,
                          struct hs_lifetime_copy *copy)
{
    uint64_t count = hs_region_count(region, HS_SECTION_LIFETIMES);
    /* There is one for each stack; an honest client has no more. */
    uint64_t stacks = hs_region_count(region, HS_SECTION_STACKS);
    count = count < stacks ? count : stacks;
    copy->count = 0;
    struct hs_lifetimes_v2 *elements =
        count > 0 ? malloc(ELEMENTS_AT_ONCE * sizeof(*elements)) : NULL;
    int r = count > 0 && !elements ? -ENOMEM : 0;
    for (uint64_t i = 0; i < count && r == 0; i += ELEMENTS_AT_ONCE) {
        uint64_t n = count - i < ELEMENTS_AT_ONCE ? count - i : ELEMENTS_AT_ONCE;
        r = hs_region_read(region, HS_SECTION_LIFETIMES, i, n, elements);
        for (uint64_t k = 0; k < n && r == 0; k++) {
            if (!is_empty(&elements[k].totals[parity])) {
                r = append(copy, (uint32_t)(i + k), &elements[k].totals[parity]);
            }
        }
    }
    free(elements);
    return r;
}

static bool is_left_out(const struct hs_lifetime_choice *choice, uint32_t stack_id)
{
    return choice->carved_heaps && choice->carved_heaps[stack_id] == HS_SCAN_LEFT_OUT;
}

/* --- sums ------------------------------------------------------------------------------------- */

/* A sum that the target has written. */
static double real(uint64_t bits)
{
    double sum = hs_double_of_bits(bits);
    return isfinite(sum) && fabs(sum) <= SUM_MAX ? sum : 0;
}

static uint64_t add_real(uint64_t bits, uint64_t more)
{
    return hs_double_bits(real(bits) + real(more));
}

static void add_totals(struct hs_totals_v1 *to, const struct hs_totals_v1 *more)
{
    to->exact_bytes += more->exact_bytes;
    to->exact_count += more->exact_count;
    to->sampled_bytes += more->sampled_bytes;
    to->sampled_count_fx += more->sampled_count_fx;
    to->sampled_count_var = add_real(to->sampled_count_var, more->sampled_count_var);
}

static void add_lifetimes(struct hs_lifetime_totals_v2 *to,
                          const struct hs_lifetime_totals_v2 *more)
{
    for (unsigned i = 0; i < HS_LIFETIME_CLASSES; i++) {
        add_totals(&to->by_lifetime[i], &more->by_lifetime[i]);
    }
    for (unsigned i = 0; i < HS_TEMPORARY_CLASSES; i++) {
        add_totals(&to->temporary[i], &more->temporary[i]);
    }
    to->byte_ms = add_real(to->byte_ms, more->byte_ms);
    to->count_ms = add_real(to->count_ms, more->count_ms);
    to->count_ms_cov = add_real(to->count_ms_cov, more->count_ms_cov);
    to->count_ms_var = add_real(to->count_ms_var, more->count_ms_var);
}

/* A sum below 0 (a block that was put back is subtracted before its own sum is seen) is none. */
static uint64_t not_negative(uint64_t sum)
{
    return (int64_t)sum < 0 ? 0 : sum;
}

static struct hs_estimate estimate(const struct hs_totals_v1 *from, uint64_t widest_bytes)
{
    struct hs_totals_v1 totals = {
        .exact_bytes = not_negative(from->exact_bytes),
        .exact_count = not_negative(from->exact_count),
        .sampled_bytes = not_negative(from->sampled_bytes),
        .sampled_count_fx = not_negative(from->sampled_count_fx),
        .sampled_count_var = from->sampled_count_var,
    };
    return hs_totals_estimate(&totals, widest_bytes);
}

static double positive(uint64_t bits)
{
    double sum = real(bits);
    return sum > 0 ? sum : 0;
}

static struct hs_estimate freed_of(const struct hs_snap_lifetimes *lifetimes)
{
    struct hs_estimate sum = { 0 };
    for (unsigned i = 0; i < HS_LIFETIME_CLASSES; i++) {
        hs_estimate_add(&sum, &lifetimes->by_lifetime[i]);
    }
    return sum;
}

static void fill_in(struct hs_snap_stack *stack, const struct hs_lifetime_totals_v2 *totals,
                    uint64_t widest_bytes, struct hs_snap_lifetimes *out)
{
    for (unsigned i = 0; i < HS_LIFETIME_CLASSES; i++) {
        out->by_lifetime[i] = estimate(&totals->by_lifetime[i], widest_bytes);
    }
    for (unsigned i = 0; i < HS_TEMPORARY_CLASSES; i++) {
        out->temporary[i] = estimate(&totals->temporary[i], widest_bytes);
    }
    out->byte_ms = positive(totals->byte_ms);
    out->count_ms = positive(totals->count_ms);
    out->count_ms_cov = positive(totals->count_ms_cov);
    out->count_ms_var = positive(totals->count_ms_var);
    struct hs_estimate least = freed_of(out);
    hs_estimate_add(&least, &stack->live);
    stack->alloc.bytes = stack->alloc.bytes > least.bytes ? stack->alloc.bytes : least.bytes;
    stack->alloc.count = stack->alloc.count > least.count ? stack->alloc.count : least.count;
}

int hs_capture_lifetimes(const struct hs_lifetime_copy *before,
                         const struct hs_lifetime_copy *after,
                         const struct hs_lifetime_choice *choice, struct hs_snapshot *snap)
{
    size_t at[2] = { 0 };
    const struct hs_lifetime_copy *const copies[2] = { before, after };
    snap->lifetimes = calloc(before->count + after->count + 1, sizeof(snap->lifetimes[0]));
    if (!snap->lifetimes) {
        return -ENOMEM;
    }
    while (at[0] < before->count || at[1] < after->count) {
        struct hs_lifetime_totals_v2 totals = { .byte_ms = 0 };
        uint32_t id = UINT32_MAX;
        for (unsigned i = 0; i < 2; i++) {
            if (at[i] < copies[i]->count && copies[i]->stack_ids[at[i]] < id) {
                id = copies[i]->stack_ids[at[i]];
            }
        }
        for (unsigned i = 0; i < 2; i++) {
            if (at[i] < copies[i]->count && copies[i]->stack_ids[at[i]] == id) {
                add_lifetimes(&totals, &copies[i]->totals[at[i]++]);
            }
        }
        if (id < snap->stack_count && !is_left_out(choice, id)) {
            struct hs_snap_lifetimes *out = &snap->lifetimes[snap->lifetime_count++];
            struct hs_snap_stack *stack = &snap->stacks[id];
            out->stack_id = id;
            fill_in(stack, &totals, choice->widest_bytes[stack->heap_id], out);
        }
    }
    snap->has_lifetimes = true;
    return 0;
}

/* --- the rest --------------------------------------------------------------------------------- */

static double above(double value, double part)
{
    return value > part ? value - part : 0;
}

/* Adds what is missing to the class of unknown lifetimes. */
static void add_rest(const struct hs_snap_stack *stack, struct hs_snap_lifetimes *lifetimes)
{
    struct hs_estimate freed = freed_of(lifetimes);
    struct hs_estimate rest = {
        .bytes = above(stack->alloc.bytes, stack->live.bytes + freed.bytes),
        .count = above(stack->alloc.count, stack->live.count + freed.count),
        .bytes_var = above(stack->alloc.bytes_var, stack->live.bytes_var + freed.bytes_var),
        .count_var = above(stack->alloc.count_var, stack->live.count_var + freed.count_var),
    };
    /* The counts of samples are rounded differently in the region and in the scan. */
    if (rest.bytes > 0 || stack->alloc.count_var <= 0) {
        hs_estimate_add(&lifetimes->by_lifetime[HS_LIFETIME_UNKNOWN], &rest);
    }
}

static bool has_freed(const struct hs_snap_stack *stack)
{
    return stack->alloc.bytes > stack->live.bytes || stack->alloc.count > stack->live.count;
}

int hs_capture_lifetimes_rest(struct hs_snapshot *snap)
{
    size_t room = snap->lifetime_count + 1, count = 0, at = 0;
    for (uint32_t i = 0; i < snap->stack_count; i++) {
        room += has_freed(&snap->stacks[i]);
    }
    struct hs_snap_lifetimes *all = calloc(room, sizeof(all[0]));
    if (!all) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < snap->stack_count; i++) {
        bool is_there = at < snap->lifetime_count && snap->lifetimes[at].stack_id == i;
        if (is_there || has_freed(&snap->stacks[i])) {
            struct hs_snap_lifetimes *out = &all[count++];
            *out = is_there ? snap->lifetimes[at++] : (struct hs_snap_lifetimes){ .stack_id = i };
            add_rest(&snap->stacks[i], out);
        }
    }
    free(snap->lifetimes);
    snap->lifetimes = all;
    snap->lifetime_count = count;
    return 0;
}
