/*
 * What the user of `top` has chosen: which rows are shown, in which order, and where the cursor is.
 *
 * Threads   main thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/top/top_rows.h"

#define HS_TOP_FILTER_BYTES 128

enum hs_top_sort {
    HS_TOP_BY_LIVE,
    HS_TOP_BY_TOTAL, /* of functions; of others the same as live */
    HS_TOP_BY_COUNT,
    HS_TOP_BY_GROWTH,
    HS_TOP_BY_NAME,
    HS_TOP_SORT_N,
};

/* What the next key is an answer to. */
enum hs_top_question {
    HS_TOP_ASKS_NOTHING,
    HS_TOP_ASKS_ATTACH, /* attach to the process `asked_pid`? */
};

struct hs_top_state {
    bool is_utf8;   /* the terminal shows UTF-8 */
    bool is_list;   /* processes are shown, not one process */
    bool is_paused; /* no update is asked for */
    bool is_help;
    bool is_typing; /* the filter */
    enum hs_top_kind kind;
    enum hs_top_sort sort;
    char filter[HS_TOP_FILTER_BYTES];
    uint64_t selected_key; /* of the row at the cursor; it follows its row */
    size_t cursor;         /* its place among the rows that are shown */
    size_t scroll;         /* the first line of the table that is on the page */
    uint64_t expanded_key; /* of the stack whose frames are shown; 0: none */
    enum hs_top_question question;
    uint32_t asked_pid;
    char message[512]; /* in the last line, instead of the keys; "": none */
};

/* The rows that are shown, in their order: indices. */
struct hs_top_order {
    uint32_t *idx;
    uint32_t count;
    size_t capacity;
};

/* Filters and sorts the rows of a table. 0 or -ENOMEM. */
int hs_top_order_rows(const struct hs_top_rows *rows, const struct hs_top_state *state,
                      struct hs_top_order *order);
void hs_top_order_deinit(struct hs_top_order *order);

/* Does a name contain the filter, whatever the case of its letters? */
bool hs_top_filter_matches(const struct hs_top_state *state, const char *name);

extern const char *const hs_top_kind_names[HS_TOP_KIND_N];
extern const char *const hs_top_sort_names[HS_TOP_SORT_N];
