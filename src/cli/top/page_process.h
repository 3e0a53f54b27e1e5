/*
 * The page of one process: head, memory, and the table of its stacks, functions or types.
 *
 * Threads   none.
 */
#pragma once

#include "cli/top/text_page.h"
#include "cli/top/top_source.h"
#include "cli/top/top_state.h"

/* Lines of the head above the table, and of the keys below it. */
#define HS_TEXT_PAGE_HEAD_LINES 5U
#define HS_TEXT_PAGE_FOOT_LINES 1U

/* Adds the head: which process it is, its live heap, and what its resident memory consists of. */
void hs_text_page_process_head(struct hs_text_page *page, const struct hs_top_source *source,
                               const struct hs_top_state *state);
/* Fills the page. Moves the cursor of the state to where its row is now. */
void hs_text_page_process(struct hs_text_page *page, const struct hs_top_source *source,
                          const struct hs_top_order *order, struct hs_top_state *state);
/* Adds the titles of the table's columns, and the first `max` rows: for plain text. */
void hs_text_page_process_table(struct hs_text_page *page, const struct hs_top_source *source,
                                const struct hs_top_order *order, const struct hs_top_state *state,
                                size_t max);

/* The last line: a message, the filter that is being typed, or what keys do. */
void hs_text_page_foot(struct hs_text_page *page, const struct hs_top_state *state,
                       const char *keys);
