/*
 * From a message to a ledger: see watched_ledger.h.
 */
#include "watch/receive/watched_ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX  (UINT64_C(1) << 60)
#define FIGURE_MAX 1e18

/* Sums of such figures do not overflow. */
static uint64_t bytes(uint64_t value)
{
    return value < BYTES_MAX ? value : BYTES_MAX;
}

static double figure(double value)
{
    return value >= 0 && value <= FIGURE_MAX ? value : 0;
}

static int take_line(const Hs__Ctl__WatchedLedgerLine *from, struct hs_ledger_line *to)
{
    char *name = strdup(from->name ? from->name : "");
    *to = (struct hs_ledger_line){
        .kind = from->kind < HS_LEDGER_KIND_N ? from->kind : HS_LEDGER_UNKNOWN,
        .name = name,
        .count = bytes(from->count),
        .size_bytes = bytes(from->size_bytes),
        .rss_bytes = bytes(from->rss_bytes),
        .pss_bytes = bytes(from->pss_bytes),
        .swap_bytes = bytes(from->swap_bytes),
        .rss_margin_bytes = bytes(from->rss_margin_bytes),
        .blocks = { .bytes = figure(from->blocks_bytes),
                    .sampled_bytes = figure(from->blocks_sampled_bytes),
                    .variance = figure(from->blocks_variance),
                    .weight_bytes = figure(from->blocks_weight_bytes),
                    .used_bytes = bytes(from->blocks_used_bytes) },
    };
    return name ? 0 : -ENOMEM;
}

static struct hs_ledger head_of(const struct hs_watch_state *state,
                                const Hs__Ctl__WatchedLedger *from)
{
    return (struct hs_ledger){
        .pid = state->snap->pid,
        .time_mono_ns = from->mono_ns,
        .cpu_ns = bytes(from->cpu_ns),
        .rss_bytes = bytes(from->rss_bytes),
        .pss_bytes = bytes(from->pss_bytes),
        .swap_bytes = bytes(from->swap_bytes),
        .page_table_bytes = bytes(from->page_table_bytes),
        .hugetlb_bytes = bytes(from->hugetlb_bytes),
        .malloc_result = from->malloc_result <= HS_LEDGER_MALLOC_FORBIDDEN
                             ? from->malloc_result
                             : HS_LEDGER_MALLOC_BROKEN,
        .arena_count = from->arena_count,
        .is_free_cut = from->is_free_cut,
        .trim_bytes = bytes(from->trim_bytes),
        .trim_margin_bytes = bytes(from->trim_margin_bytes),
        .malloc_part_share = from->malloc_part_share,
    };
}

int hs_watched_ledger_take(struct hs_watch_state *state, const Hs__Ctl__Update *update)
{
    const Hs__Ctl__WatchedLedger *from = update->ledger;
    state->has_new_ledger = false;
    if (!from) {
        return 0;
    }
    if (from->n_lines > HS_WATCH_LEDGER_LINES_MAX) {
        return -EFBIG;
    }
    struct hs_ledger *ledger = calloc(1, sizeof(*ledger));
    struct hs_ledger_line *lines = calloc(from->n_lines + 1, sizeof(lines[0]));
    if (!ledger || !lines) {
        free(ledger);
        free(lines);
        return -ENOMEM;
    }
    *ledger = head_of(state, from);
    ledger->lines = lines;
    int r = 0;
    for (size_t i = 0; r == 0 && i < from->n_lines; i++) {
        r = take_line(from->lines[i], &lines[i]);
        ledger->line_count += r == 0;
    }
    if (r < 0) {
        hs_ledger_free(ledger);
        return r;
    }
    hs_ledger_free(state->snap->ledger);
    state->snap->ledger = ledger;
    state->has_new_ledger = true;
    return 0;
}
