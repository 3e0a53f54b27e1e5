/*
 * Makes pinned pages (trace/pinned_pages.h) from the chunks of a heap and the recorded blocks.
 *
 * It runs in the collector, on arrays: nothing of it runs in the process. The number of pages and
 * of chunks that it looks at is limited, and so is its time: of a larger heap it looks at a sample
 * of pages, and scales.
 *
 * Trust     see pin_table.h.
 * Threads   one.
 * Fails     -ENOMEM; -EFBIG: even a sample is too large.
 */
#pragma once

#include "collect/ledger/used_chunks.h"
#include "collect/region/live_blocks.h"
#include "trace/pinned_pages.h"

/* Sorts the arrays of `chunks` and `blocks`. The caller frees the result. */
int hs_pins_make(struct hs_used_chunks *chunks, struct hs_live_blocks *blocks,
                 struct hs_pinned_pages **ret_pins);
