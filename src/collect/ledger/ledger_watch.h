/*
 * When the ledger of a recorded process is read, and which ledgers are kept: the newest, and that
 * of the largest resident set.
 *
 * A process that has ended has no memory to read, so its last ledger must have been read before.
 * Ledgers are therefore read while it runs, more often when its resident set changes, and most
 * often while it is young. All processes of a collector share one allowance: reading ledgers takes
 * at most 1/32 of the time at first, and for processes that were never read; otherwise 1/200 of it,
 * on the collector's CPU. A process's first ledger can take more, and what the next one takes is
 * expected to grow with the resident set: up to twice what is left of the allowance is spent.
 *
 * Threads   one.
 * Fails     a ledger that cannot be read is left out; the older one stays.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/region/region_reader.h"
#include "trace/ledger.h"
#include "trace/pinned_pages.h"

/* What the collector has spent on ledgers. */
struct hs_ledger_allowance {
    uint64_t begin_ns; /* CLOCK_MONOTONIC; 0: nothing was read yet */
    uint64_t spent_ns;
};

struct hs_ledger_watch {
    struct hs_ledger *last;       /* NULL: none was read */
    struct hs_pinned_pages *pins; /* read with it; NULL: none */
    struct hs_ledger *rss_peak;   /* of the largest resident set; NULL: none was read */
    uint64_t begin_ns;            /* of watching */
    uint64_t look_ns;             /* when to look at the resident set */
    uint64_t next_ns;             /* when to read again, if the resident set does not change */
    uint64_t doubtful_ns;         /* since when readings are left out; 0: they are not */
    bool is_asked_for;            /* the next snapshot reads, however new the newest is */
};

/* Reads the ledger if that is due. Returns when to call again. */
uint64_t hs_ledger_watch_look(struct hs_ledger_watch *watch, struct hs_ledger_allowance *allowance,
                              pid_t pid, struct hs_region *region, uint64_t now_ns);
/* For a snapshot: reads the ledger, unless one was read a moment ago and it was not asked for. */
void hs_ledger_watch_read(struct hs_ledger_watch *watch, pid_t pid, struct hs_region *region,
                          uint64_t now_ns);
/* Frees the ledgers. */
void hs_ledger_watch_deinit(struct hs_ledger_watch *watch);
