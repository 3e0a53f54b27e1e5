/*
 * The call sites of a database, as arrays: what walks over all stacks reads them once, not row by row.
 *
 * Holds     sites are in the order of their ids. What cannot be right (an id that is there twice, a parent that is
 *           not, a circle) is noted, not refused: not everybody minds. Of an id that is there twice the first counts.
 * Threads   one user.
 * Fails     an SQLite error code; the connection has the text, but for SQLITE_NOMEM.
 */
#pragma once

#include <sqlite3.h>

#include "sql/id_map.h"

#define HS_STACK_NONE UINT32_MAX

enum hs_stack_fault {
    HS_STACK_FAULT_NONE,
    HS_STACK_FAULT_ORPHAN,
    HS_STACK_FAULT_CYCLE,
    HS_STACK_FAULT_DUPLICATE,
    HS_STACK_FAULT_N,
};

struct hs_stack_sites {
    struct hs_id_map ids;
    uint32_t *parents; /* HS_STACK_NONE: outermost */
    int64_t *frame_ids;
    size_t parent_capacity, frame_capacity;
    uint32_t *order; /* parents first, without those on circles; NULL: as they are */
    uint32_t ordered_count;
    enum hs_stack_fault fault; /* and the id of one such site */
    int64_t fault_id;
};

extern const char *const hs_stack_fault_texts[HS_STACK_FAULT_N];

int hs_stack_sites_load(sqlite3 *db, struct hs_stack_sites *sites);
void hs_stack_sites_deinit(struct hs_stack_sites *sites);

/* Site number i of those whose parents come first. */
static inline uint32_t hs_stack_sites_ordered(const struct hs_stack_sites *sites, uint32_t i)
{
    return sites->order ? sites->order[i] : i;
}
