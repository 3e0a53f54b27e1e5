/*
 * See stack_sums.h.
 */
#include "sql/stacks/stack_sums.h"

#include <stdlib.h>
#include <string.h>

#include "sql/store/materialized_table.h"
#include "util/array.h"

#define VALUES_MAX   4
#define POINTER_TYPE "heapscope stack sums"

enum sum_kind { SUM_NULL, SUM_INTEGER, SUM_REAL };

struct sum {
    enum sum_kind kind;
    union {
        int64_t integer;
        double real;
    } value;
};

/* Sites with values are numbered in the order in which they appear, because most sites have no
 * values. */
struct sums {
    const struct hs_stack_forest *forest;
    uint32_t *numbers; /* by site: 1 + its number; 0: it has none */
    uint32_t *sites;   /* by number */
    struct sum (*values)[VALUES_MAX];
    size_t site_capacity, value_capacity;
    uint32_t count;
    unsigned user_count;
};

static void sums_release(void *ctx)
{
    struct sums *sums = ctx;
    if (sums && --sums->user_count == 0) {
        free(sums->numbers);
        free(sums->sites);
        free(sums->values);
        free(sums);
    }
}

static struct sums *sums_new(const struct hs_stack_forest *forest)
{
    struct sums *sums = calloc(1, sizeof(*sums));
    if (sums) {
        sums->forest = forest;
        sums->user_count = 1;
        sums->numbers = calloc((size_t)forest->sites.ids.count + 1, sizeof(uint32_t));
        if (!sums->numbers) {
            sums_release(sums);
            sums = NULL;
        }
    }
    return sums;
}

/* The sums of a call site. NULL: it has no nodes, or *ret_code is the error. */
static struct sum *sums_at(struct sums *sums, int64_t site_id, int *ret_code)
{
    uint32_t site;
    const struct hs_stack_forest *forest = sums->forest;
    if (!hs_id_map_find(&forest->sites.ids, site_id, &site) ||
        forest->site_frames[site] == HS_STACK_NONE) {
        return NULL;
    }
    if (sums->numbers[site] == 0) {
        size_t n = (size_t)sums->count + 1;
        if (hs_array_reserve(&sums->sites, &sums->site_capacity, n, sizeof(sums->sites[0])) < 0 ||
            hs_array_reserve(&sums->values, &sums->value_capacity, n, sizeof(sums->values[0])) <
                0) {
            *ret_code = SQLITE_NOMEM;
            return NULL;
        }
        sums->sites[sums->count] = site;
        memset(sums->values[sums->count], 0, sizeof(sums->values[0]));
        sums->numbers[site] = ++sums->count;
    }
    return sums->values[sums->numbers[site] - 1];
}

/* Returns false if the sum exceeds 64 bits. */
static bool add_integer(struct sum *sum, int64_t more)
{
    if (sum->kind == SUM_REAL) {
        sum->value.real += (double)more;
        return true;
    }
    sum->kind = SUM_INTEGER;
    return !__builtin_add_overflow(sum->value.integer, more, &sum->value.integer);
}

static bool add_value(struct sum *sum, sqlite3_value *more)
{
    switch (sqlite3_value_numeric_type(more)) {
    case SQLITE_NULL:
        return true;
    case SQLITE_INTEGER:
        return add_integer(sum, sqlite3_value_int64(more));
    default: {
        double before = sum->kind == SUM_REAL ? sum->value.real : (double)sum->value.integer;
        sum->kind = SUM_REAL;
        sum->value.real = before + sqlite3_value_double(more);
        return true;
    }
    }
}

/* --- the aggregate --- */

struct running {
    struct sums *sums;
    bool has_failed;
};

static void fail(sqlite3_context *context, struct running *running, int code, char *text)
{
    if (text) {
        sqlite3_result_error(context, text, -1);
        sqlite3_free(text);
    } else if (code == SQLITE_NOMEM) {
        sqlite3_result_error_nomem(context);
    } else {
        sqlite3_result_error(context, "integer overflow", -1);
    }
    running->has_failed = true;
}

static void aggregate_step(sqlite3_context *context, int arg_count, sqlite3_value **args)
{
    struct hs_stack_forest *forest = sqlite3_user_data(context);
    struct running *running = sqlite3_aggregate_context(context, sizeof(*running));
    int code = SQLITE_OK;
    if (!running || running->has_failed || arg_count < 1) {
        return;
    }
    if (!running->sums) {
        char *text = NULL;
        code = hs_stack_forest_need(sqlite3_context_db_handle(context), forest, &text);
        running->sums = code == SQLITE_OK ? sums_new(forest) : NULL;
        if (!running->sums) {
            fail(context, running, code ? code : SQLITE_NOMEM, text);
            return;
        }
    }
    if (sqlite3_value_numeric_type(args[0]) != SQLITE_INTEGER) {
        return;
    }
    struct sum *sums = sums_at(running->sums, sqlite3_value_int64(args[0]), &code);
    for (int i = 1; sums && i < arg_count && i <= VALUES_MAX && code == SQLITE_OK; i++) {
        code = add_value(&sums[i - 1], args[i]) ? SQLITE_OK : SQLITE_ERROR;
    }
    if (code != SQLITE_OK) {
        fail(context, running, code, NULL);
    }
}

static void aggregate_final(sqlite3_context *context)
{
    struct running *running = sqlite3_aggregate_context(context, 0);
    if (running && running->sums && !running->has_failed) {
        sqlite3_result_pointer(context, running->sums, POINTER_TYPE, sums_release);
    } else if (running) {
        sums_release(running->sums);
    }
}

/* --- nodes that lead to values --- */

struct stacks {
    struct hs_stack_forest *forest;
    struct sums *sums;
    uint32_t *nodes;
    uint32_t count;
    int64_t (*below)[VALUES_MAX]; /* by site; NULL: not needed */
};

static void stacks_free(void *rows)
{
    struct stacks *stacks = rows;
    sums_release(stacks->sums);
    free(stacks->nodes);
    free(stacks->below);
    free(stacks);
}

static int collect_nodes(struct stacks *stacks)
{
    const struct hs_stack_forest *forest = stacks->forest;
    const struct hs_stack_sites *sites = &forest->sites;
    bool *is_used = calloc((size_t)sites->ids.count + 1, sizeof(bool));
    uint32_t node_count = 0;
    if (!is_used) {
        return SQLITE_NOMEM;
    }
    for (uint32_t i = 0; stacks->sums && i < stacks->sums->count; i++) {
        /* A caller without a frame ends the stack. */
        for (uint32_t site = stacks->sums->sites[i];
             site != HS_STACK_NONE && !is_used[site] && forest->site_frames[site] != HS_STACK_NONE;
             site = sites->parents[site]) {
            is_used[site] = true;
            node_count += forest->firsts[site + 1] - forest->firsts[site];
        }
    }
    stacks->nodes = malloc(((size_t)node_count + 1) * sizeof(uint32_t));
    for (uint32_t site = 0; stacks->nodes && site < sites->ids.count; site++) {
        for (uint32_t node = forest->firsts[site]; is_used[site] && node < forest->firsts[site + 1];
             node++) {
            stacks->nodes[stacks->count++] = node;
        }
    }
    free(is_used);
    return stacks->nodes ? SQLITE_OK : SQLITE_NOMEM;
}

static int stacks_new(struct hs_stack_forest *forest, struct sums *sums, struct stacks **ret_stacks)
{
    struct stacks *stacks = calloc(1, sizeof(*stacks));
    if (!stacks) {
        return SQLITE_NOMEM;
    }
    stacks->forest = forest;
    stacks->sums = sums;
    if (sums) {
        sums->user_count++;
    }
    int code = collect_nodes(stacks);
    if (code != SQLITE_OK) {
        stacks_free(stacks);
        return code;
    }
    *ret_stacks = stacks;
    return SQLITE_OK;
}

static uint32_t stacks_count(const void *rows)
{
    return ((const struct stacks *)rows)->count;
}

/* The sum of the values whose stack ends at this node; NULL: none ends here. */
static const struct sum *sum_at(const struct stacks *stacks, uint32_t node, int value)
{
    static const struct sum none;
    uint32_t number = stacks->sums->numbers[stacks->forest->node_sites[node]];
    bool is_leaf = hs_stack_forest_is_leaf(stacks->forest, node);
    return is_leaf && number > 0 ? &stacks->sums->values[number - 1][value] : &none;
}

static void result_sum(sqlite3_context *context, const struct sum *sum)
{
    if (sum->kind == SUM_REAL) {
        sqlite3_result_double(context, sum->value.real);
    } else {
        sqlite3_result_int64(context, sum->value.integer);
    }
}

/* --- the function --- */

#define FACTS_N (HS_STACK_FACT_IS_LEAF + 1)

static int function_make(sqlite3 *db, void *ctx, sqlite3_value *argument, void **ret_rows,
                         char **ret_error)
{
    struct sums *sums = argument ? sqlite3_value_pointer(argument, POINTER_TYPE) : NULL;
    struct stacks *stacks = NULL;
    int code = hs_stack_forest_need(db, ctx, ret_error);
    code = code ? code : stacks_new(ctx, sums, &stacks);
    *ret_rows = stacks;
    return code;
}

static void function_column(const void *rows, uint32_t row, int column, sqlite3_context *context)
{
    const struct stacks *stacks = rows;
    uint32_t node = stacks->nodes[row];
    if (column < FACTS_N) {
        hs_stack_forest_result(stacks->forest, node, (enum hs_stack_fact)column, context);
    } else {
        result_sum(context, sum_at(stacks, node, column - FACTS_N));
    }
}

/* --- the summary --- */

static const char allocation_query[] =
    "SELECT callsite_id, size, MAX(size, 0) FROM heap_profile_allocation";

static int add_allocations(sqlite3 *db, struct sums *sums)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db, allocation_query, -1, &stmt, NULL);
    while (code == SQLITE_OK) {
        code = sqlite3_step(stmt);
        if (code != SQLITE_ROW) {
            break;
        }
        code = SQLITE_OK;
        if (sqlite3_column_type(stmt, 0) == SQLITE_INTEGER) {
            struct sum *at = sums_at(sums, sqlite3_column_int64(stmt, 0), &code);
            bool is_over = at && (!add_integer(&at[0], sqlite3_column_int64(stmt, 1)) ||
                                  !add_integer(&at[1], sqlite3_column_int64(stmt, 2)));
            code = is_over ? SQLITE_TOOBIG : code;
        }
    }
    sqlite3_finalize(stmt);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int sum_up(struct stacks *stacks)
{
    const struct hs_stack_sites *sites = &stacks->forest->sites;
    const struct sums *sums = stacks->sums;
    bool is_over = false;
    stacks->below = calloc((size_t)sites->ids.count + 1, sizeof(stacks->below[0]));
    if (!stacks->below) {
        return SQLITE_NOMEM;
    }
    for (uint32_t i = 0; i < sums->count; i++) {
        stacks->below[sums->sites[i]][0] = sums->values[i][0].value.integer;
        stacks->below[sums->sites[i]][1] = sums->values[i][1].value.integer;
    }
    for (uint32_t i = sites->ordered_count; i-- > 0;) {
        uint32_t site = hs_stack_sites_ordered(sites, i), parent = sites->parents[site];
        if (stacks->forest->site_frames[site] == HS_STACK_NONE) {
            continue; /* it has no node to which it could be added */
        }
        for (int v = 0; parent != HS_STACK_NONE && v < 2; v++) {
            is_over = __builtin_add_overflow(stacks->below[parent][v], stacks->below[site][v],
                                             &stacks->below[parent][v]) ||
                      is_over;
        }
    }
    return is_over ? SQLITE_TOOBIG : SQLITE_OK;
}

static int summary_make(sqlite3 *db, void *ctx, sqlite3_value *argument, void **ret_rows,
                        char **ret_error)
{
    (void)argument;
    struct hs_stack_forest *forest = ctx;
    struct stacks *stacks = NULL;
    int code = hs_stack_forest_need(db, forest, ret_error);
    if (code != SQLITE_OK) {
        return code;
    }
    if (forest->sites.fault == HS_STACK_FAULT_CYCLE) {
        *ret_error = sqlite3_mprintf("call site %lld %s", (long long)forest->sites.fault_id,
                                     hs_stack_fault_texts[HS_STACK_FAULT_CYCLE]);
        return SQLITE_ERROR;
    }
    struct sums *sums = sums_new(forest);
    code = sums ? add_allocations(db, sums) : SQLITE_NOMEM;
    code = code ? code : stacks_new(forest, sums, &stacks);
    sums_release(sums);
    code = code ? code : sum_up(stacks);
    if (code == SQLITE_OK) {
        *ret_rows = stacks;
        return SQLITE_OK;
    }
    if (stacks) {
        stacks_free(stacks);
    }
    if (code != SQLITE_NOMEM) {
        *ret_error =
            sqlite3_mprintf("%s", code == SQLITE_TOOBIG ? "integer overflow" : sqlite3_errmsg(db));
    }
    return code == SQLITE_TOOBIG ? SQLITE_ERROR : code;
}

static void summary_column(const void *rows, uint32_t row, int column, sqlite3_context *context)
{
    static const enum hs_stack_fact facts[] = {
        HS_STACK_FACT_ID,           HS_STACK_FACT_PARENT_ID,   HS_STACK_FACT_NAME,
        HS_STACK_FACT_MAPPING_NAME, HS_STACK_FACT_SOURCE_FILE, HS_STACK_FACT_LINE_NUMBER
    };
    const int fact_count = sizeof(facts) / sizeof(facts[0]);
    const struct stacks *stacks = rows;
    uint32_t node = stacks->nodes[row];
    if (column < fact_count) {
        hs_stack_forest_result(stacks->forest, node, facts[column], context);
        return;
    }
    /* self and cumulative of what is live; then both of everything that was allocated */
    int value = (column - fact_count) / 2;
    if ((column - fact_count) % 2 == 0) {
        result_sum(context, sum_at(stacks, node, value));
    } else {
        sqlite3_result_int64(context, stacks->below[stacks->forest->node_sites[node]][value]);
    }
}

/* Nodes are in ascending order. */
static bool stacks_find(const void *rows, int64_t id, uint32_t *ret_row)
{
    const struct stacks *stacks = rows;
    uint32_t low = 0, high = stacks->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((int64_t)stacks->nodes[middle] < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *ret_row = low;
    return low < stacks->count && (int64_t)stacks->nodes[low] == id;
}

int hs_stack_sums_register(sqlite3 *db, struct hs_stack_forest *forest)
{
    static const struct hs_materialized_table function = {
        .name = "__heapscope_stacks",
        .schema =
            "CREATE TABLE x(id INTEGER, parent_id INTEGER, callsite_id INTEGER, name TEXT, "
            "mapping_name TEXT, source_file TEXT, line_number INTEGER, inlined INTEGER, "
            "is_leaf_function_in_callsite_frame INTEGER, self_0, self_1, self_2, self_3, sums "
            "HIDDEN)",
        .argument_column = FACTS_N + VALUES_MAX,
        .make = function_make,
        .free = stacks_free,
        .count = stacks_count,
        .column = function_column,
        .find = stacks_find,
    };
    static const struct hs_materialized_table summary = {
        .name = "__heapscope_summary_tree",
        .schema = "CREATE TABLE x(id INTEGER, parent_id INTEGER, name TEXT, mapping_name TEXT, "
                  "source_file TEXT, line_number INTEGER, self_size INTEGER, cumulative_size "
                  "INTEGER, self_alloc_size INTEGER, cumulative_alloc_size INTEGER)",
        .needs = allocation_query,
        .make = summary_make,
        .free = stacks_free,
        .count = stacks_count,
        .column = summary_column,
        .find = stacks_find,
    };
    int code =
        sqlite3_create_function(db, "__heapscope_stack_sums", -1, SQLITE_UTF8 | SQLITE_INNOCUOUS,
                                forest, NULL, aggregate_step, aggregate_final);
    code = code ? code : hs_materialized_table_register(db, &function, forest);
    return code ? code : hs_materialized_table_register(db, &summary, forest);
}
