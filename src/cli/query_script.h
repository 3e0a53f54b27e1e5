/*
 * What heapscope query is given, from the command line, a file, a pipe or its shell: SQL, and commands that begin with a
 * dot, as sqlite3 has them.
 *
 * A command is a line of its own, where a statement could begin. What fails ends the text it stands in.
 *
 * Threads   main thread only.
 * Fails     HS_SQL_E_STATEMENT after having said why; -errno of the output, said but for -EPIPE.
 */
#pragma once

#include "sql/result_rows.h"
#include "sql/sql_session.h"
#include "util/buf.h"

struct hs_query_output {
    struct hs_buf buf; /* to standard output */
    enum hs_sql_format format;
};

struct hs_query {
    struct hs_sql *sql;
    struct hs_query_output output;
    bool is_over;   /* .quit */
    unsigned depth; /* of files that read files */
};

/* Runs statements and commands; `origin` is what messages call the text, NULL: nothing. */
int hs_query_script(struct hs_query *query, const char *text, size_t bytes, const char *origin);

/* The text of a file, "-" standard input, which is to be deinitialised: 0, or -errno with a message. */
int hs_query_read_file(const char *path, struct hs_buf *ret_text);
