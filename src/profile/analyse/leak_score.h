/*
 * Finds leaks: stacks whose blocks are not freed while new ones keep coming.
 *
 * A dump says of each stack when the blocks were allocated that live (trace/heap_births.h). The
 * time from the start of recording to the dump, without its last sixteenth, is divided into
 * eighths; what was allocated in the last sixteenth may be about to be freed, and is not looked at.
 *
 *     eighth                   1    2    3    4    5    6    7    8
 *     slow leak               10   11    9   10   10   12   10    9    evenly, to the end
 *     read at the start       80    0    0    0    0    0    0    0
 *     table that stopped      10   10   10   10    5    0    0    0    nothing in the last ones
 *     cache, oldest evicted    0    0    0    0    0    5   20   20    nothing in the first ones,
 *     cache, random eviction   1    1    2    4    6    9   14   19    or ever less: its blocks die
 *
 * Let `new` be what of the second half lives, and `dead` what lived at an earlier dump of the
 * process, about the half of the time, and was freed since. A stack leaks if all of this holds:
 *
 *   it goes on    each of the last two quarters has at least 0.4 of their mean. If the last eighth,
 *                 by the mean of the last four, is expected to have 3.5 blocks or samples, it has
 *                 one; if 8, it has at least 0.3 of that mean. (It is not looked at if it is
 *                 shorter than 8 ms, because the client's clock has a resolution of 4 ms.)
 *   blocks stay   with earlier dumps: at each of those nearest to 1/4, 1/2 and 3/4 of the time,
 *                 less than half as much has died as is new since. Without: at most 5 % of all
 *                 that the stack allocated was freed; or each quarter has at least 0.25 of their
 *                 mean, and the first half at least 0.45 of the second (0.33 if they have few
 *                 blocks or samples). Of a cache with random eviction, the first half has
 *                 e^(-n/2) of the second, if its entries were replaced n times
 *   it is sure    the one-sided probability that new - dead exceeds new / 2, if blocks and samples
 *                 come independently (normal approximation), is the `confidence`: it must be
 *                 HS_LEAK_CONFIDENCE
 *
 * The variance of new and dead is that of sampling, and in addition bytes^2 / count, that of a
 * random number of blocks: so a few large blocks are no certainty, even if they are recorded
 * exactly. Growth is (new - dead) by time, with a margin of 1.96 times the root of the variance.
 *
 * Several processes with the same stack are added up, eighth by eighth of each one's own time.
 *
 * Threads   immutable once built.
 * Fails     -ENODATA: a selected dump with live blocks says nothing of births; -ENOMEM.
 * See       docs/adr/0041-leak-score.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/analyse/aggregate.h"
#include "profile/analyse/select.h"

#define HS_LEAK_CONFIDENCE 0.975
#define HS_LEAK_EIGHTHS    8U

enum hs_leak_verdict {
    HS_LEAK_LEAKS,
    HS_LEAK_UNSURE,   /* it goes on and blocks stay, but there are too few to be sure */
    HS_LEAK_REPLACED, /* it goes on, and old blocks die */
    HS_LEAK_STOPPED,  /* it does not go on */
    HS_LEAK_VERDICT_N,
};

/* "leaks", "unsure", ... */
extern const char *const hs_leak_verdict_names[HS_LEAK_VERDICT_N];

/* What the score adds up; struct hs_amount has more, and there may be a million stacks. */
struct hs_leak_amount {
    double bytes, count, bytes_var;
};

/* A stack with live blocks. */
struct hs_leak_row {
    uint32_t node; /* of the tree: where the stack ends */
    enum hs_leak_verdict verdict;
    double confidence;            /* 0 to 1; 0 if it does not go on, or blocks do not stay */
    double growth, growth_margin; /* bytes an hour, in the second half of the time */
    /* What lives of each eighth of the time; the last sixteenth is in none of them. */
    struct hs_leak_amount eighths[HS_LEAK_EIGHTHS];
    struct hs_amount live, alloc;
    uint64_t oldest_ms; /* the oldest block is at least so old; 0: not known */
};

struct hs_leaks {
    struct hs_leak_row *rows; /* by verdict, then the fastest growth first */
    uint32_t count;
    uint32_t earlier_dump_count; /* that were compared with */
    uint64_t span_ms;            /* of the longest recording that was looked at */
    bool is_short;               /* the recordings are too short to tell anything: no row leaks */
};

/* Does each selected dump with live blocks say when they were allocated? Also true if no dump is
 * selected. */
bool hs_leaks_is_known(const struct hs_profile *profile, const struct hs_select_spec *spec);

/* `agg` was built from the selection. */
int hs_leaks_find(const struct hs_selection *selection, const struct hs_agg *agg,
                  struct hs_leaks *ret_leaks);
/* Frees the rows. */
void hs_leaks_deinit(struct hs_leaks *leaks);
