/* The tree of experimental_flamegraph: call sites merged and added up. See heap_flamegraph.h. */
#include "sql/flamegraph/heap_flamegraph.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rt/bits.h"
#include "rt/check.h"

struct maker {
    sqlite3 *db;
    const struct hs_stack_forest *forest;
    struct hs_heap_flamegraph *graph;
    uint32_t *site_nodes; /* by site: the node of its last function */
    char **error;
};

/* A call site or an allocation touches some cache lines at random places. Those of the next ones
 * are prefetched. */
#define AHEAD_COUNT 16U
#define BATCH_COUNT 64U

static const char value_query[] = "SELECT callsite_id, count, size FROM heap_profile_allocation "
                                  "WHERE upid = ?1 AND ts <= ?2";

struct hs_heap_flamegraph *hs_heap_flamegraph_free(struct hs_heap_flamegraph *graph)
{
    if (graph) {
        free(graph->nodes);
        free(graph);
    }
    return NULL;
}

static int fail_sqlite(struct maker *maker)
{
    *maker->error = sqlite3_mprintf("%s", sqlite3_errmsg(maker->db));
    return SQLITE_ERROR;
}

/* In this table, an empty name counts as no name. */
static uint32_t without_empty(const struct hs_stack_frames *frames, uint32_t text)
{
    const char *name = hs_stack_frames_text(frames, text);
    return name && *name ? text : HS_STACK_NO_TEXT;
}

/* --- nodes --- */

/* Hash table of nodes by caller, name and mapping: node + 1; 0 is empty. At most half full. */
struct node_slots {
    uint32_t *slots;
    uint32_t mask;
};

static uint32_t slot_of(const struct node_slots *table, uint32_t parent, uint32_t name,
                        uint32_t map_name)
{
    return (uint32_t)hs_mix64(hs_mix64((uint64_t)parent << 32 | name) ^ map_name) & table->mask;
}

static uint32_t *find_slot(const struct node_slots *table, const struct hs_heap_node *nodes,
                           const struct hs_heap_node *key)
{
    uint32_t at = slot_of(table, key->parent, key->name, key->map_name);
    for (;; at = (at + 1) & table->mask) {
        const struct hs_heap_node *node =
            table->slots[at] == 0 ? NULL : &nodes[table->slots[at] - 1];
        if (!node || (node->parent == key->parent && node->name == key->name &&
                      node->map_name == key->map_name)) {
            return &table->slots[at];
        }
    }
}

/* Finds or adds the node of this function below `parent`. */
static uint32_t find_or_add_node(struct hs_heap_flamegraph *graph, const struct node_slots *table,
                                 const struct hs_heap_node *wanted)
{
    uint32_t *slot = find_slot(table, graph->nodes, wanted);
    if (*slot == 0) {
        graph->nodes[graph->node_count] = *wanted;
        *slot = ++graph->node_count;
        return *slot - 1;
    }
    struct hs_heap_node *node = &graph->nodes[*slot - 1];
    node->has_several_sources = node->has_several_sources ||
                                node->source_file != wanted->source_file ||
                                node->line_number != wanted->line_number;
    return *slot - 1;
}

static int add_site(struct maker *maker, const struct node_slots *table, uint32_t site)
{
    const struct hs_stack_forest *forest = maker->forest;
    const struct hs_stack_frames *frames = &forest->frames;
    const struct hs_stack_frame *frame = hs_stack_forest_frame(forest, site);
    uint32_t parent = forest->sites.parents[site];
    uint32_t node = parent == HS_STACK_NONE ? HS_STACK_NONE : maker->site_nodes[parent];
    if (!frame) {
        *maker->error = sqlite3_mprintf("Failed to build flamegraph: there is no frame %lld",
                                        (long long)forest->sites.frame_ids[site]);
        return SQLITE_ERROR;
    }
    uint32_t map_name = without_empty(frames, frame->map_name);
    for (uint32_t i = 0; i < frame->count; i++) {
        const struct hs_stack_function *function = &frames->functions[frame->first + i];
        const struct hs_heap_node wanted = {
            .parent = node,
            .depth = node == HS_STACK_NONE ? 0 : maker->graph->nodes[node].depth + 1,
            .name = function->name,
            .map_name = map_name,
            .source_file = function->source_file,
            .line_number = function->line_number,
        };
        node = find_or_add_node(maker->graph, table, &wanted);
    }
    maker->site_nodes[site] = node;
    return SQLITE_OK;
}

/* Prefetches the slot of the first function of a later site: the right one if its caller is already
 * there, otherwise a useless one. */
static void prefetch_slot(const struct maker *maker, const struct node_slots *table, uint32_t i)
{
    const struct hs_stack_forest *forest = maker->forest;
    if (i >= forest->sites.ordered_count) {
        return;
    }
    uint32_t site = hs_stack_sites_ordered(&forest->sites, i);
    uint32_t parent = forest->sites.parents[site];
    const struct hs_stack_frame *frame = hs_stack_forest_frame(forest, site);
    if (frame) {
        uint32_t caller = parent == HS_STACK_NONE ? HS_STACK_NONE : maker->site_nodes[parent];
        uint32_t name = forest->frames.functions[frame->first].name;
        uint32_t map_name = without_empty(&forest->frames, frame->map_name);
        __builtin_prefetch(&table->slots[slot_of(table, caller, name, map_name)], 1);
    }
}

static int merge_sites(struct maker *maker)
{
    const struct hs_stack_forest *forest = maker->forest;
    uint64_t slot_count = 16;
    while (slot_count < 2 * (uint64_t)forest->node_count) {
        slot_count *= 2;
    }
    struct node_slots table = { calloc(slot_count, sizeof(uint32_t)), (uint32_t)(slot_count - 1) };
    maker->site_nodes = calloc((size_t)forest->sites.ids.count + 1, sizeof(uint32_t));
    maker->graph->nodes = calloc((size_t)forest->node_count + 1, sizeof(maker->graph->nodes[0]));
    int code = table.slots && maker->site_nodes && maker->graph->nodes ? SQLITE_OK : SQLITE_NOMEM;
    for (uint32_t i = 0; i < forest->sites.ordered_count && code == SQLITE_OK; i++) {
        prefetch_slot(maker, &table, i + AHEAD_COUNT);
        code = add_site(maker, &table, hs_stack_sites_ordered(&forest->sites, i));
    }
    free(table.slots);
    return code;
}

static int check_sites(struct maker *maker)
{
    const struct hs_stack_sites *sites = &maker->forest->sites;
    if (sites->fault != HS_STACK_FAULT_NONE) {
        *maker->error =
            sqlite3_mprintf("Failed to build flamegraph: call site %lld %s",
                            (long long)sites->fault_id, hs_stack_fault_texts[sites->fault]);
        return SQLITE_ERROR;
    }
    return SQLITE_OK;
}

/* --- values --- */

/* Returns false if a sum exceeds 64 bits. */
static bool add_allocation(struct hs_heap_node *node, int64_t count, int64_t size_bytes)
{
    const int64_t more[HS_HEAP_VALUE_N] = {
        [HS_HEAP_COUNT] = count,
        [HS_HEAP_SIZE] = size_bytes,
        [HS_HEAP_ALLOC_COUNT] = count > 0 ? count : 0,
        [HS_HEAP_ALLOC_SIZE] = size_bytes > 0 ? size_bytes : 0,
    };
    bool is_over = false;
    for (int v = 0; v < HS_HEAP_VALUE_N; v++) {
        is_over = __builtin_add_overflow(node->self[v], more[v], &node->self[v]) || is_over;
    }
    return !is_over;
}

/* Rows that were read but not added yet. */
struct batch {
    uint32_t count;
    uint32_t sites[BATCH_COUNT];
    int64_t counts[BATCH_COUNT], sizes_bytes[BATCH_COUNT];
};

static bool add_batch(struct maker *maker, struct batch *batch)
{
    struct hs_heap_node *nodes = maker->graph->nodes;
    bool is_fine = true;
    for (uint32_t i = 0; i < batch->count; i++) {
        __builtin_prefetch(nodes[maker->site_nodes[batch->sites[i]]].self, 1);
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        is_fine = add_allocation(&nodes[maker->site_nodes[batch->sites[i]]], batch->counts[i],
                                 batch->sizes_bytes[i]) &&
                  is_fine;
    }
    batch->count = 0;
    return is_fine;
}

static int add_rows(struct maker *maker, sqlite3_stmt *stmt)
{
    struct batch batch = { 0 };
    bool is_any = false, is_fine = true;
    int step;
    while ((step = sqlite3_step(stmt)) == SQLITE_ROW) {
        is_any = true;
        /* Allocations without a call site are not counted. */
        if (!hs_id_map_find(&maker->forest->sites.ids, sqlite3_column_int64(stmt, 0),
                            &batch.sites[batch.count])) {
            continue;
        }
        batch.counts[batch.count] = sqlite3_column_int64(stmt, 1);
        batch.sizes_bytes[batch.count] = sqlite3_column_int64(stmt, 2);
        __builtin_prefetch(&maker->site_nodes[batch.sites[batch.count]]);
        if (++batch.count == BATCH_COUNT) {
            is_fine = add_batch(maker, &batch) && is_fine;
        }
    }
    if (step != SQLITE_DONE) {
        return fail_sqlite(maker);
    }
    is_fine = add_batch(maker, &batch) && is_fine;
    if (is_any && is_fine) {
        return SQLITE_OK;
    }
    *maker->error = sqlite3_mprintf(
        is_any ? "Failed to build flamegraph: a sum leaves 64 bits"
               : "Failed to build flamegraph: no allocations of this upid up to this ts");
    return SQLITE_ERROR;
}

static int add_values(struct maker *maker, int64_t ts, int64_t upid)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(maker->db, value_query, -1, &stmt, NULL) != SQLITE_OK) {
        return fail_sqlite(maker);
    }
    sqlite3_bind_int64(stmt, 1, upid);
    sqlite3_bind_int64(stmt, 2, ts);
    int code = add_rows(maker, stmt);
    sqlite3_finalize(stmt);
    return code;
}

/* Finds the stacks that have a name which contains the focus. The others count as nothing. */
static void focus_on(struct maker *maker, const char *focus)
{
    struct hs_heap_flamegraph *graph = maker->graph;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        struct hs_heap_node *node = &graph->nodes[i];
        const char *name = hs_stack_frames_text(&maker->forest->frames, node->name);
        node->is_focused = !focus ||
                           (node->parent != UINT32_MAX && graph->nodes[node->parent].is_focused) ||
                           strcasestr(name ? name : "", focus) != NULL;
        node->is_shown = node->is_focused;
        if (!node->is_focused) {
            memset(node->self, 0, sizeof(node->self));
        }
    }
}

static int sum_up(struct maker *maker)
{
    struct hs_heap_flamegraph *graph = maker->graph;
    bool is_over = false;
    for (uint32_t i = graph->node_count; i-- > 0;) {
        struct hs_heap_node *node = &graph->nodes[i];
        struct hs_heap_node *parent =
            node->parent == UINT32_MAX ? NULL : &graph->nodes[node->parent];
        HS_ASSERT(!parent || node->parent < i);
        for (int v = 0; v < HS_HEAP_VALUE_N; v++) {
            is_over =
                __builtin_add_overflow(node->cumulative[v], node->self[v], &node->cumulative[v]) ||
                is_over;
            if (parent) {
                is_over = __builtin_add_overflow(parent->cumulative[v], node->cumulative[v],
                                                 &parent->cumulative[v]) ||
                          is_over;
            }
        }
        if (parent) {
            parent->is_shown = parent->is_shown || node->is_shown;
        }
    }
    if (is_over) {
        *maker->error = sqlite3_mprintf("Failed to build flamegraph: a sum leaves 64 bits");
    }
    return is_over ? SQLITE_ERROR : SQLITE_OK;
}

int hs_heap_flamegraph_make(sqlite3 *db, struct hs_stack_forest *forest, int64_t ts, int64_t upid,
                            const char *focus, struct hs_heap_flamegraph **ret_graph,
                            char **ret_error)
{
    struct maker maker = { .db = db, .forest = forest, .error = ret_error };
    if (forest->is_in_flamegraph) {
        *ret_error = sqlite3_mprintf("Failed to build flamegraph: its tables depend on it");
        return SQLITE_ERROR;
    }
    forest->is_in_flamegraph = true;
    int code = hs_stack_forest_need(db, forest, ret_error);
    maker.graph = code == SQLITE_OK ? calloc(1, sizeof(*maker.graph)) : NULL;
    code = code ? code : maker.graph ? check_sites(&maker) : SQLITE_NOMEM;
    code = code ? code : merge_sites(&maker);
    code = code ? code : add_values(&maker, ts, upid);
    if (code == SQLITE_OK) {
        focus_on(&maker, focus);
        code = sum_up(&maker);
    }
    free(maker.site_nodes);
    forest->is_in_flamegraph = false;
    if (code != SQLITE_OK) {
        hs_heap_flamegraph_free(maker.graph);
        return code;
    }
    *ret_graph = maker.graph;
    return SQLITE_OK;
}
