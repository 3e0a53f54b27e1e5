/*
 * See heap_sums.h.
 */
#include "profile/analyse/heap_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/buf.h"
#include "util/human.h"
#include "util/utf8.h"

/* Of more heaps, the text names this many, the largest. */
#define HEAPS_LISTED 9U

/* Sums of one heap: of the processes whose figures contain it, and of the others. */
static struct hs_heap_sum *sum_of(const struct hs_selection *s, struct hs_heap_sum *sums,
                                  uint32_t heap, bool is_counted)
{
    return &sums[is_counted ? heap : s->profile->heap_count + heap];
}

static void take_interval(struct hs_heap_sum *sum, const struct hs_profile_dump_heap *heap)
{
    if (heap->interval_bytes == 0) {
        return;
    }
    if (sum->interval_min_bytes == 0 || heap->interval_bytes < sum->interval_min_bytes) {
        sum->interval_min_bytes = heap->interval_bytes;
    }
    if (heap->interval_widest_bytes > sum->interval_max_bytes) {
        sum->interval_max_bytes = heap->interval_widest_bytes;
    }
}

/* Takes what a dump says of its heaps; their figures, too, if it has no samples. */
static void add_facts(const struct hs_selection *s, uint32_t i, struct hs_heap_sum *sums)
{
    const struct hs_profile *p = s->profile;
    const struct hs_profile_dump *dump = &p->dumps[s->dumps[i]];
    for (uint32_t k = 0; k < dump->heaps_n; k++) {
        const struct hs_profile_dump_heap *heap = &p->dump_heaps[dump->heap_first + k];
        struct hs_heap_sum *sum = sum_of(s, sums, heap->heap, heap->is_counted);
        if (!(heap->alloc.bytes + heap->live.bytes + heap->peak.bytes > 0)) {
            continue;
        }
        bool is_first = sum->interval_max_bytes == 0 && !sum->is_carved;
        sum->parent = is_first || sum->parent == heap->parent ? heap->parent : HS_PROFILE_NO_HEAP;
        sum->is_carved |= heap->is_carved;
        sum->is_inside |= heap->is_inside;
        sum->has_own_samples |= heap->has_own_samples;
        take_interval(sum, heap);
        hs_amount_widen(&sum->live, (float)heap->interval_widest_bytes);
        hs_amount_widen(&sum->alloc, (float)heap->interval_widest_bytes);
        hs_amount_widen(&sum->peak, (float)heap->interval_widest_bytes);
        if (!dump->has_samples) {
            hs_amount_add(&sum->live, &heap->live);
            hs_amount_add(&sum->alloc, &heap->alloc);
            hs_amount_add(&sum->peak, &heap->peak);
        }
    }
}

static void add_dump(const struct hs_selection *s, uint32_t i, struct hs_heap_sum *sums)
{
    const struct hs_profile *p = s->profile;
    const struct hs_profile_dump *dump = &p->dumps[s->dumps[i]];
    add_facts(s, i, sums);
    for (uint32_t k = 0; k < dump->samples_n + dump->aside_n; k++) {
        const struct hs_profile_sample *sample = &p->samples[dump->sample_first + k];
        struct hs_heap_sum *sum = sum_of(s, sums, sample->heap, k < dump->samples_n);
        struct hs_amount live = hs_selection_part(s, i, &sample->live, &sample->inherited);
        struct hs_amount alloc = hs_selection_part(s, i, &sample->alloc, &sample->inherited);
        struct hs_amount peak = hs_selection_part(s, i, &sample->peak, &sample->inherited);
        hs_amount_add(&sum->live, &live);
        hs_amount_add(&sum->alloc, &alloc);
        hs_amount_add(&sum->peak, &peak);
    }
}

int hs_heap_sums_of(const struct hs_selection *selection, struct hs_heap_sum **ret_sums,
                    uint32_t *ret_count)
{
    const struct hs_profile *p = selection->profile;
    struct hs_heap_sum *sums = calloc(2 * (size_t)p->heap_count + 1, sizeof(*sums));
    uint32_t count = 0;
    if (!sums) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < 2 * p->heap_count; i++) {
        sums[i].heap = i < p->heap_count ? i : i - p->heap_count;
        sums[i].name = p->heaps[sums[i].heap];
        sums[i].is_counted = i < p->heap_count;
        sums[i].parent = HS_PROFILE_NO_HEAP;
    }
    for (uint32_t i = 0; i < selection->dump_count; i++) {
        add_dump(selection, i, sums);
    }
    /* A process that was forked may have missed its parent's samples as well. */
    uint64_t family = selection->interval_max_bytes > 1
                          ? selection->sample_most_bytes / selection->interval_max_bytes
                          : 1;
    for (uint32_t i = 0; i < 2 * p->heap_count; i++) {
        if (sums[i].alloc.bytes + sums[i].live.bytes + sums[i].peak.bytes > 0) {
            struct hs_heap_sum *sum = &sums[count++];
            *sum = sums[i];
            /* Behind a figure of 0 there may be blocks that no sample hit. */
            float most_bytes = sum->interval_max_bytes > 0
                                   ? (float)sum->interval_max_bytes * (float)family
                                   : (float)selection->sample_most_bytes;
            hs_amount_widen(&sum->live, most_bytes);
            hs_amount_widen(&sum->alloc, most_bytes);
            hs_amount_widen(&sum->peak, most_bytes);
        }
    }
    *ret_sums = sums;
    *ret_count = count;
    return 0;
}

int hs_heap_sums_left_out(const struct hs_selection *selection, uint32_t **ret_heaps,
                          uint32_t *ret_count)
{
    const struct hs_profile *p = selection->profile;
    uint32_t count = 0, *heaps = calloc((size_t)p->heap_count + 1, sizeof(*heaps));
    if (!heaps) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < selection->dump_count; i++) {
        const struct hs_profile_dump *dump = &p->dumps[selection->dumps[i]];
        for (uint32_t k = 0; k < dump->heaps_n; k++) {
            const struct hs_profile_dump_heap *heap = &p->dump_heaps[dump->heap_first + k];
            heaps[heap->heap] |= heap->is_left_out;
        }
    }
    for (uint32_t i = 0; i < p->heap_count; i++) {
        if (heaps[i]) {
            heaps[count++] = i;
        }
    }
    *ret_heaps = heaps;
    *ret_count = count;
    return 0;
}

static void add_sum(struct hs_heap_sum *to, const struct hs_heap_sum *more)
{
    hs_amount_add(&to->live, &more->live);
    hs_amount_add(&to->alloc, &more->alloc);
    hs_amount_add(&to->peak, &more->peak);
}

bool hs_heap_sums_whole(const struct hs_heap_sum *sums, uint32_t count,
                        const struct hs_heap_sum *sum, struct hs_heap_sum *ret_whole)
{
    *ret_whole = (struct hs_heap_sum){ .heap = sum->parent, .parent = HS_PROFILE_NO_HEAP };
    for (uint32_t i = 0; i < count && sum->is_carved; i++) {
        bool is_part =
            sum->parent == HS_PROFILE_NO_HEAP ? !sums[i].is_carved : sums[i].heap == sum->parent;
        if (is_part) {
            ret_whole->name = sum->parent == HS_PROFILE_NO_HEAP ? 0 : sums[i].name;
            add_sum(ret_whole, &sums[i]);
        }
    }
    return sum->is_carved;
}

/* --- in words --- */

static void write_heap(const struct hs_selection *s, const struct hs_heap_sum *sum, bool is_first,
                       struct hs_buf *buf)
{
    char size[HS_HUMAN_BYTES];
    const char *name = hs_profile_string(s->profile, sum->name);
    name = name[0] ? name : "unknown";
    hs_utf8_write(buf, name, strlen(name));
    /* What is mapped need not be resident. */
    hs_buf_printf(buf, " (%s%s%s)", hs_human_bytes(size, sum->alloc.bytes),
                  is_first ? " allocated" : "",
                  strcmp(name, HS_PROFILE_HEAP_MMAP) == 0 ? ", resident or not" : "");
}

enum part { PART_COUNTED, PART_INSIDE, PART_LEFT_OUT, PART_N };

static enum part part_of(const struct hs_heap_sum *sum)
{
    return sum->is_counted ? PART_COUNTED : sum->is_inside ? PART_INSIDE : PART_LEFT_OUT;
}

/* The least that a heap must have allocated to be among those that are listed. */
static double least_listed(const struct hs_heap_sum *sums, uint32_t count, enum part part)
{
    double largest[HEAPS_LISTED + 1] = { 0 }; /* in descending order */
    for (uint32_t i = 0; i < count; i++) {
        double bytes = part_of(&sums[i]) == part ? sums[i].alloc.bytes : 0;
        for (uint32_t k = 0; k <= HEAPS_LISTED; k++) {
            if (bytes > largest[k]) {
                double smaller = largest[k];
                largest[k] = bytes;
                bytes = smaller;
            }
        }
    }
    return largest[HEAPS_LISTED - 1];
}

static void write_part(const struct hs_selection *s, const struct hs_heap_sum *sums, uint32_t count,
                       enum part part, struct hs_buf *buf)
{
    uint32_t in_part = 0, listed = 0;
    for (uint32_t i = 0; i < count; i++) {
        in_part += part_of(&sums[i]) == part;
    }
    double least_bytes = in_part > HEAPS_LISTED ? least_listed(sums, count, part) : 0;
    if (part == PART_COUNTED && in_part == 0) {
        hs_buf_str(buf, "nothing was allocated in the heaps that are counted");
    } else if (part == PART_COUNTED && in_part > 1) {
        hs_buf_printf(buf, "%u heaps are added up: ", in_part);
    } else if (part == PART_COUNTED) {
        hs_buf_str(buf, "only the heap ");
    } else if (in_part > 0) {
        hs_buf_str(buf, part == PART_INSIDE ? "; " : "; left out: ");
    }
    for (uint32_t i = 0; i < count && (in_part <= HEAPS_LISTED || listed < HEAPS_LISTED); i++) {
        if (part_of(&sums[i]) == part && sums[i].alloc.bytes >= least_bytes) {
            hs_buf_str(buf, listed == 0 ? "" : ", ");
            write_heap(s, &sums[i], part == PART_COUNTED && listed == 0, buf);
            listed++;
        }
    }
    if (listed < in_part) {
        hs_buf_printf(buf, " and %u smaller ones", in_part - listed);
    }
    if (part == PART_COUNTED && in_part == 1) {
        hs_buf_str(buf, " is counted");
    } else if (part == PART_INSIDE && in_part > 0) {
        hs_buf_str(buf, in_part == 1 ? " lies inside and is not added"
                                     : " lie inside and are not added");
    }
}

static void write_left_out(const struct hs_profile *p, const uint32_t *heaps, uint32_t count,
                           struct hs_buf *buf)
{
    uint32_t listed = count > HEAPS_LISTED + 1 ? HEAPS_LISTED : count;
    for (uint32_t i = 0; i < listed; i++) {
        const char *name = hs_profile_string(p, p->heaps[heaps[i]]);
        hs_buf_str(buf, i == 0 ? "; not recorded: " : i + 1 == count ? " and " : ", ");
        hs_utf8_write(buf, name, strlen(name));
    }
    if (listed < count) {
        hs_buf_printf(buf, " and %u more", count - listed);
    }
}

uint32_t hs_heap_sums_describe(const struct hs_selection *selection, struct hs_buf *buf)
{
    struct hs_heap_sum *sums = NULL;
    uint32_t *left_out = NULL;
    uint32_t count = 0, left_out_count = 0;
    int err = hs_heap_sums_of(selection, &sums, &count);
    err = err ? err : hs_heap_sums_left_out(selection, &left_out, &left_out_count);
    bool is_several = count + left_out_count > 1;
    for (int part = 0; part < PART_N && is_several && err == 0; part++) {
        write_part(selection, sums, count, (enum part)part, buf);
    }
    if (count > 1 && selection->is_peak_of_heaps) {
        hs_buf_str(buf, "; carved heaps have their peaks at times of their own");
    }
    if (is_several && err == 0) {
        write_left_out(selection->profile, left_out, left_out_count, buf);
    }
    free(sums);
    free(left_out);
    buf->err = buf->err ? buf->err : err;
    return err < 0 ? 0 : count + left_out_count;
}

void hs_heap_sums_describe_process(const struct hs_profile *profile, uint32_t process,
                                   struct hs_buf *buf)
{
    struct hs_selection selection;
    uint32_t dump = profile->processes[process].last_dump;
    if (dump >= profile->dump_count) {
        return;
    }
    int err = hs_select_dump(profile, dump, &selection);
    if (err < 0) {
        buf->err = buf->err ? buf->err : err;
        return;
    }
    hs_heap_sums_describe(&selection, buf);
    hs_selection_deinit(&selection);
}

void hs_heap_sums_group(const struct hs_selection *selection, uint32_t *group_of,
                        uint32_t names[HS_HEAPS_APART_MAX + 1], uint32_t *ret_group_count)
{
    const struct hs_profile *p = selection->profile;
    uint32_t count = 1;
    memset(group_of, 0, p->heap_count * sizeof(*group_of));
    names[0] = 0;
    for (uint32_t d = 0; d < selection->dump_count; d++) {
        const struct hs_profile_dump *dump = &p->dumps[selection->dumps[d]];
        for (uint32_t i = 0; i < dump->samples_n; i++) {
            /* marks a heap with samples */
            group_of[p->samples[dump->sample_first + i].heap] = UINT32_MAX;
        }
    }
    for (uint32_t i = 0; i < p->heap_count; i++) {
        bool is_apart = group_of[i] != 0 &&
                        strcmp(hs_profile_string(p, p->heaps[i]), HS_PROFILE_HEAP_MALLOC) != 0;
        if (!is_apart) {
            group_of[i] = 0;
        } else if (count < HS_HEAPS_APART_MAX) {
            group_of[i] = count;
            names[count++] = p->heaps[i];
        } else {
            group_of[i] = HS_HEAPS_APART_MAX;
            names[HS_HEAPS_APART_MAX] = HS_HEAP_NAME_OTHERS;
            count = HS_HEAPS_APART_MAX + 1;
        }
    }
    *ret_group_count = count;
}

void hs_heap_sums_write_frame(const struct hs_profile *profile, uint32_t name, struct hs_buf *buf)
{
    if (name == HS_HEAP_NAME_OTHERS) {
        hs_buf_str(buf, "[other heaps]");
    } else {
        hs_buf_printf(buf, "[heap %s]", hs_profile_string(profile, name));
    }
}
