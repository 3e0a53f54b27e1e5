/*
 * Why the resident memory grew or shrank: which part of it changed most, and what can be done.
 *
 * The figures are bytes for two states, and bytes by a unit of time for a trend over many.
 *
 *     blocks +1.0 MiB, free memory +17 MiB, others 0, arenas 1 -> 9     HS_RSS_ARENAS
 *     blocks -17 MiB, free memory +17 MiB                               HS_RSS_STEADY
 *
 * Threads   pure functions.
 * See       ledger_parts.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/analyse/ledger_parts.h"

struct hs_buf;

enum hs_rss_cause {
    HS_RSS_STEADY,    /* the change is small */
    HS_RSS_HELD,      /* blocks that the program holds */
    HS_RSS_ARENAS,    /* malloc keeps more memory free, in more arenas than before */
    HS_RSS_RETAINED,  /* the same, mostly at the ends of arenas */
    HS_RSS_SCATTERED, /* the same, mostly between blocks in use */
    HS_RSS_MAPPED,    /* what the program maps itself: the heap mmap */
    HS_RSS_ALLOCATOR, /* memory of an allocator that is not glibc's malloc */
    HS_RSS_RUNTIME,   /* memory of the runtime of a language */
    HS_RSS_ANONYMOUS,
    HS_RSS_SHARED,
    HS_RSS_STACKS,
    HS_RSS_MODULES,
    HS_RSS_FILES,
    HS_RSS_RECORDER,
    HS_RSS_OTHER,
    HS_RSS_CAUSE_N,
};

struct hs_rss_growth {
    double all_bytes;
    double parts_bytes[HS_LEDGER_PARTS];
    double top_bytes;   /* of HS_LEDGER_PART_FREE, at the ends of arenas */
    double least_bytes; /* smaller changes are not worth a word */
    uint64_t arenas_before, arenas_after;
    uint64_t threads_before, threads_after;
    uint32_t process_count; /* of `arenas_after` */
    uint64_t trim_bytes;    /* what malloc_trim(3) would give back afterwards; not a change */
};

/* The part that changed most in the direction in which all changed. */
enum hs_rss_cause hs_rss_cause_of(const struct hs_rss_growth *growth);
/* "held": the name of a cause in JSON. */
const char *hs_rss_cause_key(enum hs_rss_cause cause);

/*
 * Writes the verdict as sentences: "Resident memory grew by 18.0 MiB: memory that malloc keeps free
 * +17.0 MiB, blocks from malloc +1.00 MiB." `per` is what the figures are for: "", or a unit of
 * time, "a minute".
 */
void hs_rss_verdict_write(const struct hs_rss_growth *growth, const char *per, struct hs_buf *buf);
/* Writes what the cause means for the program, and what setting changes it; a sentence that begins
 * with a blank, or nothing. */
void hs_rss_advice_write(const struct hs_rss_growth *growth, struct hs_buf *buf);
/*
 * Writes which command says more of the cause, as a sentence that begins with a blank, or nothing:
 * for the terminal. The page leads to its own view, by the name of the cause.
 */
void hs_rss_where_write(const struct hs_rss_growth *growth, struct hs_buf *buf);
