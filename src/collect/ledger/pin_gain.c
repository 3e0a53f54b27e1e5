/*
 * Computes gains: see pin_gain.h.
 */
#include "collect/ledger/pin_gain.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "rt/base.h"
#include "util/page_sample.h"

#define SETS      (2U * HS_PIN_STACKS_MAX) /* the first one, two, ...; then each alone */
#define NOT_FREE  255U
#define PARTS_MAX 33U /* owners of a page: see pin_table.c */
/* Of M_TOP_PAD and M_TRIM_THRESHOLD: what the free end of an arena keeps, and how long it must be
 * for free() to give back the rest. */
#define TOP_PAD_BYTES  (128U << 10)
#define TOP_TRIM_BYTES (128U << 10)
/* With more pages than these, estimates are made from a part of them. */
#define ESTIMATED_PAGES_MAX 65536U

/* Of all pages that a set can free, as far as is known. */
struct set_sum {
    double sure_count; /* without strata; the others are of pages with strata */
    double page_count;
    double likely_count; /* with less than one chunk that stays, on average */
    double mid_count;
};

/* What a set has of a stratum. */
struct stratum_part {
    double bad_share;          /* of the chunks: those that the set does not free */
    double log_good;           /* log(1 - bad_share) */
    double chunk_count;        /* on the pages of set_sum */
    double likely_chunk_count; /* on the likely ones */
    double worst_page_count;   /* pages on which no other stratum has a higher bad_share */
    uint32_t most_count;       /* of the chunks on one page */
};

struct work {
    const struct hs_pin_table *table;
    const struct hs_used_chunks *chunks;
    struct hs_pin_gain *gain;
    uint8_t *ranks;       /* by owner: place in gain->owners + 1; NOT_FREE: no place */
    uint8_t *page_ranks;  /* by page: the first set that frees it; 0: nothing is there */
    uint8_t *page_alones; /* by page: the stack that frees it alone */
    struct set_sum sums[SETS];
    struct stratum_part *parts; /* by set and stratum */
    size_t stride;              /* one page with strata in so many is looked at */
    size_t strata_page_count;
};

/* --- which stacks ----------------------------------------------------------------------------- */

static void choose(struct work *work)
{
    const struct hs_pin_table *table = work->table;
    struct hs_pin_gain *gain = work->gain;
    for (uint32_t o = 1; o < table->stratum_first; o++) {
        double kept_bytes = table->owners[o].kept_bytes;
        uint32_t at = gain->owner_count;
        while (at > 0 && table->owners[gain->owners[at - 1]].kept_bytes < kept_bytes) {
            at--;
        }
        if (at >= HS_PIN_STACKS_MAX || kept_bytes < 1) {
            continue;
        }
        uint32_t count =
            gain->owner_count < HS_PIN_STACKS_MAX ? gain->owner_count + 1 : HS_PIN_STACKS_MAX;
        for (uint32_t i = count; i-- > at + 1;) {
            gain->owners[i] = gain->owners[i - 1];
        }
        gain->owners[at] = o;
        gain->owner_count = count;
    }
    for (size_t o = 0; o < table->owner_count; o++) {
        work->ranks[o] = NOT_FREE;
    }
    for (uint32_t i = 0; i < gain->owner_count; i++) {
        work->ranks[gain->owners[i]] = (uint8_t)(i + 1);
    }
}

/* --- strata ----------------------------------------------------------------------------------- */

static struct stratum_part *part_of(const struct work *work, size_t set, size_t stratum)
{
    return &work->parts[set * work->table->stratum_count + stratum];
}

/* The part of a stratum that was not recorded at all, because it is from before the recording. */
static double unrecorded_share(const struct work *work, const struct hs_pin_stratum *stratum)
{
    double count = (double)stratum->chunk_count;
    if (work->table->is_from_startup || stratum->weight >= count) {
        return 0;
    }
    double share = 1 - stratum->weight / count;
    return share > 2 * sqrt(stratum->weight_var) / count ? share : 0;
}

static void set_parts(struct work *work, size_t stratum_idx)
{
    const struct hs_pin_stratum *stratum = &work->table->strata[stratum_idx];
    double good[SETS] = { 0 };
    double recorded = 1 - unrecorded_share(work, stratum);
    for (size_t i = 0; i < stratum->share_count; i++) {
        const struct hs_pin_share *share = &work->table->shares[stratum->share_first + i];
        unsigned rank = work->ranks[share->owner];
        if (rank != NOT_FREE && stratum->weight > 0) {
            double part = recorded * share->weight / stratum->weight;
            good[HS_PIN_STACKS_MAX + rank - 1] = part;
            for (unsigned k = rank - 1; k < work->gain->owner_count; k++) {
                good[k] += part;
            }
        }
    }
    for (size_t t = 0; t < SETS; t++) {
        struct stratum_part *part = part_of(work, t, stratum_idx);
        part->bad_share = good[t] < 1 ? 1 - good[t] : 0;
        part->log_good = good[t] > 1e-9 ? log(good[t] < 1 ? good[t] : 1) : -1e9;
    }
}

/* --- pages ------------------------------------------------------------------------------------ */

/* What is known of a page. */
struct page_view {
    unsigned rank; /* of the last known stack; NOT_FREE: it is never freed */
    unsigned only; /* the known stack, if it is the only one; NOT_FREE: there are several */
    bool has_strata;
};

static struct page_view view_page(const struct work *work, const struct hs_pin_page *page)
{
    struct page_view view = { 0 };
    for (size_t i = 0; i < page->item_count; i++) {
        uint32_t owner = work->table->items[page->item_first + i].owner;
        if (hs_pin_is_stratum(work->table, owner)) {
            view.has_strata = true;
            continue;
        }
        unsigned rank = work->ranks[owner];
        if (rank == NOT_FREE) {
            return (struct page_view){ .rank = NOT_FREE, .only = NOT_FREE };
        }
        view.only = view.only == 0 ? rank : NOT_FREE;
        view.rank = rank > view.rank ? rank : view.rank;
    }
    return view;
}

/* Adds a page with strata to a set that frees what is known of it. Returns the probability that it
 * frees the page, as if chunks lay beside each other at random. */
static double add_to_set(struct work *work, size_t set, const struct hs_pin_page *page)
{
    double log_good = 0, bad_count = 0, weight = (double)work->stride;
    struct stratum_part *worst = NULL, *parts[PARTS_MAX];
    uint16_t counts[PARTS_MAX];
    size_t part_count = 0;
    for (size_t i = 0; i < page->item_count && part_count < PARTS_MAX; i++) {
        const struct hs_pin_item *item = &work->table->items[page->item_first + i];
        if (hs_pin_is_stratum(work->table, item->owner)) {
            struct stratum_part *part =
                part_of(work, set, item->owner - work->table->stratum_first);
            log_good += part->log_good * item->chunk_count;
            bad_count += part->bad_share * item->chunk_count;
            worst = !worst || part->bad_share > worst->bad_share ? part : worst;
            counts[part_count] = item->chunk_count;
            parts[part_count++] = part;
        }
    }
    bool is_likely = bad_count < 1;
    for (size_t i = 0; i < part_count; i++) {
        parts[i]->chunk_count += weight * counts[i];
        parts[i]->likely_chunk_count += is_likely ? weight * counts[i] : 0;
        parts[i]->most_count = counts[i] > parts[i]->most_count ? counts[i] : parts[i]->most_count;
    }
    if (worst) {
        worst->worst_page_count += weight;
    }
    double probability = log_good > -20 ? exp(log_good) : 0;
    work->sums[set].page_count += weight;
    work->sums[set].likely_count += is_likely ? weight : 0;
    work->sums[set].mid_count += weight * probability;
    return probability;
}

static void add_estimated(struct work *work, size_t idx, const struct page_view *view)
{
    const struct hs_pin_page *page = &work->table->pages[idx];
    work->page_ranks[idx] = work->page_alones[idx] = NOT_FREE;
    if (work->strata_page_count++ % work->stride != 0) {
        return;
    }
    for (unsigned k = work->gain->owner_count; k > 0 && k >= view->rank; k--) {
        if (add_to_set(work, k - 1, page) > 0.5) {
            work->page_ranks[idx] = (uint8_t)k;
        }
    }
    for (unsigned k = 1; k <= work->gain->owner_count; k++) {
        if ((view->only == 0 || view->only == k) &&
            add_to_set(work, HS_PIN_STACKS_MAX + k - 1, page) > 0.5) {
            work->page_alones[idx] = (uint8_t)k;
        }
    }
}

static void add_known(struct work *work, size_t idx, const struct page_view *view)
{
    work->page_ranks[idx] = (uint8_t)view->rank;
    work->page_alones[idx] = (uint8_t)view->only;
    if (view->rank == 0 || view->rank == NOT_FREE) {
        return;
    }
    for (unsigned k = view->rank; k <= work->gain->owner_count; k++) {
        work->sums[k - 1].sure_count++;
    }
    if (view->only != NOT_FREE) {
        work->sums[HS_PIN_STACKS_MAX + view->only - 1].sure_count++;
    }
}

static void add_pages(struct work *work)
{
    const struct hs_pin_table *table = work->table;
    work->stride = table->stratum_count > 0 ? table->page_count / ESTIMATED_PAGES_MAX + 1 : 1;
    for (size_t i = 0; i < table->page_count; i++) {
        struct page_view view = view_page(work, &table->pages[i]);
        if (view.has_strata) {
            add_estimated(work, i, &view);
        } else {
            add_known(work, i, &view);
        }
    }
}

/* --- the free ends of arenas ------------------------------------------------------------------ */

static bool is_freed(const struct work *work, size_t set, size_t page)
{
    return set < HS_PIN_STACKS_MAX ? work->page_ranks[page] <= set + 1
                                   : work->page_alones[page] == 0 ||
                                         work->page_alones[page] == set - HS_PIN_STACKS_MAX + 1;
}

static bool is_merged_at_once(const struct work *work, size_t set)
{
    bool is_alone = set >= HS_PIN_STACKS_MAX;
    size_t last = is_alone ? set - HS_PIN_STACKS_MAX : set;
    bool is_any = false;
    for (size_t i = is_alone ? last : 0; i <= last; i++) {
        is_any |= work->table->owners[work->gain->owners[i]].is_merged_at_once;
    }
    return is_any;
}

/* How many more pages than were counted a set gives back at the end of an arena; below 0: fewer. */
static double correct_end(const struct work *work, size_t piece_idx, size_t set)
{
    const struct hs_pin_table *table = work->table;
    const struct hs_used_piece *piece = &work->chunks->pieces[piece_idx];
    size_t first = table->piece_first[piece_idx], end = table->piece_first[piece_idx + 1];
    size_t page = end, counted = 0, returned = 0;
    while (page > first && is_freed(work, set, page - 1)) {
        page--;
        counted += table->pages[page].item_count > 0;
    }
    if (counted == 0) {
        return 0;
    }
    if (page == first && !piece->is_first) {
        return (double)(end - first) - (double)counted;
    }
    uint64_t top_va = table->pages[page].va;
    if (is_merged_at_once(work, set) && piece->end_va - top_va >= TOP_TRIM_BYTES) {
        for (size_t i = end; i > page && table->pages[i - 1].va > top_va + TOP_PAD_BYTES; i--) {
            returned++;
        }
    }
    return (double)returned - (double)counted;
}

static double correct_ends(const struct work *work, size_t set)
{
    double pages = 0;
    for (size_t i = 0; i < work->chunks->piece_count; i++) {
        const struct hs_used_piece *piece = &work->chunks->pieces[i];
        if (!piece->is_main && piece->has_top) {
            pages += correct_end(work, i, set);
        }
    }
    return pages;
}

/* --- results ---------------------------------------------------------------------------------- */

/* The ends of an interval that contains a number of chunks with a probability of 95 %, when `count`
 * is expected and each sample stands for `weight`. Where no sample shows any, there can be 3 times
 * `weight`. */
static double number_low(double count, double weight)
{
    double low = count - 2 * sqrt(weight * count);
    return low > 0 ? low : 0;
}

static double number_high(double count, double weight)
{
    return count + 2 * sqrt(weight * count) + 3 * weight;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* Of the pages with strata that a set can free, it frees *ret_low at least and *ret_high at most,
 * in whichever order the chunks lie:
 *
 *   - Each chunk that stays keeps one of the likely pages, at worst, and no two the same.
 *   - At best, those that stay are together on the fullest pages. And each page that is freed has a
 *     chunk of its worst stratum that does not stay.
 *
 * What is uncertain is how many stay. */
static void bound(const struct work *work, size_t set, double *ret_low, double *ret_high)
{
    double bad = 0, bad_var = 0, most_weight = 0, kept = 0, kept_together = 0;
    for (size_t s = 0; s < work->table->stratum_count; s++) {
        const struct stratum_part *part = part_of(work, set, s);
        double count = work->table->strata[s].sample_count;
        if (count == 0 || part->chunk_count == 0) {
            bad += part->likely_chunk_count;
            continue;
        }
        double weight = part->chunk_count / count, likely = part->likely_chunk_count;
        double own = part->bad_share * part->chunk_count;
        double good = number_high(part->chunk_count - own, weight);
        bad += least(own, likely);
        bad_var += least(weight * own, likely * likely / 4);
        most_weight = fmax(most_weight, least(weight, likely / 3));
        kept += fmax(part->worst_page_count - good, 0);
        kept_together = fmax(kept_together, number_low(own, weight) / part->most_count);
    }
    *ret_low = work->sums[set].likely_count - bad - 2 * sqrt(bad_var) - 3 * most_weight;
    *ret_high = work->sums[set].page_count - fmax(kept, kept_together);
}

static uint64_t bytes_of(const struct work *work, double pages, uint64_t large_bytes)
{
    double bytes = pages > 0 ? pages * HS_PIN_PAGE_BYTES : 0;
    return (uint64_t)(bytes * (double)(1U << work->table->page_shift)) + large_bytes;
}

static struct hs_pin_estimate estimate(const struct work *work, size_t set, uint64_t large_bytes)
{
    const struct set_sum *sum = &work->sums[set];
    double low, high, end = correct_ends(work, set);
    bound(work, set, &low, &high);
    low = low > 0 ? low : 0;
    double mid = sum->mid_count < low ? low : sum->mid_count > high ? high : sum->mid_count;
    double sure = sum->sure_count + end;
    /* A sample of pages has an error of its own. At worst, all pages of a cluster are alike. */
    double clusters = (sure + mid) / HS_PAGE_SAMPLE_CLUSTER_PAGES;
    double sampled = work->table->page_shift > 0
                         ? 2 * HS_PAGE_SAMPLE_CLUSTER_PAGES * sqrt(clusters > 1 ? clusters : 1)
                         : 0;
    return (struct hs_pin_estimate){
        .bytes = bytes_of(work, sure + mid, large_bytes),
        .low_bytes = bytes_of(work, sure + low - sampled, large_bytes),
        .high_bytes = bytes_of(work, sure + high + sampled, large_bytes),
    };
}

static void fill_gain(struct work *work)
{
    struct hs_pin_gain *gain = work->gain;
    uint64_t large_bytes = 0;
    for (uint32_t i = 0; i < gain->owner_count; i++) {
        uint64_t own_bytes = work->table->owners[gain->owners[i]].large_bytes;
        large_bytes += own_bytes;
        gain->sets[i] = estimate(work, i, large_bytes);
        gain->alone[i] = estimate(work, HS_PIN_STACKS_MAX + i, own_bytes);
    }
}

int hs_pin_gain_find(const struct hs_pin_table *table, const struct hs_used_chunks *chunks,
                     struct hs_pin_gain *ret_gain)
{
    struct work work = { .table = table, .chunks = chunks, .gain = ret_gain };
    *ret_gain = (struct hs_pin_gain){ 0 };
    work.ranks = malloc(table->owner_count + 1);
    work.page_ranks = calloc(table->page_count + 1, 1);
    work.page_alones = calloc(table->page_count + 1, 1);
    work.parts = calloc(SETS * table->stratum_count + 1, sizeof(work.parts[0]));
    int r = work.ranks && work.page_ranks && work.page_alones && work.parts ? 0 : -ENOMEM;
    if (r == 0) {
        choose(&work);
        for (size_t s = 0; s < table->stratum_count; s++) {
            set_parts(&work, s);
        }
        add_pages(&work);
        fill_gain(&work);
    }
    free(work.ranks);
    free(work.page_ranks);
    free(work.page_alones);
    free(work.parts);
    return r;
}
