/*
 * ModuleSymbols: names of the functions at a frame's address, innermost inlined function first.
 *
 * They are kept until the end of the file, so that they can be before or after the dumps. A frame
 * for which its recorder had no name gets the name of its function in the symbol table.
 *
 * See       import_state.h
 */
#include <errno.h>
#include <stdlib.h>

#include "sql/import/import_state.h"
#include "util/array.h"

struct address {
    int64_t path, build_id;
    uint64_t rel_pc;
    size_t line_first, line_count;
};

struct line {
    int64_t function, system_name, file, line;
};

struct hs_import_names {
    struct address *addresses;
    size_t address_count, address_capacity;
    struct line *lines;
    size_t line_count, line_capacity;
};

/* Columns, as in sql_store.c. */
enum { MAPPING_BUILD_ID = 1, MAPPING_NAME = 7, FRAME_PC = 3 };
enum { CELL_BUILD_ID = 0, CELL_MAPPING_NAME = 6 };

int hs_import_names_new(struct hs_import_names **ret_names)
{
    struct hs_import_names *names = calloc(1, sizeof(*names));
    if (!names) {
        return -ENOMEM;
    }
    *ret_names = names;
    return 0;
}

void hs_import_names_free(struct hs_import_names *names)
{
    if (names) {
        free(names->addresses);
        free(names->lines);
        free(names);
    }
}

static int keep_address(struct hs_import *import, const struct address *module,
                        const Hs__Pb__AddressSymbols *from)
{
    struct hs_import_names *names = import->names;
    int err = hs_array_reserve(&names->addresses, &names->address_capacity,
                               names->address_count + 1, sizeof(names->addresses[0]));
    if (err == 0) {
        err = hs_array_reserve(&names->lines, &names->line_capacity,
                               names->line_count + from->n_lines, sizeof(names->lines[0]));
    }
    if (err < 0) {
        return err;
    }
    struct address *address = &names->addresses[names->address_count++];
    *address = *module;
    address->rel_pc = from->address;
    address->line_first = names->line_count;
    address->line_count = from->n_lines;
    for (size_t i = 0; i < from->n_lines; i++) {
        const Hs__Pb__Line *line = from->lines[i];
        /* A line number without a file is useless. */
        bool has_file = line->source_file_name && line->source_file_name[0];
        const char *function = line->function_name ? line->function_name : "";
        names->lines[names->line_count++] = (struct line){
            .function = hs_sql_store_str(import->store, function),
            .system_name = hs_sql_store_str(import->store, line->heapscope_system_name
                                                               ? line->heapscope_system_name
                                                               : function),
            .file =
                has_file ? hs_sql_store_str(import->store, line->source_file_name) : HS_ROWS_NULL,
            .line = has_file ? (int64_t)line->line_number : HS_ROWS_NULL,
        };
    }
    return 0;
}

void hs_import_symbols(struct hs_import *import, const Hs__Pb__ModuleSymbols *symbols)
{
    const struct hs_interned_text build_id = { (const char *)symbols->build_id.data,
                                               symbols->build_id.len };
    const struct address module = {
        .path = hs_sql_store_str(import->store, symbols->path ? symbols->path : ""),
        .build_id = hs_import_build_id(import, &build_id),
    };
    for (size_t i = 0; i < symbols->n_address_symbols && import->store->err == 0; i++) {
        import->store->err = keep_address(import, &module, symbols->address_symbols[i]);
    }
}

static int64_t add_lines(struct hs_import *import, const struct address *address)
{
    struct hs_sql_store *store = import->store;
    int64_t set = store->tables[HS_SQL_SYMBOL].count;
    for (size_t i = 0; i < address->line_count; i++) {
        const struct line *line = &import->names->lines[address->line_first + i];
        HS_SQL_ADD(store, HS_SQL_SYMBOL, set, line->function, line->file, line->line,
                   i + 1 < address->line_count);
    }
    return set;
}

static bool is_module(const struct hs_sql_store *store, int64_t mapping,
                      const struct address *address)
{
    const int64_t *cells = hs_rows_at(&store->tables[HS_SQL_MAPPING], (uint32_t)mapping);
    return cells[CELL_MAPPING_NAME] == address->path && cells[CELL_BUILD_ID] == address->build_id;
}

static bool has_module(const struct hs_sql_store *store, const struct address *address)
{
    const struct hs_rows *rows = &store->tables[HS_SQL_MAPPING];
    uint32_t row = hs_rows_first(rows, MAPPING_NAME, address->path);
    while (row != HS_ROWS_NONE && !is_module(store, row, address)) {
        row = hs_rows_next(rows, MAPPING_NAME, row, address->path);
    }
    return row != HS_ROWS_NONE;
}

/* The name of the function that contains the code: the outermost of the functions inlined there. */
static int64_t name_of_code(const struct hs_import *import, const struct address *address)
{
    int64_t name = import->names->lines[address->line_first + address->line_count - 1].system_name;
    return name == import->empty ? HS_ROWS_NULL : name;
}

static void apply(struct hs_import *import, const struct address *address)
{
    struct hs_sql_store *store = import->store;
    const struct hs_rows *frames = &store->tables[HS_SQL_FRAME];
    int64_t set = HS_ROWS_NULL, pc = (int64_t)address->rel_pc;
    if (address->line_count == 0) {
        return;
    }
    for (uint32_t row = hs_rows_first(frames, FRAME_PC, pc); row != HS_ROWS_NONE;
         row = hs_rows_next(frames, FRAME_PC, row, pc)) {
        int64_t *cells = hs_rows_at(frames, row);
        if (is_module(store, cells[HS_SQL_FRAME_MAPPING], address)) {
            set = set == HS_ROWS_NULL ? add_lines(import, address) : set;
            cells[HS_SQL_FRAME_SYMBOLS] = set;
            if (cells[HS_SQL_FRAME_NAME] == HS_ROWS_NULL) {
                cells[HS_SQL_FRAME_NAME] = name_of_code(import, address);
            }
        }
    }
    if (set == HS_ROWS_NULL) {
        hs_stat_count(import, HS_STAT_INVALID_FRAME);
    }
}

void hs_import_symbols_finish(struct hs_import *import)
{
    struct hs_sql_store *store = import->store;
    const struct hs_import_names *names = import->names;
    const struct address *last = NULL;
    bool is_there = false;
    if (names->address_count > 0 && store->err == 0) {
        store->err = hs_rows_index(&store->tables[HS_SQL_MAPPING], MAPPING_NAME);
        store->err =
            store->err ? store->err : hs_rows_index(&store->tables[HS_SQL_FRAME], FRAME_PC);
    }
    for (size_t i = 0; i < names->address_count && store->err == 0; i++) {
        const struct address *address = &names->addresses[i];
        if (!last || last->path != address->path || last->build_id != address->build_id) {
            is_there = has_module(store, address);
            if (!is_there) {
                hs_stat_count(import, HS_STAT_INVALID_MAPPING);
            }
        }
        last = address;
        if (is_there) {
            apply(import, address);
        }
    }
}
