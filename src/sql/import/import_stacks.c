/*
 * Resolves what a sequence interned: mappings, frames and call sites.
 *
 * Rows are made when a sample first needs them, for the process of the sample: mappings and their
 * frames are rows of that process. Only mappings without addresses are identified by their content
 * instead.
 *
 * References are followed by Perfetto's rule (HS_INTERNED_STRICT): a sample whose stack is not
 * complete has no call site, and the statistics say why.
 *
 * See       import_state.h, trace/interned.h, docs/SQL.md
 */
#include <stdlib.h>
#include <string.h>

#include "sql/import/import_state.h"
#include "util/array.h"
#include "util/buf.h"

#define BUILD_ID_BYTES_MAX 64U

void hs_import_made_deinit(struct hs_import_made *made)
{
    hs_intern_deinit(&made->mapping_ids.ids);
    hs_intern_deinit(&made->frame_ids.ids);
    hs_intern_deinit(&made->site_ids.ids);
    free(made->mappings);
    free(made->frames);
    free(made->sites);
    *made = (struct hs_import_made){ 0 };
}

/* --- texts --- */

int64_t hs_import_build_id(struct hs_import *import, const struct hs_interned_text *build_id)
{
    struct hs_buf text = HS_BUF_INIT;
    hs_interned_write_build_id(build_id, BUILD_ID_BYTES_MAX, &text);
    int64_t id = hs_sql_store_put(import->store, hs_buf_text(&text), text.bytes);
    import->store->err = import->store->err ? import->store->err : text.err;
    hs_buf_deinit(&text);
    return id;
}

static int64_t put_text(struct hs_import *import, enum hs_interned_kind kind,
                        const struct hs_interned_text *text)
{
    return kind == HS_INTERNED_BUILD_ID ? hs_import_build_id(import, text)
                                        : hs_sql_store_put(import->store, text->text, text->bytes);
}

static int64_t kind_text(struct hs_import *import, const struct hs_interned_frame *frame)
{
    static const char *const names[] = { "unknown", "native", "kernel", "interpreted",
                                         "jit",     "gc",     "runtime" };
    if (frame->kind_text) {
        return hs_sql_store_str(import->store, frame->kind_text);
    }
    bool is_known = frame->has_kind && frame->kind < sizeof(names) / sizeof(names[0]);
    return hs_sql_store_str(import->store, is_known ? names[frame->kind] : NULL);
}

void hs_import_name_interned(struct hs_import *import, struct hs_import_sequence *sequence)
{
    const struct hs_interned *tables = &sequence->state->interned;
    uint32_t *named_count = sequence->named_count;
    for (int kind = 0; kind < HS_INTERNED_TEXTS_N; kind++) {
        for (; named_count[kind] < tables->valid_count[kind]; named_count[kind]++) {
            put_text(import, (enum hs_interned_kind)kind, &tables->texts[kind][named_count[kind]]);
        }
    }
    uint32_t *frame = &named_count[HS_INTERNED_FRAME];
    for (; *frame < tables->valid_count[HS_INTERNED_FRAME]; ++*frame) {
        kind_text(import, &tables->frames[*frame]);
    }
}

bool hs_import_text(struct hs_import *import, const struct hs_interned *tables,
                    enum hs_interned_kind kind, uint64_t iid, int64_t *ret_text)
{
    const struct hs_interned_text *text =
        hs_interned_find_text(tables, HS_INTERNED_STRICT, kind, iid);
    if (!text && iid != 0) {
        hs_stat_count(import, HS_STAT_INVALID_STRING);
        return false;
    }
    *ret_text = text ? put_text(import, kind, text) : import->empty;
    return true;
}

bool hs_import_mapping_texts(struct hs_import *import, const struct hs_interned *tables,
                             const struct hs_interned_mapping *mapping, int64_t *ret_name,
                             int64_t *ret_build_id)
{
    struct hs_buf path = HS_BUF_INIT;
    if (!hs_import_text(import, tables, HS_INTERNED_BUILD_ID, mapping->build_id_iid,
                        ret_build_id)) {
        return false;
    }
    bool is_whole = hs_interned_path(tables, HS_INTERNED_STRICT, mapping, &path);
    if (is_whole) {
        *ret_name = hs_sql_store_put(import->store, hs_buf_text(&path), path.bytes);
    } else {
        hs_stat_count(import, HS_STAT_INVALID_STRING);
    }
    import->store->err = import->store->err ? import->store->err : path.err;
    hs_buf_deinit(&path);
    return is_whole;
}

/* --- rows identified by their content --- */

uint32_t hs_import_content_mapping(struct hs_import *import,
                                   const struct hs_interned_mapping *mapping, int64_t name,
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

static void note_tmp(struct hs_import *import, int64_t name, int64_t build_id)
{
    size_t name_bytes, id_bytes;
    const char *text = hs_sql_store_text(import->store, name, &name_bytes);
    hs_sql_store_text(import->store, build_id, &id_bytes);
    if (id_bytes == 0 && strncmp(text, "/data/local/tmp/", strlen("/data/local/tmp/")) == 0) {
        hs_stat_count(import, HS_STAT_TMP_BUILD_ID);
    }
}

static uint32_t make_mapping(struct hs_import *import, const struct hs_interned *tables,
                             uint64_t iid)
{
    static const struct hs_interned_mapping nowhere;
    const struct hs_interned_mapping *mapping =
        hs_interned_find_mapping(tables, HS_INTERNED_STRICT, iid);
    int64_t name, build_id;
    if (!mapping && iid == 0) {
        return hs_import_content_mapping(import, &nowhere, import->empty, import->empty);
    }
    if (!mapping) {
        hs_stat_count(import, HS_STAT_INVALID_MAPPING);
        return HS_IMPORT_NONE;
    }
    if (!hs_import_mapping_texts(import, tables, mapping, &name, &build_id)) {
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

static uint32_t mapping_row(struct hs_import *import, struct hs_import_sequence *sequence,
                            uint32_t upid, uint64_t iid)
{
    bool is_new;
    struct hs_intern_key key = { .hi = upid, .lo = iid };
    uint32_t *row = hs_import_at(import, &sequence->made.mapping_ids, &sequence->made.mappings,
                                 sizeof(*row), key, &is_new);
    if (is_new) {
        *row = make_mapping(import, &sequence->state->interned, iid);
    }
    return row ? *row : HS_IMPORT_NONE;
}

/* Adds the frame's own source line, if the recorder wrote one. */
static int64_t add_own_line(struct hs_import *import, int64_t name, int64_t file,
                            const struct hs_interned_frame *frame)
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
                               int64_t file, const struct hs_interned_frame *frame)
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
                          HS_ROWS_NULL, kind_text(import, frame));
    }
    return row ? *row : HS_IMPORT_NONE;
}

uint32_t hs_import_named_frame(struct hs_import *import, int64_t name, int64_t file, int64_t line)
{
    static const struct hs_interned_mapping nowhere;
    const struct hs_interned_frame frame = {
        .has_line = line != HS_ROWS_NULL,
        .line = line != HS_ROWS_NULL ? (uint32_t)line : 0,
    };
    uint32_t mapping = hs_import_content_mapping(import, &nowhere, import->empty, import->empty);
    return unmapped_frame(import, mapping, name, file, &frame);
}

static uint32_t make_frame(struct hs_import *import, struct hs_import_sequence *sequence,
                           uint32_t upid, uint64_t iid)
{
    const struct hs_interned *tables = &sequence->state->interned;
    const struct hs_interned_frame *frame = hs_interned_find_frame(tables, HS_INTERNED_STRICT, iid);
    int64_t name, file = HS_ROWS_NULL;
    if (!frame) {
        hs_stat_count(import, HS_STAT_INVALID_FRAME);
        return HS_IMPORT_NONE;
    }
    uint32_t mapping = mapping_row(import, sequence, upid, frame->mapping_iid);
    if (mapping == HS_IMPORT_NONE ||
        !hs_import_text(import, tables, HS_INTERNED_FUNCTION, frame->function_iid, &name) ||
        (frame->source_iid != 0 &&
         !hs_import_text(import, tables, HS_INTERNED_SOURCE, frame->source_iid, &file))) {
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
        int64_t kind = kind_text(import, frame);
        int64_t *cells = hs_rows_at(&import->store->tables[HS_SQL_FRAME], row);
        cells[HS_SQL_FRAME_SYMBOLS] = set;
        cells[HS_SQL_FRAME_DEOBFUSCATED + 1] = kind;
    }
    return row;
}

static uint32_t frame_row(struct hs_import *import, struct hs_import_sequence *sequence,
                          uint32_t upid, uint64_t iid)
{
    bool is_new;
    struct hs_intern_key key = { .hi = upid, .lo = iid };
    uint32_t *row = hs_import_at(import, &sequence->made.frame_ids, &sequence->made.frames,
                                 sizeof(*row), key, &is_new);
    if (is_new) {
        *row = make_frame(import, sequence, upid, iid);
    }
    return row ? *row : HS_IMPORT_NONE;
}

static uint32_t make_site(struct hs_import *import, struct hs_import_sequence *sequence,
                          uint32_t upid, uint64_t iid)
{
    const struct hs_interned_callstack *callstack =
        hs_interned_find_callstack(&sequence->state->interned, HS_INTERNED_STRICT, iid);
    if (!callstack) {
        hs_stat_count(import, HS_STAT_INVALID_CALLSTACK);
        return HS_IMPORT_NONE;
    }
    if (callstack->frames.count == 0) {
        hs_stat_count(import, HS_STAT_EMPTY_CALLSTACK);
        return HS_IMPORT_NONE;
    }
    uint32_t site = HS_IMPORT_NONE;
    for (uint32_t i = 0; i < callstack->frames.count; i++) {
        uint32_t frame = frame_row(import, sequence, upid, hs_interned_iid(&callstack->frames, i));
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

uint32_t hs_import_site(struct hs_import *import, struct hs_import_sequence *sequence,
                        uint32_t upid, uint64_t callstack_iid)
{
    bool is_new;
    struct hs_intern_key key = { .hi = upid, .lo = callstack_iid };
    struct hs_import_made *made = &sequence->made;
    uint32_t *known = hs_intern_elem(&made->site_ids, made->sites, sizeof(*known), key);
    if (known && *known != HS_IMPORT_NONE) {
        return *known;
    }
    /* Tried again even if it failed before: the missing elements may have been interned since. */
    uint32_t site = make_site(import, sequence, upid, callstack_iid);
    uint32_t *kept =
        hs_import_at(import, &made->site_ids, &made->sites, sizeof(*kept), key, &is_new);
    if (kept) {
        *kept = site;
    }
    return site;
}
