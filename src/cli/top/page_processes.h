/*
 * The page of all processes, and the page that explains the keys.
 *
 * Threads   none.
 */
#pragma once

#include "cli/top/text_page.h"
#include "cli/top/top_processes.h"
#include "cli/top/top_state.h"

/* Finds the processes that match the filter: indices, in the order of the list. 0 or -ENOMEM. */
int hs_top_order_processes(const struct hs_top_processes *processes,
                           const struct hs_top_state *state, struct hs_top_order *order);
/* Fills the page. Moves the cursor of the state to where its process is now. */
void hs_text_page_processes(struct hs_text_page *page, const struct hs_top_processes *processes,
                            const struct hs_top_order *order, struct hs_top_state *state);
/* Adds the titles of the columns, and the first `max` processes: for plain text. */
void hs_text_page_processes_table(struct hs_text_page *page,
                                  const struct hs_top_processes *processes,
                                  const struct hs_top_order *order, size_t max);

/* Fills the page with what each key does. */
void hs_text_page_help(struct hs_text_page *page);
