/* SQL functions that users of trace_processor expect, and those that a profile needs. */
#include <stdlib.h>
#include <string.h>

#include "rt/base.h"
#include "sql/language/pattern.h"
#include "sql/language/session_state.h"
#include "sql/stacks/dump_sums.h"
#include "sql/stacks/stack_sums.h"
#include "sql/stacks/stack_used.h"
#include "symbol/demangle.h"

static void demangle(sqlite3_context *context, int arg_count, sqlite3_value **args)
{
    (void)arg_count;
    const char *name = (const char *)sqlite3_value_text(args[0]);
    char *out = name ? malloc(HS_DEMANGLED_BYTES_MAX) : NULL;
    if (out && hs_demangle(name, out, HS_DEMANGLED_BYTES_MAX)) {
        sqlite3_result_text(context, out, -1, SQLITE_TRANSIENT);
    }
    free(out);
}

/* FNV-1a over all arguments, including their types and lengths. */
static void hash(sqlite3_context *context, int arg_count, sqlite3_value **args)
{
    uint64_t sum = 0xCBF29CE484222325U;
    for (int i = 0; i < arg_count; i++) {
        const unsigned char *data = sqlite3_value_blob(args[i]);
        int bytes = sqlite3_value_bytes(args[i]);
        unsigned char type = (unsigned char)sqlite3_value_type(args[i]);
        sum = (sum ^ type) * 0x100000001B3U;
        sum = (sum ^ (uint64_t)bytes) * 0x100000001B3U;
        for (int b = 0; data && b < bytes; b++) {
            sum = (sum ^ data[b]) * 0x100000001B3U;
        }
    }
    sqlite3_result_int64(context, (sqlite3_int64)sum);
}

static void base64_encode(sqlite3_context *context, int arg_count, sqlite3_value **args)
{
    (void)arg_count;
    if (sqlite3_value_type(args[0]) != SQLITE_NULL) {
        const void *data = sqlite3_value_blob(args[0]);
        struct hs_buf buf = { 0 };
        hs_sql_base64(&buf, data, (size_t)sqlite3_value_bytes(args[0]));
        sqlite3_result_text64(context, hs_buf_text(&buf), buf.bytes, SQLITE_TRANSIENT, SQLITE_UTF8);
        hs_buf_deinit(&buf);
    }
}

static void free_pattern(void *pattern)
{
    hs_pattern_free(pattern);
}

/* The pattern in args[idx], compiled once for each statement if it is constant. NULL: the result
 * has been set. */
static struct hs_pattern *pattern_of(sqlite3_context *context, sqlite3_value **args, int idx,
                                     bool *ret_is_kept)
{
    struct hs_pattern *pattern = sqlite3_get_auxdata(context, idx);
    *ret_is_kept = true;
    if (pattern) {
        return pattern;
    }
    char error[HS_PATTERN_ERROR_BYTES] = "no memory";
    const char *text = (const char *)sqlite3_value_text(args[idx]);
    if (!text) {
        return NULL;
    }
    if (hs_pattern_new(text, (size_t)sqlite3_value_bytes(args[idx]), false, &pattern, error) < 0) {
        sqlite3_result_error(context, error, -1);
        return NULL;
    }
    sqlite3_set_auxdata(context, idx, pattern, free_pattern);
    /* SQLite frees at once what it cannot keep. */
    *ret_is_kept = sqlite3_get_auxdata(context, idx) == pattern;
    return *ret_is_kept ? pattern : NULL;
}

static void search(sqlite3_context *context, sqlite3_value **args, int pattern_idx, int text_idx,
                   bool is_extracting)
{
    const char *text = (const char *)sqlite3_value_text(args[text_idx]);
    size_t bytes = (size_t)sqlite3_value_bytes(args[text_idx]);
    bool is_kept;
    struct hs_pattern *pattern = text ? pattern_of(context, args, pattern_idx, &is_kept) : NULL;
    size_t begin = 0, end = 0;
    if (!pattern) {
        return;
    }
    int found = hs_pattern_search(pattern, text, bytes, &begin, &end);
    if (found < 0) {
        sqlite3_result_error(context, "a regular expression takes too many steps: make it simpler",
                             -1);
    } else if (!is_extracting) {
        sqlite3_result_int(context, found);
    } else if (found > 0) {
        sqlite3_result_text(context, text + begin, (int)(end - begin), SQLITE_TRANSIENT);
    }
}

static void regexp(sqlite3_context *context, int arg_count, sqlite3_value **args)
{
    (void)arg_count;
    search(context, args, 0, 1, false);
}

static void regexp_extract(sqlite3_context *context, int arg_count, sqlite3_value **args)
{
    (void)arg_count;
    search(context, args, 1, 0, true);
}

void hs_sql_base64(struct hs_buf *buf, const void *data_, size_t bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *data = data_;
    for (size_t i = 0; i < bytes; i += 3) {
        size_t left = bytes - i;
        uint32_t word = (uint32_t)data[i] << 16 | (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
                        (left > 2 ? data[i + 2] : 0);
        hs_buf_char(buf, digits[word >> 18]);
        hs_buf_char(buf, digits[word >> 12 & 63]);
        hs_buf_char(buf, left > 1 ? digits[word >> 6 & 63] : '=');
        hs_buf_char(buf, left > 2 ? digits[word & 63] : '=');
    }
}

static int register_walks(struct hs_sql *sql)
{
    static char id[] = "id", depth[] = "depth", parent_id[] = "parent_id", frame_id[] = "frame_id";
    static char callsite_id[] = "callsite_id", annotation[] = "annotation";
    static const struct hs_sql_signature site = { { callsite_id }, 1 };
    static const struct hs_sql_signature columns = { { id, depth, parent_id, frame_id, annotation },
                                                     5 };
    static const struct hs_sql_signature ancestor_columns = { { id, depth, parent_id, frame_id },
                                                              4 };
    /* UNION, and not UNION ALL, so that a cyclic chain of callers ends. */
    int err = hs_sql_define_function(
        sql, "experimental_ancestor_stack_profile_callsite", &site, &ancestor_columns,
        "WITH RECURSIVE up(id, depth, parent_id, frame_id) AS (SELECT p.id, p.depth, p.parent_id, "
        "p.frame_id FROM stack_profile_callsite c JOIN stack_profile_callsite p ON p.id = "
        "c.parent_id "
        "WHERE c.id = $callsite_id UNION SELECT p.id, p.depth, p.parent_id, p.frame_id FROM up "
        "JOIN "
        "stack_profile_callsite p ON p.id = up.parent_id) SELECT * FROM up ORDER BY depth");
    return err ? err
               : hs_sql_define_function(
                     sql, "experimental_annotated_callstack", &site, &columns,
                     "WITH RECURSIVE up(id, depth, parent_id, frame_id) AS (SELECT id, depth, "
                     "parent_id, frame_id FROM stack_profile_callsite WHERE id = $callsite_id "
                     "UNION "
                     "SELECT p.id, p.depth, p.parent_id, p.frame_id FROM up JOIN "
                     "stack_profile_callsite p ON p.id = up.parent_id) SELECT up.id, up.depth, "
                     "up.parent_id, up.frame_id, CASE WHEN m.name GLOB '*jit-code-cache*' OR "
                     "m.name "
                     "GLOB '*jit-cache*' THEN 'jit' WHEN m.name GLOB '*.odex' OR m.name GLOB "
                     "'*.oat' "
                     "OR m.name GLOB '*.art' THEN 'aot' WHEN m.name GLOB '*.vdex' OR m.name GLOB "
                     "'*.dex' OR m.name GLOB '*.apk' OR m.name GLOB '*.jar' THEN 'interp' END AS "
                     "annotation FROM up LEFT JOIN stack_profile_frame f ON f.id = up.frame_id "
                     "LEFT "
                     "JOIN stack_profile_mapping m ON m.id = f.mapping ORDER BY up.depth");
}

int hs_sql_register_functions(struct hs_sql *sql)
{
    static const struct {
        const char *name;
        int arg_count;
        void (*call)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {
        { "DEMANGLE", 1, demangle },
        { "HASH", -1, hash },
        { "base64_encode", 1, base64_encode },
        { "REGEXP", 2, regexp },
        { "regexp_extract", 2, regexp_extract },
    };
    int code = SQLITE_OK;
    for (size_t i = 0; i < HS_COUNT_OF(functions) && code == SQLITE_OK; i++) {
        code = sqlite3_create_function(sql->db, functions[i].name, functions[i].arg_count,
                                       SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL,
                                       functions[i].call, NULL, NULL);
    }
    code = code ? code : hs_sql_register_trace_functions(sql->db);
    code = code ? code : hs_sql_register_profile_flamegraph(sql->db, &sql->forest);
    code = code ? code : hs_sql_register_flamegraph(sql->db);
    code = code ? code : hs_stack_forest_register(sql->db, &sql->forest);
    code = code ? code : hs_stack_sums_register(sql->db, &sql->forest);
    code = code ? code : hs_stack_used_register(sql->db, &sql->forest);
    code = code ? code : hs_dump_sums_register(sql->db);
    return code ? code : register_walks(sql) == 0 ? SQLITE_OK : SQLITE_NOMEM;
}
