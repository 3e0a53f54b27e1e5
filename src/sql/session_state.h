/*
 * What the parts of the SQL language share: the session's insides, and text that was put for text.
 *
 * Threads   one.
 */
#pragma once

#include "sql/sql_session.h"
#include "sql/stack_forest.h"
#include "sql/token.h"
#include "util/buf.h"

#define HS_SQL_TEXT_BYTES_MAX   (4U << 20) /* of a statement after all macros */
#define HS_SQL_MACRO_DEPTH      64
#define HS_SQL_EXPANSIONS_MAX   100000U /* macro invocations in one statement */
#define HS_SQL_CALL_DEPTH       50
#define HS_SQL_INCLUDE_DEPTH    16
#define HS_SQL_PARAMETERS_MAX   64
#define HS_SQL_DEFINITIONS_MAX  10000U
#define HS_SQL_MODULE_COUNT_MAX 64

struct hs_sql_macro {
    char *name;
    char **params; /* without the dollar */
    size_t param_count;
    char *body;
};

struct hs_sql {
    sqlite3 *db;
    struct hs_sql_macro *macros;
    size_t macro_count, macro_capacity;
    size_t function_count;
    bool is_included[HS_SQL_MODULE_COUNT_MAX];
    struct hs_stack_forest forest; /* made when first asked for */
    struct hs_buf error;
    volatile sig_atomic_t *stop;
    uint64_t kilosteps_left;
    bool has_budget, is_exhausted;
    unsigned call_depth;
};

/* Where the statement stands: for messages. */
struct hs_sql_place {
    const char *origin; /* may be NULL */
    const char *text;   /* the whole script */
    size_t text_bytes;
    size_t off; /* of the statement */
};

/* Text made of pieces of the script; which piece came from where. */
struct hs_sql_piece {
    size_t out_off, source_off;
    bool is_literal; /* byte for byte; else all of it is from source_off: the body of a macro */
};

struct hs_sql_text {
    struct hs_buf buf;
    struct hs_sql_piece *pieces;
    size_t piece_count, piece_capacity;
    unsigned expansion_count;
};

void hs_sql_text_deinit(struct hs_sql_text *out);
/* The place in the script of a byte of the made text. */
size_t hs_sql_text_source(const struct hs_sql_text *out, size_t out_off);

/* Adds script[begin .. end) with its macros expanded. HS_SQL_E_STATEMENT with sql->error set. */
int hs_sql_expand(struct hs_sql *sql, const struct hs_sql_place *place, size_t begin_off,
                  size_t end_off, struct hs_sql_text *out);

/* The text of the module at `idx`, and its name: "" when it is in the session already, NULL behind the last. */
const char *hs_sql_module_unread(const struct hs_sql *sql, size_t idx, const char **ret_name);

struct hs_sql_macro *hs_sql_macro_find(struct hs_sql *sql, const char *name, size_t name_bytes);
void hs_sql_macro_deinit(struct hs_sql_macro *macro);

/* Sets the error: what is wrong, and the line of the script with a caret under `off`. Returns HS_SQL_E_STATEMENT. */
int hs_sql_fail_at(struct hs_sql *sql, const struct hs_sql_place *place, size_t off,
                   const char *format, ...) HS_PRINTF(4, 5);
/* The same for what SQLite said about `made`, text that was put together; made may be NULL. */
int hs_sql_fail_sqlite(struct hs_sql *sql, const struct hs_sql_place *place,
                       const struct hs_sql_text *made);

/* Prepares, steps and finishes one statement. */
int hs_sql_execute(struct hs_sql *sql, const struct hs_sql_place *place, struct hs_sql_text *made,
                   const struct hs_sql_rows *rows);
/* hs_sql_run() at a depth of includes. */
int hs_sql_run_script(struct hs_sql *sql, const char *text, size_t bytes, const char *origin,
                      const struct hs_sql_rows *rows, unsigned depth);
/* The name is a module's, or a pattern: a.b.* */
int hs_sql_include(struct hs_sql *sql, const struct hs_sql_place *place, size_t name_off,
                   const char *name, unsigned depth);

/* CREATE [OR REPLACE] PERFETTO ...: script[off .. end) stands behind PERFETTO. */
int hs_sql_create(struct hs_sql *sql, const struct hs_sql_place *place, size_t off, size_t end_off,
                  bool is_replacing);

struct hs_sql_signature {
    char *names[HS_SQL_PARAMETERS_MAX];
    size_t count;
};

void hs_sql_signature_deinit(struct hs_sql_signature *list);

/* Registers a function; `columns` has a count above 0 for one that returns a table. The body is copied. */
int hs_sql_define_function(struct hs_sql *sql, const char *name,
                           const struct hs_sql_signature *params,
                           const struct hs_sql_signature *columns, const char *body);

/* Adds bytes as base64. */
void hs_sql_base64(struct hs_buf *buf, const void *data, size_t bytes);

/* The functions and virtual tables that come with heapscope. 0 or an SQLite error code. */
int hs_sql_register_functions(struct hs_sql *sql);
int hs_sql_register_profile_flamegraph(sqlite3 *db, struct hs_stack_forest *forest);
int hs_sql_register_flamegraph(sqlite3 *db);
int hs_sql_register_trace_functions(sqlite3 *db);
