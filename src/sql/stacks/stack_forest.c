/*
 * See stack_forest.h.
 */
#include "sql/stacks/stack_forest.h"

#include <stdlib.h>

#include "sql/store/materialized_table.h"

void hs_stack_forest_deinit(struct hs_stack_forest *forest)
{
    hs_stack_sites_deinit(&forest->sites);
    hs_stack_frames_deinit(&forest->frames);
    free(forest->site_frames);
    free(forest->firsts);
    free(forest->node_sites);
    *forest = (struct hs_stack_forest){ .is_in_flamegraph = forest->is_in_flamegraph };
}

static int number_nodes(struct hs_stack_forest *forest)
{
    uint32_t count = forest->sites.ids.count;
    uint64_t node_count = 0;
    forest->site_frames = malloc(((size_t)count + 1) * sizeof(uint32_t));
    forest->firsts = malloc(((size_t)count + 1) * sizeof(uint32_t));
    if (!forest->site_frames || !forest->firsts) {
        return SQLITE_NOMEM;
    }
    for (uint32_t site = 0; site < count; site++) {
        uint32_t frame = HS_STACK_NONE;
        bool is_there = hs_id_map_find(&forest->frames.ids, forest->sites.frame_ids[site], &frame);
        forest->site_frames[site] = is_there ? frame : HS_STACK_NONE;
        forest->firsts[site] = (uint32_t)node_count;
        node_count += is_there ? forest->frames.frames[frame].count : 0;
        if (node_count >= INT32_MAX) {
            return SQLITE_NOMEM;
        }
    }
    forest->firsts[count] = (uint32_t)node_count;
    forest->node_sites = malloc((node_count + 1) * sizeof(uint32_t));
    if (!forest->node_sites) {
        return SQLITE_NOMEM;
    }
    forest->node_count = (uint32_t)node_count;
    for (uint32_t site = 0; site < count; site++) {
        for (uint32_t node = forest->firsts[site]; node < forest->firsts[site + 1]; node++) {
            forest->node_sites[node] = site;
        }
    }
    return SQLITE_OK;
}

int hs_stack_forest_need(sqlite3 *db, struct hs_stack_forest *forest, char **ret_error)
{
    if (forest->is_made) {
        return SQLITE_OK;
    }
    if (forest->is_loading) {
        *ret_error = sqlite3_mprintf("the tables of stacks depend on themselves");
        return SQLITE_ERROR;
    }
    forest->is_loading = true;
    int code = hs_stack_sites_load(db, &forest->sites);
    code = code ? code : hs_stack_frames_load(db, &forest->frames);
    if (code != SQLITE_OK && code != SQLITE_NOMEM) {
        *ret_error = sqlite3_mprintf("%s", sqlite3_errmsg(db));
    }
    code = code ? code : number_nodes(forest);
    forest->is_loading = false;
    forest->is_made = code == SQLITE_OK;
    if (code != SQLITE_OK) {
        hs_stack_forest_deinit(forest);
    }
    return code;
}

/* HS_STACK_NONE for a root. */
static uint32_t parent_of(const struct hs_stack_forest *forest, uint32_t node)
{
    uint32_t site = forest->node_sites[node], parent = forest->sites.parents[site];
    if (node > forest->firsts[site]) {
        return node - 1;
    }
    bool is_root = parent == HS_STACK_NONE || forest->firsts[parent] == forest->firsts[parent + 1];
    return is_root ? HS_STACK_NONE : forest->firsts[parent + 1] - 1;
}

static void result_text(sqlite3_context *context, const char *text)
{
    if (text) {
        sqlite3_result_text(context, text, -1, SQLITE_STATIC);
    }
}

void hs_stack_forest_result(const struct hs_stack_forest *forest, uint32_t node,
                            enum hs_stack_fact fact, sqlite3_context *context)
{
    uint32_t site = forest->node_sites[node], parent;
    const struct hs_stack_frames *frames = &forest->frames;
    const struct hs_stack_frame *frame = &frames->frames[forest->site_frames[site]];
    const struct hs_stack_function *function =
        &frames->functions[frame->first + node - forest->firsts[site]];
    switch (fact) {
    case HS_STACK_FACT_ID:
        sqlite3_result_int64(context, node);
        break;
    case HS_STACK_FACT_PARENT_ID:
        parent = parent_of(forest, node);
        if (parent != HS_STACK_NONE) {
            sqlite3_result_int64(context, parent);
        }
        break;
    case HS_STACK_FACT_CALLSITE_ID:
        sqlite3_result_int64(context, hs_id_map_id(&forest->sites.ids, site));
        break;
    case HS_STACK_FACT_NAME:
        result_text(context, function->shown == HS_STACK_NO_TEXT
                                 ? "unknown"
                                 : hs_stack_frames_text(frames, function->shown));
        break;
    case HS_STACK_FACT_MAPPING_NAME:
        result_text(context, hs_stack_frames_text(frames, frame->map_name));
        break;
    case HS_STACK_FACT_SOURCE_FILE:
        result_text(context, hs_stack_frames_text(frames, function->source_file));
        break;
    case HS_STACK_FACT_LINE_NUMBER:
        if (function->has_line) {
            sqlite3_result_int64(context, function->line_number);
        }
        break;
    case HS_STACK_FACT_INLINED:
        sqlite3_result_int64(context, function->is_inlined);
        break;
    case HS_STACK_FACT_IS_LEAF:
        sqlite3_result_int64(context, hs_stack_forest_is_leaf(forest, node));
        break;
    }
}

/* --- the table --- */

static int table_make(sqlite3 *db, void *ctx, sqlite3_value *argument, void **ret_rows,
                      char **ret_error)
{
    (void)argument;
    int code = hs_stack_forest_need(db, ctx, ret_error);
    *ret_rows = code == SQLITE_OK ? ctx : NULL;
    return code;
}

static void table_free(void *rows)
{
    (void)rows; /* the forest of the session */
}

static uint32_t table_count(const void *rows)
{
    return ((const struct hs_stack_forest *)rows)->node_count;
}

static bool table_find(const void *rows, int64_t id, uint32_t *ret_row)
{
    bool is_there = id >= 0 && id < table_count(rows);
    *ret_row = is_there ? (uint32_t)id : 0;
    return is_there;
}

static void table_column(const void *rows, uint32_t row, int column, sqlite3_context *context)
{
    hs_stack_forest_result(rows, row, (enum hs_stack_fact)column, context);
}

int hs_stack_forest_register(sqlite3 *db, struct hs_stack_forest *forest)
{
    static const struct hs_materialized_table table = {
        .name = "__heapscope_stack_forest",
        .schema = "CREATE TABLE x(id INTEGER, parent_id INTEGER, callsite_id INTEGER, name TEXT, "
                  "mapping_name TEXT, source_file TEXT, line_number INTEGER, inlined INTEGER, "
                  "is_leaf_function_in_callsite_frame INTEGER)",
        .needs =
            "SELECT c.id, c.parent_id, c.frame_id, f.id, f.symbol_set_id, f.name, "
            "f.deobfuscated_name, f.mapping, m.name, s.source_file FROM stack_profile_callsite "
            "c, stack_profile_frame f, stack_profile_mapping m, stack_profile_symbol s",
        .make = table_make,
        .free = table_free,
        .count = table_count,
        .column = table_column,
        .find = table_find,
    };
    return hs_materialized_table_register(db, &table, forest);
}
