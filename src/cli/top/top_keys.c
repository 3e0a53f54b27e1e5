/*
 * What keys do: see top.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/top/page_process.h"
#include "cli/top/screen.h"
#include "cli/top/top.h"
#include "util/shell_word.h"

#define PAGE_LINES 15

/* --- the cursor ------------------------------------------------------------------------------- */

static void move(struct hs_top *top, int64_t lines)
{
    struct hs_top_state *state = &top->state;
    int64_t last = top->order.count > 0 ? (int64_t)top->order.count - 1 : 0;
    int64_t to = (int64_t)state->cursor + lines;
    state->cursor = (size_t)(to < 0 ? 0 : to > last ? last : to);
    state->selected_key = 0; /* of the row that is there */
}

/* Another table, order or filter: the cursor goes to the first row. */
static void begin_anew(struct hs_top_state *state)
{
    state->cursor = state->scroll = 0;
    state->selected_key = 0;
}

/* --- processes -------------------------------------------------------------------------------- */

/* The process at the cursor; NULL: there is none. */
static const struct hs_top_process *selected_process(const struct hs_top *top)
{
    return top->state.is_list && top->state.cursor < top->order.count
               ? &top->processes.list[top->order.idx[top->state.cursor]]
               : NULL;
}

static void ask_to_attach(struct hs_top *top, uint32_t pid)
{
    top->state.question = HS_TOP_ASKS_ATTACH;
    top->state.asked_pid = pid;
    snprintf(top->state.message, sizeof(top->state.message),
             "process %u is not recorded: attach to it for as long as you look? a: attach, any "
             "other key: no",
             pid);
}

static void look_at(struct hs_top *top, const struct hs_top_process *process)
{
    struct hs_buf why = HS_BUF_INIT;
    uint32_t pid = (uint32_t)process->pid;
    if (!process->session[0]) {
        ask_to_attach(top, pid);
        return;
    }
    if (hs_top_open_pid(top, pid, &why) == 0) {
        top->state.is_list = false;
        top->state.filter[0] = '\0';
        begin_anew(&top->state);
    } else {
        snprintf(top->state.message, sizeof(top->state.message), "process %u: %s", pid,
                 why.bytes > 0 ? hs_buf_text(&why) : "it is not recorded any more");
    }
    hs_buf_deinit(&why);
}

static void back_to_list(struct hs_top *top)
{
    if (!top->source.is_file) {
        hs_top_leave(top);
        top->state.is_list = true;
        top->state.is_paused = false;
        top->state.filter[0] = '\0';
        top->look_ns = 0;
        begin_anew(&top->state);
    }
}

static void attach_now(struct hs_top *top, uint32_t pid)
{
    int r = hs_top_attach(top, pid);
    if (r < 0) {
        snprintf(top->state.message, sizeof(top->state.message), "cannot attach to %u: %s", pid,
                 strerror(-r));
    } else {
        snprintf(top->state.message, sizeof(top->state.message), "attaching to %u ...", pid);
    }
}

/* --- one process ------------------------------------------------------------------------------ */

static void take_snapshot(struct hs_top *top)
{
    char pid[16], path[192], when[32] = "";
    const char *args[] = { "snapshot", "--pid", pid, "--output", path, NULL };
    time_t now = time(NULL);
    struct tm parts;
    if (top->source.is_file || top->source.end || top->snapshot.pid != 0) {
        snprintf(top->state.message, sizeof(top->state.message), "%s",
                 top->snapshot.pid != 0 ? "a snapshot is being written"
                                        : "there is no process to take a snapshot of");
        return;
    }
    if (localtime_r(&now, &parts)) {
        strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &parts);
    }
    snprintf(pid, sizeof(pid), "%u", top->source.pid);
    snprintf(path, sizeof(path), "heapscope.%.100s.%u.%s.pftrace",
             strchr(top->source.title, '/') ? "process" : top->source.title, top->source.pid, when);
    hs_shell_escape(path); /* a process may choose any name */
    int r = hs_helper_start(&top->snapshot, args);
    snprintf(top->state.message, sizeof(top->state.message), "%s %s%s%s",
             r < 0 ? "cannot write" : "writing", path, r < 0 ? ": " : " ...",
             r < 0 ? strerror(-r) : "");
}

static void next_kind(struct hs_top_state *state)
{
    state->kind = (enum hs_top_kind)((state->kind + 1) % HS_TOP_KIND_N);
    begin_anew(state);
}

static void next_sort(struct hs_top_state *state)
{
    do {
        state->sort = (enum hs_top_sort)((state->sort + 1) % HS_TOP_SORT_N);
    } while (state->sort == HS_TOP_BY_TOTAL && state->kind != HS_TOP_FUNCTIONS);
    begin_anew(state);
}

static void enter(struct hs_top *top)
{
    struct hs_top_state *state = &top->state;
    const struct hs_top_process *process = selected_process(top);
    if (process) {
        look_at(top, process);
    } else if (!state->is_list && state->kind == HS_TOP_STACKS) {
        state->expanded_key = state->expanded_key == state->selected_key ? 0 : state->selected_key;
    }
}

/* --- typing and answers ----------------------------------------------------------------------- */

static void type_filter(struct hs_top_state *state, int key)
{
    size_t bytes = strlen(state->filter);
    if (key == HS_KEY_ENTER) {
        state->is_typing = false;
    } else if (key == HS_KEY_ESCAPE) {
        state->is_typing = false;
        state->filter[0] = '\0';
    } else if (key == HS_KEY_BACKSPACE && bytes > 0) {
        do {
            state->filter[--bytes] = '\0';
        } while (bytes > 0 && ((unsigned char)state->filter[bytes - 1] & 0xC0) == 0x80 &&
                 ((unsigned char)state->filter[bytes] & 0xC0) == 0x80);
    } else if (key >= ' ' && key < 0x7F && bytes + 1 < sizeof(state->filter)) {
        state->filter[bytes] = (char)key;
        state->filter[bytes + 1] = '\0';
    }
    begin_anew(state);
}

static void answer(struct hs_top *top, int key)
{
    top->state.question = HS_TOP_ASKS_NOTHING;
    top->state.message[0] = '\0';
    if (key == 'a') {
        attach_now(top, top->state.asked_pid);
    }
}

static void ask_about_selected(struct hs_top *top)
{
    const struct hs_top_process *process = selected_process(top);
    if (process && process->session[0]) {
        snprintf(top->state.message, sizeof(top->state.message),
                 "process %d is recorded already, by %s", (int)process->pid, process->session);
    } else if (process) {
        ask_to_attach(top, (uint32_t)process->pid);
    }
}

/* --- all -------------------------------------------------------------------------------------- */

/* Keys that move; false: it is none of them. */
static bool move_by_key(struct hs_top *top, int key)
{
    int64_t lines = key == HS_KEY_UP || key == 'k'     ? -1
                    : key == HS_KEY_DOWN || key == 'j' ? 1
                    : key == HS_KEY_PAGE_UP            ? -PAGE_LINES
                    : key == HS_KEY_PAGE_DOWN          ? PAGE_LINES
                    : key == HS_KEY_HOME || key == 'g' ? -INT32_MAX
                    : key == HS_KEY_END || key == 'G'  ? INT32_MAX
                                                       : 0;
    if (lines != 0) {
        move(top, lines);
    }
    return lines != 0;
}

static void do_letter(struct hs_top *top, int key)
{
    struct hs_top_state *state = &top->state;
    if (key == 'q') {
        top->is_over = true;
    } else if (key == '?' || key == 'h') {
        state->is_help = true;
    } else if (key == '/') {
        state->is_typing = true;
    } else if (key == 'p' || key == ' ') {
        state->is_paused = !state->is_paused;
    } else if (key == 'a') {
        ask_about_selected(top);
    } else if ((key == 't' || key == HS_KEY_TAB) && !state->is_list) {
        next_kind(state);
    } else if (key == 'o' && !state->is_list) {
        next_sort(state);
    } else if (key == 's' && !state->is_list) {
        take_snapshot(top);
    }
}

void hs_top_key(struct hs_top *top, int key)
{
    struct hs_top_state *state = &top->state;
    if (key == HS_KEY_RESIZE || key == HS_KEY_NONE) {
        return;
    }
    if (state->is_help) {
        state->is_help = false;
    } else if (state->is_typing) {
        type_filter(state, key);
    } else if (state->question != HS_TOP_ASKS_NOTHING) {
        answer(top, key);
    } else {
        state->message[0] = '\0';
        if (key == HS_KEY_ENTER) {
            enter(top);
        } else if (key == HS_KEY_ESCAPE || key == HS_KEY_LEFT) {
            back_to_list(top);
        } else if (!move_by_key(top, key)) {
            do_letter(top, key);
        }
    }
}
