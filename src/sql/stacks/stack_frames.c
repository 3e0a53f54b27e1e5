/*
 * Reads frames and symbols. See stack_frames.h.
 *
 * All frames are read in one query and all symbols in another. One query per frame would be a
 * hundred thousand queries.
 */
#include "sql/stacks/stack_frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/demangle.h"
#include "util/array.h"

static const char symbol_query[] =
    "SELECT symbol_set_id, name, source_file, line_number, inlined FROM stack_profile_symbol "
    "WHERE symbol_set_id IS NOT NULL ORDER BY symbol_set_id, id DESC";
static const char frame_query[] =
    "SELECT f.id, f.symbol_set_id, COALESCE(f.deobfuscated_name, f.name), m.name FROM "
    "stack_profile_frame f LEFT JOIN stack_profile_mapping m ON m.id = f.mapping";

/* Symbols grouped by set, which are read before the frames that have them: set number i begins at
 * firsts[i]. */
struct symbols {
    struct hs_id_map sets;
    uint32_t *firsts;
    size_t first_capacity;
    struct hs_stack_function *functions;
    size_t function_capacity;
    uint32_t count;
};

struct loading {
    sqlite3 *db;
    struct hs_stack_frames *frames;
    struct symbols symbols;
    char *demangled; /* HS_DEMANGLED_BYTES_MAX */
};

void hs_stack_frames_deinit(struct hs_stack_frames *frames)
{
    hs_id_map_deinit(&frames->ids);
    hs_intern_deinit(&frames->text_ids);
    hs_buf_deinit(&frames->text_bytes);
    free(frames->text_offs);
    free(frames->frames);
    free(frames->functions);
    *frames = (struct hs_stack_frames){ 0 };
}

/* Stores a text; NULL becomes HS_STACK_NO_TEXT. Returns 0 or -errno. */
static int keep_text(struct hs_stack_frames *frames, const char *text, uint32_t *ret_text)
{
    *ret_text = HS_STACK_NO_TEXT;
    if (!text) {
        return 0;
    }
    size_t bytes = strlen(text);
    uint32_t number = 0;
    bool is_new = false;
    int err = hs_intern_put(&frames->text_ids, hs_intern_hash(text, bytes), &number, &is_new);
    if (err == 0 && is_new) {
        err = hs_array_reserve(&frames->text_offs, &frames->text_capacity, number + (size_t)1,
                               sizeof(size_t));
        if (err == 0) {
            frames->text_offs[number] = frames->text_bytes.bytes;
            hs_buf_add(&frames->text_bytes, text, bytes + 1);
            err = frames->text_bytes.err;
        }
    }
    *ret_text = number;
    return err;
}

/* Stores the name as it is and demangled. */
static int keep_name(struct loading *loading, const char *name, struct hs_stack_function *function)
{
    function->is_named = name != NULL;
    name = name && *name ? name : NULL;
    bool is_mangled = name && hs_demangle(name, loading->demangled, HS_DEMANGLED_BYTES_MAX);
    int err = keep_text(loading->frames, name, &function->name);
    function->shown = function->name;
    return err || !is_mangled ? err
                              : keep_text(loading->frames, loading->demangled, &function->shown);
}

static const char *text_at(sqlite3_stmt *stmt, int column)
{
    return (const char *)sqlite3_column_text(stmt, column);
}

static int add_symbol(struct loading *loading, sqlite3_stmt *stmt)
{
    struct symbols *symbols = &loading->symbols;
    struct hs_stack_function function = {
        .has_line = sqlite3_column_type(stmt, 3) != SQLITE_NULL,
        .line_number = sqlite3_column_int64(stmt, 3),
        .is_inlined = sqlite3_column_int64(stmt, 4) != 0,
    };
    uint32_t set;
    bool is_new;
    int err = keep_name(loading, text_at(stmt, 1), &function);
    err = err ? err : keep_text(loading->frames, text_at(stmt, 2), &function.source_file);
    err = err ? err : hs_id_map_put(&symbols->sets, sqlite3_column_int64(stmt, 0), &set, &is_new);
    err = err ? err
              : hs_array_reserve(&symbols->firsts, &symbols->first_capacity,
                                 (size_t)symbols->sets.count + 1, sizeof(uint32_t));
    err = err ? err
              : hs_array_reserve(&symbols->functions, &symbols->function_capacity,
                                 (size_t)symbols->count + 1, sizeof(function));
    if (err == 0) {
        if (is_new) {
            symbols->firsts[set] = symbols->count;
        }
        symbols->functions[symbols->count++] = function;
        symbols->firsts[symbols->sets.count] = symbols->count;
    }
    return err ? SQLITE_NOMEM : SQLITE_OK;
}

static int add_function(struct hs_stack_frames *frames, struct hs_stack_frame *frame,
                        const struct hs_stack_function *function)
{
    int err = frames->function_count >= INT32_MAX
                  ? -EOVERFLOW
                  : hs_array_reserve(&frames->functions, &frames->function_capacity,
                                     (size_t)frames->function_count + 1, sizeof(*function));
    if (err == 0) {
        frames->functions[frames->function_count++] = *function;
        frame->count++;
    }
    return err;
}

/* Adds the functions of the frame's symbol set; without one, a function with the frame's own
 * name. */
static int add_functions(struct loading *loading, sqlite3_stmt *stmt, struct hs_stack_frame *frame)
{
    struct hs_stack_frames *frames = loading->frames;
    const struct symbols *symbols = &loading->symbols;
    struct hs_stack_function own = { .source_file = HS_STACK_NO_TEXT };
    uint32_t set;
    int err = keep_name(loading, text_at(stmt, 2), &own);
    frame->first = frames->function_count;
    frame->count = 0;
    if (err != 0 || sqlite3_column_type(stmt, 1) == SQLITE_NULL ||
        !hs_id_map_find(&symbols->sets, sqlite3_column_int64(stmt, 1), &set)) {
        return err ? err : add_function(frames, frame, &own);
    }
    for (uint32_t i = symbols->firsts[set]; i < symbols->firsts[set + 1] && err == 0; i++) {
        struct hs_stack_function function = symbols->functions[i];
        function.shown = function.is_named ? function.shown : own.shown;
        err = add_function(frames, frame, &function);
    }
    return err;
}

static int add_frame(struct loading *loading, sqlite3_stmt *stmt)
{
    struct hs_stack_frames *frames = loading->frames;
    struct hs_stack_frame frame;
    uint32_t number;
    bool is_new;
    int err = hs_array_reserve(&frames->frames, &frames->frame_capacity,
                               (size_t)frames->ids.count + 1, sizeof(frame));
    err = err ? err : hs_id_map_put(&frames->ids, sqlite3_column_int64(stmt, 0), &number, &is_new);
    if (err == 0 && is_new) {
        err = keep_text(frames, text_at(stmt, 3), &frame.map_name);
        err = err ? err : add_functions(loading, stmt, &frame);
        frames->frames[number] = frame;
    }
    return err ? SQLITE_NOMEM : SQLITE_OK;
}

static int read_rows(struct loading *loading, const char *query,
                     int (*add)(struct loading *, sqlite3_stmt *))
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(loading->db, query, -1, &stmt, NULL);
    while (code == SQLITE_OK) {
        code = sqlite3_step(stmt);
        code = code == SQLITE_ROW ? add(loading, stmt) : code;
    }
    sqlite3_finalize(stmt);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

int hs_stack_frames_load(sqlite3 *db, struct hs_stack_frames *frames)
{
    *frames = (struct hs_stack_frames){ 0 };
    struct loading loading = { .db = db, .frames = frames };
    loading.demangled = malloc(HS_DEMANGLED_BYTES_MAX);
    int code = loading.demangled ? SQLITE_OK : SQLITE_NOMEM;
    code = code ? code : read_rows(&loading, symbol_query, add_symbol);
    code = code ? code : read_rows(&loading, frame_query, add_frame);
    free(loading.demangled);
    hs_id_map_deinit(&loading.symbols.sets);
    free(loading.symbols.firsts);
    free(loading.symbols.functions);
    if (code != SQLITE_OK) {
        hs_stack_frames_deinit(frames);
    }
    return code;
}
