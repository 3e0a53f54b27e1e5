/*
 * The terminal's loop: see top.h.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/top/page_process.h"
#include "cli/top/page_processes.h"
#include "cli/top/screen.h"
#include "cli/top/top.h"
#include "rt/clock.h"

#define HELPER_MS 100 /* how often helpers are looked at */
#define IDLE_MS   500

/* --- what is due ------------------------------------------------------------------------------ */

/* Looks at the processes, if it is time. True: the page has changed. */
static bool look_at_processes(struct hs_top *top, uint64_t now_ns)
{
    if (!top->state.is_list || top->state.is_paused || now_ns < top->look_ns) {
        return false;
    }
    hs_top_processes_look(&top->processes);
    uint64_t end_ns = hs_clock_ns(CLOCK_MONOTONIC);
    uint64_t rest_ns = (end_ns - now_ns) * HS_TOP_REST;
    uint64_t interval_ns = top->options.interval_ms * UINT64_C(1000000);
    top->look_ns = end_ns + (rest_ns > interval_ns ? rest_ns : interval_ns);
    return true;
}

static bool await_helper(struct hs_top *top)
{
    struct hs_top_state *state = &top->state;
    uint32_t pid = top->awaited_pid;
    if (pid == 0) {
        return false;
    }
    int r = hs_top_await(top);
    if (r == -ECANCELED) {
        snprintf(state->message, sizeof(state->message), "%s",
                 top->attach.said[0] ? top->attach.said : "attaching has failed");
        top->look_ns = 0;
    } else if (r > 0) {
        state->is_list = false;
        state->message[0] = state->filter[0] = '\0';
        state->cursor = state->scroll = 0;
        state->selected_key = 0;
    }
    return r != 0;
}

static bool await_snapshot(struct hs_top *top)
{
    if (!hs_helper_take(&top->snapshot)) {
        return false;
    }
    snprintf(top->state.message, sizeof(top->state.message), "%s",
             top->snapshot.said[0]       ? top->snapshot.said
             : top->snapshot.status == 0 ? "the snapshot is written"
                                         : "the snapshot has failed");
    return true;
}

/* Does all that is due. True: the page has changed. */
static bool turn(struct hs_top *top)
{
    uint64_t now_ns = hs_clock_ns(CLOCK_MONOTONIC);
    bool has_changed = look_at_processes(top, now_ns);
    has_changed |= await_helper(top);
    has_changed |= await_snapshot(top);
    if (!top->state.is_list && !top->state.is_paused) {
        hs_top_source_ask(&top->source, now_ns);
    }
    return has_changed;
}

/* --- showing ---------------------------------------------------------------------------------- */

static void fill_page(struct hs_top *top, struct hs_text_page *page)
{
    struct hs_top_state *state = &top->state;
    if (state->is_help) {
        hs_text_page_help(page);
    } else if (state->is_list) {
        if (hs_top_order_processes(&top->processes, state, &top->order) == 0) {
            hs_text_page_processes(page, &top->processes, &top->order, state);
        }
    } else {
        top->order.count = 0;
        if (!top->source.profile || hs_top_order_rows(&top->source.rows, state, &top->order) == 0) {
            hs_text_page_process(page, &top->source, &top->order, state);
        }
    }
}

static void show(struct hs_top *top)
{
    struct hs_text_page page;
    unsigned columns, rows;
    hs_screen_size(&columns, &rows);
    hs_text_page_init(&page, columns, rows);
    fill_page(top, &page);
    hs_screen_show(&page);
    hs_text_page_deinit(&page);
}

/* --- waiting ---------------------------------------------------------------------------------- */

static int waiting_ms(const struct hs_top *top)
{
    return top->awaited_pid != 0 || top->snapshot.pid != 0 || top->source.ask_ns != 0 ? HELPER_MS
                                                                                      : IDLE_MS;
}

/* Waits for something to happen, and takes one key: the next one may refer to what that has
 * changed on the page. Returns whether the page has changed. */
static bool wait_for_news(struct hs_top *top)
{
    struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
                            { .fd = top->state.is_list ? -1 : top->source.link.fd,
                              .events = POLLIN } };
    bool has_changed = false;
    int key = hs_screen_key(); /* curses may have read it already */
    int count = poll(fds, 2, key == HS_KEY_NONE ? waiting_ms(top) : 0);
    if (count > 0 && (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))) {
        top->is_over = true; /* the terminal is gone */
    }
    if (count > 0 && fds[1].revents) {
        has_changed = hs_top_source_take(&top->source) != 0;
    }
    if (key == HS_KEY_NONE) {
        key = hs_screen_key();
    }
    if (key != HS_KEY_NONE && !top->is_over) {
        hs_top_key(top, key);
        has_changed = true;
    }
    return has_changed;
}

int hs_top_loop(struct hs_top *top)
{
    if (hs_screen_open() != 0) {
        hs_message("this kind of terminal ($TERM) is not known; use 'heapscope top --plain'");
        return HS_EXIT_STATUS_FAILED;
    }
    top->state.is_utf8 = hs_screen_is_utf8();
    bool has_changed = true;
    while (!top->is_over && !hs_screen_is_ended()) {
        has_changed |= turn(top);
        if (has_changed) {
            show(top);
        }
        has_changed = wait_for_news(top);
    }
    hs_screen_close();
    hs_top_leave(top);
    hs_helper_end(&top->snapshot, 2000);
    return HS_EXIT_STATUS_DONE;
}
