/*
 * The lines of a ledger from a process's mappings: what each mapping is, and sums of those of one
 * kind and name.
 *
 * Threads   one.
 * Fails     -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/ledger/address_space.h"
#include "collect/ledger/malloc_space.h"
#include "collect/ledger/thread_stacks.h"
#include "trace/ledger.h"

/* Parts of a mapping that other lines contain. */
struct hs_mapping_claim {
    uint64_t size_bytes, rss_bytes, pss_bytes, swap_bytes;
};

struct hs_ledger_lines {
    struct hs_ledger_line *items;
    size_t count;
    size_t capacity;
};

/* Is the file with this path heapscope's client, or its region? */
bool hs_ledger_is_recorder(const char *path);
/* Adds one line; copies the name. */
int hs_ledger_lines_add(struct hs_ledger_lines *lines, const struct hs_ledger_line *line,
                        const char *name);
/* Adds the lines of malloc's memory. `pss_share`: how much of a resident byte counts as PSS. */
int hs_ledger_lines_add_malloc(struct hs_ledger_lines *lines, const struct hs_malloc_space *space,
                               double pss_share);
/* Adds what claims[i] leaves of each mapping i. */
int hs_ledger_lines_add_mappings(struct hs_ledger_lines *lines,
                                 const struct hs_address_space *space,
                                 const struct hs_mapping_claim *claims,
                                 const struct hs_thread_stacks *stacks, const char *main_thread);
/* Merges lines of one kind and name, and sorts them: the largest resident sum first. */
void hs_ledger_lines_merge(struct hs_ledger_lines *lines);
/* Frees the lines. */
void hs_ledger_lines_deinit(struct hs_ledger_lines *lines);
