/*
 * What can be done about resident memory that malloc keeps free. A remedy is only named where its
 * line is large, and where a test has shown that it works (test/e2e/test_pinned_pages.py,
 * test/e2e/test_fragmentation.py).
 *
 *     struct hs_rss_advice advice[HS_RSS_ADVICE_MAX];
 *     uint32_t count = hs_rss_advice_of(&selection, &sums, advice);
 *
 * Threads   none.
 * Fails     never: without memory, the remedy of jemalloc is left out.
 * See       ledger_sums.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/analyse/ledger_sums.h"

enum hs_rss_remedy {
    HS_RSS_TRIM,   /* malloc_trim(0) gives back `bytes` */
    HS_RSS_MANY,   /* `bytes` are free in `arena_count` arenas: MALLOC_ARENA_MAX=2 */
    HS_RSS_ENDS,   /* `bytes` are free at the ends of arenas: MALLOC_TRIM_THRESHOLD_=131072 */
    HS_RSS_PIECES, /* `bytes` are free in large pieces: MALLOC_MMAP_THRESHOLD_=131072 */
    HS_RSS_DECAY,  /* of jemalloc, `bytes` are in no live block: MALLOC_CONF=dirty_decay_ms:0 */
    HS_RSS_REMEDY_N,
};

#define HS_RSS_ADVICE_MAX ((uint32_t)HS_RSS_REMEDY_N)

struct hs_rss_advice {
    enum hs_rss_remedy remedy;
    uint64_t bytes; /* resident; except for HS_RSS_TRIM, the remedy gives back a part of them */
    uint64_t arena_count;
};

/*
 * Fills in the remedies for these ledgers, and returns how many there are. `selection` tells what
 * is live at the moment of the ledgers.
 */
uint32_t hs_rss_advice_of(const struct hs_selection *selection, const struct hs_ledger_sums *sums,
                          struct hs_rss_advice ret_advice[HS_RSS_ADVICE_MAX]);
/* Are there so many arenas that a limit of two lets threads share much of what is free in them? */
bool hs_rss_are_arenas_many(uint64_t arena_count, uint32_t process_count);
/* The name of a remedy in JSON: "malloc_trim". */
const char *hs_rss_remedy_key(enum hs_rss_remedy remedy);
