/*
 * `top` at work: what it shows, and the commands that it runs meanwhile.
 *
 *     cmd_top.c      options: what is shown, and how
 *     top_plain.c    tables as plain text
 *     top_loop.c     the terminal: waits for keys, updates and helpers
 *     top_keys.c     what each key does
 *     top_open.c     opens a process, attaches to it, leaves it
 *
 * Threads   main thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/top/helper.h"
#include "cli/top/top_processes.h"
#include "cli/top/top_source.h"
#include "cli/top/top_state.h"

struct hs_top_options {
    uint32_t interval_ms;
    uint64_t table_count; /* of plain text */
    uint64_t row_count;   /* of each of them */
    bool is_attaching;    /* a process that is not recorded is attached to, without a question */
    enum hs_top_kind kind;
};

struct hs_top {
    struct hs_top_options options;
    struct hs_top_state state;
    struct hs_top_processes processes;
    uint64_t look_ns; /* when to look at the processes again */
    struct hs_top_source source;
    struct hs_top_order order;
    struct hs_helper attach; /* at work as long as the process is shown that it attached to */
    struct hs_helper snapshot;
    uint32_t awaited_pid; /* that the helper attaches to; 0: none */
    bool is_over;
};

/* Watches a process that anybody records. 0, or -errno with the reason in *ret_why. */
int hs_top_open_pid(struct hs_top *top, uint32_t pid, struct hs_buf *ret_why);
/* Attaches to a process: a helper does it, and hs_top_await() finds out when it has. 0 or
 * -errno. */
int hs_top_attach(struct hs_top *top, uint32_t pid);
/* Has the helper attached? Then the process is watched, and it returns 1; 0: not yet; -ECANCELED:
 * it could not, and said why. */
int hs_top_await(struct hs_top *top);
/* Stops to show the process, and detaches if `top` had attached. */
void hs_top_leave(struct hs_top *top);

/* Does what a key means. */
void hs_top_key(struct hs_top *top, int key);

/* Shows everything on the terminal until the user ends it. Returns the exit status. */
int hs_top_loop(struct hs_top *top);
/* Prints tables. Returns the exit status. */
int hs_top_print(struct hs_top *top);
