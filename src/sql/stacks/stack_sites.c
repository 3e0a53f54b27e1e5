/*
 * See stack_sites.h.
 */
#include "sql/stacks/stack_sites.h"

#include <stdlib.h>

#include "rt/check.h"
#include "sql/stacks/tree_order.h"
#include "util/array.h"

const char *const hs_stack_fault_texts[HS_STACK_FAULT_N] = {
    [HS_STACK_FAULT_NONE] = "",
    [HS_STACK_FAULT_ORPHAN] = "has no parent",
    [HS_STACK_FAULT_CYCLE] = "is on a cycle, or below one",
    [HS_STACK_FAULT_DUPLICATE] = "exists twice",
};

void hs_stack_sites_deinit(struct hs_stack_sites *sites)
{
    hs_id_map_deinit(&sites->ids);
    free(sites->parents);
    free(sites->frame_ids);
    free(sites->order);
    *sites = (struct hs_stack_sites){ 0 };
}

static void note(struct hs_stack_sites *sites, enum hs_stack_fault fault, int64_t id)
{
    /* Keep the first inconsistency of the worst kind. */
    if (fault > sites->fault) {
        sites->fault = fault;
        sites->fault_id = id;
    }
}

/* The parents are ids until all sites have been read. */
struct reading {
    struct hs_stack_sites *sites;
    int64_t *parent_ids; /* INT64_MIN: none */
    size_t parent_capacity;
};

static int add_site(struct reading *reading, sqlite3_stmt *stmt)
{
    struct hs_stack_sites *sites = reading->sites;
    int64_t id = sqlite3_column_int64(stmt, 0);
    uint32_t site;
    bool is_new;
    size_t n = (size_t)sites->ids.count + 1;
    if (n >= HS_STACK_SITES_MAX ||
        hs_array_reserve(&reading->parent_ids, &reading->parent_capacity, n, sizeof(int64_t)) < 0 ||
        hs_array_reserve(&sites->frame_ids, &sites->frame_capacity, n, sizeof(int64_t)) < 0 ||
        !reading->parent_ids || hs_id_map_put(&sites->ids, id, &site, &is_new) < 0) {
        return SQLITE_NOMEM;
    }
    if (!is_new) {
        note(sites, HS_STACK_FAULT_DUPLICATE, id);
        return SQLITE_OK;
    }
    bool is_root = sqlite3_column_type(stmt, 1) == SQLITE_NULL;
    reading->parent_ids[site] = is_root ? INT64_MIN : sqlite3_column_int64(stmt, 1);
    sites->frame_ids[site] = sqlite3_column_int64(stmt, 2);
    return SQLITE_OK;
}

static int read_rows(sqlite3 *db, struct reading *reading)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db,
                                  "SELECT id, parent_id, frame_id FROM stack_profile_callsite "
                                  "ORDER BY id",
                                  -1, &stmt, NULL);
    while (code == SQLITE_OK) {
        code = sqlite3_step(stmt);
        code = code == SQLITE_ROW ? add_site(reading, stmt) : code;
    }
    sqlite3_finalize(stmt);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int find_parents(struct reading *reading, bool *ret_is_ordered)
{
    struct hs_stack_sites *sites = reading->sites;
    *ret_is_ordered = true;
    sites->parents = calloc((size_t)sites->ids.count + 1, sizeof(uint32_t));
    if (!sites->parents) {
        return SQLITE_NOMEM;
    }
    for (uint32_t site = 0; reading->parent_ids && site < sites->ids.count; site++) {
        int64_t parent_id = reading->parent_ids[site];
        sites->parents[site] = HS_STACK_NONE;
        if (parent_id != INT64_MIN &&
            !hs_id_map_find(&sites->ids, parent_id, &sites->parents[site])) {
            note(sites, HS_STACK_FAULT_ORPHAN, hs_id_map_id(&sites->ids, site));
        }
        *ret_is_ordered = *ret_is_ordered &&
                          (sites->parents[site] == HS_STACK_NONE || sites->parents[site] < site);
    }
    return SQLITE_OK;
}

static int put_in_order(struct hs_stack_sites *sites)
{
    uint32_t bad = 0;
    sites->order = calloc((size_t)sites->ids.count + 1, sizeof(uint32_t));
    if (!sites->order) {
        return SQLITE_NOMEM;
    }
    int err =
        hs_tree_order(sites->parents, sites->ids.count, sites->order, &sites->ordered_count, &bad);
    if (err == HS_TREE_E_CYCLE) {
        note(sites, HS_STACK_FAULT_CYCLE, hs_id_map_id(&sites->ids, bad));
    }
    return err < 0 ? SQLITE_NOMEM : SQLITE_OK;
}

int hs_stack_sites_load(sqlite3 *db, struct hs_stack_sites *sites)
{
    *sites = (struct hs_stack_sites){ 0 };
    struct reading reading = { .sites = sites };
    bool is_ordered = true;
    int code = read_rows(db, &reading);
    code = code ? code : find_parents(&reading, &is_ordered);
    free(reading.parent_ids);
    sites->ordered_count = sites->ids.count;
    if (code == SQLITE_OK && !is_ordered) {
        code = put_in_order(sites);
    }
    if (code != SQLITE_OK) {
        hs_stack_sites_deinit(sites);
    }
    HS_ASSERT(sites->ordered_count <= sites->ids.count);
    return code;
}
