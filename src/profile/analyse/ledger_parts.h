/*
 * The lines of a ledger in few parts, as one names them in a sentence: "free memory in malloc".
 *
 * Threads   pure functions.
 * See       ledger_sums.h
 */
#pragma once

#include <stdint.h>

#include "profile/analyse/ledger_sums.h"

enum hs_ledger_part_kind {
    HS_LEDGER_PART_HELD,      /* blocks that malloc has given to the program */
    HS_LEDGER_PART_FREE,      /* free memory that malloc keeps */
    HS_LEDGER_PART_MMAP,      /* what the program maps itself, with stacks */
    HS_LEDGER_PART_ALLOCATOR, /* of allocators other than glibc's malloc: blocks and free memory */
    HS_LEDGER_PART_RUNTIME,   /* of runtimes of languages */
    HS_LEDGER_PART_ANONYMOUS,
    HS_LEDGER_PART_SHARED,
    HS_LEDGER_PART_STACKS,
    HS_LEDGER_PART_MODULES,
    HS_LEDGER_PART_FILES,
    HS_LEDGER_PART_RECORDER,
    HS_LEDGER_PART_OTHER,
    HS_LEDGER_PARTS,
};

struct hs_ledger_part {
    const char *words; /* "blocks from malloc" */
    uint64_t rss_bytes, pss_bytes;
};

/* The part that contains the lines of a kind. */
enum hs_ledger_part_kind hs_ledger_part_of(uint32_t kind);
/* The name of a part in JSON: "malloc_free". */
const char *hs_ledger_part_key(enum hs_ledger_part_kind part);
/* Its name in a sentence: "free memory in malloc". */
const char *hs_ledger_part_words(enum hs_ledger_part_kind part);

/* Fills the parts, by enum hs_ledger_part_kind. They add up to the resident sum, except for what
 * changed while the ledgers were read. */
void hs_ledger_parts_of(const struct hs_ledger_sums *sums,
                        struct hs_ledger_part ret_parts[HS_LEDGER_PARTS]);
