/*
 * SQL text for heapscope query: read from files, run, and its rows written.
 *
 * Threads   main thread only.
 */
#pragma once

#include "sql/result_rows.h"
#include "sql/sql_session.h"
#include "util/buf.h"

struct hs_query_output {
    struct hs_buf buf; /* to standard output */
    enum hs_sql_format format;
};

/* Runs text and writes its rows: 0, HS_SQL_E_STATEMENT after having said why, or -errno of the output. */
int hs_query_run(struct hs_sql *sql, struct hs_query_output *output, const char *text, size_t bytes,
                 const char *origin);

/* 0, or -errno with a message: the text of a file of SQL. `ret_text` is to be deinitialised. */
int hs_query_read_file(const char *path, struct hs_buf *ret_text);
