/*
 * SQL functions about the trace as a whole, as in trace_processor's prelude and in time.conversion:
 * its bounds, units of time, and the arguments of rows.
 *
 * The bounds come from the view trace_bounds. SQLite treats them as constants, so a statement reads
 * them once, independent of the number of rows that it compares with them.
 *
 * Fails     with SQLite's message, if another program wrote the database without these tables.
 */
#include "rt/base.h"
#include "sql/language/session_state.h"

/* Sets the result to one value of a statement with up to two arguments. */
static void result_of(sqlite3_context *context, const char *text, int arg_count,
                      sqlite3_value **args)
{
    sqlite3 *db = sqlite3_context_db_handle(context);
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db, text, -1, &stmt, NULL);
    for (int i = 0; i < arg_count && code == SQLITE_OK; i++) {
        code = sqlite3_bind_value(stmt, i + 1, args[i]);
    }
    code = code == SQLITE_OK ? sqlite3_step(stmt) : code;
    if (code == SQLITE_ROW) {
        sqlite3_result_value(context, sqlite3_column_value(stmt, 0));
    } else if (code != SQLITE_DONE) {
        sqlite3_result_error(context, sqlite3_errmsg(db), -1);
    }
    sqlite3_finalize(stmt);
}

static void query(sqlite3_context *context, int arg_count, sqlite3_value **args)
{
    result_of(context, sqlite3_user_data(context), arg_count, args);
}

/* extract_arg(arg_set_id, key). Most rows have no arguments, and need no query. */
static void extract_arg(sqlite3_context *context, int arg_count, sqlite3_value **args)
{
    if (sqlite3_value_type(args[0]) != SQLITE_NULL) {
        result_of(context,
                  "SELECT coalesce(int_value, string_value, real_value) FROM args "
                  "WHERE arg_set_id = ?1 AND key = ?2",
                  arg_count, args);
    }
}

/* Nanoseconds are whole numbers. A value that does not fit is an error, and does not become another
 * number. */
static void time_from(sqlite3_context *context, int arg_count, sqlite3_value **args)
{
    (void)arg_count;
    const int64_t *unit_ns = sqlite3_user_data(context);
    int64_t ns;
    if (sqlite3_value_type(args[0]) == SQLITE_NULL) {
        return;
    }
    if (__builtin_mul_overflow(sqlite3_value_int64(args[0]), *unit_ns, &ns)) {
        sqlite3_result_error(context, "integer overflow", -1);
        return;
    }
    sqlite3_result_int64(context, ns);
}

static void time_to(sqlite3_context *context, int arg_count, sqlite3_value **args)
{
    (void)arg_count;
    const int64_t *unit_ns = sqlite3_user_data(context);
    if (sqlite3_value_type(args[0]) != SQLITE_NULL) {
        sqlite3_result_int64(context, sqlite3_value_int64(args[0]) / *unit_ns);
    }
}

static int add(sqlite3 *db, const char *name, int arg_count, const void *ctx,
               void (*call)(sqlite3_context *, int, sqlite3_value **))
{
    return sqlite3_create_function(db, name, arg_count,
                                   SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                                   (void *)(uintptr_t)ctx, call, NULL, NULL);
}

int hs_sql_register_trace_functions(sqlite3 *db)
{
    static const struct {
        const char *from, *to;
        int64_t unit_ns;
    } units[] = {
        { "time_from_ns", "time_to_ns", 1 },
        { "time_from_us", "time_to_us", 1000 },
        { "time_from_ms", "time_to_ms", 1000000 },
        { "time_from_s", "time_to_s", 1000000000 },
        { "time_from_min", "time_to_min", 60000000000 },
        { "time_from_hours", "time_to_hours", 3600000000000 },
        { "time_from_days", "time_to_days", 86400000000000 },
    };
    int code = add(db, "trace_start", 0, "SELECT start_ts FROM trace_bounds", query);
    code = code ? code : add(db, "trace_end", 0, "SELECT end_ts FROM trace_bounds", query);
    code =
        code ? code : add(db, "trace_dur", 0, "SELECT end_ts - start_ts FROM trace_bounds", query);
    code = code ? code : add(db, "extract_arg", 2, NULL, extract_arg);
    for (size_t i = 0; i < HS_COUNT_OF(units) && code == SQLITE_OK; i++) {
        code = add(db, units[i].from, 1, &units[i].unit_ns, time_from);
        code = code ? code : add(db, units[i].to, 1, &units[i].unit_ns, time_to);
    }
    return code;
}
