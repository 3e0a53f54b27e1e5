/*
 * What the two texts about a change of the resident memory share. Only for files of the comparison.
 *
 * Threads   no state.
 */
#pragma once

#include "profile/analyse/ledger_diff.h"
#include "profile/analyse/rss_verdict.h"
#include "view/diff_view.h"

/* Changes that are smaller are not shown one by one. */
double hs_diff_ledger_least(const struct hs_ledger_diff *diff);
struct hs_rss_growth hs_diff_ledger_growth(const struct hs_ledger_diff *diff);
/* Writes why the resident memory changed. */
void hs_diff_ledger_write_verdict(const struct hs_ledger_diff *diff,
                                  const struct hs_diff_options *options, struct hs_buf *buf);
/* The parts, the largest change first. */
void hs_diff_ledger_sort_parts(const struct hs_ledger_diff *diff,
                               struct hs_ledger_change ret_parts[HS_LEDGER_PARTS]);
