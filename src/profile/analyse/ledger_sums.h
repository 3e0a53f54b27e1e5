/*
 * The ledgers of the selected dumps, added up: what the resident memory of one or several processes
 * consisted of.
 *
 * Resident sums of several processes count a shared page in each of them; proportional sums (PSS)
 * count it once. The ledgers of several processes are of different moments.
 *
 * Threads   none.
 * Fails     -ENOMEM
 * See       trace/ledger.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/analyse/select.h"

struct hs_ledger_sum {
    uint32_t kind;  /* enum hs_ledger_kind */
    uint32_t name;  /* string id; 0 none */
    uint64_t count; /* of chunks, threads or mappings */
    uint64_t size_bytes, rss_bytes, pss_bytes, swap_bytes;
};

struct hs_ledger_sums {
    uint32_t process_count; /* with a ledger */
    uint32_t missing_count; /* selected processes without one */
    struct hs_ledger_sum all;
    struct hs_ledger_sum kinds[HS_LEDGER_KIND_N];
    struct hs_ledger_sum *lines; /* by kind; in each, the largest first */
    uint32_t line_count;
    uint64_t page_table_bytes;
    uint64_t trim_bytes;
    uint64_t arena_count;
    uint64_t time_first_ns, time_last_ns;
    bool is_free_cut;       /* of any process */
    uint32_t malloc_result; /* enum hs_ledger_malloc: of a process whose heap could not be read */
    struct hs_amount live;  /* of these processes, at the selected dumps */
};

/* The lines of a ledger in few parts, as one names them in a sentence. */
#define HS_LEDGER_PARTS 9U
struct hs_ledger_part {
    const char *words; /* "blocks from malloc" */
    uint64_t rss_bytes;
};

/* Fills the parts, always in the same order. They add up to the resident sum, except for what
 * changed while the ledgers were read. */
void hs_ledger_parts_of(const struct hs_ledger_sums *sums,
                        struct hs_ledger_part ret_parts[HS_LEDGER_PARTS]);

/* Adds up the ledgers at the selected dumps; or, `is_rss_peak`, those of the largest resident
 * sets. */
int hs_ledger_sums_of(const struct hs_selection *selection, bool is_rss_peak,
                      struct hs_ledger_sums *ret_sums);
/* Frees the lines. */
void hs_ledger_sums_deinit(struct hs_ledger_sums *sums);
