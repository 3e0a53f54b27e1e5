/*
 * See interned.h.
 */
#include "trace/interned.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt/check.h"

#define KEY(number) ((struct hs_intern_key){ .lo = (number) })
/* Components of a path are iids, so that a few bytes could make a path of megabytes. */
#define PATH_BYTES_MAX 8192U
/* Blocks grow from the first size to the second: a file may have many sequences of one string. */
#define BLOCK_BYTES_MIN ((size_t)256)
#define BLOCK_BYTES_MAX ((size_t)256 << 10)

struct hs_interned_block {
    struct hs_interned_block *next;
    size_t used_bytes, bytes; /* of the data behind this */
};

void hs_interned_deinit(struct hs_interned *tables)
{
    for (int i = 0; i < HS_INTERNED_N; i++) {
        hs_intern_deinit(&tables->ids[i].ids);
    }
    for (int i = 0; i < HS_INTERNED_TEXTS_N; i++) {
        free(tables->texts[i]);
    }
    free(tables->mappings);
    free(tables->frames);
    free(tables->callstacks);
    while (tables->blocks) {
        struct hs_interned_block *next = tables->blocks->next;
        free(tables->blocks);
        tables->blocks = next;
    }
    *tables = (struct hs_interned){ 0 };
}

/* Room for elements that take `bytes` bytes, which stays where it is. NULL: no memory. */
static void *take(struct hs_interned *tables, size_t bytes, size_t elem_bytes)
{
    struct hs_interned_block *block = tables->blocks;
    size_t off = block ? (block->used_bytes + elem_bytes - 1) / elem_bytes * elem_bytes : 0;
    if (!block || off > block->bytes || block->bytes - off < bytes) {
        size_t block_bytes = block ? block->bytes * 2 : BLOCK_BYTES_MIN;
        block_bytes = block_bytes < BLOCK_BYTES_MAX ? block_bytes : BLOCK_BYTES_MAX;
        block_bytes = block_bytes > bytes ? block_bytes : bytes;
        off = 0;
        block = malloc(sizeof(*block) + block_bytes);
        if (!block) {
            return NULL;
        }
        *block = (struct hs_interned_block){ .next = tables->blocks, .bytes = block_bytes };
        tables->blocks = block;
    }
    block->used_bytes = off + bytes;
    return (char *)(block + 1) + off;
}

/* Keeps a text, with a NUL behind it. */
static const char *keep_text(struct hs_interned *tables, const void *text, size_t bytes, int *err)
{
    char *kept = take(tables, bytes + 1, 1);
    if (!kept) {
        *err = -ENOMEM;
        return NULL;
    }
    if (bytes > 0) {
        memcpy(kept, text, bytes);
    }
    kept[bytes] = '\0';
    return kept;
}

static struct hs_interned_list keep_iids(struct hs_interned *tables, const uint64_t *iids,
                                         size_t count, int *err)
{
    struct hs_interned_list list = { 0 };
    uint64_t all_bits = 0;
    for (size_t i = 0; i < count; i++) {
        all_bits |= iids[i];
    }
    bool is_wide = all_bits > UINT32_MAX;
    size_t iid_bytes = is_wide ? sizeof(uint64_t) : sizeof(uint32_t);
    void *kept = count <= INT32_MAX ? take(tables, count * iid_bytes, iid_bytes) : NULL;
    if (!kept) {
        *err = count <= INT32_MAX ? -ENOMEM : -EOVERFLOW;
        return list;
    }
    for (size_t i = 0; i < count; i++) {
        if (is_wide) {
            ((uint64_t *)kept)[i] = iids[i];
        } else {
            ((uint32_t *)kept)[i] = (uint32_t)iids[i];
        }
    }
    list.iids = kept;
    list.count = (uint32_t)count & INT32_MAX;
    list.is_wide = is_wide;
    return list;
}

/* Adds an element with an iid. NULL: there is one already, or *err says why not. */
static void *add(struct hs_interned *tables, enum hs_interned_kind kind, void *array_address,
                 size_t elem_bytes, uint64_t iid, int *err)
{
    bool is_new = false;
    void *elem = NULL;
    if (*err == 0) {
        *err =
            hs_intern_at(&tables->ids[kind], array_address, elem_bytes, KEY(iid), &elem, &is_new);
    }
    return *err == 0 && is_new ? elem : NULL;
}

static void add_texts(struct hs_interned *tables, enum hs_interned_kind kind,
                      Hs__Pb__InternedString **list, size_t count, int *err)
{
    for (size_t i = 0; i < count; i++) {
        const ProtobufCBinaryData *from = &list[i]->str;
        struct hs_interned_text *text =
            add(tables, kind, &tables->texts[kind], sizeof(*text), list[i]->iid, err);
        if (text) {
            const char *kept = keep_text(tables, from->data, from->len, err);
            *text = (struct hs_interned_text){ kept ? kept : "", kept ? from->len : 0 };
        }
    }
}

static void add_mappings(struct hs_interned *tables, Hs__Pb__Mapping **list, size_t count, int *err)
{
    for (size_t i = 0; i < count; i++) {
        const Hs__Pb__Mapping *from = list[i];
        struct hs_interned_mapping *mapping =
            add(tables, HS_INTERNED_MAPPING, &tables->mappings, sizeof(*mapping), from->iid, err);
        if (mapping) {
            *mapping = (struct hs_interned_mapping){
                .start_va = from->start,
                .end_va = from->end,
                .exact_off = from->exact_offset,
                .start_off = from->start_offset,
                .load_bias = from->load_bias,
                .build_id_iid = from->build_id,
                .path = keep_iids(tables, from->path_string_ids, from->n_path_string_ids, err),
                .made = HS_INTERNED_NONE,
            };
        }
    }
}

static void add_frames(struct hs_interned *tables, Hs__Pb__Frame **list, size_t count, int *err)
{
    for (size_t i = 0; i < count; i++) {
        const Hs__Pb__Frame *from = list[i];
        struct hs_interned_frame *frame =
            add(tables, HS_INTERNED_FRAME, &tables->frames, sizeof(*frame), from->iid, err);
        if (frame) {
            *frame = (struct hs_interned_frame){
                .function_iid = from->function_name_id,
                .mapping_iid = from->mapping_id,
                .rel_pc = from->rel_pc,
                .source_iid = from->source_path_iid,
                .line = from->line_number,
                .kind = from->kind,
                .has_line = from->has_line_number,
                .has_kind = from->has_kind,
                .made = HS_INTERNED_NONE,
            };
            if (from->kind_str) {
                frame->kind_text = keep_text(tables, from->kind_str, strlen(from->kind_str), err);
            }
        }
    }
}

static void add_callstacks(struct hs_interned *tables, Hs__Pb__Callstack **list, size_t count,
                           int *err)
{
    for (size_t i = 0; i < count; i++) {
        const Hs__Pb__Callstack *from = list[i];
        struct hs_interned_callstack *callstack = add(
            tables, HS_INTERNED_CALLSTACK, &tables->callstacks, sizeof(*callstack), from->iid, err);
        if (callstack) {
            *callstack = (struct hs_interned_callstack){
                .frames = keep_iids(tables, from->frame_ids, from->n_frame_ids, err),
                .made = HS_INTERNED_NONE,
            };
        }
    }
}

static void note_valid(struct hs_interned *tables)
{
    for (int i = 0; i < HS_INTERNED_N; i++) {
        tables->valid_count[i] = tables->ids[i].ids.count;
    }
}

int hs_interned_add(struct hs_interned *tables, const Hs__Pb__InternedData *data, bool is_valid)
{
    int err = 0;
    add_texts(tables, HS_INTERNED_FUNCTION, data->function_names, data->n_function_names, &err);
    add_texts(tables, HS_INTERNED_PATH, data->mapping_paths, data->n_mapping_paths, &err);
    add_texts(tables, HS_INTERNED_SOURCE, data->source_paths, data->n_source_paths, &err);
    add_texts(tables, HS_INTERNED_BUILD_ID, data->build_ids, data->n_build_ids, &err);
    add_mappings(tables, data->mappings, data->n_mappings, &err);
    add_frames(tables, data->frames, data->n_frames, &err);
    add_callstacks(tables, data->callstacks, data->n_callstacks, &err);
    if (is_valid) {
        note_valid(tables);
    }
    return err;
}

int hs_interned_add_legacy(struct hs_interned *tables, const Hs__Pb__ProfilePacket *packet)
{
    int err = 0;
    add_texts(tables, HS_INTERNED_FUNCTION, packet->strings, packet->n_strings, &err);
    add_texts(tables, HS_INTERNED_PATH, packet->strings, packet->n_strings, &err);
    add_texts(tables, HS_INTERNED_BUILD_ID, packet->strings, packet->n_strings, &err);
    add_mappings(tables, packet->mappings, packet->n_mappings, &err);
    add_frames(tables, packet->frames, packet->n_frames, &err);
    add_callstacks(tables, packet->callstacks, packet->n_callstacks, &err);
    note_valid(tables);
    return err;
}

/* --- finding --- */

/* The index of an element, and in which tables it is; HS_INTERNED_NONE: it is nowhere. */
static uint32_t find(const struct hs_interned **tables, enum hs_interned_rule rule,
                     enum hs_interned_kind kind, uint64_t iid)
{
    for (; *tables; *tables = (*tables)->behind) {
        uint32_t idx;
        if (hs_intern_find_near(&(*tables)->ids[kind].ids, KEY(iid), &idx) &&
            (rule == HS_INTERNED_LENIENT || idx < (*tables)->valid_count[kind])) {
            return idx;
        }
    }
    return HS_INTERNED_NONE;
}

const struct hs_interned_text *hs_interned_find_text(const struct hs_interned *tables,
                                                     enum hs_interned_rule rule,
                                                     enum hs_interned_kind kind, uint64_t iid)
{
    if (iid == 0 && rule == HS_INTERNED_LENIENT) {
        return NULL;
    }
    uint32_t idx = find(&tables, rule, kind, iid);
    return idx != HS_INTERNED_NONE ? &tables->texts[kind][idx] : NULL;
}

struct hs_interned_mapping *hs_interned_find_mapping(const struct hs_interned *tables,
                                                     enum hs_interned_rule rule, uint64_t iid)
{
    if (iid == 0 && rule == HS_INTERNED_LENIENT) {
        return NULL;
    }
    uint32_t idx = find(&tables, rule, HS_INTERNED_MAPPING, iid);
    return idx != HS_INTERNED_NONE ? &tables->mappings[idx] : NULL;
}

struct hs_interned_frame *hs_interned_find_frame(const struct hs_interned *tables,
                                                 enum hs_interned_rule rule, uint64_t iid)
{
    uint32_t idx = find(&tables, rule, HS_INTERNED_FRAME, iid);
    return idx != HS_INTERNED_NONE ? &tables->frames[idx] : NULL;
}

struct hs_interned_callstack *hs_interned_find_callstack(const struct hs_interned *tables,
                                                         enum hs_interned_rule rule, uint64_t iid)
{
    uint32_t idx = find(&tables, rule, HS_INTERNED_CALLSTACK, iid);
    return idx != HS_INTERNED_NONE ? &tables->callstacks[idx] : NULL;
}

/* --- following --- */

bool hs_interned_path(const struct hs_interned *tables, enum hs_interned_rule rule,
                      const struct hs_interned_mapping *mapping, struct hs_buf *path)
{
    hs_buf_clear(path);
    for (uint32_t i = 0; i < mapping->path.count && path->bytes < PATH_BYTES_MAX; i++) {
        uint64_t iid = hs_interned_iid(&mapping->path, i);
        const struct hs_interned_text *part =
            hs_interned_find_text(tables, rule, HS_INTERNED_PATH, iid);
        if (!part && iid != 0 && rule == HS_INTERNED_STRICT) {
            return false;
        }
        hs_buf_char(path, '/');
        if (part) {
            hs_buf_add(path, part->text,
                       rule == HS_INTERNED_STRICT ? part->bytes : strlen(part->text));
        }
    }
    if (path->bytes > 1 && path->data[0] == '/' && path->data[1] == '/') {
        memmove(path->data, path->data + 1, --path->bytes);
    }
    return true;
}

void hs_interned_write_build_id(const struct hs_interned_text *build_id, size_t max_bytes,
                                struct hs_buf *text)
{
    if (build_id->bytes == HS_INTERNED_BREAKPAD_BYTES) {
        hs_buf_add(text, build_id->text, build_id->bytes);
        return;
    }
    size_t bytes = build_id->bytes < max_bytes ? build_id->bytes : max_bytes;
    for (size_t i = 0; i < bytes; i++) {
        unsigned byte = (unsigned char)build_id->text[i];
        hs_buf_char(text, "0123456789abcdef"[byte >> 4]);
        hs_buf_char(text, "0123456789abcdef"[byte & 15]);
    }
}

#if HS_HAS_CHECKS
bool hs_interned_is_valid(const struct hs_interned *tables)
{
    for (int i = 0; i < HS_INTERNED_N; i++) {
        const struct hs_intern_array *ids = &tables->ids[i];
        if (!hs_intern_is_valid(&ids->ids) || ids->ids.count > ids->capacity ||
            tables->valid_count[i] > ids->ids.count) {
            return false;
        }
    }
    return true;
}
#endif
