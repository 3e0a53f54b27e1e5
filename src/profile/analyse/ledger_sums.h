/*
 * Ledgers, added up: what the resident memory of one or several processes consisted of.
 *
 * Resident sums of several processes count a shared page in each of them; proportional sums (PSS)
 * count it once, if all the processes that share it are added up and were read at about the same
 * time. The ledgers of several processes are of different moments.
 *
 * Threads   none.
 * Fails     -ENOMEM
 * See       trace/ledger.h, ledger_parts.h (the same in few parts)
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
    struct hs_ledger_blocks blocks;
    double rss_margin_bytes; /* half the width of the 95 % interval of rss_bytes; 0: it is exact */
};

struct hs_ledger_sums {
    uint32_t process_count; /* with a ledger */
    uint32_t missing_count; /* selected processes without one */
    uint64_t missing_bytes; /* the most that was resident in each of these, added up */
    bool is_missing_known;  /* that is known of all of them */
    struct hs_ledger_sum all;
    struct hs_ledger_sum kinds[HS_LEDGER_KIND_N];
    struct hs_ledger_sum *lines; /* by kind; in each, the largest first */
    uint32_t line_count;
    /*
     * What no line explains (hs_ledger_is_explained()), and what the lines have more or less than
     * the kernel counted, because it changed while it was read. Sizes and counts are not added.
     */
    struct hs_ledger_sum unexplained;
    uint64_t changed_bytes; /* of `unexplained`: how much the lines differ from the kernel's sums */
    uint64_t page_table_bytes;
    uint64_t hugetlb_bytes; /* what processes share counts in each */
    uint64_t trim_bytes;
    double trim_margin_bytes;
    uint32_t
        malloc_part_share; /* the largest of any process; 1: all of malloc's chunks were read */
    uint64_t arena_count;
    uint64_t time_first_ns, time_last_ns;
    bool is_free_cut;       /* of any process */
    uint32_t malloc_result; /* enum hs_ledger_malloc: of a process whose heap could not be read */
};

/* Adds up the ledgers at the selected dumps; or, `is_rss_peak`, those of the largest resident
 * sets. */
int hs_ledger_sums_of(const struct hs_selection *selection, bool is_rss_peak,
                      struct hs_ledger_sums *ret_sums);
/* The same of one ledger: an index in the profile's ledgers. */
int hs_ledger_sums_of_one(const struct hs_profile *profile, uint32_t ledger_idx,
                          struct hs_ledger_sums *ret_sums);
/* Frees the lines. */
void hs_ledger_sums_deinit(struct hs_ledger_sums *sums);

/* The line of this kind and name, or NULL. */
const struct hs_ledger_sum *hs_ledger_sums_find(const struct hs_ledger_sums *sums, uint32_t kind,
                                                uint32_t name);
/*
 * What a table of the sums measures: the proportional bytes of several processes, because their
 * resident bytes would count shared memory more than once; the resident bytes of one.
 */
uint64_t hs_ledger_sums_measure(const struct hs_ledger_sums *sums, const struct hs_ledger_sum *sum);
