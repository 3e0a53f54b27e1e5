/*
 * See dump_sums.h.
 */
#include "sql/stacks/dump_sums.h"

#include <stdlib.h>
#include <string.h>

#include "sql/store/materialized_table.h"
#include "util/array.h"
#include "util/intern.h"

static const char allocation_query[] =
    "SELECT callsite_id, ts, upid, heap_name, size, count FROM heap_profile_allocation "
    "ORDER BY callsite_id, ts";

enum query_column { QUERY_SITE, QUERY_TS, QUERY_UPID, QUERY_HEAP, QUERY_SIZE, QUERY_COUNT };
enum column { COLUMN_UPID, COLUMN_HEAP, COLUMN_TS, COLUMN_ALLOCATED, COLUMN_DELTA, COLUMN_HELD };

/* A heap of a process, and the state of the current call site in it. */
struct heap {
    int64_t upid;
    char *name; /* NULL: the heap has no name */
    bool is_touched;
    int64_t size_bytes, count, held_bytes;         /* of the call site so far */
    int64_t net_bytes, net_count, allocated_bytes; /* of the call site at the current instant */
};

struct dump {
    uint32_t heap;
    int64_t ts, allocated_bytes, delta_bytes, held_change_bytes;
};

struct dumps {
    struct hs_intern heap_ids; /* keys: (upid, name) */
    struct heap *heaps;
    struct hs_intern dump_ids; /* keys: (heap, ts) */
    struct dump *dumps;
    size_t heap_capacity, dump_capacity, touched_capacity;
    uint32_t *touched; /* heaps that have rows at the current instant */
    uint32_t touched_count;
    int64_t site, ts; /* current call site and instant */
    bool is_any, is_over;
    /* The heap of the previous row, which is usually also the heap of the next one. */
    uint32_t last_heap;
};

static void dumps_free(void *rows)
{
    struct dumps *dumps = rows;
    for (uint32_t i = 0; i < dumps->heap_ids.count; i++) {
        free(dumps->heaps[i].name);
    }
    hs_intern_deinit(&dumps->heap_ids);
    hs_intern_deinit(&dumps->dump_ids);
    free(dumps->heaps);
    free(dumps->dumps);
    free(dumps->touched);
    free(dumps);
}

static void add(struct dumps *dumps, int64_t *sum, int64_t more)
{
    dumps->is_over = __builtin_add_overflow(*sum, more, sum) || dumps->is_over;
}

static struct heap *heap_at(struct dumps *dumps, int64_t upid, const char *name)
{
    if (dumps->last_heap < dumps->heap_ids.count) {
        struct heap *last = &dumps->heaps[dumps->last_heap];
        if (last->upid == upid && name && last->name && strcmp(name, last->name) == 0) {
            return last;
        }
    }
    struct hs_intern_key key = hs_intern_hash(name ? name : "", name ? strlen(name) + 1 : 0);
    uint32_t number;
    bool is_new;
    if (hs_array_reserve(&dumps->heaps, &dumps->heap_capacity, (size_t)dumps->heap_ids.count + 1,
                         sizeof(dumps->heaps[0])) < 0) {
        return NULL;
    }
    char *copy = name ? strdup(name) : NULL;
    if ((name && !copy) ||
        hs_intern_put(&dumps->heap_ids, hs_intern_mix(key, (uint64_t)upid), &number, &is_new) < 0) {
        free(copy);
        return NULL;
    }
    if (is_new) {
        dumps->heaps[number] = (struct heap){ .upid = upid, .name = copy };
    } else {
        free(copy);
    }
    dumps->last_heap = number;
    return &dumps->heaps[number];
}

static struct dump *dump_at(struct dumps *dumps, uint32_t heap, int64_t ts)
{
    uint32_t number;
    bool is_new;
    if (hs_array_reserve(&dumps->dumps, &dumps->dump_capacity, (size_t)dumps->dump_ids.count + 1,
                         sizeof(dumps->dumps[0])) < 0 ||
        hs_intern_put(&dumps->dump_ids, (struct hs_intern_key){ .hi = heap, .lo = (uint64_t)ts },
                      &number, &is_new) < 0) {
        return NULL;
    }
    if (is_new) {
        dumps->dumps[number] = (struct dump){ .heap = heap, .ts = ts };
    }
    return &dumps->dumps[number];
}

/* Adds up the current instant: the call site has no more rows at this instant. */
static int end_instant(struct dumps *dumps)
{
    for (uint32_t i = 0; i < dumps->touched_count; i++) {
        struct heap *heap = &dumps->heaps[dumps->touched[i]];
        struct dump *dump = dump_at(dumps, dumps->touched[i], dumps->ts);
        if (!dump) {
            return SQLITE_NOMEM;
        }
        add(dumps, &heap->size_bytes, heap->net_bytes);
        add(dumps, &heap->count, heap->net_count);
        int64_t held_bytes = heap->count > 0 ? heap->size_bytes : 0;
        add(dumps, &dump->allocated_bytes, heap->allocated_bytes);
        add(dumps, &dump->delta_bytes, heap->net_bytes);
        add(dumps, &dump->held_change_bytes, held_bytes);
        add(dumps, &dump->held_change_bytes, -heap->held_bytes);
        heap->held_bytes = held_bytes;
        heap->net_bytes = heap->net_count = heap->allocated_bytes = 0;
        heap->is_touched = false;
    }
    dumps->touched_count = 0;
    return SQLITE_OK;
}

static void end_site(struct dumps *dumps)
{
    for (uint32_t i = 0; i < dumps->heap_ids.count; i++) {
        dumps->heaps[i].size_bytes = dumps->heaps[i].count = dumps->heaps[i].held_bytes = 0;
    }
}

static int64_t number_at(sqlite3_stmt *stmt, int column)
{
    return sqlite3_column_type(stmt, column) == SQLITE_NULL ? INT64_MIN
                                                            : sqlite3_column_int64(stmt, column);
}

static int add_row(struct dumps *dumps, sqlite3_stmt *stmt)
{
    int64_t site = number_at(stmt, QUERY_SITE), ts = number_at(stmt, QUERY_TS);
    bool is_same_site = dumps->is_any && site == dumps->site;
    int code = SQLITE_OK;
    if (!is_same_site || ts != dumps->ts) {
        code = end_instant(dumps);
    }
    if (!is_same_site) {
        end_site(dumps);
    }
    dumps->site = site;
    dumps->ts = ts;
    dumps->is_any = true;
    struct heap *heap = heap_at(dumps, number_at(stmt, QUERY_UPID),
                                (const char *)sqlite3_column_text(stmt, QUERY_HEAP));
    if (code != SQLITE_OK || !heap ||
        hs_array_reserve(&dumps->touched, &dumps->touched_capacity,
                         (size_t)dumps->touched_count + 1, sizeof(uint32_t)) < 0) {
        return SQLITE_NOMEM;
    }
    if (!heap->is_touched) {
        heap->is_touched = true;
        dumps->touched[dumps->touched_count++] = (uint32_t)(heap - dumps->heaps);
    }
    int64_t size_bytes = sqlite3_column_int64(stmt, QUERY_SIZE);
    add(dumps, &heap->net_bytes, size_bytes);
    add(dumps, &heap->net_count, sqlite3_column_int64(stmt, QUERY_COUNT));
    add(dumps, &heap->allocated_bytes, size_bytes > 0 ? size_bytes : 0);
    return SQLITE_OK;
}

static int read_rows(sqlite3 *db, struct dumps *dumps, char **ret_error)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db, allocation_query, -1, &stmt, NULL);
    while (code == SQLITE_OK) {
        code = sqlite3_step(stmt);
        code = code == SQLITE_ROW ? add_row(dumps, stmt) : code;
    }
    sqlite3_finalize(stmt);
    if (code != SQLITE_DONE) {
        *ret_error = code == SQLITE_NOMEM ? NULL : sqlite3_mprintf("%s", sqlite3_errmsg(db));
        return code;
    }
    code = end_instant(dumps);
    if (code == SQLITE_OK && dumps->is_over) {
        *ret_error = sqlite3_mprintf("integer overflow");
        code = SQLITE_ERROR;
    }
    return code;
}

static int dumps_make(sqlite3 *db, void *ctx, sqlite3_value *argument, void **ret_rows,
                      char **ret_error)
{
    (void)ctx;
    (void)argument;
    struct dumps *dumps = calloc(1, sizeof(*dumps));
    int code = dumps ? read_rows(db, dumps, ret_error) : SQLITE_NOMEM;
    if (code != SQLITE_OK) {
        if (dumps) {
            dumps_free(dumps);
        }
        return code;
    }
    *ret_rows = dumps;
    return SQLITE_OK;
}

static uint32_t dumps_count(const void *rows)
{
    return ((const struct dumps *)rows)->dump_ids.count;
}

static void dumps_column(const void *rows, uint32_t row, int column, sqlite3_context *context)
{
    const struct dumps *dumps = rows;
    const struct dump *dump = &dumps->dumps[row];
    const struct heap *heap = &dumps->heaps[dump->heap];
    int64_t value = column == COLUMN_UPID        ? heap->upid
                    : column == COLUMN_TS        ? dump->ts
                    : column == COLUMN_ALLOCATED ? dump->allocated_bytes
                    : column == COLUMN_DELTA     ? dump->delta_bytes
                                                 : dump->held_change_bytes;
    if (column == COLUMN_HEAP) {
        sqlite3_result_text(context, heap->name, -1, SQLITE_TRANSIENT);
    } else if (value != INT64_MIN) {
        sqlite3_result_int64(context, value);
    }
}

int hs_dump_sums_register(sqlite3 *db)
{
    static const struct hs_materialized_table table = {
        .name = "__heapscope_dump_sums",
        .schema = "CREATE TABLE x(upid INTEGER, heap_name TEXT, ts INTEGER, allocated INTEGER, "
                  "delta INTEGER, held_change INTEGER)",
        .needs = allocation_query,
        .make = dumps_make,
        .free = dumps_free,
        .count = dumps_count,
        .column = dumps_column,
    };
    return hs_materialized_table_register(db, &table, NULL);
}
