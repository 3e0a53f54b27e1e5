/*
 * Adds up lifetimes by stack: see lifetime_sums.h.
 *
 * The samples of a dump, its lifetimes and its parts (which have the ages of what lives) are all in
 * the order of nodes and heaps, so one pass over them finds what belongs together.
 */
#include "profile/analyse/lifetime_sums.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "profile/model/dump_heaps.h"
#include "profile/model/margin.h"
#include "util/array.h"

#define Z 1.96
/* The age class that lifetimes of at least a second begin with. */
#define FIRST_AGE 1U

_Static_assert(HS_LIFETIME_KNOWN - 3 + FIRST_AGE == HS_AGE_CLASSES, "classes from 1 s on agree");

const char *const hs_survival_time_names[HS_SURVIVAL_TIMES] = { "1s", "1min", "1h" };
/* Indexes of hs_age_from_ms. */
static const unsigned survival_classes[HS_SURVIVAL_TIMES] = { 1, 3, 5 };

struct summing {
    const struct hs_selection *selection;
    uint32_t class_count; /* of temporary blocks, that are asked for */
    struct hs_lifetime_sums *sums;
    size_t capacity;
};

bool hs_between_is_known(uint64_t between_count)
{
    return between_count <= HS_BETWEEN_MAX && (between_count & (between_count + 1)) == 0;
}

bool hs_lifetimes_are_there(const struct hs_selection *selection)
{
    for (uint32_t d = 0; d < selection->dump_count; d++) {
        if (selection->profile->dumps[selection->dumps[d]].has_lifetimes) {
            return true;
        }
    }
    return false;
}

bool hs_lifetimes_are_exact(const struct hs_selection *selection)
{
    for (uint32_t d = 0; d < selection->dump_count; d++) {
        const struct hs_profile_dump *dump = &selection->profile->dumps[selection->dumps[d]];
        if (dump->has_lifetimes && hs_dump_widest_bytes(dump) > 1) {
            return false;
        }
    }
    return true;
}

/* --- adding up -------------------------------------------------------------------------------- */

static struct hs_amount amount_of(const struct hs_profile *p, const struct hs_profile_dump *dump,
                                  const struct hs_profile_lifetime *sum)
{
    const struct hs_profile_dump_heap *heap = hs_profile_dump_heap(p, dump, sum->heap);
    uint64_t widest_bytes = heap ? heap->interval_widest_bytes : hs_dump_widest_bytes(dump);
    uint64_t narrowest_bytes =
        heap && heap->interval_bytes > 0 ? heap->interval_bytes : dump->interval_bytes;
    struct hs_amount amount = { .bytes = sum->bytes,
                                .count = sum->count,
                                .bytes_var = sum->bytes_var,
                                .count_var = sum->count_var };
    hs_margin_split(&amount, narrowest_bytes);
    hs_amount_widen(&amount, (float)widest_bytes);
    return amount;
}

static void add_lifetime(const struct summing *summing, const struct hs_profile_dump *dump,
                         struct hs_lifetime_row *row, const struct hs_profile_lifetime *sum)
{
    if (sum->what == HS_LIFETIME_SUM_TIMES) {
        row->byte_ms += sum->bytes;
        row->count_ms += sum->count;
        row->count_ms_cov += sum->bytes_var;
        row->count_ms_var += sum->count_var;
        return;
    }
    struct hs_amount amount = amount_of(summing->selection->profile, dump, sum);
    if (sum->what >= HS_LIFETIME_SUM_TEMPORARY) {
        if (sum->what - HS_LIFETIME_SUM_TEMPORARY < summing->class_count) {
            hs_amount_add(&row->temporary, &amount);
        }
        return;
    }
    hs_amount_add(&row->freed, &amount);
    if (sum->what == HS_LIFETIME_SUM_UNKNOWN) {
        hs_amount_add(&row->unknown, &amount);
        return;
    }
    unsigned age_class = sum->what < 3 ? 0 : sum->what - 3 + FIRST_AGE;
    row->table.died[age_class] += sum->count;
    row->table.died_var[age_class] += sum->count_var;
}

static void add_age(struct hs_lifetime_row *row, const struct hs_profile_part *part)
{
    if (!part->is_others && part->age_class < HS_AGE_CLASSES) {
        row->table.alive[part->age_class] += part->amount.count;
        row->table.alive_var[part->age_class] += part->amount.count_var;
    }
}

static int add_dump(struct summing *summing, const struct hs_profile_dump *dump,
                    const uint32_t *sample_nodes)
{
    const struct hs_profile *p = summing->selection->profile;
    struct hs_lifetime_sums *sums = summing->sums;
    uint64_t at = dump->lifetime_first, end = at + dump->lifetimes_n;
    uint64_t part = dump->part_first[HS_PARTS_LIVE],
             parts_end = part + dump->parts_n[HS_PARTS_LIVE];
    for (uint32_t i = 0; i < dump->samples_n; i++) {
        const struct hs_profile_sample *sample = &p->samples[dump->sample_first + i];
        int r = hs_array_reserve(&sums->rows, &summing->capacity, (size_t)sums->count + 1,
                                 sizeof(sums->rows[0]));
        if (r < 0) {
            return r;
        }
        struct hs_lifetime_row *row = &sums->rows[sums->count++];
        *row = (struct hs_lifetime_row){ .node = sample_nodes[i], .alloc = sample->alloc };
        for (; at < end && hs_sample_order(p->lifetimes[at].node, p->lifetimes[at].heap,
                                           sample->node, sample->heap) < 0;
             at++) {
        }
        for (; at < end && hs_sample_order(p->lifetimes[at].node, p->lifetimes[at].heap,
                                           sample->node, sample->heap) == 0;
             at++) {
            add_lifetime(summing, dump, row, &p->lifetimes[at]);
        }
        for (; part < parts_end && hs_sample_order(p->parts[part].node, p->parts[part].heap,
                                                   sample->node, sample->heap) < 0;
             part++) {
        }
        for (; part < parts_end && hs_sample_order(p->parts[part].node, p->parts[part].heap,
                                                   sample->node, sample->heap) == 0;
             part++) {
            add_age(row, &p->parts[part]);
        }
    }
    return 0;
}

static void add_row(struct hs_lifetime_row *to, const struct hs_lifetime_row *more)
{
    hs_amount_add(&to->alloc, &more->alloc);
    hs_amount_add(&to->freed, &more->freed);
    hs_amount_add(&to->temporary, &more->temporary);
    hs_amount_add(&to->unknown, &more->unknown);
    to->byte_ms += more->byte_ms;
    to->count_ms += more->count_ms;
    to->count_ms_cov += more->count_ms_cov;
    to->count_ms_var += more->count_ms_var;
    for (unsigned i = 0; i < HS_AGE_CLASSES; i++) {
        to->table.died[i] += more->table.died[i];
        to->table.died_var[i] += more->table.died_var[i];
        to->table.alive[i] += more->table.alive[i];
        to->table.alive_var[i] += more->table.alive_var[i];
    }
}

static int compare_nodes(const void *a, const void *b)
{
    uint32_t left = ((const struct hs_lifetime_row *)a)->node;
    uint32_t right = ((const struct hs_lifetime_row *)b)->node;
    return (left > right) - (left < right);
}

static int compare_freed(const void *a, const void *b)
{
    const struct hs_lifetime_row *left = a, *right = b;
    return left->freed.count != right->freed.count
               ? (left->freed.count > right->freed.count ? -1 : 1)
               : compare_nodes(a, b);
}

static void merge(void *sum, void *item)
{
    add_row(sum, item);
}

int hs_lifetime_sums_build(const struct hs_selection *selection, const struct hs_agg *agg,
                           uint32_t between_count, struct hs_lifetime_sums *ret_sums)
{
    *ret_sums = (struct hs_lifetime_sums){ .total = { .node = HS_NODE_NONE } };
    struct summing summing = { .selection = selection, .sums = ret_sums };
    for (uint32_t n = between_count; n > 0; n >>= 1) {
        summing.class_count++;
    }
    summing.class_count++;
    size_t before = 0;
    int r = hs_lifetimes_are_there(selection) ? 0 : -ENODATA;
    for (uint32_t d = 0; d < selection->dump_count && r == 0; d++) {
        const struct hs_profile_dump *dump = &selection->profile->dumps[selection->dumps[d]];
        if (dump->has_lifetimes) {
            r = add_dump(&summing, dump, &agg->sample_nodes[before]);
        }
        before += dump->samples_n;
    }
    if (r < 0) {
        hs_lifetime_sums_deinit(ret_sums);
        return r;
    }
    ret_sums->count = (uint32_t)hs_array_merge(ret_sums->rows, ret_sums->count,
                                               sizeof(ret_sums->rows[0]), compare_nodes, merge);
    for (uint32_t i = 0; i < ret_sums->count; i++) {
        add_row(&ret_sums->total, &ret_sums->rows[i]);
    }
    if (ret_sums->count > 0) {
        qsort(ret_sums->rows, ret_sums->count, sizeof(ret_sums->rows[0]), compare_freed);
    }
    return 0;
}

void hs_lifetime_sums_deinit(struct hs_lifetime_sums *sums)
{
    free(sums->rows);
    sums->rows = NULL;
    sums->count = 0;
}

/* --- figures ---------------------------------------------------------------------------------- */

struct hs_mean_lifetime hs_lifetime_mean(const struct hs_lifetime_row *row)
{
    double count = row->freed.count - row->unknown.count;
    double count_var = row->freed.count_var - row->unknown.count_var;
    if (count <= 0) {
        return (struct hs_mean_lifetime){ .is_known = false };
    }
    double mean_ms = row->count_ms / count;
    /* The variance of a ratio of two sums over the same samples. */
    double var = (row->count_ms_var - 2 * mean_ms * row->count_ms_cov +
                  mean_ms * mean_ms * fmax(0, count_var)) /
                 (count * count);
    double margin_ms = Z * sqrt(fmax(0, var)) + HS_LIFETIME_RESOLUTION_MS;
    return (struct hs_mean_lifetime){ .is_known = true,
                                      .mean_ms = mean_ms,
                                      .low_ms = fmax(0, mean_ms - margin_ms),
                                      .high_ms = mean_ms + margin_ms };
}

struct hs_survival hs_lifetime_survival(const struct hs_lifetime_row *row,
                                        enum hs_survival_time time)
{
    return hs_survival_at(&row->table, survival_classes[time]);
}
