/*
 * See table_source.h.
 */
#include "sql/table_source.h"

#include <errno.h>
#include <stdlib.h>

#include "sql/import/from_profile.h"
#include "sql/import/import.h"
#include "sql/store/own_tables.h"
#include "sql/store/table_names.h"
#include "trace/trace_input.h"
#include "util/buf.h"

struct hs_table_source {
    struct hs_trace_input input;
    const void *data;
    size_t bytes;
    struct hs_heap_patterns heaps; /* which ones are in the tables */
    struct hs_profile *profile;    /* of which no tables were made yet; NULL: not read */
    struct hs_own_tables *own;     /* NULL: not filled yet */
};

static void free_source(void *ctx)
{
    struct hs_table_source *source = ctx;
    hs_profile_free(source->profile);
    hs_own_tables_free(source->own);
    hs_trace_input_deinit(&source->input);
    free(source);
}

int hs_table_source_open(const char *path, struct hs_table_source **ret_source)
{
    struct hs_table_source *source = calloc(1, sizeof(*source));
    if (!source) {
        return -ENOMEM;
    }
    int err = hs_trace_input_open(&source->input, path);
    if (err < 0) {
        free(source);
        return err;
    }
    source->data = source->input.file;
    source->bytes = source->input.file_bytes;
    *ret_source = source;
    return 0;
}

int hs_table_source_new(const void *data, size_t bytes, struct hs_table_source **ret_source)
{
    struct hs_table_source *source = calloc(1, sizeof(*source));
    if (!source) {
        return -ENOMEM;
    }
    source->data = data;
    source->bytes = bytes;
    *ret_source = source;
    return 0;
}

/* Leaves only the heaps in the profile that are to be in the tables. missing: gets a text with
 * HS_SQL_E_NO_HEAP. */
static int choose_heaps(struct hs_table_source *source, struct hs_buf *missing)
{
    struct hs_buf glob = HS_BUF_INIT;
    int err = hs_heap_choice_keep(source->profile, &source->heaps, missing ? &glob : NULL);
    if (err == 0 && glob.bytes > 0) {
        hs_heap_choice_write_missing(source->profile, &glob, missing);
        err = missing->err ? missing->err : HS_SQL_E_NO_HEAP;
    }
    hs_buf_deinit(&glob);
    return err;
}

static int load_profile(struct hs_table_source *source, struct hs_buf *missing,
                        struct hs_load_report *ret_report)
{
    int err = hs_profile_load_memory(source->data, source->bytes, &source->profile, ret_report);
    return err ? err : choose_heaps(source, missing);
}

static int fill_own(struct hs_table_source *source, struct hs_sql_store *store)
{
    int err = source->profile ? 0 : load_profile(source, NULL, NULL);
    if (err == 0) {
        source->own = hs_own_tables_new(store, source->profile);
        source->profile = NULL;
        err = source->own ? 0 : -ENOMEM;
    }
    return err;
}

/* Fills tables that nobody expected to be read. */
static int fill_later(struct hs_sql_store *store, bool is_own, void *ctx)
{
    struct hs_table_source *source = ctx;
    int err = is_own ? fill_own(source, store)
                     : hs_sql_import(store, source->data, source->bytes, &source->heaps, NULL);
    return err < 0 ? err : 0;
}

/* A file of another kind: all tables come from the profile. */
static int fill_foreign(struct hs_table_source *source, struct hs_sql_store *store,
                        unsigned expected, bool is_blank, struct hs_buf *missing,
                        struct hs_load_report *ret_report)
{
    struct hs_load_report report = { 0 };
    int err = load_profile(source, missing, &report);
    if (err > 0 && err != HS_SQL_E_NO_HEAP && is_blank) {
        return 0; /* the file is an intact trace without packets */
    }
    *ret_report = report;
    if (err != 0) {
        return err;
    }
    hs_sql_from_profile(store, source->profile, &source->heaps);
    if (!(expected & HS_SQL_PROFILE)) {
        hs_profile_free(source->profile);
        source->profile = NULL;
    }
    return store->err;
}

/* Chooses the heaps of the profile that came with the packets. Of a damaged file it did not: then
 * it is read now if it must say which heaps there are. */
static int settle_profile(struct hs_table_source *source, struct hs_buf *missing)
{
    if (source->profile) {
        return choose_heaps(source, missing);
    }
    return source->heaps.count > 0 ? load_profile(source, missing, NULL) : 0;
}

static int fill(struct hs_table_source *source, struct hs_sql_store *store, unsigned expected,
                struct hs_buf *missing, struct hs_load_report *ret_report)
{
    enum hs_load_kind kind = HS_LOAD_TRACE;
    int err = expected & HS_SQL_PROFILE ? hs_load_find_kind(source->data, source->bytes, &kind) : 0;
    if (err < 0) {
        return err;
    }
    if (expected == HS_SQL_PROFILE && kind == HS_LOAD_TRACE) {
        err = load_profile(source, missing, ret_report);
        if (err <= 0 || err == HS_SQL_E_NO_HEAP) {
            return err;
        }
    }
    bool has_both = (expected & HS_SQL_PROFILE) && kind == HS_LOAD_TRACE;
    store->is_filled[false] = true;
    err = hs_sql_import_both(store, source->data, source->bytes, &source->heaps,
                             has_both ? &source->profile : NULL, ret_report);
    if (err == HS_TRACE_E_FOREIGN || err == HS_SQL_E_BLANK) {
        return fill_foreign(source, store, expected, err == HS_SQL_E_BLANK, missing, ret_report);
    }
    return err ? err : settle_profile(source, missing);
}

int hs_table_source_fill(struct hs_table_source *source, unsigned expected,
                         const struct hs_sql_heaps *heaps, struct hs_sql_store **ret_store,
                         struct hs_load_report *ret_report)
{
    struct hs_load_report report = { 0 };
    struct hs_sql_store *store = hs_sql_store_new();
    if (!store) {
        free_source(source);
        return -ENOMEM;
    }
    store->fill_ctx = source;
    store->free_fill_ctx = free_source;
    store->fill = fill_later;
    if (heaps && heaps->patterns.count > 0) {
        source->heaps = heaps->patterns;
        expected |= HS_SQL_PROFILE;
    }
    int err = fill(source, store, expected, heaps ? heaps->missing : NULL,
                   ret_report ? ret_report : &report);
    if (err != 0) {
        hs_sql_store_free(store);
        return err;
    }
    *ret_store = store;
    return 0;
}
