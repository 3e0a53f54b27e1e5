/*
 * heapscope top: what processes hold now, and how it grows, on the terminal.
 *
 * The processes, then one of them with its stacks, functions or types; or the last snapshot of a
 * file. A process that is not recorded is attached to when the user says so, and only for as long
 * as it is shown.
 *
 * See       top.h, src/watch, docs/man/heapscope-top.1
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/daemon_client/find_recorded.h"
#include "cli/message.h"
#include "cli/top/guard.h"
#include "cli/top/top.h"

#define INTERVAL_MIN_NS UINT64_C(100000000)
#define INTERVAL_MAX_NS UINT64_C(3600000000000)

/* The number that the text is; 0: it is none, and so the name of a process or file. */
static uint32_t pid_of(const char *text)
{
    size_t bytes = strlen(text);
    bool is_number = bytes > 0 && bytes < 10 && strspn(text, "0123456789") == bytes;
    return is_number ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

/* Is it a file? A process's name has no '/'; a file without one must exist. */
static bool is_file(const char *text)
{
    return strchr(text, '/') != NULL || access(text, F_OK) == 0 || strcmp(text, "-") == 0;
}

/* Watches the process, or asks whether to attach to it. Returns the exit status. */
static int open_pid(struct hs_top *top, uint32_t pid, bool is_plain)
{
    struct hs_buf why = HS_BUF_INIT;
    struct hs_endpoint place;
    uint32_t found;
    int status = HS_EXIT_STATUS_DONE;
    int r = hs_top_open_pid(top, pid, &why);
    hs_buf_deinit(&why);
    if (r == 0) {
        return status;
    }
    if (top->options.is_attaching) {
        r = hs_top_attach(top, pid);
        if (r < 0) {
            hs_message("cannot attach to %u: %s", pid, strerror(-r));
        }
        snprintf(top->state.message, sizeof(top->state.message), "attaching to %u ...", pid);
        top->state.is_list = !is_plain;
        return r < 0 ? HS_EXIT_STATUS_FAILED : HS_EXIT_STATUS_DONE;
    }
    if (is_plain) {
        /* Says why it is not recorded, and what to do. */
        status = hs_recorded_find(pid, NULL, &place, &found);
        if (status == HS_EXIT_STATUS_DONE) {
            hs_message("process %u is recorded, but cannot be watched: is the process that records "
                       "it of an older version?",
                       pid);
            status = HS_EXIT_STATUS_FAILED;
        }
        return status;
    }
    top->state.is_list = true;
    top->state.selected_key = pid;
    top->state.question = HS_TOP_ASKS_ATTACH;
    top->state.asked_pid = pid;
    snprintf(top->state.message, sizeof(top->state.message),
             "process %u is not recorded: attach to it for as long as you look? a: attach, any "
             "other key: no",
             pid);
    return status;
}

static int open_name(struct hs_top *top, const char *name, bool is_plain)
{
    struct hs_endpoint place;
    uint32_t pid;
    int status = hs_recorded_find(0, name, &place, &pid);
    return status == HS_EXIT_STATUS_DONE ? open_pid(top, pid, is_plain) : status;
}

static int open_operand(struct hs_top *top, const char *operand, bool is_plain)
{
    if (!operand) {
        top->state.is_list = true;
        return HS_EXIT_STATUS_DONE;
    }
    if (pid_of(operand) != 0) {
        return open_pid(top, pid_of(operand), is_plain);
    }
    return is_file(operand) ? hs_top_source_file(operand, &top->source)
                            : open_name(top, operand, is_plain);
}

static int show(struct hs_top *top, const char *operand, bool is_plain)
{
    /* First, so that all helpers are children of the process that waits for them. */
    int status = is_plain ? HS_GUARD_CHILD : hs_guard_begin();
    if (status != HS_GUARD_CHILD) {
        return status;
    }
    top->processes.guard_pid = is_plain ? 0 : getppid();
    status = open_operand(top, operand, is_plain);
    if (status == HS_EXIT_STATUS_DONE) {
        status = is_plain ? hs_top_print(top) : hs_top_loop(top);
    }
    hs_top_leave(top);
    hs_top_processes_deinit(&top->processes);
    hs_top_order_deinit(&top->order);
    return status;
}

int hs_cmd_top(int argc, char **argv)
{
    static struct hs_top top;
    uint64_t interval_ns = UINT64_C(1000000000);
    unsigned kind = HS_TOP_STACKS;
    bool is_plain = false;
    top = (struct hs_top){ .options = { .table_count = 0, .row_count = 20 },
                           .source.link.fd = -1,
                           .attach = HS_HELPER_NONE,
                           .snapshot = HS_HELPER_NONE };
    const struct hs_opt options[] = {
        HS_OPT_DURATION('d', "delay", "DURATION", &interval_ns, INTERVAL_MIN_NS, INTERVAL_MAX_NS,
                        "the least time between two looks (default 1s)"),
        HS_OPT_NUMBER('n', "iterations", "COUNT", &top.options.table_count, 1, INT_MAX,
                      "print so many tables as plain text, and end"),
        HS_OPT_FLAG(0, "plain", &is_plain, "print plain text, also on a terminal: one table"),
        HS_OPT_NUMBER(0, "top", "N", &top.options.row_count, 1, INT_MAX,
                      "rows of each table of plain text (default 20)"),
        HS_OPT_CHOICE(0, "by", "TABLE", &kind, hs_top_kind_names,
                      "the table to begin with: stacks, functions or types"),
        HS_OPT_FLAG(0, "attach", &top.options.is_attaching,
                    "attach to the process if it is not recorded, without a question"),
    };
    const struct hs_opts_spec spec = {
        .command = "top",
        .summary = "show what processes hold now, and how it grows",
        .operands_usage = "[PID|NAME|FILE]",
        .operands_max = 1,
        .footer =
            "Without an operand, shows the processes that are recorded, and those that could\n"
            "be. Of a file, shows the last snapshot. The key ? explains all others.\n"
            "Output that is no terminal is plain text.",
        .options = options,
        .option_count = HS_COUNT_OF(options),
    };
    struct hs_opts_result args;
    int status = hs_args_parse(&spec, argc, argv, &args);
    if (status != HS_ARGS_GO_ON) {
        return status;
    }
    is_plain |=
        top.options.table_count > 0 || isatty(STDOUT_FILENO) != 1 || isatty(STDIN_FILENO) != 1;
    top.options.table_count += top.options.table_count == 0;
    top.options.interval_ms = (uint32_t)(interval_ns / 1000000);
    top.state.kind = (enum hs_top_kind)kind;
    return show(&top, args.operand_count > 0 ? args.operands[0] : NULL, is_plain);
}
