/*
 * Lays out the page of processes, and the help: see page_processes.h.
 */
#include "cli/top/page_processes.h"

#include <math.h>
#include <stdio.h>

#include "cli/top/page_process.h"
#include "util/array.h"
#include "util/human.h"

#define HEAD_LINES 3U /* above the first process, with the titles */

int hs_top_order_processes(const struct hs_top_processes *processes,
                           const struct hs_top_state *state, struct hs_top_order *order)
{
    int r = hs_array_reserve(&order->idx, &order->capacity, processes->count + 1,
                             sizeof(order->idx[0]));
    order->count = 0;
    for (uint32_t i = 0; r == 0 && i < processes->count; i++) {
        if (hs_top_filter_matches(state, processes->list[i].name)) {
            order->idx[order->count++] = i;
        }
    }
    return r;
}

static void add_titles(struct hs_text_page *page)
{
    struct hs_buf line = HS_BUF_INIT;
    hs_buf_printf(&line, "%8s %10s %10s %13s %-20s  %s", "PID", "RSS", "LIVE", "GROWTH",
                  "RECORDED BY", "PROGRAM");
    if (line.bytes < page->columns) {
        hs_buf_repeat(&line, ' ', page->columns - line.bytes);
    }
    hs_text_page_add(page, HS_TEXT_PAGE_HEAD, hs_buf_text(&line));
    hs_buf_deinit(&line);
}

static void add_process(struct hs_text_page *page, const struct hs_top_process *it,
                        enum hs_text_page_style style)
{
    char rss[HS_HUMAN_BYTES], live[HS_HUMAN_BYTES] = "-", human[HS_HUMAN_BYTES];
    char rate[HS_HUMAN_BYTES + 8] = "";
    if (it->has_live) {
        hs_human_bytes(live, it->live_bytes);
    }
    if (fabs(it->growth) >= 1) {
        snprintf(rate, sizeof(rate), "%c%s/s", it->growth > 0 ? '+' : '-',
                 hs_human_bytes(human, fabs(it->growth)));
    }
    hs_text_page_addf(page, style, "%8d %10s %10s %13s %-20.20s  %s", (int)it->pid,
                      hs_human_bytes(rss, (double)it->rss_bytes), live, rate,
                      it->session[0]   ? it->session
                      : it->is_dormant ? "(dormant)"
                                       : "-",
                      it->name);
}

static void add_head(struct hs_text_page *page, const struct hs_top_processes *processes,
                     const struct hs_top_order *order, const struct hs_top_state *state)
{
    size_t recorded = 0;
    for (size_t i = 0; i < processes->count; i++) {
        recorded += processes->list[i].session[0] != '\0';
    }
    hs_text_page_addf(page, HS_TEXT_PAGE_BOLD, "heapscope top  %zu recorded, %zu could be%s",
                      recorded, processes->count - recorded, state->is_paused ? "  PAUSED" : "");
    if (state->filter[0] && !state->is_typing) {
        hs_text_page_addf(page, HS_TEXT_PAGE_DIM, "only the %u whose name contains '%s'",
                          order->count, state->filter);
    } else {
        hs_text_page_add(page, HS_TEXT_PAGE_PLAIN, "");
    }
    add_titles(page);
}

/* Moves the cursor to its process, and keeps it on the page. */
static void follow(const struct hs_top_processes *processes, const struct hs_top_order *order,
                   struct hs_top_state *state, size_t lines)
{
    for (uint32_t i = 0; i < order->count && state->selected_key != 0; i++) {
        if ((uint64_t)processes->list[order->idx[i]].pid == state->selected_key) {
            state->cursor = i;
            break;
        }
    }
    if (state->cursor >= order->count) {
        state->cursor = order->count > 0 ? order->count - 1 : 0;
    }
    state->selected_key =
        order->count > 0 ? (uint64_t)processes->list[order->idx[state->cursor]].pid : 0;
    if (state->scroll > state->cursor) {
        state->scroll = state->cursor;
    }
    if (state->cursor >= state->scroll + lines) {
        state->scroll = state->cursor - lines + 1;
    }
}

void hs_text_page_processes(struct hs_text_page *page, const struct hs_top_processes *processes,
                            const struct hs_top_order *order, struct hs_top_state *state)
{
    static const char keys[] = "Enter look at it  / filter  p pause  ? help  q quit";
    size_t lines = page->rows > HEAD_LINES + 2 ? page->rows - HEAD_LINES - 1 : 1;
    add_head(page, processes, order, state);
    follow(processes, order, state, lines);
    for (size_t i = state->scroll; i < order->count && i < state->scroll + lines; i++) {
        add_process(page, &processes->list[order->idx[i]],
                    i == state->cursor ? HS_TEXT_PAGE_SELECTED : HS_TEXT_PAGE_PLAIN);
    }
    if (order->count == 0) {
        hs_text_page_addf(page, HS_TEXT_PAGE_DIM, "  %s",
                          state->filter[0] ? "no name contains the filter"
                                           : "no process is recorded, or could be");
    }
    hs_text_page_fill(page, page->rows > 0 ? page->rows - 1 : 0);
    hs_text_page_foot(page, state, keys);
}

void hs_text_page_processes_table(struct hs_text_page *page,
                                  const struct hs_top_processes *processes,
                                  const struct hs_top_order *order, size_t max)
{
    add_titles(page);
    for (size_t i = 0; i < order->count && i < max; i++) {
        add_process(page, &processes->list[order->idx[i]], HS_TEXT_PAGE_PLAIN);
    }
}

void hs_text_page_help(struct hs_text_page *page)
{
    static const char *const lines[] = {
        "",
        "  Up Down PgUp PgDn Home End   move",
        "  Enter     of a process: look at it; of a stack: show its frames, or hide them",
        "  Esc Left  back to the processes",
        "  t, Tab    the next table: stacks, functions, types",
        "  o         the next order: live, total, objects, growth, name",
        "  /         show only rows whose name contains a text",
        "  s         write a snapshot into a file of the current folder",
        "  a         attach to the process, if it is not recorded; asks before it does",
        "  p, space  pause, and go on",
        "  q         quit",
        "",
        "  LIVE      memory that was allocated and is not freed yet, by samples",
        "  SELF      of a function: allocated by it; TOTAL: and by what it calls",
        "  GROWTH    of live memory, a second, over the last 5 to 15 seconds;",
        "            of a process that is not recorded: of its resident memory",
        "",
        "  Any key goes back.",
    };
    hs_text_page_add(page, HS_TEXT_PAGE_BOLD, "heapscope top: keys");
    for (size_t i = 0; i < HS_COUNT_OF(lines); i++) {
        hs_text_page_add(page, HS_TEXT_PAGE_PLAIN, lines[i]);
    }
}
