/*
 * What the parts of the SQL language share: the state of a session, and text that results from
 * substitution.
 *
 * Threads   one.
 */
#pragma once

#include "sql/language/sql_session.h"
#include "sql/language/token.h"
#include "sql/stacks/stack_forest.h"
#include "util/buf.h"

/* size of a statement after the expansion of all macros */
#define HS_SQL_TEXT_BYTES_MAX   (4U << 20)
#define HS_SQL_MACRO_DEPTH      64
#define HS_SQL_EXPANSIONS_MAX   100000U /* macro invocations in one statement */
#define HS_SQL_CALL_DEPTH       50
#define HS_SQL_INCLUDE_DEPTH    16
#define HS_SQL_PARAMETERS_MAX   64
#define HS_SQL_DEFINITIONS_MAX  10000U
#define HS_SQL_MODULE_COUNT_MAX 64

struct hs_sql_macro {
    char *name;
    char **params; /* without the dollar sign */
    size_t param_count;
    char *body;
};

struct hs_sql {
    sqlite3 *db;
    struct hs_sql_macro *macros;
    size_t macro_count, macro_capacity;
    size_t function_count;
    bool is_included[HS_SQL_MODULE_COUNT_MAX];
    struct hs_stack_forest forest; /* made when it is first needed */
    struct hs_buf error;
    volatile sig_atomic_t *stop;
    uint64_t kilosteps_left;
    bool has_budget, is_exhausted;
    unsigned call_depth;
};

/* The position of a statement, for messages. */
struct hs_sql_place {
    const char *origin; /* may be NULL */
    const char *text;   /* the whole script */
    size_t text_bytes;
    size_t off; /* start of the statement */
};

/* Text that is assembled from pieces of the script, with the origin of each piece. */
struct hs_sql_piece {
    size_t out_off, source_off;
    /* copied byte for byte; otherwise the whole piece comes from source_off: it is the body of a
     * macro */
    bool is_literal;
};

struct hs_sql_text {
    struct hs_buf buf;
    struct hs_sql_piece *pieces;
    size_t piece_count, piece_capacity;
    unsigned expansion_count;
};

/* Frees the text and its pieces. */
void hs_sql_text_deinit(struct hs_sql_text *out);
/* The position in the script that a byte of the assembled text comes from. */
size_t hs_sql_text_source(const struct hs_sql_text *out, size_t out_off);

/* Appends script[begin .. end) with its macros expanded. Returns 0, -ENOMEM, or HS_SQL_E_STATEMENT
 * with sql->error set. */
int hs_sql_expand(struct hs_sql *sql, const struct hs_sql_place *place, size_t begin_off,
                  size_t end_off, struct hs_sql_text *out);

/* The text of the module at `idx`, and its name. The text is "" if the session has already included
 * the module, or if the module has no text; NULL after the last module. */
const char *hs_sql_module_unread(const struct hs_sql *sql, size_t idx, const char **ret_name);

/* NULL if there is no such macro. */
struct hs_sql_macro *hs_sql_macro_find(struct hs_sql *sql, const char *name, size_t name_bytes);
/* Frees the texts of a macro. */
void hs_sql_macro_deinit(struct hs_sql_macro *macro);

/* Sets the error: a message, and the line of the script with a caret under `off`. Returns
 * HS_SQL_E_STATEMENT. */
int hs_sql_fail_at(struct hs_sql *sql, const struct hs_sql_place *place, size_t off,
                   const char *format, ...) HS_PRINTF(4, 5);
/* The same for an error that SQLite reported about `made`, the assembled text; `made` may be NULL.
 * Returns -ENOMEM if SQLite was out of memory. */
int hs_sql_fail_sqlite(struct hs_sql *sql, const struct hs_sql_place *place,
                       const struct hs_sql_text *made);

/* Prepares, steps and finalizes one statement. */
int hs_sql_execute(struct hs_sql *sql, const struct hs_sql_place *place, struct hs_sql_text *made,
                   const struct hs_sql_rows *rows);
/* Like hs_sql_run(), at a depth of nested includes. */
int hs_sql_run_script(struct hs_sql *sql, const char *text, size_t bytes, const char *origin,
                      const struct hs_sql_rows *rows, unsigned depth);
/* Includes a module, or all modules that match a pattern such as a.b.* */
int hs_sql_include(struct hs_sql *sql, const struct hs_sql_place *place, size_t name_off,
                   const char *name, unsigned depth);

/* Runs CREATE [OR REPLACE] PERFETTO ...: script[off .. end) is the text after PERFETTO. */
int hs_sql_create(struct hs_sql *sql, const struct hs_sql_place *place, size_t off, size_t end_off,
                  bool is_replacing);

struct hs_sql_signature {
    char *names[HS_SQL_PARAMETERS_MAX];
    size_t count;
};

/* Frees the names. */
void hs_sql_signature_deinit(struct hs_sql_signature *list);

/* Registers a function. `columns` has a count above 0 if the function returns a table. The body is
 * copied. */
int hs_sql_define_function(struct hs_sql *sql, const char *name,
                           const struct hs_sql_signature *params,
                           const struct hs_sql_signature *columns, const char *body);

/* Appends bytes as base64. */
void hs_sql_base64(struct hs_buf *buf, const void *data, size_t bytes);

/* Registers the functions and virtual tables that heapscope provides. Returns 0 or an SQLite error
 * code. */
int hs_sql_register_functions(struct hs_sql *sql);
/* Registers experimental_flamegraph. Returns 0 or an SQLite error code. */
int hs_sql_register_profile_flamegraph(sqlite3 *db, struct hs_stack_forest *forest);
/* Registers __intrinsic_flamegraph and its functions. Returns 0 or an SQLite error code. */
int hs_sql_register_flamegraph(sqlite3 *db);
/* Registers the functions about the trace as a whole. Returns 0 or an SQLite error code. */
int hs_sql_register_trace_functions(sqlite3 *db);
