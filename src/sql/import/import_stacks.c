/*
 * Resolves what a sequence interned: mappings, frames and call sites.
 *
 * Rows are made when a sample first needs them, for the process of the sample: mappings and their
 * frames are rows of that process. Only mappings without addresses are identified by their content
 * instead.
 *
 * See       import_state.h, docs/SQL.md
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sql/import/import_state.h"
#include "util/array.h"
#include "util/buf.h"

#define BREAKPAD_ID_BYTES 33U
#define BUILD_ID_MAX      64U
/* Limits the length of a path. Components are numbers of strings, so a few bytes could make a path
 * of megabytes. */
#define PATH_BYTES_MAX 8192U

void hs_import_tables_deinit(struct hs_import_tables *tables)
{
    for (int i = 0; i < HS_IMPORT_STRINGS_N; i++) {
        hs_intern_deinit(&tables->string_ids[i].ids);
        free(tables->strings[i]);
    }
    hs_intern_deinit(&tables->mapping_ids.ids);
    hs_intern_deinit(&tables->frame_ids.ids);
    hs_intern_deinit(&tables->callstack_ids.ids);
    hs_intern_deinit(&tables->mapping_row_ids.ids);
    hs_intern_deinit(&tables->frame_row_ids.ids);
    hs_intern_deinit(&tables->site_ids.ids);
    free(tables->mappings);
    free(tables->frames);
    free(tables->callstacks);
    free(tables->pool);
    free(tables->mapping_rows);
    free(tables->frame_rows);
    free(tables->sites);
    *tables = (struct hs_import_tables){ 0 };
}

/* --- filling: the first element with an iid is valid --- */

int64_t hs_import_build_id(struct hs_import *import, const void *data, size_t bytes)
{
    const unsigned char *id = data;
    char text[BUILD_ID_MAX * 2];
    if (bytes == BREAKPAD_ID_BYTES) {
        return hs_sql_store_put(import->store, data, bytes);
    }
    bytes = bytes < BUILD_ID_MAX ? bytes : BUILD_ID_MAX;
    for (size_t i = 0; i < bytes; i++) {
        text[i * 2] = "0123456789abcdef"[id[i] >> 4];
        text[i * 2 + 1] = "0123456789abcdef"[id[i] & 15];
    }
    return hs_sql_store_put(import->store, text, bytes * 2);
}

static void add_strings(struct hs_import *import, struct hs_import_tables *tables,
                        enum hs_import_strings kind, Hs__Pb__InternedString **list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool is_new;
        int64_t *string = hs_import_at(import, &tables->string_ids[kind], &tables->strings[kind],
                                       sizeof(int64_t), HS_IMPORT_KEY(list[i]->iid), &is_new);
        if (is_new) {
            const ProtobufCBinaryData *text = &list[i]->str;
            *string = kind == HS_IMPORT_BUILD_IDS
                          ? hs_import_build_id(import, text->data, text->len)
                          : hs_sql_store_put(import->store, text->data, text->len);
        }
    }
}

static uint32_t add_to_pool(struct hs_import *import, struct hs_import_tables *tables,
                            const uint64_t *ids, size_t count)
{
    int err = count > UINT32_MAX / 2 - tables->pool_count ? -EOVERFLOW : 0;
    if (err == 0) {
        err = hs_array_reserve(&tables->pool, &tables->pool_capacity, tables->pool_count + count,
                               sizeof(tables->pool[0]));
    }
    if (err < 0) {
        import->store->err = err;
        return 0;
    }
    uint32_t first = tables->pool_count;
    if (count > 0) {
        memcpy(tables->pool + first, ids, count * sizeof(ids[0]));
    }
    tables->pool_count += (uint32_t)count;
    return first;
}

static void add_mappings(struct hs_import *import, struct hs_import_tables *tables,
                         const Hs__Pb__InternedData *data)
{
    for (size_t i = 0; i < data->n_mappings; i++) {
        const Hs__Pb__Mapping *from = data->mappings[i];
        bool is_new;
        struct hs_import_mapping *mapping =
            hs_import_at(import, &tables->mapping_ids, &tables->mappings, sizeof(*mapping),
                         HS_IMPORT_KEY(from->iid), &is_new);
        if (is_new) {
            *mapping = (struct hs_import_mapping){
                .start_va = from->start,
                .end_va = from->end,
                .exact_off = from->exact_offset,
                .start_off = from->start_offset,
                .load_bias = from->load_bias,
                .build_id_iid = from->build_id,
                .path_first =
                    add_to_pool(import, tables, from->path_string_ids, from->n_path_string_ids),
                .path_count = (uint32_t)from->n_path_string_ids,
            };
        }
    }
}

static int64_t kind_text(struct hs_import *import, const Hs__Pb__Frame *frame)
{
    static const char *const names[] = { "unknown", "native", "kernel", "interpreted",
                                         "jit",     "gc",     "runtime" };
    if (frame->kind_str) {
        return hs_sql_store_str(import->store, frame->kind_str);
    }
    bool is_known = frame->has_kind && frame->kind < sizeof(names) / sizeof(names[0]);
    return hs_sql_store_str(import->store, is_known ? names[frame->kind] : NULL);
}

static void add_frames(struct hs_import *import, struct hs_import_tables *tables,
                       const Hs__Pb__InternedData *data)
{
    for (size_t i = 0; i < data->n_frames; i++) {
        const Hs__Pb__Frame *from = data->frames[i];
        bool is_new;
        struct hs_import_frame *frame =
            hs_import_at(import, &tables->frame_ids, &tables->frames, sizeof(*frame),
                         HS_IMPORT_KEY(from->iid), &is_new);
        if (is_new) {
            *frame = (struct hs_import_frame){
                .function_iid = from->function_name_id,
                .mapping_iid = from->mapping_id,
                .rel_pc = from->rel_pc,
                .source_iid = from->source_path_iid,
                .line = from->line_number,
                .has_line = from->has_line_number,
                .kind_text = kind_text(import, from),
            };
        }
    }
}

static void add_callstacks(struct hs_import *import, struct hs_import_tables *tables,
                           const Hs__Pb__InternedData *data)
{
    for (size_t i = 0; i < data->n_callstacks; i++) {
        const Hs__Pb__Callstack *from = data->callstacks[i];
        bool is_new;
        struct hs_import_callstack *callstack =
            hs_import_at(import, &tables->callstack_ids, &tables->callstacks, sizeof(*callstack),
                         HS_IMPORT_KEY(from->iid), &is_new);
        if (is_new) {
            *callstack = (struct hs_import_callstack){
                .first = add_to_pool(import, tables, from->frame_ids, from->n_frame_ids),
                .count = (uint32_t)from->n_frame_ids,
            };
        }
    }
}

void hs_import_tables_add(struct hs_import *import, struct hs_import_tables *tables,
                          const Hs__Pb__InternedData *data)
{
    add_strings(import, tables, HS_IMPORT_FUNCTIONS, data->function_names, data->n_function_names);
    add_strings(import, tables, HS_IMPORT_PATHS, data->mapping_paths, data->n_mapping_paths);
    add_strings(import, tables, HS_IMPORT_SOURCES, data->source_paths, data->n_source_paths);
    add_strings(import, tables, HS_IMPORT_BUILD_IDS, data->build_ids, data->n_build_ids);
    add_mappings(import, tables, data);
    add_frames(import, tables, data);
    add_callstacks(import, tables, data);
}

/* --- rows identified by their content --- */

uint32_t hs_import_content_mapping(struct hs_import *import,
                                   const struct hs_import_mapping *mapping, int64_t name,
                                   int64_t build_id)
{
    const int64_t cells[] = { build_id,
                              (int64_t)mapping->exact_off,
                              (int64_t)mapping->start_off,
                              (int64_t)mapping->start_va,
                              (int64_t)mapping->end_va,
                              (int64_t)mapping->load_bias,
                              name };
    uint32_t id;
    bool is_new;
    struct hs_sql_store *store = import->store;
    if (store->err == 0) {
        store->err = hs_array_reserve(&import->content_rows, &import->content_capacity,
                                      (size_t)import->content_ids.count + 1, sizeof(uint32_t));
    }
    if (store->err == 0) {
        store->err =
            hs_intern_put(&import->content_ids, hs_intern_hash(cells, sizeof(cells)), &id, &is_new);
    }
    if (store->err != 0) {
        return HS_IMPORT_NONE;
    }
    if (is_new) {
        import->content_rows[id] =
            hs_sql_store_add(store, HS_SQL_MAPPING, cells, sizeof(cells) / sizeof(cells[0]));
    }
    return import->content_rows[id];
}

/* Recorders write "" for an unknown name; the table has NULL. */
static int64_t known_name(const struct hs_import *import, int64_t name)
{
    return name == import->empty ? HS_ROWS_NULL : name;
}

uint32_t hs_import_frame_row(struct hs_import *import, uint32_t mapping, int64_t name,
                             uint64_t rel_pc)
{
    bool is_new;
    struct hs_intern_key key = hs_intern_mix(HS_IMPORT_KEY(mapping), (uint64_t)name);
    uint32_t *row = hs_import_at(import, &import->frame_ids, &import->frame_rows, sizeof(*row),
                                 hs_intern_mix(key, rel_pc), &is_new);
    if (is_new) {
        *row = HS_SQL_ADD(import->store, HS_SQL_FRAME, known_name(import, name), mapping,
                          (int64_t)rel_pc, HS_ROWS_NULL, HS_ROWS_NULL, HS_ROWS_NULL);
    }
    return row ? *row : HS_IMPORT_NONE;
}

uint32_t hs_import_site_row(struct hs_import *import, uint32_t parent, uint32_t frame)
{
    struct hs_sql_store *store = import->store;
    uint32_t site;
    bool is_new;
    if (import->budget == 0 || store->err != 0) {
        return HS_IMPORT_NONE;
    }
    import->budget--;
    store->err = hs_intern_put(&import->site_ids,
                               (struct hs_intern_key){ .hi = parent, .lo = frame }, &site, &is_new);
    if (store->err == 0 && is_new) {
        bool is_root = parent == HS_IMPORT_NONE;
        int64_t depth = is_root ? 0 : hs_rows_at(&store->tables[HS_SQL_CALLSITE], parent)[0] + 1;
        HS_SQL_ADD(store, HS_SQL_CALLSITE, depth, is_root ? HS_ROWS_NULL : (int64_t)parent, frame);
    }
    return store->err == 0 ? site : HS_IMPORT_NONE;
}

/* --- resolving --- */

/* The string with this iid; "" for iid 0. Returns false if it does not exist, which is counted. */
static bool find_string(struct hs_import *import, struct hs_import_tables *tables,
                        enum hs_import_strings kind, uint64_t iid, int64_t *ret_text)
{
    const int64_t *text = hs_import_find(&tables->string_ids[kind], tables->strings[kind],
                                         sizeof(*text), HS_IMPORT_KEY(iid));
    if (text) {
        *ret_text = *text;
    } else if (iid == 0) {
        *ret_text = import->empty;
    } else {
        hs_stat_count(import, HS_STAT_INVALID_STRING);
        return false;
    }
    return true;
}

/* "/" and the components joined by "/". Two slashes at the start become one. */
static bool path_text(struct hs_import *import, struct hs_import_tables *tables,
                      const struct hs_import_mapping *mapping, int64_t *ret_text)
{
    struct hs_buf buf = HS_BUF_INIT;
    bool is_whole = true;
    for (uint32_t i = 0; is_whole && i < mapping->path_count && buf.bytes < PATH_BYTES_MAX; i++) {
        int64_t part = HS_ROWS_NULL;
        is_whole = find_string(import, tables, HS_IMPORT_PATHS,
                               tables->pool[mapping->path_first + i], &part);
        size_t bytes;
        const char *text = hs_sql_store_text(import->store, part, &bytes);
        hs_buf_char(&buf, '/');
        hs_buf_add(&buf, text, bytes);
    }
    const char *name = hs_buf_text(&buf);
    size_t skip = buf.bytes > 1 && name[0] == '/' && name[1] == '/';
    if (is_whole) {
        *ret_text = hs_sql_store_put(import->store, name + skip, buf.bytes - skip);
    }
    import->store->err = import->store->err ? import->store->err : buf.err;
    hs_buf_deinit(&buf);
    return is_whole;
}

static void note_tmp(struct hs_import *import, int64_t name, int64_t build_id)
{
    size_t name_bytes, id_bytes;
    const char *text = hs_sql_store_text(import->store, name, &name_bytes);
    hs_sql_store_text(import->store, build_id, &id_bytes);
    if (id_bytes == 0 && strncmp(text, "/data/local/tmp/", strlen("/data/local/tmp/")) == 0) {
        hs_stat_count(import, HS_STAT_TMP_BUILD_ID);
    }
}

static uint32_t make_mapping(struct hs_import *import, struct hs_import_tables *tables,
                             uint64_t iid)
{
    static const struct hs_import_mapping nowhere;
    const struct hs_import_mapping *mapping = hs_import_find(&tables->mapping_ids, tables->mappings,
                                                             sizeof(*mapping), HS_IMPORT_KEY(iid));
    int64_t name, build_id;
    if (!mapping && iid == 0) {
        return hs_import_content_mapping(import, &nowhere, import->empty, import->empty);
    }
    if (!mapping) {
        hs_stat_count(import, HS_STAT_INVALID_MAPPING);
        return HS_IMPORT_NONE;
    }
    if (!find_string(import, tables, HS_IMPORT_BUILD_IDS, mapping->build_id_iid, &build_id) ||
        !path_text(import, tables, mapping, &name)) {
        return HS_IMPORT_NONE;
    }
    note_tmp(import, name, build_id);
    if (mapping->start_va == mapping->end_va) {
        return hs_import_content_mapping(import, mapping, name, build_id);
    }
    return HS_SQL_ADD(import->store, HS_SQL_MAPPING, build_id, (int64_t)mapping->exact_off,
                      (int64_t)mapping->start_off, (int64_t)mapping->start_va,
                      (int64_t)mapping->end_va, (int64_t)mapping->load_bias, name);
}

static uint32_t mapping_row(struct hs_import *import, struct hs_import_tables *tables,
                            uint32_t upid, uint64_t iid)
{
    bool is_new;
    struct hs_intern_key key = { .hi = upid, .lo = iid };
    uint32_t *row = hs_import_at(import, &tables->mapping_row_ids, &tables->mapping_rows,
                                 sizeof(*row), key, &is_new);
    if (is_new) {
        *row = make_mapping(import, tables, iid);
    }
    return row ? *row : HS_IMPORT_NONE;
}

/* Adds the frame's own source line, if the recorder wrote one. */
static int64_t add_own_line(struct hs_import *import, int64_t name, int64_t file,
                            const struct hs_import_frame *frame)
{
    struct hs_sql_store *store = import->store;
    int64_t set = store->tables[HS_SQL_SYMBOL].count;
    HS_SQL_ADD(store, HS_SQL_SYMBOL, set, known_name(import, name), file,
               frame->has_line ? (int64_t)frame->line : HS_ROWS_NULL, 0);
    return set;
}

/* The row of a frame without a mapping, which is identified by its name and its place in the
 * source. */
static uint32_t unmapped_frame(struct hs_import *import, uint32_t mapping, int64_t name,
                               int64_t file, const struct hs_import_frame *frame)
{
    bool is_new;
    struct hs_intern_key key = hs_intern_mix(HS_IMPORT_KEY(mapping), (uint64_t)name);
    key = hs_intern_mix(hs_intern_mix(key, (uint64_t)file),
                        frame->has_line ? frame->line : UINT64_MAX);
    uint32_t *row =
        hs_import_at(import, &import->frame_ids, &import->frame_rows, sizeof(*row), key, &is_new);
    if (is_new) {
        int64_t set = add_own_line(import, name, file, frame);
        *row = HS_SQL_ADD(import->store, HS_SQL_FRAME, known_name(import, name), mapping, 0, set,
                          HS_ROWS_NULL, frame->kind_text);
    }
    return row ? *row : HS_IMPORT_NONE;
}

uint32_t hs_import_named_frame(struct hs_import *import, int64_t name, int64_t file, int64_t line)
{
    static const struct hs_import_mapping nowhere;
    const struct hs_import_frame frame = {
        .has_line = line != HS_ROWS_NULL,
        .line = line != HS_ROWS_NULL ? (uint32_t)line : 0,
        .kind_text = HS_ROWS_NULL,
    };
    uint32_t mapping = hs_import_content_mapping(import, &nowhere, import->empty, import->empty);
    return unmapped_frame(import, mapping, name, file, &frame);
}

static uint32_t make_frame(struct hs_import *import, struct hs_import_tables *tables, uint32_t upid,
                           uint64_t iid)
{
    const struct hs_import_frame *frame =
        hs_import_find(&tables->frame_ids, tables->frames, sizeof(*frame), HS_IMPORT_KEY(iid));
    int64_t name, file = HS_ROWS_NULL;
    if (!frame) {
        hs_stat_count(import, HS_STAT_INVALID_FRAME);
        return HS_IMPORT_NONE;
    }
    uint32_t mapping = mapping_row(import, tables, upid, frame->mapping_iid);
    if (mapping == HS_IMPORT_NONE ||
        !find_string(import, tables, HS_IMPORT_FUNCTIONS, frame->function_iid, &name) ||
        (frame->source_iid != 0 &&
         !find_string(import, tables, HS_IMPORT_SOURCES, frame->source_iid, &file))) {
        return HS_IMPORT_NONE;
    }
    if (frame->mapping_iid == 0) {
        return unmapped_frame(import, mapping, name, file, frame);
    }
    uint32_t row = hs_import_frame_row(import, mapping, name, frame->rel_pc);
    if (row != HS_IMPORT_NONE && frame->has_line) {
        bool is_new;
        uint32_t *line = hs_import_at(import, &import->line_ids, &import->lines, sizeof(*line),
                                      HS_IMPORT_KEY(row), &is_new);
        if (is_new) {
            *line = frame->line;
        }
    }
    if (row != HS_IMPORT_NONE && import->store->err == 0) {
        int64_t set = hs_rows_at(&import->store->tables[HS_SQL_FRAME], row)[HS_SQL_FRAME_SYMBOLS];
        if (set == HS_ROWS_NULL && file != HS_ROWS_NULL) {
            set = add_own_line(import, name, file, frame);
        }
        int64_t *cells = hs_rows_at(&import->store->tables[HS_SQL_FRAME], row);
        cells[HS_SQL_FRAME_SYMBOLS] = set;
        cells[HS_SQL_FRAME_DEOBFUSCATED + 1] = frame->kind_text;
    }
    return row;
}

static uint32_t frame_row(struct hs_import *import, struct hs_import_tables *tables, uint32_t upid,
                          uint64_t iid)
{
    bool is_new;
    struct hs_intern_key key = { .hi = upid, .lo = iid };
    uint32_t *row = hs_import_at(import, &tables->frame_row_ids, &tables->frame_rows, sizeof(*row),
                                 key, &is_new);
    if (is_new) {
        *row = make_frame(import, tables, upid, iid);
    }
    return row ? *row : HS_IMPORT_NONE;
}

static uint32_t make_site(struct hs_import *import, struct hs_import_tables *tables, uint32_t upid,
                          uint64_t iid)
{
    const struct hs_import_callstack *callstack = hs_import_find(
        &tables->callstack_ids, tables->callstacks, sizeof(*callstack), HS_IMPORT_KEY(iid));
    if (!callstack) {
        hs_stat_count(import, HS_STAT_INVALID_CALLSTACK);
        return HS_IMPORT_NONE;
    }
    if (callstack->count == 0) {
        hs_stat_count(import, HS_STAT_EMPTY_CALLSTACK);
        return HS_IMPORT_NONE;
    }
    uint32_t site = HS_IMPORT_NONE;
    for (uint32_t i = 0; i < callstack->count; i++) {
        uint32_t frame = frame_row(import, tables, upid, tables->pool[callstack->first + i]);
        site = frame == HS_IMPORT_NONE ? HS_IMPORT_NONE : hs_import_site_row(import, site, frame);
        if (site == HS_IMPORT_NONE) {
            if (frame != HS_IMPORT_NONE) {
                hs_stat_count(import, HS_STAT_STACK_PARSER);
            }
            return HS_IMPORT_NONE;
        }
    }
    return site;
}

uint32_t hs_import_site(struct hs_import *import, struct hs_import_tables *tables, uint32_t upid,
                        uint64_t callstack_iid)
{
    bool is_new;
    struct hs_intern_key key = { .hi = upid, .lo = callstack_iid };
    uint32_t *known = hs_import_find(&tables->site_ids, tables->sites, sizeof(*known), key);
    if (known && *known != HS_IMPORT_NONE) {
        return *known;
    }
    /* Tried again even if it failed before: the missing elements may have been interned since. */
    uint32_t site = make_site(import, tables, upid, callstack_iid);
    uint32_t *kept =
        hs_import_at(import, &tables->site_ids, &tables->sites, sizeof(*kept), key, &is_new);
    if (kept) {
        *kept = site;
    }
    return site;
}
