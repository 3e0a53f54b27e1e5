/*
 * Adds up ledgers: see ledger_sums.h.
 */
#include "profile/analyse/ledger_sums.h"

#include <errno.h>
#include <stdlib.h>

static void add(struct hs_ledger_sum *sum, const struct hs_profile_ledger_line *line)
{
    sum->count += line->count;
    sum->size_bytes += line->size_bytes;
    sum->rss_bytes += line->rss_bytes;
    sum->pss_bytes += line->pss_bytes;
    sum->swap_bytes += line->swap_bytes;
}

static int compare_lines(const void *a, const void *b)
{
    const struct hs_ledger_sum *x = a, *y = b;
    if (x->kind != y->kind) {
        return x->kind < y->kind ? -1 : 1;
    }
    return x->name < y->name ? -1 : x->name > y->name;
}

static int compare_sums(const void *a, const void *b)
{
    const struct hs_ledger_sum *x = a, *y = b;
    if (x->kind == y->kind && x->rss_bytes != y->rss_bytes) {
        return x->rss_bytes > y->rss_bytes ? -1 : 1;
    }
    return compare_lines(a, b);
}

static const struct hs_profile_ledger *
ledger_of(const struct hs_profile *p, const struct hs_profile_dump *dump, bool is_rss_peak)
{
    uint32_t idx = is_rss_peak && dump->rss_peak_ledger ? dump->rss_peak_ledger : dump->ledger;
    return idx > 0 && idx <= p->ledger_count ? &p->ledgers[idx - 1] : NULL;
}

static void add_head(struct hs_ledger_sums *sums, const struct hs_profile_dump *dump,
                     const struct hs_profile_ledger *ledger)
{
    uint64_t time_ns = ledger->time_ns;
    bool is_first = sums->process_count == 0;
    sums->process_count++;
    sums->all.rss_bytes += ledger->rss_bytes;
    sums->all.pss_bytes += ledger->pss_bytes;
    sums->all.swap_bytes += ledger->swap_bytes;
    sums->page_table_bytes += ledger->page_table_bytes;
    sums->trim_bytes += ledger->trim_bytes;
    sums->arena_count += ledger->arena_count;
    sums->time_first_ns = is_first || time_ns < sums->time_first_ns ? time_ns : sums->time_first_ns;
    sums->time_last_ns = time_ns > sums->time_last_ns ? time_ns : sums->time_last_ns;
    sums->is_free_cut |= ledger->is_free_cut;
    sums->malloc_result =
        ledger->malloc_result > sums->malloc_result ? ledger->malloc_result : sums->malloc_result;
    sums->live.bytes += dump->live.bytes;
    sums->live.count += dump->live.count;
    sums->live.bytes_var += dump->live.bytes_var;
    sums->live.count_var += dump->live.count_var;
}

/* Merges lines of one kind and name. */
static void merge(struct hs_ledger_sums *sums)
{
    uint32_t count = 0;
    if (sums->line_count == 0) {
        return;
    }
    qsort(sums->lines, sums->line_count, sizeof(sums->lines[0]), compare_lines);
    for (uint32_t i = 1; i < sums->line_count; i++) {
        struct hs_ledger_sum *sum = &sums->lines[count], *line = &sums->lines[i];
        if (compare_lines(sum, line) != 0) {
            sums->lines[++count] = *line;
            continue;
        }
        sum->count += line->count;
        sum->size_bytes += line->size_bytes;
        sum->rss_bytes += line->rss_bytes;
        sum->pss_bytes += line->pss_bytes;
        sum->swap_bytes += line->swap_bytes;
    }
    sums->line_count = count + 1;
    qsort(sums->lines, sums->line_count, sizeof(sums->lines[0]), compare_sums);
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
    struct hs_ledger_sums sums = { 0 };
    sums.lines = calloc(count_lines(selection, is_rss_peak) + 1, sizeof(sums.lines[0]));
    if (!sums.lines) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < selection->dump_count; i++) {
        const struct hs_profile_dump *dump = &p->dumps[selection->dumps[i]];
        const struct hs_profile_ledger *ledger = ledger_of(p, dump, is_rss_peak);
        if (!ledger) {
            sums.missing_count++;
            continue;
        }
        add_head(&sums, dump, ledger);
        for (uint32_t k = 0; k < ledger->lines_n; k++) {
            const struct hs_profile_ledger_line *line = &p->ledger_lines[ledger->line_first + k];
            uint32_t kind = line->kind < HS_LEDGER_KIND_N ? line->kind : HS_LEDGER_UNKNOWN;
            struct hs_ledger_sum *sum = &sums.lines[sums.line_count++];
            *sum = (struct hs_ledger_sum){ .kind = kind, .name = line->name };
            add(sum, line);
            add(&sums.kinds[kind], line);
        }
    }
    merge(&sums);
    *ret_sums = sums;
    return 0;
}

void hs_ledger_parts_of(const struct hs_ledger_sums *sums,
                        struct hs_ledger_part ret_parts[HS_LEDGER_PARTS])
{
    static const struct {
        const char *words;
        enum hs_ledger_kind kinds[4]; /* HS_LEDGER_UNKNOWN: no further one */
    } parts[HS_LEDGER_PARTS] = {
        { "blocks from malloc", { HS_LEDGER_MALLOC_USED, HS_LEDGER_MALLOC_LARGE } },
        { "memory that malloc keeps free",
          { HS_LEDGER_MALLOC_BINNED, HS_LEDGER_MALLOC_FAST, HS_LEDGER_MALLOC_CACHED,
            HS_LEDGER_MALLOC_TOP } },
        { "other anonymous mappings",
          { HS_LEDGER_ANONYMOUS, HS_LEDGER_BRK, HS_LEDGER_MALLOC_UNREAD } },
        { "shared memory", { HS_LEDGER_SHARED } },
        { "stacks", { HS_LEDGER_STACK } },
        { "code and data of modules", { HS_LEDGER_CODE, HS_LEDGER_DATA } },
        { "mapped files", { HS_LEDGER_FILE } },
        { "heapscope's own memory", { HS_LEDGER_RECORDER } },
        { "other", { HS_LEDGER_MALLOC_INTERNAL, HS_LEDGER_KERNEL } },
    };
    for (size_t i = 0; i < HS_LEDGER_PARTS; i++) {
        ret_parts[i] = (struct hs_ledger_part){ .words = parts[i].words };
        for (size_t k = 0; k < 4 && parts[i].kinds[k] != HS_LEDGER_UNKNOWN; k++) {
            ret_parts[i].rss_bytes += sums->kinds[parts[i].kinds[k]].rss_bytes;
        }
    }
}

void hs_ledger_sums_deinit(struct hs_ledger_sums *sums)
{
    free(sums->lines);
    *sums = (struct hs_ledger_sums){ 0 };
}
