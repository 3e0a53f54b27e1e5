/*
 * The figures of an amount, as our tables have them: with the ends of their 95 % intervals.
 *
 * Threads   pure functions.
 * See       docs/SQL.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/model/margin.h"
#include "sql/store/sql_store.h"

struct hs_own_figures {
    int64_t bytes, count, bytes_low, bytes_high, count_low, count_high;
};

/* An interval of 0 means that the sampling is unknown, so the confidence interval is unknown,
 * too. */
static inline struct hs_own_figures hs_own_figures_of(const struct hs_amount *amount,
                                                      uint64_t interval_bytes, bool is_known)
{
    if (!is_known) {
        return (struct hs_own_figures){ HS_ROWS_NULL, HS_ROWS_NULL, HS_ROWS_NULL,
                                        HS_ROWS_NULL, HS_ROWS_NULL, HS_ROWS_NULL };
    }
    struct hs_figure bytes = hs_figure_of(amount, false), count = hs_figure_of(amount, true);
    struct hs_margin of_bytes = hs_margin_of(&bytes), of_count = hs_margin_of(&count);
    bool has_ends = interval_bytes > 0;
    return (struct hs_own_figures){
        .bytes = hs_rows_real(amount->bytes),
        .count = hs_rows_real(amount->count),
        .bytes_low = has_ends ? hs_rows_real(amount->bytes - of_bytes.below) : HS_ROWS_NULL,
        .bytes_high = has_ends ? hs_rows_real(amount->bytes + of_bytes.above) : HS_ROWS_NULL,
        .count_low = has_ends ? hs_rows_real(amount->count - of_count.below) : HS_ROWS_NULL,
        .count_high = has_ends ? hs_rows_real(amount->count + of_count.above) : HS_ROWS_NULL,
    };
}

#define HS_OWN_FIGURE_CELLS(s)                                                                     \
    (s).bytes, (s).count, (s).bytes_low, (s).bytes_high, (s).count_low, (s).count_high
