/*
 * See infra_tables.h.
 */
#include "profile/read/infra_tables.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define TYPE_UNKNOWN "[unknown]"

void hs_infra_tables_init(struct hs_infra_tables *tables, const struct hs_load_source *source)
{
    struct hs_profile_module nowhere = { 0 };
    *tables = (struct hs_infra_tables){
        .source = source,
        .nowhere = hs_builder_module(source->builder, &nowhere),
    };
}

void hs_infra_tables_deinit(struct hs_infra_tables *tables)
{
    for (uint32_t i = 0; i < tables->pids.count; i++) {
        free(tables->processes[i].places);
    }
    hs_intern_deinit(&tables->pids);
    hs_intern_deinit(&tables->string_ids);
    hs_intern_deinit(&tables->node_ids);
    hs_intern_deinit(&tables->type_ids);
    free(tables->processes);
    free(tables->strings);
    free(tables->types);
    free(tables->nodes);
    free(tables->path);
}

/* The index of a key; HS_INFRA_NO_ID after a failure. `array` gets room for it. */
static uint32_t put(struct hs_infra_tables *tables, struct hs_intern *ids, struct hs_intern_key key,
                    void *array_address, size_t *capacity, size_t elem_bytes, bool *ret_is_new)
{
    uint32_t idx = HS_INFRA_NO_ID;
    *ret_is_new = false;
    if (tables->err == 0) {
        tables->err = hs_array_reserve(array_address, capacity, (size_t)ids->count + 1, elem_bytes);
    }
    if (tables->err == 0) {
        tables->err = hs_intern_put(ids, key, &idx, ret_is_new);
    }
    return tables->err == 0 ? idx : HS_INFRA_NO_ID;
}

uint32_t hs_infra_process_of(struct hs_infra_tables *tables, uint64_t pid)
{
    bool is_new;
    uint32_t idx =
        put(tables, &tables->pids, (struct hs_intern_key){ .lo = pid }, &tables->processes,
            &tables->process_capacity, sizeof(tables->processes[0]), &is_new);
    if (is_new) {
        tables->processes[idx] =
            (struct hs_infra_in_process){ .pid = pid, .builder_idx = HS_INFRA_NO_ID };
    }
    return idx;
}

/* A number of the file as an id; one that is none becomes an id that no table has. */
static uint64_t id_of_number(double number)
{
    return number >= 0 && number < 0x1p63 ? (uint64_t)number : UINT64_MAX;
}

/* The older form has texts for ids that are numbers elsewhere in the file. */
static uint64_t id_of_text(const struct hs_json_text *text)
{
    uint64_t id = 0;
    size_t digits = 0;
    for (; digits < text->bytes && digits < 18 && text->text[digits] >= '0' &&
           text->text[digits] <= '9';
         digits++) {
        id = id * 10 + (uint64_t)(text->text[digits] - '0');
    }
    return digits > 0 && digits == text->bytes ? id : hs_intern_hash(text->text, text->bytes).lo;
}

bool hs_infra_read_id(struct hs_json_reader *reader, uint64_t *ret_id)
{
    struct hs_json_text text;
    double number;
    if (hs_json_peek(reader) == '"') {
        if (!hs_json_read_text(reader, &text)) {
            return false;
        }
        *ret_id = id_of_text(&text);
        return true;
    }
    if (!hs_json_read_number(reader, &number)) {
        return false;
    }
    *ret_id = id_of_number(number);
    return true;
}

bool hs_infra_parse_hex(const char *text, size_t bytes, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++) {
        char c = text[i];
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 16;
        if (digit == 16) {
            return false;
        }
        value = value << 4 | digit;
    }
    *ret_value = value;
    return bytes > 0 && bytes <= 16;
}

uint64_t hs_infra_read_hex(struct hs_json_reader *reader)
{
    struct hs_json_text text;
    uint64_t value;
    bool is_hex =
        hs_json_read_text(reader, &text) && hs_infra_parse_hex(text.text, text.bytes, &value);
    return is_hex ? value : 0;
}

uint8_t hs_infra_read_build_id(struct hs_json_reader *reader, uint8_t *ret_build_id)
{
    struct hs_json_text text;
    uint64_t value;
    if (!hs_json_read_text(reader, &text) || text.bytes % 2 != 0 ||
        text.bytes / 2 > HS_BUILD_ID_MAX) {
        return 0;
    }
    for (size_t i = 0; i < text.bytes / 2; i++) {
        if (!hs_infra_parse_hex(text.text + 2 * i, 2, &value)) {
            return 0;
        }
        ret_build_id[i] = (uint8_t)value;
    }
    return (uint8_t)(text.bytes / 2);
}

/* --- tables --- */

static uint32_t string_of(struct hs_infra_tables *tables, const struct hs_json_text *text)
{
    return hs_builder_string_n(tables->source->builder, text->text, text->bytes);
}

/* Reads {"id":1,"string":"main"}. */
static void read_string(struct hs_infra_tables *tables, uint32_t process,
                        struct hs_json_reader *reader)
{
    struct hs_json_text key, text;
    uint64_t id = 0;
    uint32_t string = 0;
    bool has_id = false, has_string = false, is_new;
    hs_json_enter(reader, '{');
    while (hs_json_next_key(reader, &key)) {
        if (hs_json_text_is(&key, "id")) {
            has_id = hs_infra_read_id(reader, &id);
        } else if (!hs_json_text_is(&key, "string")) {
            hs_json_skip(reader);
        } else if (hs_json_read_text(reader, &text)) {
            string = string_of(tables, &text);
            has_string = true;
        }
    }
    if (!has_id || !has_string) {
        tables->source->report->bad_record_count++;
        return;
    }
    uint32_t idx =
        put(tables, &tables->string_ids, (struct hs_intern_key){ process, id }, &tables->strings,
            &tables->string_capacity, sizeof(tables->strings[0]), &is_new);
    if (is_new) {
        tables->strings[idx] = string;
    }
}

static void add_node(struct hs_infra_tables *tables, uint32_t process, uint64_t id,
                     const struct hs_infra_in_node *node)
{
    bool is_new;
    uint32_t idx = put(tables, &tables->node_ids, (struct hs_intern_key){ process, id },
                       &tables->nodes, &tables->node_capacity, sizeof(tables->nodes[0]), &is_new);
    if (is_new) {
        tables->nodes[idx] = *node;
    }
}

/* An element of "nodes" or "types", as far as it is one of them. */
struct named {
    uint64_t id, parent;
    uint32_t name; /* string id */
    bool has_parent;
};

/* Reads {"id":11,"name_sid":2,"parent":10}. False, and the element is counted: it is damaged. */
static bool read_named(struct hs_infra_tables *tables, uint32_t process,
                       struct hs_json_reader *reader, struct named *ret_named)
{
    struct named named = { 0 };
    struct hs_json_text key;
    uint64_t sid = 0;
    uint32_t string;
    bool has_id = false, has_sid = false;
    hs_json_enter(reader, '{');
    while (hs_json_next_key(reader, &key)) {
        if (hs_json_text_is(&key, "id")) {
            has_id = hs_infra_read_id(reader, &named.id);
        } else if (hs_json_text_is(&key, "name_sid")) {
            has_sid = hs_infra_read_id(reader, &sid);
        } else if (hs_json_text_is(&key, "parent")) {
            named.has_parent = hs_infra_read_id(reader, &named.parent);
        } else {
            hs_json_skip(reader);
        }
    }
    if (!has_id || !has_sid ||
        !hs_intern_find(&tables->string_ids, (struct hs_intern_key){ process, sid }, &string)) {
        tables->source->report->bad_record_count++;
        return false;
    }
    named.name = tables->strings[string];
    *ret_named = named;
    return true;
}

static void add_type(struct hs_infra_tables *tables, uint32_t process, const struct named *named)
{
    bool is_new;
    const char *name = hs_builder_text(tables->source->builder, named->name);
    uint32_t idx = put(tables, &tables->type_ids, (struct hs_intern_key){ process, named->id },
                       &tables->types, &tables->type_capacity, sizeof(tables->types[0]), &is_new);
    if (is_new) {
        tables->types[idx] = strcmp(name, TYPE_UNKNOWN) == 0 ? 0 : named->name;
    }
}

uint32_t hs_infra_type_name(const struct hs_infra_tables *tables, uint32_t process, uint64_t id)
{
    uint32_t idx;
    return hs_intern_find(&tables->type_ids, (struct hs_intern_key){ process, id }, &idx)
               ? tables->types[idx]
               : 0;
}

/* Reads the elements of "nodes" or "types", which begin at `place`. */
static void read_list(struct hs_infra_tables *tables, uint32_t process, const char *place,
                      const char *end, bool is_types)
{
    struct hs_json_reader json;
    struct named named;
    hs_json_begin(&json, place, end);
    hs_json_enter(&json, '[');
    while (hs_json_next_element(&json) && tables->err == 0) {
        if (!read_named(tables, process, &json, &named)) {
            continue;
        }
        if (is_types) {
            add_type(tables, process, &named);
        } else {
            const struct hs_infra_in_node node = { .parent = named.parent,
                                                   .name = named.name,
                                                   .made = HS_INFRA_NO_ID,
                                                   .has_parent = named.has_parent };
            add_node(tables, process, named.id, &node);
        }
    }
    tables->err = tables->err ? tables->err : json.err;
    hs_json_end(&json);
}

void hs_infra_read_maps(struct hs_infra_tables *tables, uint32_t process,
                        struct hs_json_reader *reader)
{
    struct hs_json_text key;
    const char *nodes = NULL, *types = NULL;
    hs_json_enter(reader, '{');
    while (hs_json_next_key(reader, &key) && tables->err == 0) {
        if (hs_json_text_is(&key, "strings")) {
            hs_json_enter(reader, '[');
            while (hs_json_next_element(reader)) {
                read_string(tables, process, reader);
            }
        } else {
            nodes = hs_json_text_is(&key, "nodes") ? hs_json_place(reader) : nodes;
            types = hs_json_text_is(&key, "types") ? hs_json_place(reader) : types;
            hs_json_skip(reader);
        }
    }
    /* The names come first, wherever they are. */
    if (nodes) {
        read_list(tables, process, nodes, reader->end, false);
    }
    if (types) {
        read_list(tables, process, types, reader->end, true);
    }
}

void hs_infra_read_frames(struct hs_infra_tables *tables, uint32_t process,
                          struct hs_json_reader *reader)
{
    struct hs_json_text key, text;
    hs_json_enter(reader, '{');
    while (hs_json_next_key(reader, &key) && tables->err == 0) {
        struct hs_infra_in_node node = { .made = HS_INFRA_NO_ID };
        uint64_t id = id_of_text(&key);
        hs_json_enter(reader, '{');
        while (hs_json_next_key(reader, &key)) {
            if (hs_json_text_is(&key, "name")) {
                node.name = hs_json_read_text(reader, &text) ? string_of(tables, &text) : 0;
            } else if (hs_json_text_is(&key, "parent")) {
                node.has_parent = hs_infra_read_id(reader, &node.parent);
            } else {
                hs_json_skip(reader);
            }
        }
        add_node(tables, process, id, &node);
    }
}
