/*
 * Tables as plain text: see top.h.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/top/page_process.h"
#include "cli/top/page_processes.h"
#include "cli/top/top.h"

/* Wide enough for every line: plain text is not cut, except for names that nobody reads. */
#define PLAIN_COLUMNS 1000U

static void print_page(const struct hs_text_page *page)
{
    for (size_t i = 0; i < page->count; i++) {
        const struct hs_text_page_line *line = &page->lines[i];
        size_t bytes = line->bytes;
        while (bytes > 0 && page->text.data[line->off + bytes - 1] == ' ') {
            bytes--;
        }
        fwrite(page->text.data + line->off, 1, bytes, stdout);
        putchar('\n');
    }
    fflush(stdout);
}

static void print_one(struct hs_top *top)
{
    struct hs_text_page page;
    hs_text_page_init(&page, PLAIN_COLUMNS, 0);
    if (top->state.is_list) {
        hs_top_order_processes(&top->processes, &top->state, &top->order);
        hs_text_page_processes_table(&page, &top->processes, &top->order,
                                     (size_t)top->options.row_count);
    } else {
        hs_text_page_process_head(&page, &top->source, &top->state);
        hs_top_order_rows(&top->source.rows, &top->state, &top->order);
        hs_text_page_process_table(&page, &top->source, &top->order, &top->state,
                                   (size_t)top->options.row_count);
    }
    print_page(&page);
    hs_text_page_deinit(&page);
}

/* Waits until there are rows that were not printed yet. False: there will be none. */
static bool wait_for_rows(struct hs_top *top)
{
    struct pollfd fd = { .fd = top->source.link.fd, .events = POLLIN };
    while (!top->source.end) {
        hs_top_source_ask(&top->source, UINT64_MAX);
        if (poll(&fd, 1, -1) < 0 && errno != EINTR) {
            return false;
        }
        int r = hs_top_source_take(&top->source);
        if (r != 0) {
            return r > 0 && top->source.profile;
        }
    }
    return false;
}

/* Waits until the helper has attached. Returns the exit status. */
static int await_attach(struct hs_top *top)
{
    int r;
    while ((r = hs_top_await(top)) == 0) {
        poll(NULL, 0, 50);
    }
    if (r < 0) {
        hs_message("%s", top->attach.said[0] ? top->attach.said : "attaching has failed");
        return HS_EXIT_STATUS_FAILED;
    }
    return HS_EXIT_STATUS_DONE;
}

static int print_process(struct hs_top *top)
{
    int status = top->awaited_pid != 0 ? await_attach(top) : HS_EXIT_STATUS_DONE;
    bool is_file = top->source.is_file;
    for (uint64_t i = 0; status == HS_EXIT_STATUS_DONE && i < top->options.table_count; i++) {
        if (!is_file && !wait_for_rows(top)) {
            if (i == 0) {
                hs_message("%s", top->source.end ? top->source.end : "nothing could be read");
                status = HS_EXIT_STATUS_FAILED;
            }
            break;
        }
        if (i > 0) {
            putchar('\n');
        }
        print_one(top);
        if (is_file) {
            break;
        }
    }
    hs_top_leave(top);
    return status;
}

static int print_processes(struct hs_top *top)
{
    for (uint64_t i = 0; i < top->options.table_count; i++) {
        if (i > 0) {
            poll(NULL, 0, (int)top->options.interval_ms);
            putchar('\n');
        }
        if (hs_top_processes_look(&top->processes) < 0) {
            hs_message("out of memory");
            return HS_EXIT_STATUS_FAILED;
        }
        print_one(top);
    }
    return HS_EXIT_STATUS_DONE;
}

int hs_top_print(struct hs_top *top)
{
    int status = top->state.is_list ? print_processes(top) : print_process(top);
    int late = hs_args_finish_output();
    return status == HS_EXIT_STATUS_DONE ? late : status;
}
