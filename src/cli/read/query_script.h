/*
 * Runs the input of heapscope query, from the command line, a file, a pipe or its shell: SQL, and
 * commands that begin with a dot, as those of sqlite3.
 *
 * A command is a line of its own, where a statement could begin. A statement or command that fails
 * ends the text that contains it.
 *
 * Threads   main thread only.
 * Fails     HS_SQL_E_STATEMENT after a message; -errno of the output, with a message except for
 *           -EPIPE.
 */
#pragma once

#include "sql/language/result_rows.h"
#include "sql/language/sql_session.h"
#include "util/buf.h"

struct hs_query_output {
    struct hs_buf buf; /* to standard output */
    enum hs_sql_format format;
};

struct hs_query {
    struct hs_sql *sql;
    struct hs_query_output output;
    bool is_over;   /* .quit */
    unsigned depth; /* of files that .read files */
};

/* Runs statements and commands. `origin` is the name of the text in messages; NULL: none. */
int hs_query_script(struct hs_query *query, const char *text, size_t bytes, const char *origin);

/* Reads a file, "-": standard input, into *ret_text, which the caller frees: 0, or -errno after a
 * message. */
int hs_query_read_file(const char *path, struct hs_buf *ret_text);
