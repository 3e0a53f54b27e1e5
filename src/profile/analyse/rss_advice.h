/*
 * What can be done about resident memory that malloc keeps free. A remedy is only named where its
 * line is large, and where a test has shown that it works (test/e2e/test_pinned_pages.py).
 *
 *     struct hs_rss_advice advice[HS_RSS_ADVICE_MAX];
 *     uint32_t count = hs_rss_advice_of(&sums, advice);
 *
 * Threads   none.
 * Fails     never.
 * See       ledger_sums.h
 */
#pragma once

#include "profile/analyse/ledger_sums.h"

enum hs_rss_remedy {
    HS_RSS_TRIM,   /* malloc_trim(0) gives back `bytes` */
    HS_RSS_ARENAS, /* `bytes` are free in `arena_count` arenas: MALLOC_ARENA_MAX=2 */
};

#define HS_RSS_ADVICE_MAX 2U

struct hs_rss_advice {
    enum hs_rss_remedy remedy;
    uint64_t bytes; /* resident; with HS_RSS_ARENAS, the remedy gives back a part of them */
    uint64_t arena_count;
};

/* Fills in the remedies for these ledgers, and returns how many there are. */
uint32_t hs_rss_advice_of(const struct hs_ledger_sums *sums,
                          struct hs_rss_advice ret_advice[HS_RSS_ADVICE_MAX]);
/* The name of a remedy in JSON: "malloc_trim". */
const char *hs_rss_remedy_key(enum hs_rss_remedy remedy);
