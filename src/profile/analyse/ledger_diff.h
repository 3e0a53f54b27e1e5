/*
 * How the resident memory of two states differs, line by line and in parts.
 *
 * Lines are the same when their kinds and names are. The measure is the resident bytes; when a side
 * has several processes, the proportional ones (PSS) of both sides, because the sum of resident
 * bytes would count shared memory more than once.
 *
 * Threads   pure.
 * Fails     -ENOMEM
 * See       ledger_sums.h, ledger_parts.h, rss_verdict.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/analyse/diff.h"
#include "profile/analyse/ledger_parts.h"
#include "profile/analyse/ledger_sums.h"

struct hs_ledger_change {
    uint32_t kind;    /* enum hs_ledger_kind */
    const char *name; /* "" none; of one of the two profiles */
    uint64_t bytes[HS_DIFF_SIDE_N];
    double delta_bytes;
};

struct hs_ledger_diff {
    struct hs_ledger_sums sums[HS_DIFF_SIDE_N];
    bool is_known; /* both sides have a ledger of one process at least */
    bool is_whole; /* each process of both sides has one */
    bool is_pss;
    struct hs_ledger_change all, unexplained;
    struct hs_ledger_change kinds[HS_LEDGER_KIND_N];
    struct hs_ledger_change parts[HS_LEDGER_PARTS]; /* `kind` is the part */
    /* of each kind and name: by part; in each, the largest change first */
    struct hs_ledger_change *lines;
    size_t line_count;
};

/* Compares the ledgers at the selected dumps. Both profiles must outlive the comparison. */
int hs_ledger_diff_build(const struct hs_selection *before, const struct hs_selection *after,
                         struct hs_ledger_diff *ret_diff);
/* Frees what the comparison owns. */
void hs_ledger_diff_deinit(struct hs_ledger_diff *diff);
