/*
 * Adds up ledgers: see ledger_sums.h.
 */
#include "profile/analyse/ledger_sums.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "util/array.h"

static void add(struct hs_ledger_sum *sum, const struct hs_ledger_sum *line)
{
    sum->count += line->count;
    sum->size_bytes += line->size_bytes;
    sum->rss_bytes += line->rss_bytes;
    sum->pss_bytes += line->pss_bytes;
    sum->swap_bytes += line->swap_bytes;
    hs_ledger_blocks_add(&sum->blocks, &line->blocks);
    sum->rss_margin_bytes = hypot(sum->rss_margin_bytes, line->rss_margin_bytes);
}

static void add_line(void *sum, void *line)
{
    add(sum, line);
}

static struct hs_ledger_sum sum_of(const struct hs_profile_ledger_line *line)
{
    return (struct hs_ledger_sum){
        .kind = line->kind < HS_LEDGER_KIND_N ? line->kind : HS_LEDGER_UNKNOWN,
        .name = line->name,
        .count = line->count,
        .size_bytes = line->size_bytes,
        .rss_bytes = line->rss_bytes,
        .pss_bytes = line->pss_bytes,
        .swap_bytes = line->swap_bytes,
        .blocks = line->blocks,
        .rss_margin_bytes = (double)line->rss_margin_bytes,
    };
}

static int compare_lines(const void *a, const void *b)
{
    const struct hs_ledger_sum *x = a, *y = b;
    if (x->kind != y->kind) {
        return x->kind < y->kind ? -1 : 1;
    }
    return x->name < y->name ? -1 : x->name > y->name;
}

static int compare_sums(const void *a, const void *b, void *ctx)
{
    const struct hs_ledger_sum *x = a, *y = b;
    uint64_t of_x = hs_ledger_sums_measure(ctx, x), of_y = hs_ledger_sums_measure(ctx, y);
    if (x->kind == y->kind && of_x != of_y) {
        return of_x > of_y ? -1 : 1;
    }
    return compare_lines(a, b);
}

uint64_t hs_ledger_sums_measure(const struct hs_ledger_sums *sums, const struct hs_ledger_sum *sum)
{
    return sums->process_count > 1 ? sum->pss_bytes : sum->rss_bytes;
}

/* --- one ledger ------------------------------------------------------------------------------- */

static void add_head(struct hs_ledger_sums *sums, const struct hs_profile_ledger *ledger)
{
    uint64_t time_ns = ledger->time_ns;
    bool is_first = sums->process_count == 0;
    sums->process_count++;
    sums->all.rss_bytes += ledger->rss_bytes;
    sums->all.pss_bytes += ledger->pss_bytes;
    sums->all.swap_bytes += ledger->swap_bytes;
    sums->page_table_bytes += ledger->page_table_bytes;
    sums->hugetlb_bytes += ledger->hugetlb_bytes;
    sums->trim_bytes += ledger->trim_bytes;
    sums->trim_margin_bytes = hypot(sums->trim_margin_bytes, (double)ledger->trim_margin_bytes);
    if (ledger->malloc_part_share > sums->malloc_part_share) {
        sums->malloc_part_share = ledger->malloc_part_share;
    }
    sums->arena_count += ledger->arena_count;
    sums->time_first_ns = is_first || time_ns < sums->time_first_ns ? time_ns : sums->time_first_ns;
    sums->time_last_ns = time_ns > sums->time_last_ns ? time_ns : sums->time_last_ns;
    sums->is_free_cut |= ledger->is_free_cut;
    sums->malloc_result =
        ledger->malloc_result > sums->malloc_result ? ledger->malloc_result : sums->malloc_result;
}

static void add_changed(struct hs_ledger_sums *sums, uint64_t rss_bytes, uint64_t lines_bytes)
{
    uint64_t changed_bytes =
        rss_bytes > lines_bytes ? rss_bytes - lines_bytes : lines_bytes - rss_bytes;
    sums->changed_bytes += changed_bytes;
    sums->unexplained.rss_bytes += changed_bytes;
    sums->unexplained.pss_bytes += changed_bytes;
}

static void add_ledger(struct hs_ledger_sums *sums, const struct hs_profile *p,
                       const struct hs_profile_ledger *ledger)
{
    uint64_t lines_bytes = 0;
    add_head(sums, ledger);
    for (uint32_t k = 0; k < ledger->lines_n; k++) {
        const struct hs_ledger_sum line = sum_of(&p->ledger_lines[ledger->line_first + k]);
        sums->lines[sums->line_count++] = line;
        add(&sums->kinds[line.kind], &line);
        lines_bytes += line.rss_bytes;
        if (!hs_ledger_is_explained(line.kind, line.name != 0)) {
            add(&sums->unexplained, &line);
        }
    }
    add_changed(sums, ledger->rss_bytes, lines_bytes);
}

/* --- several ---------------------------------------------------------------------------------- */

static const struct hs_profile_ledger *
ledger_of(const struct hs_profile *p, const struct hs_profile_dump *dump, bool is_rss_peak)
{
    uint32_t idx = is_rss_peak && dump->rss_peak_ledger ? dump->rss_peak_ledger : dump->ledger;
    return idx > 0 && idx <= p->ledger_count ? &p->ledgers[idx - 1] : NULL;
}

/* Merges lines of one kind and name. */
static void merge(struct hs_ledger_sums *sums)
{
    sums->line_count = (uint32_t)hs_array_merge(sums->lines, sums->line_count,
                                                sizeof(sums->lines[0]), compare_lines, add_line);
    qsort_r(sums->lines, sums->line_count, sizeof(sums->lines[0]), compare_sums, sums);
}

static uint64_t count_lines(const struct hs_selection *selection, bool is_rss_peak)
{
    const struct hs_profile *p = selection->profile;
    uint64_t count = 0;
    for (uint32_t i = 0; i < selection->dump_count; i++) {
        const struct hs_profile_ledger *ledger =
            ledger_of(p, &p->dumps[selection->dumps[i]], is_rss_peak);
        count += ledger ? ledger->lines_n : 0;
    }
    return count;
}

int hs_ledger_sums_of(const struct hs_selection *selection, bool is_rss_peak,
                      struct hs_ledger_sums *ret_sums)
{
    const struct hs_profile *p = selection->profile;
    struct hs_ledger_sums sums = { .is_missing_known = true };
    sums.lines = calloc(count_lines(selection, is_rss_peak) + 1, sizeof(sums.lines[0]));
    if (!sums.lines) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < selection->dump_count; i++) {
        const struct hs_profile_dump *dump = &p->dumps[selection->dumps[i]];
        const struct hs_profile_ledger *ledger = ledger_of(p, dump, is_rss_peak);
        if (ledger) {
            add_ledger(&sums, p, ledger);
        } else {
            sums.missing_count++;
            sums.missing_bytes += dump->rss_peak_bytes;
            sums.is_missing_known &= dump->rss_peak_bytes > 0;
        }
    }
    merge(&sums);
    *ret_sums = sums;
    return 0;
}

int hs_ledger_sums_of_one(const struct hs_profile *profile, uint32_t ledger_idx,
                          struct hs_ledger_sums *ret_sums)
{
    const struct hs_profile_ledger *ledger = &profile->ledgers[ledger_idx];
    struct hs_ledger_sums sums = { .is_missing_known = true };
    sums.lines = calloc((size_t)ledger->lines_n + 1, sizeof(sums.lines[0]));
    if (!sums.lines) {
        return -ENOMEM;
    }
    add_ledger(&sums, profile, ledger);
    merge(&sums);
    *ret_sums = sums;
    return 0;
}

const struct hs_ledger_sum *hs_ledger_sums_find(const struct hs_ledger_sums *sums, uint32_t kind,
                                                uint32_t name)
{
    for (uint32_t i = 0; i < sums->line_count; i++) {
        if (sums->lines[i].kind == kind && sums->lines[i].name == name) {
            return &sums->lines[i];
        }
    }
    return NULL;
}

void hs_ledger_sums_deinit(struct hs_ledger_sums *sums)
{
    free(sums->lines);
    *sums = (struct hs_ledger_sums){ 0 };
}
