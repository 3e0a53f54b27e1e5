/*
 * The interned tables that very old recorders put into the ProfilePacket itself.
 *
 * They are resolved at once, in the order strings, mappings, frames, callstacks, and freed when the
 * dump is complete. Mappings are identified by their content.
 *
 * See       import_state.h
 */
#include <stdlib.h>

#include "sql/import/import_state.h"
#include "util/buf.h"

#define PATH_BYTES_MAX 8192U

/* A string, which can be a name or the raw bytes of a build id. */
struct hs_import_legacy_string {
    int64_t text, build_id;
};

void hs_import_legacy_deinit(struct hs_import_legacy *legacy)
{
    hs_intern_deinit(&legacy->string_ids.ids);
    hs_intern_deinit(&legacy->mapping_ids.ids);
    hs_intern_deinit(&legacy->frame_ids.ids);
    hs_intern_deinit(&legacy->site_ids.ids);
    free(legacy->strings);
    free(legacy->mappings);
    free(legacy->frames);
    free(legacy->sites);
    *legacy = (struct hs_import_legacy){ 0 };
}

static void add_strings(struct hs_import *import, struct hs_import_legacy *legacy,
                        const Hs__Pb__ProfilePacket *packet)
{
    for (size_t i = 0; i < packet->n_strings; i++) {
        const ProtobufCBinaryData *text = &packet->strings[i]->str;
        bool is_new;
        struct hs_import_legacy_string *string =
            hs_import_at(import, &legacy->string_ids, &legacy->strings, sizeof(*string),
                         HS_IMPORT_KEY(packet->strings[i]->iid), &is_new);
        if (is_new) {
            string->text = hs_sql_store_put(import->store, text->data, text->len);
            string->build_id = hs_import_build_id(import, text->data, text->len);
        }
    }
}

static bool find_string(struct hs_import *import, const struct hs_import_legacy *legacy,
                        uint64_t iid, struct hs_import_legacy_string *ret_string)
{
    const struct hs_import_legacy_string *string =
        hs_import_find(&legacy->string_ids, legacy->strings, sizeof(*string), HS_IMPORT_KEY(iid));
    if (!string && iid != 0) {
        hs_stat_count(import, HS_STAT_INVALID_STRING);
        return false;
    }
    *ret_string =
        string ? *string : (struct hs_import_legacy_string){ import->empty, import->empty };
    return true;
}

static uint32_t mapping_row(struct hs_import *import, const struct hs_import_legacy *legacy,
                            const Hs__Pb__Mapping *from)
{
    struct hs_import_legacy_string string;
    if (!find_string(import, legacy, from->build_id, &string)) {
        return HS_IMPORT_NONE;
    }
    int64_t build_id = string.build_id;
    struct hs_buf buf = HS_BUF_INIT;
    bool is_whole = true;
    for (size_t i = 0; is_whole && i < from->n_path_string_ids && buf.bytes < PATH_BYTES_MAX; i++) {
        is_whole = find_string(import, legacy, from->path_string_ids[i], &string);
        size_t bytes = 0;
        const char *text = is_whole ? hs_sql_store_text(import->store, string.text, &bytes) : "";
        hs_buf_char(&buf, '/');
        hs_buf_add(&buf, text, bytes);
    }
    const char *name = hs_buf_text(&buf);
    size_t skip = buf.bytes > 1 && name[0] == '/' && name[1] == '/';
    const struct hs_import_mapping mapping = {
        .start_va = from->start,
        .end_va = from->end,
        .exact_off = from->exact_offset,
        .start_off = from->start_offset,
        .load_bias = from->load_bias,
    };
    uint32_t row = HS_IMPORT_NONE;
    if (is_whole) {
        int64_t path = hs_sql_store_put(import->store, name + skip, buf.bytes - skip);
        row = hs_import_content_mapping(import, &mapping, path, build_id);
    }
    hs_buf_deinit(&buf);
    return row;
}

static uint32_t frame_row(struct hs_import *import, const struct hs_import_legacy *legacy,
                          const Hs__Pb__Frame *from)
{
    static const struct hs_import_mapping nowhere;
    struct hs_import_legacy_string name;
    const uint32_t *mapping = hs_import_find(&legacy->mapping_ids, legacy->mappings,
                                             sizeof(*mapping), HS_IMPORT_KEY(from->mapping_id));
    uint32_t row = mapping ? *mapping : HS_IMPORT_NONE;
    if (!mapping && from->mapping_id == 0) {
        row = hs_import_content_mapping(import, &nowhere, import->empty, import->empty);
    }
    if (row == HS_IMPORT_NONE) {
        hs_stat_count(import, HS_STAT_INVALID_MAPPING);
        return HS_IMPORT_NONE;
    }
    if (!find_string(import, legacy, from->function_name_id, &name)) {
        return HS_IMPORT_NONE;
    }
    return hs_import_frame_row(import, row, name.text, from->rel_pc);
}

static uint32_t site_row(struct hs_import *import, const struct hs_import_legacy *legacy,
                         const Hs__Pb__Callstack *from)
{
    uint32_t site = HS_IMPORT_NONE;
    for (size_t i = 0; i < from->n_frame_ids; i++) {
        const uint32_t *frame = hs_import_find(&legacy->frame_ids, legacy->frames, sizeof(*frame),
                                               HS_IMPORT_KEY(from->frame_ids[i]));
        if (!frame || *frame == HS_IMPORT_NONE) {
            hs_stat_count(import, HS_STAT_INVALID_FRAME);
            return HS_IMPORT_NONE;
        }
        site = hs_import_site_row(import, site, *frame);
        if (site == HS_IMPORT_NONE) {
            hs_stat_count(import, HS_STAT_STACK_PARSER);
            return HS_IMPORT_NONE;
        }
    }
    if (from->n_frame_ids == 0) {
        hs_stat_count(import, HS_STAT_EMPTY_CALLSTACK);
    }
    return site;
}

void hs_import_legacy_add(struct hs_import *import, struct hs_import_legacy *legacy,
                          const Hs__Pb__ProfilePacket *packet)
{
    bool is_new;
    add_strings(import, legacy, packet);
    for (size_t i = 0; i < packet->n_mappings; i++) {
        uint32_t *row = hs_import_at(import, &legacy->mapping_ids, &legacy->mappings, sizeof(*row),
                                     HS_IMPORT_KEY(packet->mappings[i]->iid), &is_new);
        if (is_new) {
            *row = mapping_row(import, legacy, packet->mappings[i]);
        }
    }
    for (size_t i = 0; i < packet->n_frames; i++) {
        uint32_t *row = hs_import_at(import, &legacy->frame_ids, &legacy->frames, sizeof(*row),
                                     HS_IMPORT_KEY(packet->frames[i]->iid), &is_new);
        if (is_new) {
            *row = frame_row(import, legacy, packet->frames[i]);
        }
    }
    for (size_t i = 0; i < packet->n_callstacks; i++) {
        uint32_t *site = hs_import_at(import, &legacy->site_ids, &legacy->sites, sizeof(*site),
                                      HS_IMPORT_KEY(packet->callstacks[i]->iid), &is_new);
        if (is_new) {
            *site = site_row(import, legacy, packet->callstacks[i]);
        }
    }
}
