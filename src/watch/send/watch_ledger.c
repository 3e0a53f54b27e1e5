/*
 * Ledgers as messages: see watch_ledger.h.
 */
#include "watch/send/watch_ledger.h"

#include <errno.h>
#include <stdlib.h>

#include "ctl/ctl_message.h"

static void fill_line(const struct hs_ledger_line *line, Hs__Ctl__WatchedLedgerLine *to)
{
    hs__ctl__watched_ledger_line__init(to);
    to->has_kind = to->has_count = to->has_size_bytes = to->has_rss_bytes = to->has_pss_bytes =
        to->has_swap_bytes = to->has_rss_margin_bytes = to->has_blocks_bytes =
            to->has_blocks_sampled_bytes = to->has_blocks_variance = to->has_blocks_weight_bytes =
                to->has_blocks_used_bytes = true;
    to->kind = line->kind;
    to->name = line->name;
    to->count = line->count;
    to->size_bytes = line->size_bytes;
    to->rss_bytes = line->rss_bytes;
    to->pss_bytes = line->pss_bytes;
    to->swap_bytes = line->swap_bytes;
    to->rss_margin_bytes = line->rss_margin_bytes;
    to->blocks_bytes = line->blocks.bytes;
    to->blocks_sampled_bytes = line->blocks.sampled_bytes;
    to->blocks_variance = line->blocks.variance;
    to->blocks_weight_bytes = line->blocks.weight_bytes;
    to->blocks_used_bytes = line->blocks.used_bytes;
}

static void fill_head(const struct hs_ledger *ledger, Hs__Ctl__WatchedLedger *to)
{
    hs__ctl__watched_ledger__init(to);
    to->has_mono_ns = to->has_cpu_ns = to->has_rss_bytes = to->has_pss_bytes = to->has_swap_bytes =
        to->has_page_table_bytes = to->has_hugetlb_bytes = to->has_malloc_result =
            to->has_arena_count = to->has_is_free_cut = to->has_trim_bytes =
                to->has_trim_margin_bytes = to->has_malloc_part_share = true;
    to->mono_ns = ledger->time_mono_ns;
    to->cpu_ns = ledger->cpu_ns;
    to->rss_bytes = ledger->rss_bytes;
    to->pss_bytes = ledger->pss_bytes;
    to->swap_bytes = ledger->swap_bytes;
    to->page_table_bytes = ledger->page_table_bytes;
    to->hugetlb_bytes = ledger->hugetlb_bytes;
    to->malloc_result = ledger->malloc_result;
    to->arena_count = ledger->arena_count;
    to->is_free_cut = ledger->is_free_cut;
    to->trim_bytes = ledger->trim_bytes;
    to->trim_margin_bytes = ledger->trim_margin_bytes;
    to->malloc_part_share = ledger->malloc_part_share;
}

int hs_watch_ledger_send(int line_fd, const struct hs_ledger *ledger)
{
    size_t room = (size_t)ledger->line_count + 1;
    Hs__Ctl__WatchedLedgerLine *lines = calloc(room, sizeof(lines[0]));
    Hs__Ctl__WatchedLedgerLine **pointers = calloc(room, sizeof(pointers[0]));
    Hs__Ctl__WatchedLedger message;
    Hs__Ctl__Update update = HS__CTL__UPDATE__INIT;
    int r = lines && pointers ? 0 : -ENOMEM;
    fill_head(ledger, &message);
    for (uint32_t i = 0; r == 0 && i < ledger->line_count; i++) {
        fill_line(&ledger->lines[i], &lines[i]);
        pointers[i] = &lines[i];
    }
    message.n_lines = ledger->line_count;
    message.lines = pointers;
    update.ledger = &message;
    r = r == 0 ? hs_ctl_send(line_fd, HS_CTL_UPDATE, &update.base, NULL, 0) : r;
    free(lines);
    free(pointers);
    return r;
}

int hs_watch_ledger_take(int line_fd, Hs__Ctl__Update **ret_update)
{
    ProtobufCMessage *body;
    int r = hs_ctl_receive_body(line_fd, HS_CTL_UPDATE, &hs__ctl__update__descriptor, &body);
    if (r == 0) {
        *ret_update = (Hs__Ctl__Update *)(void *)body;
    }
    return r;
}
