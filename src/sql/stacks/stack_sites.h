/*
 * The call sites of a database as arrays, so that code that walks over all stacks reads them once
 * and not row by row.
 *
 * Holds     sites are in the order of their ids. An inconsistency (a duplicate id, a missing
 *           parent, a cycle) is noted and not refused, because some users can work in spite of it.
 *           Of a duplicate id, the first row is valid.
 * Threads   one user.
 * Fails     an SQLite error code; the connection has the text, except for SQLITE_NOMEM.
 */
#pragma once

#include <sqlite3.h>

#include "sql/store/id_map.h"

#define HS_STACK_NONE      UINT32_MAX
#define HS_STACK_SITES_MAX (1U << 28)

enum hs_stack_fault {
    HS_STACK_FAULT_NONE,
    HS_STACK_FAULT_ORPHAN,
    HS_STACK_FAULT_CYCLE,
    HS_STACK_FAULT_DUPLICATE,
    HS_STACK_FAULT_N,
};

struct hs_stack_sites {
    struct hs_id_map ids;
    uint32_t *parents; /* HS_STACK_NONE: the site is outermost */
    int64_t *frame_ids;
    size_t parent_capacity, frame_capacity;
    /* parents first, without the sites on cycles; NULL: the sites are already in such an order */
    uint32_t *order;
    uint32_t ordered_count;
    enum hs_stack_fault fault; /* the worst inconsistency, and the id of one such site */
    int64_t fault_id;
};

extern const char *const hs_stack_fault_texts[HS_STACK_FAULT_N];

/* Reads all call sites of the database. */
int hs_stack_sites_load(sqlite3 *db, struct hs_stack_sites *sites);
/* Frees the arrays. */
void hs_stack_sites_deinit(struct hs_stack_sites *sites);

/* Site number i in an order that has parents first. */
static inline uint32_t hs_stack_sites_ordered(const struct hs_stack_sites *sites, uint32_t i)
{
    return sites->order ? sites->order[i] : i;
}
