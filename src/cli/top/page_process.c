/*
 * Lays out the page of a process: see page_process.h.
 */
#include "cli/top/page_process.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/top/page_ledger.h"
#include "util/human.h"

/* --- the head --------------------------------------------------------------------------------- */

/* "+1.20 MiB/s", "-3.4 KiB/s"; "" if it does not grow by a byte a second. */
static const char *growth(char *out, size_t bytes, double rate)
{
    char human[HS_HUMAN_BYTES];
    if (fabs(rate) < 1) {
        out[0] = '\0';
    } else {
        snprintf(out, bytes, "%c%s/s", rate > 0 ? '+' : '-', hs_human_bytes(human, fabs(rate)));
    }
    return out;
}

static void add_title(struct hs_text_page *page, const struct hs_top_source *source,
                      const struct hs_top_state *state)
{
    struct hs_buf line = HS_BUF_INIT;
    char human[HS_HUMAN_BYTES];
    hs_buf_printf(&line, "heapscope top  %s", source->title);
    if (source->pid != 0) {
        hs_buf_printf(&line, " (%u)", source->pid);
    }
    if (source->session[0]) {
        hs_buf_printf(&line, ", by %s", source->session);
    }
    if (source->end) {
        hs_buf_printf(&line, "  %s", source->is_file ? source->end : "ENDED");
    } else if (state->is_paused) {
        hs_buf_str(&line, "  PAUSED");
    } else if (source->link.state.interval_ms > 0) {
        uint64_t interval_ns = source->link.state.interval_ms * UINT64_C(1000000);
        hs_buf_printf(&line, "  every %s", hs_human_duration(human, interval_ns));
    }
    hs_text_page_add(page, HS_TEXT_PAGE_BOLD, hs_buf_text(&line));
    hs_buf_deinit(&line);
}

static void add_live(struct hs_text_page *page, const struct hs_top_source *source,
                     const struct hs_top_state *state)
{
    struct hs_buf line = HS_BUF_INIT;
    char bytes[HS_HUMAN_BYTES], count[HS_HUMAN_BYTES], rate[HS_HUMAN_BYTES + 8];
    hs_buf_printf(&line, "live %s in %s objects", hs_human_bytes(bytes, source->live_bytes),
                  hs_human_count(count, source->live_count));
    if (growth(rate, sizeof(rate), source->growth)[0]) {
        hs_buf_printf(&line, "  %s", rate);
    }
    hs_buf_str(&line, "  ");
    size_t used = line.bytes;
    /* Plain text has no rows of a terminal, and each table stands for itself. */
    hs_text_page_write_chart(&line, source->history, page->rows > 0 ? source->history_count : 0,
                             page->columns > used ? page->columns - used : 0, state->is_utf8);
    hs_text_page_add(page, HS_TEXT_PAGE_PLAIN, hs_buf_text(&line));
    hs_buf_deinit(&line);
}

/* What the reader of the table must know. */
static void add_remark(struct hs_text_page *page, const struct hs_top_source *source,
                       const struct hs_top_state *state)
{
    char human[HS_HUMAN_BYTES];
    if (source->end && !source->is_file) {
        hs_text_page_add(page, HS_TEXT_PAGE_WARNING, source->end);
    } else if (source->lost_count > 0) {
        hs_text_page_addf(page, HS_TEXT_PAGE_WARNING, "%s samples were lost: figures are too low",
                          hs_human_exact(human, source->lost_count));
    } else if (state->filter[0] && !state->is_typing) {
        hs_text_page_addf(page, HS_TEXT_PAGE_DIM, "only %s whose name contains '%s'",
                          hs_top_kind_names[state->kind], state->filter);
    } else if (source->interval_max_bytes > 1) {
        bool is_one = source->interval_min_bytes == source->interval_max_bytes;
        hs_text_page_addf(page, HS_TEXT_PAGE_DIM, "estimated from samples, %s%s apart on average",
                          is_one ? "" : "up to ",
                          hs_human_bytes(human, (double)source->interval_max_bytes));
    } else {
        hs_text_page_add(page, HS_TEXT_PAGE_PLAIN, "");
    }
}

void hs_text_page_process_head(struct hs_text_page *page, const struct hs_top_source *source,
                               const struct hs_top_state *state)
{
    add_title(page, source, state);
    add_live(page, source, state);
    hs_text_page_add_ledger(page, source);
    add_remark(page, source, state);
}

/* --- the table -------------------------------------------------------------------------------- */

static void add_titles(struct hs_text_page *page, const struct hs_top_state *state, uint32_t count)
{
    static const char *const titles[HS_TOP_KIND_N] = { "STACK", "FUNCTION", "TYPE" };
    bool has_total = state->kind == HS_TOP_FUNCTIONS;
    struct hs_buf line = HS_BUF_INIT;
    hs_buf_printf(&line, "%10s %s%7s %9s %12s  %s", has_total ? "SELF" : "LIVE",
                  has_total ? "     TOTAL " : "", "SHARE", "OBJECTS", "GROWTH",
                  titles[state->kind]);
    hs_buf_printf(&line, "  (%u, by %s)", count, hs_top_sort_names[state->sort]);
    if (line.bytes < page->columns) {
        hs_buf_repeat(&line, ' ', page->columns - line.bytes);
    }
    hs_text_page_add(page, HS_TEXT_PAGE_HEAD, hs_buf_text(&line));
    hs_buf_deinit(&line);
}

static void add_row(struct hs_text_page *page, const struct hs_top_source *source,
                    const struct hs_top_state *state, const struct hs_top_row *row,
                    enum hs_text_page_style style)
{
    char live[HS_HUMAN_BYTES], total[HS_HUMAN_BYTES], share[HS_HUMAN_BYTES], count[HS_HUMAN_BYTES];
    char rate[HS_HUMAN_BYTES + 8];
    struct hs_buf line = HS_BUF_INIT;
    bool has_total = state->kind == HS_TOP_FUNCTIONS;
    hs_buf_printf(&line, "%10s ", hs_human_bytes(live, row->live_bytes));
    if (has_total) {
        hs_buf_printf(&line, "%10s ", hs_human_bytes(total, row->total_bytes));
    }
    hs_buf_printf(
        &line, "%7s %9s %12s  %s",
        hs_human_share(share, has_total ? row->total_bytes : row->live_bytes, source->live_bytes),
        hs_human_count(count, row->live_count), growth(rate, sizeof(rate), row->growth),
        hs_top_row_name(&source->rows, row));
    hs_text_page_add(page, style, hs_buf_text(&line));
    hs_buf_deinit(&line);
}

static void add_frames(struct hs_text_page *page, const struct hs_top_source *source,
                       const struct hs_top_row *row, size_t first, size_t max)
{
    uint32_t count = hs_top_frame_count(&source->rows, row);
    for (size_t i = first; i < count && i < first + max; i++) {
        struct hs_buf line = HS_BUF_INIT;
        hs_buf_repeat(&line, ' ', 12);
        hs_top_write_frame(&source->rows, row, (uint32_t)i, &line);
        hs_text_page_add(page, HS_TEXT_PAGE_DIM, hs_buf_text(&line));
        hs_buf_deinit(&line);
    }
}

/* Why there are no rows. */
static const char *why_empty(const struct hs_top_source *source, const struct hs_top_state *state)
{
    if (!source->profile) {
        return source->end ? source->end : "waiting for the first figures ...";
    }
    if (state->kind == HS_TOP_TYPES && !source->rows.has_types) {
        return source->is_file ? "types were not recorded"
                               : "types are not known: the session leaves them out (--no-types), "
                                 "or an older heapscope records";
    }
    return state->filter[0] ? "no name contains the filter" : "nothing is live";
}

/* Moves the cursor to its row, wherever that is now; if it is gone, the cursor stays. */
static void follow(const struct hs_top_rows *rows, const struct hs_top_order *order,
                   struct hs_top_state *state)
{
    const struct hs_top_table *table = &rows->tables[state->kind];
    for (uint32_t i = 0; i < order->count && state->selected_key != 0; i++) {
        if (table->rows[order->idx[i]].key == state->selected_key) {
            state->cursor = i;
            break;
        }
    }
    if (state->cursor >= order->count) {
        state->cursor = order->count > 0 ? order->count - 1 : 0;
    }
    state->selected_key = order->count > 0 ? table->rows[order->idx[state->cursor]].key : 0;
}

/* Keeps the cursor, and the frames below it if there is room, on the page. */
static void scroll(struct hs_top_state *state, size_t lines, size_t frames_below)
{
    size_t below = frames_below < lines ? frames_below : lines - 1;
    if (state->scroll > state->cursor) {
        state->scroll = state->cursor;
    }
    if (state->cursor + below >= state->scroll + lines) {
        state->scroll = state->cursor + below - lines + 1;
    }
}

static void add_rows(struct hs_text_page *page, const struct hs_top_source *source,
                     const struct hs_top_order *order, struct hs_top_state *state, size_t lines)
{
    const struct hs_top_row *rows = source->rows.tables[state->kind].rows;
    bool is_expanded = state->kind == HS_TOP_STACKS && state->expanded_key != 0 &&
                       state->expanded_key == state->selected_key && order->count > 0;
    size_t frames =
        is_expanded ? hs_top_frame_count(&source->rows, &rows[order->idx[state->cursor]]) : 0;
    size_t end = page->count + lines;
    scroll(state, lines, frames);
    for (size_t i = state->scroll; i < order->count && page->count < end; i++) {
        const struct hs_top_row *row = &rows[order->idx[i]];
        bool is_selected = i == state->cursor;
        add_row(page, source, state, row, is_selected ? HS_TEXT_PAGE_SELECTED : HS_TEXT_PAGE_PLAIN);
        if (is_selected && is_expanded) {
            add_frames(page, source, row, 0, end - page->count);
        }
    }
}

void hs_text_page_process(struct hs_text_page *page, const struct hs_top_source *source,
                          const struct hs_top_order *order, struct hs_top_state *state)
{
    static const char keys[] = "Enter frames  t table  o order  / filter  s snapshot  p pause  "
                               "? help  q quit";
    size_t lines = page->rows > HS_TEXT_PAGE_HEAD_LINES + HS_TEXT_PAGE_FOOT_LINES + 1
                       ? page->rows - HS_TEXT_PAGE_HEAD_LINES - HS_TEXT_PAGE_FOOT_LINES
                       : 1;
    hs_text_page_process_head(page, source, state);
    add_titles(page, state, order->count);
    if (source->profile && order->count > 0) {
        follow(&source->rows, order, state);
        add_rows(page, source, order, state, lines);
    } else {
        hs_text_page_addf(page, HS_TEXT_PAGE_DIM, "  %s", why_empty(source, state));
    }
    hs_text_page_fill(page, page->rows > 0 ? page->rows - 1 : 0);
    hs_text_page_foot(page, state, keys);
}

void hs_text_page_process_table(struct hs_text_page *page, const struct hs_top_source *source,
                                const struct hs_top_order *order, const struct hs_top_state *state,
                                size_t max)
{
    add_titles(page, state, order->count);
    if (!source->profile || order->count == 0) {
        hs_text_page_addf(page, HS_TEXT_PAGE_PLAIN, "  %s", why_empty(source, state));
        return;
    }
    for (size_t i = 0; i < order->count && i < max; i++) {
        add_row(page, source, state, &source->rows.tables[state->kind].rows[order->idx[i]],
                HS_TEXT_PAGE_PLAIN);
    }
}

void hs_text_page_foot(struct hs_text_page *page, const struct hs_top_state *state,
                       const char *keys)
{
    if (state->is_typing) {
        hs_text_page_addf(page, HS_TEXT_PAGE_BOLD, "/%s_   (Enter: done, Esc: no filter)",
                          state->filter);
    } else if (state->message[0]) {
        hs_text_page_add(page, HS_TEXT_PAGE_BOLD, state->message);
    } else {
        hs_text_page_add(page, HS_TEXT_PAGE_DIM, keys);
    }
}
