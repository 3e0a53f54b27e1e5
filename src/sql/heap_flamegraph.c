/*
 * The tree of experimental_flamegraph: call sites loaded, merged, and summed up.
 */
#include "sql/heap_flamegraph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sql/flamegraph.h"
#include "util/array.h"

/* Each call site once: its place in the tree, and the frame; then what its last node became. */
struct sites {
    int64_t *ids, *parent_ids, *frames;
    bool *has_parent;
    uint32_t *parents, *order, *nodes;
    size_t capacities[4];
    uint32_t count;
    struct hs_intern numbers; /* id to site */
};

/* A function of a frame, and each frame's functions, outermost first: looked up once. */
struct function {
    uint32_t name, map_name, source_file;
    int64_t line_number;
};

struct frames {
    struct hs_intern numbers; /* frame id to its place in ends */
    struct function *functions;
    size_t *ends; /* behind the last function of each */
    size_t function_count, function_capacity, end_capacity;
    sqlite3_stmt *frame_stmt, *symbol_stmt;
};

struct maker {
    sqlite3 *db;
    struct frames frames;
    struct hs_heap_flamegraph *graph;
    struct sites sites;
    char **error;
};

static const char frame_query[] =
    "SELECT COALESCE(f.deobfuscated_name, f.name, ''), COALESCE(m.name, ''), f.symbol_set_id FROM "
    "stack_profile_frame f LEFT JOIN stack_profile_mapping m ON m.id = f.mapping WHERE f.id = ?1";
static const char symbol_query[] = "SELECT name, source_file, line_number FROM "
                                   "stack_profile_symbol WHERE symbol_set_id = ?1 ORDER "
                                   "BY id DESC";
static const char value_query[] =
    "SELECT callsite_id, SUM(count), SUM(size), SUM(MAX(count, 0)), SUM(MAX(size, 0)) FROM "
    "heap_profile_allocation WHERE upid = ?1 AND ts <= ?2 GROUP BY callsite_id";

struct hs_heap_flamegraph *hs_heap_flamegraph_free(struct hs_heap_flamegraph *graph)
{
    if (graph) {
        free(graph->nodes);
        hs_intern_deinit(&graph->keys);
        hs_intern_deinit(&graph->texts);
        hs_buf_deinit(&graph->text_bytes);
        free(graph->text_offs);
        free(graph);
    }
    return NULL;
}

const char *hs_heap_flamegraph_text(const struct hs_heap_flamegraph *graph, uint32_t text)
{
    return text == HS_HEAP_NO_TEXT ? NULL : graph->text_bytes.data + graph->text_offs[text];
}

static uint32_t keep_text(struct hs_heap_flamegraph *graph, const unsigned char *text_)
{
    const char *text = (const char *)text_;
    uint32_t number;
    bool is_new;
    if (!text ||
        hs_intern_put(&graph->texts, hs_intern_hash(text, strlen(text)), &number, &is_new) < 0) {
        return HS_HEAP_NO_TEXT;
    }
    if (is_new) {
        if (hs_array_reserve(&graph->text_offs, &graph->text_capacity, number + (size_t)1,
                             sizeof(size_t)) < 0) {
            return HS_HEAP_NO_TEXT;
        }
        graph->text_offs[number] = graph->text_bytes.bytes;
        hs_buf_add(&graph->text_bytes, text, strlen(text) + 1);
    }
    return number;
}

static struct hs_intern_key key_of_id(int64_t id)
{
    return (struct hs_intern_key){ (uint64_t)id * 0x9E3779B97F4A7C15U, (uint64_t)id };
}

static int fail_sqlite(struct maker *maker)
{
    *maker->error = sqlite3_mprintf("%s", sqlite3_errmsg(maker->db));
    return SQLITE_ERROR;
}

/* The node below `parent` with this name and mapping; a new one the first time. */
static int keep_node(struct maker *maker, uint32_t *node, uint32_t name, uint32_t map_name,
                     uint32_t source_file, int64_t line_number)
{
    struct hs_heap_flamegraph *graph = maker->graph;
    struct hs_intern_key key = hs_intern_mix((struct hs_intern_key){ 0, 0 }, *node);
    key = hs_intern_mix(hs_intern_mix(key, name), map_name);
    uint32_t number;
    bool is_new;
    if (name == HS_HEAP_NO_TEXT || graph->text_bytes.err ||
        hs_intern_put(&graph->keys, key, &number, &is_new) < 0 ||
        hs_array_reserve(&graph->nodes, &graph->node_capacity, number + (size_t)1,
                         sizeof(graph->nodes[0])) < 0) {
        return SQLITE_NOMEM;
    }
    struct hs_heap_node *made = &graph->nodes[number];
    if (is_new) {
        graph->node_count = number + 1;
        *made = (struct hs_heap_node){
            .parent = *node,
            .depth = *node == UINT32_MAX ? 0 : graph->nodes[*node].depth + 1,
            .name = name,
            .map_name = map_name,
            .source_file = source_file,
            .line_number = line_number,
        };
    } else if (made->source_file != source_file || made->line_number != line_number) {
        made->has_several_sources = true;
    }
    *node = number;
    return SQLITE_OK;
}

static int load_sites(struct maker *maker)
{
    struct sites *sites = &maker->sites;
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(maker->db, "SELECT id, parent_id, frame_id FROM stack_profile_callsite",
                           -1, &stmt, NULL) != SQLITE_OK) {
        return fail_sqlite(maker);
    }
    int code = SQLITE_OK, step = SQLITE_ROW;
    while (code == SQLITE_OK && (step = sqlite3_step(stmt)) == SQLITE_ROW) {
        size_t n = sites->count + (size_t)1;
        if (hs_array_reserve(&sites->ids, &sites->capacities[0], n, sizeof(int64_t)) < 0 ||
            hs_array_reserve(&sites->parent_ids, &sites->capacities[1], n, sizeof(int64_t)) < 0 ||
            hs_array_reserve(&sites->frames, &sites->capacities[2], n, sizeof(int64_t)) < 0 ||
            hs_array_reserve(&sites->has_parent, &sites->capacities[3], n, sizeof(bool)) < 0 ||
            n >= HS_FLAMEGRAPH_NODES_MAX) {
            code = SQLITE_NOMEM;
            break;
        }
        sites->ids[sites->count] = sqlite3_column_int64(stmt, 0);
        sites->has_parent[sites->count] = sqlite3_column_type(stmt, 1) != SQLITE_NULL;
        sites->parent_ids[sites->count] = sqlite3_column_int64(stmt, 1);
        sites->frames[sites->count++] = sqlite3_column_int64(stmt, 2);
    }
    if (code == SQLITE_OK && step != SQLITE_DONE) {
        code = fail_sqlite(maker);
    }
    sqlite3_finalize(stmt);
    return code;
}

static int link_sites(struct maker *maker)
{
    struct sites *sites = &maker->sites;
    size_t count = sites->count + (size_t)1;
    uint32_t bad = 0;
    sites->parents = calloc(count, sizeof(uint32_t));
    sites->order = calloc(count, sizeof(uint32_t));
    sites->nodes = calloc(count, sizeof(uint32_t));
    if (!sites->parents || !sites->order || !sites->nodes) {
        return SQLITE_NOMEM;
    }
    int err = hs_flamegraph_link(sites->ids, sites->parent_ids, sites->has_parent, sites->count,
                                 sites->parents, sites->order, &bad);
    if (err > 0 && sites->ids) {
        *maker->error = sqlite3_mprintf(
            "Failed to build flamegraph: call site %lld %s", (long long)sites->ids[bad],
            err == HS_FLAMEGRAPH_E_ORPHAN  ? "has no parent"
            : err == HS_FLAMEGRAPH_E_CYCLE ? "is on a cycle, or below one"
                                           : "is there twice");
    }
    for (uint32_t i = 0; err == 0 && i < sites->count; i++) {
        uint32_t number;
        bool is_new;
        err = hs_intern_put(&sites->numbers, key_of_id(sites->ids[i]), &number, &is_new);
    }
    return err == 0 ? SQLITE_OK : err < 0 ? SQLITE_NOMEM : SQLITE_ERROR;
}

static int keep_function(struct frames *frames, struct function function)
{
    if (hs_array_reserve(&frames->functions, &frames->function_capacity, frames->function_count + 1,
                         sizeof(frames->functions[0])) < 0) {
        return SQLITE_NOMEM;
    }
    frames->functions[frames->function_count++] = function;
    return SQLITE_OK;
}

/* Looks up a frame's functions, outermost first. */
static int load_frame(struct maker *maker, int64_t frame_id)
{
    struct frames *frames = &maker->frames;
    sqlite3_stmt *frame = frames->frame_stmt, *symbol = frames->symbol_stmt;
    size_t first = frames->function_count;
    sqlite3_reset(frame);
    sqlite3_bind_int64(frame, 1, frame_id);
    if (sqlite3_step(frame) != SQLITE_ROW) {
        *maker->error = sqlite3_mprintf("Failed to build flamegraph: frame %lld is not there",
                                        (long long)frame_id);
        return SQLITE_ERROR;
    }
    uint32_t map_name = keep_text(maker->graph, sqlite3_column_text(frame, 1));
    int code = SQLITE_OK;
    sqlite3_reset(symbol);
    sqlite3_bind_value(symbol, 1, sqlite3_column_value(frame, 2));
    while (code == SQLITE_OK && sqlite3_step(symbol) == SQLITE_ROW) {
        const unsigned char *name = sqlite3_column_text(symbol, 0);
        code = keep_function(
            frames,
            (struct function){ keep_text(maker->graph, name ? name : (const unsigned char *)""),
                               map_name, keep_text(maker->graph, sqlite3_column_text(symbol, 1)),
                               sqlite3_column_int64(symbol, 2) });
    }
    if (code == SQLITE_OK && frames->function_count == first) {
        code = keep_function(
            frames, (struct function){ keep_text(maker->graph, sqlite3_column_text(frame, 0)),
                                       map_name, HS_HEAP_NO_TEXT, 0 });
    }
    return code;
}

/* The functions of one frame below *node. */
static int add_frame(struct maker *maker, int64_t frame_id, uint32_t *node)
{
    struct frames *frames = &maker->frames;
    uint32_t number;
    bool is_new;
    if (hs_intern_put(&frames->numbers, key_of_id(frame_id), &number, &is_new) < 0 ||
        hs_array_reserve(&frames->ends, &frames->end_capacity, number + (size_t)1, sizeof(size_t)) <
            0) {
        return SQLITE_NOMEM;
    }
    int code = SQLITE_OK;
    if (is_new) {
        code = load_frame(maker, frame_id);
        frames->ends[number] = frames->function_count;
    }
    for (size_t i = number == 0 ? 0 : frames->ends[number - 1];
         i < frames->ends[number] && code == SQLITE_OK; i++) {
        const struct function *function = &frames->functions[i];
        code = keep_node(maker, node, function->name, function->map_name, function->source_file,
                         function->line_number);
    }
    return code;
}

static int merge_sites(struct maker *maker)
{
    struct sites *sites = &maker->sites;
    struct frames *frames = &maker->frames;
    int code = SQLITE_OK;
    if (sqlite3_prepare_v2(maker->db, frame_query, -1, &frames->frame_stmt, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(maker->db, symbol_query, -1, &frames->symbol_stmt, NULL) != SQLITE_OK) {
        code = fail_sqlite(maker);
    }
    for (uint32_t i = 0; i < sites->count && code == SQLITE_OK; i++) {
        uint32_t site = sites->order[i], parent = sites->parents[site];
        sites->nodes[site] = parent == HS_FLAMEGRAPH_NONE ? UINT32_MAX : sites->nodes[parent];
        code = add_frame(maker, sites->frames[site], &sites->nodes[site]);
    }
    sqlite3_finalize(frames->frame_stmt);
    sqlite3_finalize(frames->symbol_stmt);
    hs_intern_deinit(&frames->numbers);
    free(frames->functions);
    free(frames->ends);
    return code;
}

static int add_values(struct maker *maker, int64_t ts, int64_t upid)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(maker->db, value_query, -1, &stmt, NULL) != SQLITE_OK) {
        return fail_sqlite(maker);
    }
    sqlite3_bind_int64(stmt, 1, upid);
    sqlite3_bind_int64(stmt, 2, ts);
    bool is_any = false, is_over = false;
    int step;
    while ((step = sqlite3_step(stmt)) == SQLITE_ROW) {
        uint32_t site;
        is_any = true;
        if (!hs_intern_find(&maker->sites.numbers, key_of_id(sqlite3_column_int64(stmt, 0)),
                            &site)) {
            continue; /* of no call site: counted nowhere */
        }
        struct hs_heap_node *node = &maker->graph->nodes[maker->sites.nodes[site]];
        for (int v = 0; v < HS_HEAP_VALUE_N; v++) {
            is_over = __builtin_add_overflow(node->self[v], sqlite3_column_int64(stmt, v + 1),
                                             &node->self[v]) ||
                      is_over;
        }
    }
    int code = step == SQLITE_DONE ? SQLITE_OK : fail_sqlite(maker);
    if (code == SQLITE_OK && (!is_any || is_over)) {
        *maker->error = sqlite3_mprintf(
            is_over ? "Failed to build flamegraph: a sum leaves 64 bits"
                    : "Failed to build flamegraph: no allocations of this upid up to this ts");
        code = SQLITE_ERROR;
    }
    sqlite3_finalize(stmt);
    return code;
}

/* Which stacks have a name with the focus in it; the others count for nothing. */
static void focus_on(struct hs_heap_flamegraph *graph, const char *focus)
{
    for (uint32_t i = 0; i < graph->node_count; i++) {
        struct hs_heap_node *node = &graph->nodes[i];
        node->is_focused = !focus ||
                           (node->parent != UINT32_MAX && graph->nodes[node->parent].is_focused) ||
                           strcasestr(hs_heap_flamegraph_text(graph, node->name), focus) != NULL;
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

static void sites_deinit(struct sites *sites)
{
    free(sites->ids);
    free(sites->parent_ids);
    free(sites->frames);
    free(sites->has_parent);
    free(sites->parents);
    free(sites->order);
    free(sites->nodes);
    hs_intern_deinit(&sites->numbers);
}

int hs_heap_flamegraph_make(sqlite3 *db, int64_t ts, int64_t upid, const char *focus,
                            struct hs_heap_flamegraph **ret_graph, char **ret_error)
{
    struct maker maker = { .db = db, .error = ret_error };
    maker.graph = calloc(1, sizeof(*maker.graph));
    int code = maker.graph ? load_sites(&maker) : SQLITE_NOMEM;
    code = code ? code : link_sites(&maker);
    code = code ? code : merge_sites(&maker);
    code = code ? code : add_values(&maker, ts, upid);
    if (code == SQLITE_OK) {
        focus_on(maker.graph, focus);
        code = sum_up(&maker);
    }
    sites_deinit(&maker.sites);
    if (code != SQLITE_OK) {
        hs_heap_flamegraph_free(maker.graph);
        return code;
    }
    *ret_graph = maker.graph;
    return SQLITE_OK;
}
