/*
 * Reads the rows of a flame graph's query into columns, and checks their tree. See
 * flamegraph_source.h.
 */
#include "sql/flamegraph/flamegraph_source.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/array.h"

struct hs_flamegraph_source *hs_flamegraph_source_free(struct hs_flamegraph_source *source)
{
    if (source) {
        for (size_t i = 0; i < source->column_count; i++) {
            free(source->columns[i].name);
            free(source->columns[i].types);
            free(source->columns[i].words);
        }
        free(source->columns);
        free(source->parents);
        free(source->order);
        hs_intern_deinit(&source->texts);
        hs_buf_deinit(&source->text_bytes);
        free(source->text_offs);
        free(source);
    }
    return NULL;
}

const char *hs_flamegraph_source_text(const struct hs_flamegraph_source *source, int64_t number,
                                      size_t *ret_bytes)
{
    size_t begin = source->text_offs[number];
    *ret_bytes = source->text_offs[number + 1] - begin - 1;
    return source->text_bytes.data + begin;
}

static int keep_text(struct hs_flamegraph_source *source, const char *text, size_t bytes,
                     int64_t *ret_number)
{
    uint32_t number;
    bool is_new;
    if (hs_intern_put(&source->texts, hs_intern_hash(text, bytes), &number, &is_new) < 0 ||
        hs_array_reserve(&source->text_offs, &source->text_off_capacity, number + (size_t)2,
                         sizeof(size_t)) < 0) {
        return SQLITE_NOMEM;
    }
    if (is_new) {
        source->text_offs[number] = source->text_bytes.bytes;
        hs_buf_add(&source->text_bytes, text, bytes);
        hs_buf_char(&source->text_bytes, '\0');
        source->text_offs[number + 1] = source->text_bytes.bytes;
    }
    *ret_number = number;
    return source->text_bytes.err ? SQLITE_NOMEM : SQLITE_OK;
}

static int keep_cell(struct hs_flamegraph_source *source, struct hs_flamegraph_column *column,
                     sqlite3_stmt *stmt, int idx)
{
    size_t node = source->node_count;
    if (hs_array_reserve(&column->types, &column->type_capacity, node + 1, 1) < 0 ||
        hs_array_reserve(&column->words, &column->word_capacity, node + 1, sizeof(int64_t)) < 0) {
        return SQLITE_NOMEM;
    }
    int type = sqlite3_column_type(stmt, idx);
    double real = 0;
    column->words[node] = 0;
    switch (type) {
    case SQLITE_INTEGER:
        column->words[node] = sqlite3_column_int64(stmt, idx);
        break;
    case SQLITE_FLOAT:
        real = sqlite3_column_double(stmt, idx);
        memcpy(&column->words[node], &real, sizeof(real));
        break;
    case SQLITE_TEXT:
    case SQLITE_BLOB:
        type = SQLITE_TEXT;
        const void *text = sqlite3_column_blob(stmt, idx);
        int code = keep_text(source, text ? text : "", (size_t)sqlite3_column_bytes(stmt, idx),
                             &column->words[node]);
        if (code != SQLITE_OK) {
            return code;
        }
        break;
    default:
        type = SQLITE_NULL;
        break;
    }
    column->types[node] = (uint8_t)type;
    return SQLITE_OK;
}

static int find_columns(struct hs_flamegraph_source *source, sqlite3_stmt *stmt, char **ret_error)
{
    size_t count = (size_t)sqlite3_column_count(stmt);
    source->columns = calloc(count + 1, sizeof(source->columns[0]));
    source->id_column = source->parent_column = source->name_column = SIZE_MAX;
    for (size_t i = 0; source->columns && i < count; i++) {
        const char *name = sqlite3_column_name(stmt, (int)i);
        source->columns[i].name = name ? strdup(name) : NULL;
        source->column_count = i + 1;
        if (!source->columns[i].name) {
            return SQLITE_NOMEM;
        }
        size_t *place = strcasecmp(name, "id") == 0          ? &source->id_column
                        : strcasecmp(name, "parent_id") == 0 ? &source->parent_column
                        : strcasecmp(name, "name") == 0      ? &source->name_column
                                                             : NULL;
        if (place) {
            *place = i;
        }
    }
    if (!source->columns) {
        return SQLITE_NOMEM;
    }
    if (source->id_column == SIZE_MAX || source->parent_column == SIZE_MAX ||
        source->name_column == SIZE_MAX) {
        *ret_error = sqlite3_mprintf("the query of a flame graph needs the columns id, parent_id "
                                     "and name");
        return SQLITE_ERROR;
    }
    return SQLITE_OK;
}

static int check_tree(struct hs_flamegraph_source *source, char **ret_error)
{
    const struct hs_flamegraph_column *ids = &source->columns[source->id_column];
    const struct hs_flamegraph_column *parents = &source->columns[source->parent_column];
    size_t count = source->node_count;
    bool *has_parent = calloc(count + 1, sizeof(bool));
    source->parents = calloc(count + 1, sizeof(uint32_t));
    source->order = calloc(count + 1, sizeof(uint32_t));
    if (!has_parent || !source->parents || !source->order) {
        free(has_parent);
        return SQLITE_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        has_parent[i] = parents->types[i] != SQLITE_NULL;
        if (ids->types[i] != SQLITE_INTEGER ||
            (has_parent[i] && parents->types[i] != SQLITE_INTEGER)) {
            free(has_parent);
            *ret_error =
                sqlite3_mprintf("row %d of a flame graph's query: id and parent_id must be "
                                "integers",
                                (int)i + 1);
            return SQLITE_ERROR;
        }
    }
    uint32_t bad = 0;
    int err = hs_flamegraph_link(ids->words, parents->words, has_parent, source->node_count,
                                 source->parents, source->order, &bad);
    free(has_parent);
    long long id = err > 0 ? ids->words[bad] : 0;
    *ret_error = err == HS_FLAMEGRAPH_E_DUPLICATE
                     ? sqlite3_mprintf("there are two nodes with the id %lld", id)
                 : err == HS_FLAMEGRAPH_E_ORPHAN
                     ? sqlite3_mprintf("node %lld has the parent %lld, which does not exist", id,
                                       (long long)parents->words[bad])
                 : err == HS_FLAMEGRAPH_E_CYCLE
                     ? sqlite3_mprintf("node %lld is on a cycle, or below one", id)
                     : NULL;
    return err == 0 ? SQLITE_OK : err < 0 ? SQLITE_NOMEM : SQLITE_ERROR;
}

static int load_rows(struct hs_flamegraph_source *source, sqlite3_stmt *stmt, char **ret_error)
{
    int code = find_columns(source, stmt, ret_error);
    while (code == SQLITE_OK) {
        int step = sqlite3_step(stmt);
        if (step == SQLITE_DONE) {
            return check_tree(source, ret_error);
        }
        if (step != SQLITE_ROW) {
            *ret_error = sqlite3_mprintf("%s", sqlite3_errmsg(sqlite3_db_handle(stmt)));
            return step;
        }
        for (size_t i = 0; i < source->column_count && code == SQLITE_OK; i++) {
            code = keep_cell(source, &source->columns[i], stmt, (int)i);
        }
        if (++source->node_count >= HS_FLAMEGRAPH_NODES_MAX) {
            *ret_error = sqlite3_mprintf("more than %d nodes", (int)HS_FLAMEGRAPH_NODES_MAX);
            return SQLITE_TOOBIG;
        }
    }
    return code;
}

int hs_flamegraph_source_load(sqlite3 *db, const char *query,
                              struct hs_flamegraph_source **ret_source, char **ret_error)
{
    sqlite3_stmt *stmt = NULL;
    struct hs_flamegraph_source *source = calloc(1, sizeof(*source));
    const char *rest = "";
    int code = source ? sqlite3_prepare_v2(db, query, -1, &stmt, &rest) : SQLITE_NOMEM;
    if (code != SQLITE_OK) {
        *ret_error = sqlite3_mprintf("%s", sqlite3_errmsg(db));
    } else if (!stmt || !sqlite3_stmt_readonly(stmt) || *rest != '\0') {
        *ret_error = sqlite3_mprintf("a flame graph is made of one SELECT");
        code = SQLITE_ERROR;
    } else {
        code = load_rows(source, stmt, ret_error);
    }
    sqlite3_finalize(stmt);
    if (code != SQLITE_OK) {
        hs_flamegraph_source_free(source);
        return code;
    }
    *ret_source = source;
    return SQLITE_OK;
}
